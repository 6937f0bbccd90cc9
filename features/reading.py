"""Functions that compute rows or samples from one picture, in this process or in a worker."""

from collections.abc import Mapping

from crossview.features.base import ImageExtractor, Rows
from crossview.features.decode import decode
from crossview.features.image import Image
from crossview.features.pictures import MAX_PIXELS


def rows(data: bytes, extractors: Mapping[str, ImageExtractor], max_pixels: int = MAX_PIXELS) -> dict[str, Rows]:
    """Return the row of a picture file in each view that computes one; ImageError states why it cannot be read."""
    return rows_of(decode(data, max_pixels=max_pixels).image, extractors)


def rows_of(image: Image, extractors: Mapping[str, ImageExtractor]) -> dict[str, Rows]:
    """Return the row of an image in each view that computes one."""
    found = {view: extractor.extract([image]).rows for view, extractor in extractors.items()}
    return {view: rows[0] for view, rows in found.items() if len(rows)}


def samples(data: bytes, extractors: Mapping[str, ImageExtractor], max_pixels: int = MAX_PIXELS) -> dict[str, Rows]:
    """Return the sample of a picture file for fitting each extractor; ImageError states why it cannot be read."""
    image = decode(data, max_pixels=max_pixels).image
    return {view: extractor.sample(image) for view, extractor in extractors.items()}
