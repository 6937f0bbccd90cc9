"""Extraction: what the catalog stores of a picture, and where the pictures of a folder are read."""

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crossview.engine.item import PictureRecord, content_hash
from crossview.features.base import ImageExtractor
from crossview.features.decode import decode
from crossview.features.image import thumbnail
from crossview.features.picture_pool import PicturePool
from crossview.features.pictures import MAX_PIXELS, InProcess, PictureLimits, Pictures
from crossview.features.reading import rows_of
from crossview.features.worker import cores

_SECONDS = 120.0
"""Maximum time for one picture of a folder, with the default limit of pixels. Large files are common there, and the
processes give way to others."""
_AHEAD = 16
"""Pictures in the queue of each process: it stays busy while a slow picture holds back the results of others."""


@dataclass(frozen=True)
class Extracted:
    """The content of one picture, as the catalog stores it."""

    picture: PictureRecord
    rows: Mapping[str, NDArray[np.float32]]


def extract(data: bytes, extractors: Mapping[str, ImageExtractor], max_pixels: int = MAX_PIXELS) -> Extracted:
    """Return everything that the catalog stores of a picture; ImageError states why it cannot be read."""
    picture = decode(data, max_pixels=max_pixels)
    small = thumbnail(picture.image)
    record = PictureRecord(len(data), 0, content_hash(data), picture.width, picture.height, small)
    return Extracted(record, rows_of(picture.image, extractors))


@contextmanager
def reading_files(workers: int | None, max_pixels: int) -> Iterator[Pictures]:
    """Provide the place that reads the files of this machine, for the block.

    The place is a pool of ``workers`` processes [default: one per core] with limits of time and memory for each
    picture, or this process if ``workers`` is 1, which saves the start of another one.
    """
    if workers == 1:
        yield InProcess(max_pixels)
        return
    seconds = _SECONDS * max(1.0, max_pixels / MAX_PIXELS)  # larger pictures take longer
    limits = PictureLimits(max_pixels, largest_at_once=workers or cores(), seconds=seconds, trusted=True)
    with closing(PicturePool(workers, limits, _AHEAD)) as pool:
        yield pool
