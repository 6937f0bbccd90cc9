"""Vectors of other programs: files of rows, checked before the first write, then sent in batches."""

import sys
import time
import zipfile
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from crossview.engine.catalog.catalog import Catalog, Transaction
from crossview.engine.catalog.checks import check_key, normal
from crossview.engine.catalog.extractors import check_fitted, find_view
from crossview.engine.catalog.ingest.interruption import interruptible
from crossview.engine.catalog.ingest.table import read_lines
from crossview.engine.catalog.values import to_rows, usable
from crossview.engine.catalog.views import ViewRecord
from crossview.engine.catalog.writing import check_views, put_matrix, until_not_overtaken
from crossview.engine.runtime.ahead import ahead
from crossview.engine.runtime.progress import Progress
from crossview.engine.values.errors import AlreadyExistsError, Argument, InvalidInputError
from crossview.engine.values.info import ViewInfo
from crossview.engine.values.item import Failure, ImportReport
from crossview.features.files import open_regular
from crossview.features.vectors import MAX_DIM

_ROWS_AT_ONCE, _BYTES_AT_ONCE = 5_000, 1 << 22
"""Rows and bytes of one commit, so small that other writers wait about a tenth of a second."""
_ZIP = b"PK"
"""First bytes of an .npz file, with arrays and without."""
_LARGE, _MOST_GROWTH = 1 << 28, 100
"""Bytes that a compressed file may always become in memory, and beyond them, how many times its own."""
_CHECKED_BYTES = 1 << 26
"""Bytes of rows in memory during the check."""

Vectors = NDArray[Any]


class VectorViews(Protocol):
    """The views of a collection, local or on a server."""

    def __call__(self) -> tuple[ViewInfo, ...]:
        """Return the views."""

    def add(self, spec: str) -> ViewInfo:
        """Add a view."""


class VectorItems(Protocol):
    """The items of a collection, local or on a server."""

    def keys(self) -> tuple[str, ...]:
        """Return the keys of all items, in their order."""

    def put_vectors(self, view: str, keys: Sequence[str], rows: NDArray[np.float32]) -> ImportReport:
        """Write rows of a view by key."""


@dataclass(frozen=True)
class _File:
    """Rows of a file, perhaps with their keys."""

    path: Path
    rows: Vectors
    """Shape (n, d), memory-mapped if the file allows it."""
    keys: tuple[str, ...] | None


