"""Extracting: pictures in object storage become rows of views, one file of Parquet for each partition."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from crossview.engine.catalog.ingest.extraction import reading_files, rows_of_picture
from crossview.engine.publishing.object_storage import ObjectStorage
from crossview.engine.publishing.spreading.division import Partition, RowFacts, divided
from crossview.engine.publishing.spreading.executor import HERE, Executor
from crossview.engine.publishing.spreading.opened_bundle import fits, newest_bundle, opened_views, picture_views
from crossview.engine.publishing.spreading.outcomes import Extraction
from crossview.engine.publishing.spreading.picture_list import FOLDER, PictureFile, key_of, label_of, listed_pictures
from crossview.engine.publishing.spreading.row_file import (
    PictureRow,
    ViewColumn,
    count_rows,
    part_name,
    read_bad,
    write_bad,
    write_rows,
)
from crossview.engine.runtime.cancellation import checkpoint
from crossview.engine.runtime.progress import Progress
from crossview.engine.values.errors import InvalidInputError
from crossview.engine.values.item import Failure, content_hash
from crossview.features.base import FeatureRows, ImageExtractor
from crossview.features.decode import decode
from crossview.features.errors import ImageError
from crossview.features.pictures import MAX_PIXELS, Pictures, PictureTask, check_file_bytes

DEFAULT_VIEWS = ("color", "gist")
"""The views without a bundle: those that do not learn from pictures."""
PARTITION = 512
"""Default for the number of pictures of a partition."""
_MOST_LISTED = 100
"""Bad pictures that the result lists; the files ``bad-*.parquet`` list all."""
_FETCHED, _FETCHED_BYTES = 16, 1 << 26
"""Pictures that are fetched at the same time, and their bytes."""


@dataclass(frozen=True, kw_only=True)
class ExtractRequest:
    """Which pictures to extract, and how."""

    pictures: str
    """A folder, or a pattern such as ``s3://bucket/photos/**/*.jpg``."""
    to: str
    """The folder of the rows."""
    bundle: str = ""
    """The address of all bundles [default: "", views that learn nothing]."""
    published: str = ""
    """The published name whose newest bundle has the views."""
    views: tuple[str, ...] = DEFAULT_VIEWS
    """The views without a bundle."""
    labels: str = ""
    """``folder`` makes the name of each picture's folder its label [default: "", without labels]."""
    partition: int = PARTITION
    """Number of pictures of a new partition."""
    max_pixels: int = MAX_PIXELS
    """Maximum number of pixels of a picture in memory."""


class Described(NamedTuple):
    """The rows and the facts of a picture."""

    width: int
    height: int
    content_hash: str
    rows: Mapping[str, FeatureRows]


class Finished(NamedTuple):
    """A partition whose rows are written."""

    number: int
    items: int
    failures: tuple[Failure, ...]


def extract_rows(request: ExtractRequest, executor: Executor = HERE, progress: Progress | None = None) -> Extraction:
    """Write the rows of pictures, a file for each partition; the same call continues an interrupted one.

    A finished partition is not read again. Files that came since the first call form further partitions.

    Raises InvalidInputError (no pictures, other rows in the folder), NotFoundError (bundle), NotReadyError,
    NotInstalledError, StorageError.
    """
    began = time.monotonic()
    _check(request)
    pictures, storage = listed_pictures(request.pictures), ObjectStorage(request.to)
    bundles, folder = "", ""
    if request.bundle:
        bundles = ObjectStorage(request.bundle).address
        folder = newest_bundle(ObjectStorage(bundles), request.published).folder
    with opened_views(bundles, folder, request.views) as collection:
        extractors, every = picture_views(collection), fits(collection)
    facts = RowFacts(pictures.base, request.labels, {view: every[view] for view in extractors})
    partitions = divided(storage, facts, pictures.files, request.partition)
    there = set(storage.names())
    todo = [partition for partition in partitions if part_name(partition.number) not in there]
    work = ExtractWork(
        pictures=facts.base,
        rows=storage.address,
        bundle=bundles,
        folder=folder,
        views=request.views,
        labels=request.labels,
        readers=executor.readers,
        max_pixels=request.max_pixels,
    )
    total, done, items, failures = sum(len(partition.files) for partition in todo), 0, 0, list[Failure]()
    for result in executor.results(work, todo) if todo else ():
        items += result.items
        failures += result.failures
        done += result.items + len(result.failures)
        if progress is not None:
            progress("extracting", done, total)
    return Extraction(
        rows=str(storage),
        items=items,
        bad=len(failures),
        partitions=len(todo),
        kept=len(partitions) - len(todo),
        failures=tuple(failures[:_MOST_LISTED]),
        seconds=time.monotonic() - began,
    )


