"""Extraction: the stored content of a picture, and the processes that read the pictures of a folder."""

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crossview.engine.catalog.ingest.capturing import read_metadata
from crossview.engine.catalog.model_rows import model_of
from crossview.engine.values.item import PictureRecord, content_hash
from crossview.features.base import FeatureRows, ImageExtractor
from crossview.features.decode import Picture, decode
from crossview.features.fingerprint import packed_fingerprints
from crossview.features.image import preview, thumbnail
from crossview.features.metadata import Metadata
from crossview.features.picture_pool import PicturePool
from crossview.features.pictures import MAX_PIXELS, InProcess, PictureLimits, Pictures
from crossview.features.reading import images_of, rows_of
from crossview.features.worker import cores

_SECONDS = 120.0
"""Maximum time for one picture of a folder, with the default limit of pixels. Folders often contain large files, and
the processes have a low priority."""
_AHEAD = 16
"""Number of pictures in the queue of each process, so that it stays busy while another process reads a slow picture."""


@dataclass(frozen=True)
class Extracted:
    """The content of one picture, as the catalog stores it."""

    picture: PictureRecord
    rows: Mapping[str, NDArray[np.float32]]
    metadata: Metadata
    has_profile: bool = False
    """See ``Picture``."""


def extract(data: bytes, extractors: Mapping[str, ImageExtractor], max_pixels: int = MAX_PIXELS) -> Extracted:
    """Return the content of a picture for the catalog; ImageError states why the picture cannot be read."""
    picture = decode(data, max_pixels=max_pixels)
    small = thumbnail(picture.image)
    record = PictureRecord(
        size=len(data),
        content_hash=content_hash(data),
        width=picture.width,
        height=picture.height,
        thumbnail=small,
        preview=preview(picture.image),
        fingerprints=packed_fingerprints(small),
    )
    rows = rows_of_picture(data, picture, extractors, max_pixels)
    return Extracted(record, rows, read_metadata(data, extractors, max_pixels), picture.has_profile)


def rows_of_picture(
    data: bytes, picture: Picture, extractors: Mapping[str, ImageExtractor], max_pixels: int = MAX_PIXELS
) -> dict[str, FeatureRows]:
    """Return the rows of a picture by view, without views that have no row; ``data`` are the bytes of its file."""
    images = images_of(data, picture, extractors, max_pixels)
    models = {view: model for view, extractor in extractors.items() if (model := model_of(extractor)) is not None}
    if not models:
        return rows_of(images, extractors)
    # Only views of models keep rows in a cache: computing such a row takes much longer than finding it.
    from crossview.engine.catalog.row_cache import content_of, keep_row, kept_row

    contents = {view: content_of(data, *images[view].shape, models[view].reading) for view in models}
    cached = {view: row for view, model in models.items() if (row := kept_row(model, contents[view])) is not None}
    computed = rows_of(images, {view: extractor for view, extractor in extractors.items() if view not in cached})
    for view in models.keys() & computed.keys():
        keep_row(models[view], contents[view], computed[view])
    return cached | computed


@contextmanager
def reading_files(workers: int | None, max_pixels: int, apart: bool = False) -> Iterator[Pictures]:
    """Open, for the block, the processes that read the files of this machine.

    They are a pool of ``workers`` processes [default: one per core] with limits of time and memory for each picture.
    If ``workers`` is 1, this process reads the files, which saves the start of another process, unless ``apart``.
    """
    if workers == 1 and not apart:
        yield InProcess(max_pixels)
        return
    seconds = _SECONDS * max(1.0, max_pixels / MAX_PIXELS)  # larger pictures take longer
    limits = PictureLimits(max_pixels, largest_at_once=workers or cores(), seconds=seconds, trusted=True)
    with closing(PicturePool(workers, limits, _AHEAD)) as pool:
        yield pool