def index_vectors(
    items: VectorItems,
    views: VectorViews,
    view: str,
    path: Path,
    keys: Path | None = None,
    progress: Progress | None = None,
) -> ImportReport:
    """Give a view of a collection the rows of a file; see ``Items.index_vectors``."""
    began = time.monotonic()
    file = _read(path, keys)
    _check_keys(file)
    unusable = _unusable_rows(file, progress)
    dims = {info.name: info.dim for info in views()}
    if dims.get(view, file.rows.shape[1]) != file.rows.shape[1]:
        raise InvalidInputError(
            f"{path} has rows of {file.rows.shape[1]} numbers; view {view!r} has {dims[view]}: name a new view"
        )
    names = _all_keys(items, file) if file.keys is None else file.keys
    if view not in dims:
        with suppress(AlreadyExistsError):  # another process was faster; a later check compares the rows with its view
            views.add(f"{view}=vectors:dim={file.rows.shape[1]}")
    at_once = min(_ROWS_AT_ONCE, max(1, _BYTES_AT_ONCE // (4 * file.rows.shape[1])))
    counts = np.zeros(3, np.int64)
    done = 0
    with interruptible() as committed:
        for part, rows in ahead(_blocks(file, names, at_once, unusable)):
            report = items.put_vectors(view, part, rows)
            counts += (report.added, report.updated, report.unchanged)
            committed.items += report.added + report.updated
            done += len(part)
            if progress:
                progress("indexing", done, len(names))
    added, updated, unchanged = counts.tolist()
    failures = tuple(Failure(names[row], reason) for row, reason in unusable.items())
    return ImportReport(
        added=added, updated=updated, unchanged=unchanged, failures=failures, seconds=time.monotonic() - began
    )


def _blocks(
    file: _File, names: tuple[str, ...], at_once: int, unusable: Container[int]
) -> Iterator[tuple[tuple[str, ...], NDArray[np.float32]]]:
    """Yield the keys and rows of a file, at most ``at_once`` at a time, without the unusable rows."""
    for start in range(0, len(names), at_once):
        rows = [row for row in range(start, min(start + at_once, len(names))) if row not in unusable]
        if rows:
            yield tuple(names[row] for row in rows), np.array(file.rows[rows], np.float32)


def put_vectors(catalog: Catalog, name: str, keys: Sequence[str], rows: NDArray[np.float32]) -> ImportReport:
    """Write rows of a view by key, in one change; see ``Collection.items.put_vectors``."""
    began = time.monotonic()
    check_keys(keys, len(rows))
    added, updated = until_not_overtaken(lambda: _put(catalog, name, keys, rows))
    return ImportReport(
        added=added, updated=updated, unchanged=len(keys) - added - updated, seconds=time.monotonic() - began
    )


def check_keys(keys: Sequence[str], rows: int) -> None:
    """Raise InvalidInputError unless each of ``rows`` rows has its own key."""
    for key in keys:
        check_key(key)
    if len(keys) != rows or len(set(map(normal, keys))) < len(keys):
        raise InvalidInputError(f"{len(set(keys))} different keys for {rows} rows: each row needs its own")


@dataclass(frozen=True)
class _Differing:
    """The rows that differ from the stored ones, in one state of the catalog."""

    state: tuple[str, int]
    known: Mapping[str, int]
    """The ids of existing keys."""
    rows: NDArray[np.bool_]
    """(n,), whether a row differs."""

    @classmethod
    def of(cls, tx: Transaction, view: ViewRecord, keys: Sequence[str], rows: NDArray[np.float32]) -> Self:
        """Compare rows of a view, shape (n, d), with the stored rows."""
        ids = tx.items.ids_of(keys)
        stored = tx.rows.get(view, ids.values())
        items = np.array([ids.get(key, 0) for key in keys], np.int64)
        differs = ~np.isin(items, stored.ids)
        there = np.flatnonzero(~differs)
        differs[there] = (stored.rows[np.searchsorted(stored.ids, items[there])] != rows[there]).any(axis=1)
        return cls(tx.head().state, ids, differs)


def _put(catalog: Catalog, name: str, keys: Sequence[str], rows: NDArray[np.float32]) -> tuple[int, int]:
    """Write the rows that differ; return the number of new items, and of other items with new rows."""
    with catalog.read() as tx:
        view = find_view(tx, name)
        check_fitted(tx, view)
        if rows.shape[1:] != (view.dim,):
            raise InvalidInputError(f"rows of view {name!r} have shape (n, {view.dim}), not {rows.shape}")
        checked = to_rows(rows, lambda row: f"row {row + 1}, of key {keys[row]!r}")
        differing = _Differing.of(tx, view, keys, checked)
    if not differing.rows.any():
        return 0, 0
    with catalog.write() as tx:
        check_views(tx, [view])
        # another commit came first: rows that were stored may have to be written now
        if tx.head().state != differing.state:
            differing = _Differing.of(tx, view, keys, checked)
        changed = [key for key, differs in zip(keys, differing.rows.tolist(), strict=True) if differs]
        added = put_matrix(tx, view, changed, checked[differing.rows], differing.known) if changed else 0
    return added, len(changed) - added


def _read(path: Path, keys: Path | None) -> _File:
    with loading(path), open_regular(path) as file:
        if file.read(len(_ZIP)) != _ZIP:
            rows = np.load(path, mmap_mode="r", allow_pickle=False)
            return _File(path, _numbers(path, rows), None if keys is None else read_lines(keys))
        file.seek(0)
        check_archive(path)
        return _named(path, np.load(file, allow_pickle=False), keys)


def check_archive(path: Path) -> None:
    """Raise InvalidInputError for an ``.npz`` file that would grow out of all proportion in memory."""
    if not zipfile.is_zipfile(path):
        return
    with zipfile.ZipFile(path) as archive:
        size = sum(member.file_size for member in archive.infolist())
    stored = path.stat().st_size
    if size > _LARGE and size > _MOST_GROWTH * stored:
        raise InvalidInputError(
            f"{path} has {stored:,} bytes, and its arrays would have {size:,}: write them with numpy.savez, or as .npy"
        )


@contextmanager
def loading(path: Path) -> Iterator[None]:
    """Raise InvalidInputError, with the reason, if a file cannot be opened, or NumPy cannot load it."""
    try:
        yield
    except InvalidInputError:
        raise
    # For damaged files, NumPy and zipfile raise exceptions of any class: KeyError, OverflowError, zlib.error ...
    except Exception as error:
        if isinstance(error, OSError) and error.filename is not None:
            raise InvalidInputError(f"{error.filename}: {error.strerror}") from error
        # For any other file NumPy's message speaks of pickle, which would mislead users.
        reason = "it is not a .npy or .npz file" if "pickle" in str(error) else str(error) or type(error).__name__
        raise InvalidInputError(
            f"{path} is not an array of numbers: {reason}; write it with numpy.save or numpy.savez"
        ) from error


def _named(path: Path, arrays: Any, keys: Path | None) -> _File:
    if set(arrays.files) != {"keys", "vectors"}:
        raise InvalidInputError(
            f"{path} must contain two arrays, keys and vectors; it contains: {', '.join(arrays.files) or 'none'}"
        )
    if keys is not None:
        raise InvalidInputError(f"{path} already contains keys: leave out the file {keys}")
    return _File(path, _numbers(path, arrays["vectors"]), _texts(path, arrays["keys"]))


def _numbers(path: Path, rows: Vectors) -> Vectors:
    if rows.dtype.kind not in "fiu":
        raise InvalidInputError(f"{path} contains {rows.dtype}, not numbers")
    if rows.ndim != 2 or 0 in rows.shape:
        raise InvalidInputError(f"{path} has shape {rows.shape}; vectors have shape (n, d), with n and d at least 1")
    if rows.shape[1] > MAX_DIM:
        raise InvalidInputError(f"{path} has rows of {rows.shape[1]} numbers; a view may have at most {MAX_DIM}")
    return rows


def _texts(path: Path, keys: NDArray[Any]) -> tuple[str, ...]:
    if keys.ndim != 1 or keys.dtype.kind != "U":
        raise InvalidInputError(f"{path}: keys must be an array of n strings, not {keys.shape} of {keys.dtype}")
    _check_characters(path, keys)
    return tuple(keys.tolist())


def _check_characters(path: Path, keys: NDArray[Any]) -> None:
    """Raise InvalidInputError for code points beyond Unicode, which Python must not turn into texts."""
    if not (keys.size and keys.itemsize):
        return
    native = np.ascontiguousarray(keys).astype(keys.dtype.newbyteorder("="))
    most = native.view(np.uint32).reshape(len(keys), -1).max(axis=1)
    if most.max() > sys.maxunicode:
        row = int(np.argmax(most > sys.maxunicode))
        raise InvalidInputError(
            f"{path}: the key of row {row + 1} contains {most[row]:#x}, which is not a Unicode character"
        )


def _check_keys(file: _File) -> None:
    """Raise InvalidInputError unless a file that has keys has a valid one of its own for each row."""
    if file.keys is None:
        return
    if len(file.keys) != len(file.rows):
        raise InvalidInputError(
            f"{len(file.keys):,} keys do not match the {len(file.rows):,} rows of {file.path}: give a key for each"
        )
    forms = set[str]()
    for number, key in enumerate(file.keys, 1):
        if normal(check_key(key)) in forms:
            raise InvalidInputError(f"key {key!r} is duplicated in row {number} of {file.path}: each row needs its own")
        forms.add(normal(key))


def _unusable_rows(file: _File, progress: Progress | None) -> dict[int, str]:
    """Return the rows that cannot be written, from 0, with the reasons; InvalidInputError if no row can."""
    reasons: dict[int, str] = {}
    size = max(1, _CHECKED_BYTES // (file.rows.itemsize * file.rows.shape[1]))
    for start in range(0, len(file.rows), size):
        rows = file.rows[start : start + size]
        with np.errstate(over="ignore"):  # values beyond float32 become infinite
            wrong = np.flatnonzero(~usable(np.asarray(rows, np.float32)))
        for row in wrong.tolist():
            try:
                to_rows(rows[row : row + 1], partial(_row_name, file, start + row))
            except InvalidInputError as error:
                reasons[start + row] = str(error)
        if progress is not None:
            progress("checking", start + len(rows), len(file.rows))
    if len(reasons) == len(file.rows):
        raise InvalidInputError(reasons[0])
    return reasons


def _row_name(file: _File, start: int, row: int) -> str:
    key = "" if file.keys is None else f" (key {file.keys[start + row]!r})"
    return f"row {start + row + 1} of {file.path}{key}"


def _all_keys(items: VectorItems, file: _File) -> tuple[str, ...]:
    """Return the collection's keys in order; InvalidInputError unless there is one for each row."""
    keys = items.keys()
    if len(keys) != len(file.rows):
        raise InvalidInputError(
            f"{file.path} has {len(file.rows):,} rows and the collection {len(keys):,} items: without keys "
            "they must be as many (rows then go to the items in the order of keys); give ",
            Argument("keys"),
        )
    return keys
