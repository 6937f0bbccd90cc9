"""Import of a source: its rows become items, by a mapping of its columns."""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from crossview.engine.catalog.ingest.interruption import interruptible
from crossview.engine.catalog.ingest.plan import sample_size
from crossview.engine.catalog.transfer.arrow_sources import arrow_file, dataset_folder, parquet_file
from crossview.engine.catalog.transfer.first_fit import fit_pictures, fit_texts, unfitted_pictures
from crossview.engine.catalog.transfer.mapping import mapping, views_of
from crossview.engine.catalog.transfer.row_reader import RowReader
from crossview.engine.catalog.transfer.source import Column, Source, described
from crossview.engine.catalog.transfer.text_sources import (
    ArraySource,
    CocoSource,
    JsonLinesSource,
    JsonSource,
    TableSource,
    is_coco,
)
from crossview.engine.runtime.ahead import ahead
from crossview.engine.runtime.cancellation import checkpoint
from crossview.engine.runtime.progress import Progress
from crossview.engine.values.any_collection import AnyCollection
from crossview.engine.values.errors import Argument, InvalidInputError, Text, call
from crossview.engine.values.item import Failure, ImportReport, NewItem, Picture
from crossview.features.files import read_regular

_BATCH_BYTES, _BATCH_ITEMS = 1 << 22, 5_000
"""Bytes and items of one change of the collection."""
_VIEWS = ("color", "sift", "gist")
"""Views of pictures in a new collection."""
_FORMATS = "Parquet, Arrow, CSV, TSV, JSON lines, COCO JSON, .npy, .npz, or a folder of Hugging Face datasets"


def opened(path: Path, keys: Path | None = None) -> Source:
    """Return the source in a file or folder, by the ending of its name.

    Raises InvalidInputError for a file that cannot be read, NotReadyError without pyarrow.
    """
    if path.is_dir():
        if keys is None and (folder := dataset_folder(path)) is not None:
            return folder
        raise InvalidInputError(
            f"the folder {path} contains no export, no Hugging Face data set and no Parquet files: name a "
            "file, or index a folder of pictures with: ",
            call("collection.index", [str(path)]),
        )
    if not path.exists():
        raise InvalidInputError(f"{path} does not exist: name a file or folder ({_FORMATS})")
    ending = path.suffix.lower()
    if keys is not None and ending not in (".npy", ".npz"):
        raise InvalidInputError(f"a file of keys belongs to an .npy or .npz file, not to {path}")
    sources: dict[str, Callable[[], Source]] = {
        ".parquet": lambda: parquet_file(path),
        ".pq": lambda: parquet_file(path),
        ".arrow": lambda: arrow_file(path),
        **dict.fromkeys((".csv", ".tsv", ".txt"), lambda: TableSource(path)),
        **dict.fromkeys((".jsonl", ".ndjson"), lambda: JsonLinesSource(path)),
        ".json": lambda: _json_source(path),
        **dict.fromkeys((".npy", ".npz"), lambda: ArraySource(path, keys)),
    }
    if ending not in sources:
        raise InvalidInputError(f"{path} has an unknown ending: rename the file to one of {', '.join(sources)}")
    return sources[ending]()


def _json_source(path: Path) -> Source:
    try:
        content = json.loads(read_regular(path))
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(f"{path} is not JSON: {error}") from error
    if is_coco(content):
        return CocoSource(path, content)
    if isinstance(content, list):
        return JsonSource(path, content)
    raise InvalidInputError(f"{path} is neither COCO (images, annotations) nor a list of objects")