def _check(request: ExtractRequest) -> None:
    if request.labels not in ("", FOLDER):
        raise InvalidInputError(f"labels of pictures in object storage come from their folder, not {request.labels!r}")
    if request.partition < 1:
        raise InvalidInputError(f"a partition has at least one picture, not {request.partition}")
    if bool(request.bundle) != bool(request.published):
        raise InvalidInputError("a bundle has an address and the name that it was published under: give both")


@dataclass(frozen=True, kw_only=True)
class ExtractWork:
    """The extraction of partitions, as every process opens it."""

    pictures: str
    """The address that the names of pictures begin at."""
    rows: str
    bundle: str
    folder: str
    """The path of the bundle below its address."""
    views: tuple[str, ...]
    labels: str
    readers: int | None
    """Number of processes that read pictures."""
    max_pixels: int

    @contextmanager
    def opened(self) -> Iterator[Callable[[Partition], Finished]]:
        """See ``Work.opened``: the extractors, and the processes that read pictures."""
        with (
            opened_views(self.bundle, self.folder, self.views) as collection,
            reading_files(self.readers, self.max_pixels, apart=True) as pictures,
        ):
            every, extractors = fits(collection), picture_views(collection)
            columns = {view: ViewColumn(extractor.dim, every[view]) for view, extractor in extractors.items()}
            yield _Extractor(self, pictures, extractors, columns).finished


@dataclass(frozen=True)
class _Extractor:
    work: ExtractWork
    pictures: Pictures
    extractors: Mapping[str, ImageExtractor]
    columns: Mapping[str, ViewColumn]

    def finished(self, partition: Partition) -> Finished:
        """Write the rows of a partition, unless a worker did so before it was killed."""
        rows, number = ObjectStorage(self.work.rows), partition.number
        if rows.exists(part_name(number)):
            return Finished(number, count_rows(rows, part_name(number)), read_bad(rows, number))
        reading = _Reading(ObjectStorage(self.work.pictures), self.work.max_pixels, self.extractors)
        picture_rows = list(self._rows(reading, partition.files))
        failures = [Failure(key_of(reading.storage.name, name), reason) for name, reason in reading.failures.items()]
        write_bad(rows, number, failures)
        write_rows(rows, number, self.columns, picture_rows)  # the last file: with it the partition is finished
        return Finished(number, len(picture_rows), tuple(failures))

    def _rows(self, reading: "_Reading", files: Sequence[PictureFile]) -> Iterator[PictureRow]:
        results = self.pictures.stream(describe, reading.tasks(files), checkpoint)
        for place, result in enumerate(results):
            name = reading.names[place]
            if isinstance(result, ImageError):
                reading.failures[name] = str(result)
                continue
            key = key_of(reading.storage.name, name)
            source, label = reading.storage.full(name), label_of(key, self.work.labels)
            yield PictureRow(key, source, result.width, result.height, result.content_hash, label, result.rows)


@dataclass(frozen=True)
class _Reading:
    """Reads the pictures of a partition, and notes those that cannot be read."""

    storage: ObjectStorage
    max_pixels: int
    extractors: Mapping[str, ImageExtractor]
    names: list[str] = field(default_factory=list)
    """The pictures that became tasks, in order."""
    failures: dict[str, str] = field(default_factory=dict)
    """The reason for each picture that cannot be read, by name."""

    def tasks(self, files: Sequence[PictureFile]) -> Iterator[PictureTask]:
        """Yield a task for each picture that is there; pictures of another machine are fetched some at a time."""
        for some in _batches(self._small(files)):
            names = [file.name for file in some]
            local = self.storage.is_local
            contents = [Path(self.storage.full(name)) for name in names] if local else self.storage.read_each(names)
            for name, content in zip(names, contents, strict=True):
                if isinstance(content, OSError):
                    self.failures[name] = content.strerror or str(content)
                else:
                    self.names.append(name)
                    yield PictureTask(content, self.extractors)

    def _small(self, files: Sequence[PictureFile]) -> Iterator[PictureFile]:
        """Yield the pictures that may be read; note the reason for the others."""
        for file in files:
            try:
                if file.reason:
                    raise ImageError(file.reason)
                check_file_bytes(file.size, self.max_pixels)
                yield file
            except ImageError as error:
                self.failures[file.name] = str(error)


def _batches(files: Iterator[PictureFile]) -> Iterator[list[PictureFile]]:
    """Yield files in batches of limited number and size."""
    batch, size = list[PictureFile](), 0
    for file in files:
        if batch and (len(batch) == _FETCHED or size + file.size > _FETCHED_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(file)
        size += file.size
    if batch:
        yield batch


def describe(data: bytes, extractors: Mapping[str, ImageExtractor], max_pixels: int = MAX_PIXELS) -> Described:
    """Return what a picture gives: the rows are those of ``extract``; ImageError for one that cannot be read."""
    picture = decode(data, max_pixels=max_pixels)
    rows = rows_of_picture(data, picture, extractors, max_pixels)
    return Described(picture.width, picture.height, content_hash(data), rows)
