"""Computations on one picture, in this process or in a worker."""

from collections.abc import Mapping

from crossview.features.base import READING, FeatureRows, ImageExtractor
from crossview.features.contract import extracted
from crossview.features.decode import Picture, decode
from crossview.features.errors import ImageError, ModelInputError
from crossview.features.image import Image
from crossview.features.pictures import MAX_PIXELS
from crossview.features.stages import stage


def rows(data: bytes, extractors: Mapping[str, ImageExtractor], max_pixels: int = MAX_PIXELS) -> dict[str, FeatureRows]:
    """Return the rows of a picture file by view, without views that have no row; ImageError for an unreadable file."""
    with stage("decode"):
        images = _images(data, extractors, max_pixels)
    return rows_of(images, extractors)


def rows_of(images: Mapping[str, Image], extractors: Mapping[str, ImageExtractor]) -> dict[str, FeatureRows]:
    """Return the rows of a picture by view, without views that have no row, from the image that each view reads.

    Raises ImageError, with the view and its model, for a picture that the model fails on.
    """
    batches = {}
    for view, extractor in extractors.items():
        try:
            with stage("extract", view=view):
                batches[view] = extracted(extractor, [images[view]]).rows
        except ModelInputError as error:
            raise ImageError(f"view {view!r}, {error.message}", detail=error.detail) from error
    return {view: rows[0] for view, rows in batches.items() if len(rows)}


def samples(
    data: bytes, extractors: Mapping[str, ImageExtractor], max_pixels: int = MAX_PIXELS
) -> dict[str, FeatureRows]:
    """Return the training sample of a picture file for each extractor; ImageError for an unreadable file."""
    images = _images(data, extractors, max_pixels)
    return {view: extractor.sample(images[view]) for view, extractor in extractors.items()}


def points(
    data: bytes, extractors: Mapping[str, ImageExtractor], max_pixels: int = MAX_PIXELS
) -> dict[str, FeatureRows]:
    """Return the places that the row of each view counts in a picture file; ImageError for an unreadable file."""
    images = _images(data, extractors, max_pixels)
    return {view: extractor.points(images[view]) for view, extractor in extractors.items()}


def images_of(
    data: bytes, picture: Picture, extractors: Mapping[str, ImageExtractor], max_pixels: int = MAX_PIXELS
) -> dict[str, Image]:
    """Return the image of a picture that each view reads: an earlier reading is without the colour profile."""
    earlier = [view for view, kind in extractors.items() if kind.reading < READING] if picture.has_profile else []
    plain = decode(data, max_pixels=max_pixels, profiles=False).image if earlier else picture.image
    return {**dict.fromkeys(extractors, picture.image), **dict.fromkeys(earlier, plain)}


def _images(data: bytes, extractors: Mapping[str, ImageExtractor], max_pixels: int) -> dict[str, Image]:
    return images_of(data, decode(data, max_pixels=max_pixels), extractors, max_pixels)