class ForeignData:
    """Data of another program: its columns, what they become, and its items.

    ``columns`` says what columns become, where the guess is wrong: ``key``, ``label``, ``text``, ``attribute``,
    ``picture``, ``vector`` or ``skip``, and a name after a colon, as in ``vector:clip``. ``images`` is the folder that
    paths of pictures begin at [default: the folder of the source]. ``keys`` is a file with the keys of a ``.npy``.

    Raises InvalidInputError for a source that cannot be read or a wrong correction, NotReadyError without pyarrow.
    """

    def __init__(
        self,
        path: Path | str,
        columns: Mapping[str, str] | None = None,
        images: Path | None = None,
        keys: Path | None = None,
    ) -> None:
        self._path = Path(path)
        self.source: Source = opened(self._path, keys)
        self._images = images
        self._columns: tuple[Column, ...] = described(self.source, images)
        if not self._columns:
            raise InvalidInputError(f"{path} contains no row that can be read")
        self.meanings = mapping(self.source, self._columns, columns or {})
        self.vectors: dict[str, int] = views_of(self.meanings, self._columns)
        """The dimension of each view that columns of vectors fill."""
        self.has_pictures: bool = any(meaning.role == "picture" for meaning in self.meanings)
        self.has_texts: bool = any(meaning.role == "text" for meaning in self.meanings)
        self._reader = RowReader(self.meanings, self.source, images or self.source.folder)

    def views(self, chosen: Sequence[str] = ()) -> list[str]:
        """Return the views of a new collection for this data: ``chosen`` [default: those of pictures and texts], and
        those of its vectors.

        Raises InvalidInputError if the data has neither pictures, texts nor vectors.
        """
        vector_views = [f"{name}=vectors:dim={width}" for name, width in self.vectors.items()]
        computed = [*(_VIEWS if self.has_pictures else ()), *(("text",) if self.has_texts else ())]
        views = [*(chosen or computed), *vector_views]
        if not views:
            raise InvalidInputError(
                f"{self._path} has no column of pictures, texts or vectors, from which items of a new "
                "collection could be found: name one with ",
                Argument("columns", {"COLUMN": "text"}),
                ", or import into a collection that has the items",
            )
        return views

    def notes(self) -> list[str]:
        """Return a sentence on each column that names pictures which are not there."""
        folder = self._images or self.source.folder
        return [
            Text(
                f"the pictures that the column {column.name!r} names are not below {folder}: name their folder with ",
                Argument("images", "DIR"),
            )
            for column in self._columns
            if column.kind == "lost"
        ]

    def check(self, collection: AnyCollection) -> None:
        """Raise InvalidInputError if a view of an existing collection has another dimension."""
        dims = {view.name: view.dim for view in collection.views()}
        for name, width in self.vectors.items():
            if dims.get(name, width) != width:
                column = next(m.column for m in self.meanings if (m.role, m.name) == ("vector", name))
                raise InvalidInputError(
                    f"{self._path} has vectors of {width} numbers, and the view {name!r} has {dims[name]}: name "
                    "another view with ",
                    Argument("columns", {column: "vector:VIEW"}),
                )

    def import_into(self, collection: AnyCollection, progress: Progress | None = None) -> ImportReport:
        """Write the items; a row that cannot be used is a failure of the report.

        Views of vectors are added, and views that learn from pictures or texts are fitted first. Items that exist are
        updated, so the same call continues an interrupted import.

        Raises InvalidInputError (a view of another dimension), NotReadyError, BusyError, StorageError.
        """
        began = time.monotonic()
        self.check(collection)
        views = {view.name for view in collection.views()}
        for name, width in self.vectors.items():
            if name not in views:
                collection.views.add(f"{name}=vectors:dim={width}")
        waiting = self._fit(collection, progress) if self.has_pictures else ()
        with interruptible() as committed:
            report = ImportReport()
            for done, batch in ahead(self._batches()):
                checkpoint()
                report = _sum(report, _put(collection, batch))
                committed.items = report.added + report.updated
                if progress is not None:
                    progress("importing", done, self.source.count)
            failures = (*self._reader.failures, *report.failures, *fit_texts(collection))
        return replace(
            report, failures=failures, notes=(*waiting, *self._reader.notes()), seconds=time.monotonic() - began
        )

    def _batches(self) -> Iterator[tuple[int, list[NewItem]]]:
        """Yield items in batches of limited size, with the number of rows read so far."""
        batch: list[NewItem] = []
        size = done = 0
        for done, row in enumerate(self.source, 1):
            item = self._reader.item(row)
            if item is None:
                continue
            weight = _weight(item)
            if batch and (size + weight > _BATCH_BYTES or len(batch) >= _BATCH_ITEMS):
                yield done - 1, batch
                batch, size = [], 0
            batch.append(item)
            size += weight
        yield done, batch

    def _fit(self, collection: AnyCollection, progress: Progress | None) -> tuple[str, ...]:
        """Fit the unfitted views of pictures on a sample that is spread evenly over the rows; return notes."""
        names = unfitted_pictures(collection)
        if not names or not self.source.count:
            return ()
        size = sample_size(self.source.count)
        sampled = set(np.linspace(0, self.source.count - 1, size).astype(int).tolist())
        reader = RowReader(self.meanings, self.source, self._images or self.source.folder)

        def pictures() -> Iterator[Picture]:
            read = 0
            for number, row in enumerate(self.source):
                if number not in sampled:
                    continue
                item = reader.item(row)
                read += 1
                if item is not None and item.image is not None:
                    yield Picture(item.image, item.labels or ())
                if progress is not None:
                    progress("fitting", read, size)

        return fit_pictures(collection, pictures(), names)


def _weight(item: NewItem) -> int:
    rows = sum(4 * len(row) for row in item.rows.values())
    return len(item.image or b"") + rows + len(item.text or "")


def _put(collection: AnyCollection, batch: Sequence[NewItem]) -> ImportReport:
    """Write items; if a whole batch is refused, find the items that are."""
    if not batch:
        return ImportReport()
    try:
        return collection.items.put(batch)
    except InvalidInputError as error:
        if len(batch) == 1:
            return ImportReport(failures=(Failure(batch[0].key, str(error)),))
    half = len(batch) // 2
    return _sum(_put(collection, batch[:half]), _put(collection, batch[half:]))


def _sum(report: ImportReport, other: ImportReport) -> ImportReport:
    return ImportReport(
        added=report.added + other.added,
        updated=report.updated + other.updated,
        unchanged=report.unchanged + other.unchanged,
        failures=(*report.failures, *other.failures),
    )
