"""Computations on one picture, in this process or in a worker."""

from collections.abc import Mapping

from crossview.features.base import FeatureRows, ImageExtractor
from crossview.features.contract import extracted
from crossview.features.decode import decode
from crossview.features.image import Image
from crossview.features.pictures import MAX_PIXELS
from crossview.features.stages import stage


def rows(data: bytes, extractors: Mapping[str, ImageExtractor], max_pixels: int = MAX_PIXELS) -> dict[str, FeatureRows]:
    """Return the rows of a picture file by view, without views that have no row; ImageError for an unreadable file."""
    with stage("decode"):
        image = decode(data, max_pixels=max_pixels).image
    return rows_of(image, extractors)


def rows_of(image: Image, extractors: Mapping[str, ImageExtractor]) -> dict[str, FeatureRows]:
    """Return the rows of an image by view, without views that have no row."""
    found = {}
    for view, extractor in extractors.items():
        with stage("extract", view=view):
            found[view] = extracted(extractor, [image]).rows
    return {view: rows[0] for view, rows in found.items() if len(rows)}


def samples(
    data: bytes, extractors: Mapping[str, ImageExtractor], max_pixels: int = MAX_PIXELS
) -> dict[str, FeatureRows]:
    """Return the training sample of a picture file for each extractor; ImageError for an unreadable file."""
    image = decode(data, max_pixels=max_pixels).image
    return {view: extractor.sample(image) for view, extractor in extractors.items()}


def points(
    data: bytes, extractors: Mapping[str, ImageExtractor], max_pixels: int = MAX_PIXELS
) -> dict[str, FeatureRows]:
    """Return the places that the row of each view counts in a picture file; ImageError for an unreadable file."""
    image = decode(data, max_pixels=max_pixels).image
    return {view: extractor.points(image) for view, extractor in extractors.items()}
