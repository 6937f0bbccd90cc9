"""Export: a whole collection in one state as a folder of Parquet files, which an interrupted export continues."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from crossview.engine.catalog.catalog import now
from crossview.engine.catalog.connecting import reading
from crossview.engine.catalog.database import storage_errors
from crossview.engine.catalog.database_copies import Progress
from crossview.engine.catalog.file_errors import file_errors
from crossview.engine.catalog.folder import sync_folder
from crossview.engine.catalog.leftovers import alone_at_work
from crossview.engine.catalog.new_catalog import LEFT
from crossview.engine.catalog.private import make_folder
from crossview.engine.catalog.transfer.manifest import MANIFEST, UNFINISHED, Manifest, Part, read_unfinished
from crossview.engine.catalog.transfer.parts import ROWS, Layout, is_whole, pyarrow, write_part
from crossview.engine.runtime.cancellation import checkpoint
from crossview.engine.values.errors import AlreadyExistsError, InvalidInputError

_ROWS_AT_ONCE = 1_000


class StoredView(NamedTuple):
    """A view, with what its rows need."""

    id: int
    name: str
    dim: int


class StoredTables:
    """One state of the database in a file. The log of the database grows until ``close``. Raises StorageError."""

    version: Any
    name: Any
    active_space: Any

    def __init__(self, path: Path) -> None:
        with storage_errors():
            self._database = reading(path)
            self._database.execute("BEGIN")  # holds one state during later writes
            (self.version,) = self._one("SELECT version_num FROM alembic_version")
            self.name, self.active_space, history, sequence = self._one(
                "SELECT name, active_space, history, sequence FROM collection"
            )
        self.state: str = f"{history}-{sequence}"
        """The identity of the items, rows and spaces; facts about files and judgements can differ in equal states."""

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def tables(self) -> dict[str, dict[str, str]]:
        """Return the declared type of each column of each table, in the order in which the tables need each other."""
        query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY rowid"
        with storage_errors():
            names = [name for (name,) in self._database.execute(query) if name not in LEFT]
            return {name: self._columns(name) for name in names}

    def views(self) -> list[StoredView]:
        """Return the views in the order of their ids."""
        with storage_errors():
            return [StoredView(*row) for row in self._database.execute("SELECT id, name, dim FROM views ORDER BY id")]

    def count(self, table: str) -> int:
        """Return the number of rows of a table."""
        with storage_errors():
            return int(self._one(f"SELECT count(*) FROM {table}")[0])  # noqa: S608 - a name of this program's schema

    def items(self) -> int:
        """Return the number of items."""
        return self.count("items WHERE NOT deleted")

    def rows(self, table: str, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a table in the order of their writing."""
        return self._each(f"SELECT {', '.join(columns)} FROM {table} ORDER BY rowid")  # noqa: S608 - names of this program's schema

    def ranges(self, table: str, size: int, view: int | None = None) -> Iterator[tuple[int, int]]:
        """Yield the first id and the bound of ranges of ``size`` ids of items with rows in a table, or of a view."""
        where = "" if view is None else f"view_id = {view:d} AND "
        bound = 0
        while True:
            with storage_errors():
                (first,) = self._one(f"SELECT min(item_id) FROM {table} WHERE {where}item_id >= {bound:d}")  # noqa: S608 - a name of this program's schema, and numbers
            if first is None:
                return
            bound = first + size
            yield first, bound

    def range(
        self, table: str, columns: Sequence[str], ids: tuple[int, int], view: int | None = None
    ) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of one of the ``ranges`` in the order of the ids."""
        where = "" if view is None else f"view_id = {view:d} AND "
        return self._each(
            f"SELECT {', '.join(columns)} FROM {table} "  # noqa: S608 - names of this program's schema, and numbers
            f"WHERE {where}item_id >= {ids[0]:d} AND item_id < {ids[1]:d} ORDER BY item_id"
        )

    def _each(self, query: str) -> Iterator[tuple[Any, ...]]:
        with storage_errors():
            cursor = self._database.execute(query)
        while True:
            with storage_errors():
                rows = cursor.fetchmany(_ROWS_AT_ONCE)
            if not rows:
                return
            yield from rows

    def _columns(self, table: str) -> dict[str, str]:
        return {name: kind for _, name, kind, *_ in self._database.execute(f"PRAGMA table_info({table})")}

    def _one(self, query: str) -> Any:
        return self._database.execute(query).fetchone()


_PART_BYTES = 1 << 26
"""Bytes of the rows of a view in one part, roughly."""
_PICTURES = {"thumbnails": 5_000, "previews": 1_000}
"""The tables of pictures, with the number of pictures in a part."""
_IN_PARTS = (ROWS, *_PICTURES)
"""Tables in several files, which stay if the export is interrupted; the others are small, and written again."""


@dataclass(frozen=True, kw_only=True)
class Exported:
    """The result of an export."""

    folder: Path
    items: int
    files: int
    bytes: int
    kept: int
    """The files that an interrupted export had finished."""


def export_collection(database: Path, folder: Path, progress: Progress | None = None) -> Exported:
    """Write one state of a collection to a folder; other processes can write the collection meanwhile.

    A folder in which an export was interrupted keeps its finished files if the collection has not changed.

    Raises AlreadyExistsError for the folder of a finished export, InvalidInputError for a folder with other files,
    NotReadyError without pyarrow, BusyError while another process exports there, StorageError.
    """
    pyarrow()
    _prepare(folder)
    with alone_at_work(folder), closing(StoredTables(database)) as tables:
        return _Export(tables, folder, progress).run()


def _prepare(folder: Path) -> None:
    """Make the folder, or check that an export may write there."""
    if (folder / MANIFEST).exists():
        raise AlreadyExistsError(f"{folder} contains a finished export: choose another folder, or remove it first")
    if not folder.parent.is_dir():
        raise InvalidInputError(f"the folder {folder.parent} does not exist")
    with file_errors():
        if folder.exists() and not folder.is_dir():
            raise InvalidInputError(f"{folder} is a file: choose another name for the folder of the export")
        if folder.is_dir() and any(folder.iterdir()) and not (folder / UNFINISHED).exists():
            raise InvalidInputError(f"the folder {folder} contains other files: choose a new or an empty folder")
        make_folder(folder)


class _Export:
    def __init__(self, tables: StoredTables, folder: Path, progress: Progress | None) -> None:
        self._tables, self._folder, self._progress = tables, folder, progress
        self._kinds = tables.tables()
        self._counts = {name: tables.count(name) for name in self._kinds}
        self._done, self._kept = 0, 0
        self._parts: list[Part] = []
        self._manifest = Manifest(
            name=tables.name,
            schema=tables.version,
            crossview=version("crossview"),
            created=now(),
            state=tables.state,
            active_space=tables.active_space,
            counts=self._counts,
        )
        self._finished = self._earlier()

    def run(self) -> Exported:
        """Write all parts and the manifest."""
        self._note()
        with file_errors():
            make_folder(self._folder / ROWS)
        for table in self._kinds:
            if table == ROWS:
                self._rows()
            elif table in _PICTURES:
                self._pictures(table)
            elif self._counts[table]:
                self._table(table)
        self._remove_others()
        final = replace(self._manifest, items=self._tables.items(), parts=tuple(self._parts))
        sync_folder(self._folder / ROWS)
        final.write(self._folder / MANIFEST)
        with file_errors():
            (self._folder / UNFINISHED).unlink(missing_ok=True)
        size = sum(part.bytes for part in self._parts) + (self._folder / MANIFEST).stat().st_size
        return Exported(folder=self._folder, items=final.items, files=len(self._parts) + 1, bytes=size, kept=self._kept)

    def _earlier(self) -> Mapping[str, Part]:
        """Return the finished parts, by path, of an interrupted export of the same state."""
        prior = read_unfinished(self._folder)
        same = prior is not None and (prior.state, prior.schema) == (self._manifest.state, self._manifest.schema)
        return {part.path: part for part in prior.parts if part.table in _IN_PARTS} if prior and same else {}

    def _rows(self) -> None:
        for view in self._tables.views():
            layout = Layout(ROWS, self._kinds[ROWS], view.dim)
            ranges = self._tables.ranges(ROWS, max(1, _PART_BYTES // (4 * view.dim)), view.id)
            for number, ids in enumerate(ranges):
                part = _new_part(f"{ROWS}/{view.name}-{number:04}.parquet", ROWS)
                part = replace(part, view=view.name, view_id=view.id, dim=view.dim)
                columns = ("item_id", "revision", "data")
                self._part(part, layout, self._tables.range(ROWS, columns, ids, view.id))

    def _pictures(self, table: str) -> None:
        kinds = self._kinds[table]
        for number, ids in enumerate(self._tables.ranges(table, _PICTURES[table])):
            part = _new_part(f"{table}-{number:04}.parquet", table)
            self._part(part, Layout(table, kinds), self._tables.range(table, tuple(kinds), ids))

    def _table(self, table: str) -> None:
        kinds = self._kinds[table]
        self._part(_new_part(f"{table}.parquet", table), Layout(table, kinds), self._tables.rows(table, tuple(kinds)))

    def _part(self, part: Part, layout: Layout, rows: Iterator[tuple[object, ...]]) -> None:
        """Write one part, unless an interrupted export has finished it."""
        checkpoint()
        earlier = self._finished.get(part.path)
        if earlier is not None and is_whole(self._folder, earlier):
            self._parts.append(earlier)
            self._kept += 1
            self._wrote(earlier.rows)
            return
        count, size, digest = write_part(self._folder, part.path, layout, rows, self._wrote)
        self._parts.append(replace(part, rows=count, bytes=size, sha256=digest))
        if part.table in _IN_PARTS:
            self._note()

    def _note(self) -> None:
        """Record the finished parts for an export that continues this one."""
        parts = {**self._finished, **{part.path: part for part in self._parts}}
        replace(self._manifest, parts=tuple(parts.values())).write(self._folder / UNFINISHED)

    def _wrote(self, rows: int) -> None:
        checkpoint()
        self._done += rows
        if self._progress is not None:
            self._progress(self._done, sum(self._counts.values()))

    def _remove_others(self) -> None:
        """Remove the files of an interrupted export of another state."""
        paths = {self._folder / part.path for part in self._parts}
        with file_errors():
            for pattern in ("*.parquet", "*.part", f"{ROWS}/*.parquet", f"{ROWS}/*.part"):
                for path in self._folder.glob(pattern):
                    if path not in paths:
                        path.unlink()


def _new_part(path: str, table: str) -> Part:
    return Part(path=path, table=table, rows=0, bytes=0, sha256="")
