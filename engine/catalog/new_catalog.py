"""The catalog of a collection in the making: checked values of rows that are not trusted, in tables of this program."""

import json
import math
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from crossview.engine.catalog.checks import MAX_SOURCE
from crossview.engine.catalog.database import known_versions, new_database, storage_errors
from crossview.engine.catalog.database_copies import Progress, damaged, opened_copy
from crossview.engine.catalog.folder import CollectionFolder
from crossview.engine.catalog.private import make_file, sync_file
from crossview.engine.catalog.soundness import check_sound
from crossview.engine.runtime.cancellation import checkpoint
from crossview.engine.values.errors import InvalidInputError
from crossview.features.vectors import MAX_VALUE

LEFT = ("alembic_version", "snapshots")
"""Tables that do not move: the version is that of the new tables, and the snapshots are in another folder."""
_JSON: Mapping[str, type] = {
    **dict.fromkeys(("attributes", "params", "summary", "threshold", "file", "packaged", "choice", "fields"), dict),
    **dict.fromkeys(("near", "far"), list),
}
"""The type of the values of each JSON column."""
_DEEPEST = 64
"""Levels of nested lists and objects; items may have fewer."""
_LARGEST = 2**62
"""Bound of integers: the integer after any accepted one also has 64 bits."""
_ROWS_AT_ONCE = 1_000
_PIECES = "pieces"
"""The table of the finished pieces, which the finished catalog does not have."""
_QUICK = ("journal_mode=OFF", "synchronous=OFF")
"""Without a log: after an error the whole file is deleted."""
_LASTING = ("journal_mode=TRUNCATE", "synchronous=FULL")

_FAR = """
SELECT items.key, views.name FROM rows JOIN items ON items.id = rows.item_id JOIN views ON views.id = rows.view_id
WHERE NOT within(rows.data) AND NOT EXISTS
(SELECT 1 FROM suspect_rows noted WHERE noted.view_id = rows.view_id AND noted.item_id = rows.item_id) LIMIT 1
"""
"""The first row with values that no distance can be computed from; those that an earlier version accepted are noted."""

_Check = Callable[[Any], bool]


class NewCatalog:
    """The catalog of a new collection in a folder that no other process uses, filled piece by piece.

    ``version`` is the schema version of the rows. If it is ``lasting``, each piece is on the disk when ``bring``
    returns, and another object in the same folder continues; otherwise the caller deletes the folder after an error.
    ``damaged`` returns the error for content that crossview would not write.
    """

    def __init__(
        self, folder: Path, version: str, damaged: Callable[[str], InvalidInputError], lasting: bool = False
    ) -> None:
        self._folder, self._damaged, self._lasting = folder, damaged, lasting
        self._done, self._total = 0, 0
        self._progress: Progress | None = None
        path = CollectionFolder(folder).database
        with storage_errors():
            if not (lasting and _continues(path)):
                with suppress(FileNotFoundError):
                    path.unlink()
                make_file(path)
                new_database(path, version)
            self._made = sqlite3.connect(path, isolation_level=None)
            for pragma in _LASTING if lasting else _QUICK:
                self._made.execute(f"PRAGMA {pragma}").fetchone()
            if lasting:
                self._made.execute(f"CREATE TABLE IF NOT EXISTS {_PIECES} (name TEXT PRIMARY KEY)")
            columns = _columns(self._made)
        self.tables: dict[str, dict[str, str]] = {
            table: {name: kind for name, kind, _ in specs} for table, specs in columns.items()
        }
        """The declared type of each column of each table, in the order in which the tables need each other."""
        self._checks = {table: {spec[0]: _check(*spec) for spec in specs} for table, specs in columns.items()}

    def close(self) -> None:
        """Close the file."""
        self._made.close()

    def pieces(self) -> set[str]:
        """Return the names of the finished pieces of a lasting catalog."""
        with storage_errors():
            return {name for (name,) in self._made.execute(f"SELECT name FROM {_PIECES}")}  # noqa: S608 - a constant

    def expect(self, total: int, progress: Progress | None, done: int = 0) -> None:
        """Report the progress of ``total`` rows, of which ``done`` are already there, to a function."""
        self._done, self._total, self._progress = done, total, progress

    def bring(self, piece: str, table: str, rows: Iterable[Sequence[Any]]) -> None:
        """Write rows of a table, with the columns of ``tables``, in one change.

        Raises InvalidInputError for a value that crossview would not write, and StorageError.
        """
        columns = self._checks[table]
        statement = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"  # noqa: S608 - names of this program's schema
        with storage_errors():
            self._made.execute("BEGIN")
            try:
                self._made.executemany(statement, self._reported(self._checked(table, rows)))
                if self._lasting:
                    self._made.execute(f"INSERT INTO {_PIECES} VALUES (?)", (piece,))  # noqa: S608 - a constant
                self._made.execute("COMMIT")
            except sqlite3.IntegrityError as error:
                raise self._damaged(str(error)) from None
            finally:
                if self._made.in_transaction:
                    self._made.execute("ROLLBACK")

    def finish(self) -> Path:
        """Check the whole, migrate it, and give it a new history of changes; return its file."""
        folder = CollectionFolder(self._folder)
        with storage_errors():
            if (row := self._made.execute("PRAGMA foreign_key_check").fetchone()) is not None:
                raise self._damaged(f"a row of table {row[0]} refers to a missing row of table {row[2]}")
            self._made.execute(f"DROP TABLE IF EXISTS {_PIECES}")
            self._made.execute("PRAGMA journal_mode=WAL").fetchone()
            self._made.close()
            sync_file(folder.database)
        try:
            # Opening the catalog migrates it.
            with closing(folder.open_catalog()) as catalog, catalog.write() as tx:
                check_sound(tx)
                tx.begin_history()
        except ValueError as error:
            raise self._damaged(str(error)) from error
        with storage_errors(), closing(sqlite3.connect(folder.database)) as database:
            database.create_function("within", 1, _is_within, deterministic=True)
            row = database.execute(_FAR).fetchone()
        if row is not None:
            raise self._damaged(f"item {row[0]!r} has values in view {row[1]!r} that distances cannot be computed from")
        return folder.database

    def _checked(self, table: str, rows: Iterable[Sequence[Any]]) -> Iterator[Sequence[Any]]:
        """Yield rows with checked values; InvalidInputError names the column of a wrong value."""
        checks = self._checks[table]
        for row in rows:
            for value, (column, check) in zip(row, checks.items(), strict=True):
                if not check(value):
                    raise self._damaged(f"column {column} of table {table} holds {repr(value)[:40]}")
            yield row

    def _reported(self, rows: Iterator[Sequence[Any]]) -> Iterator[Sequence[Any]]:
        """Yield rows and report progress; stop if the work is cancelled."""
        for row in rows:
            yield row
            self._done += 1
            if self._done % _ROWS_AT_ONCE == 0 or self._done == self._total:
                checkpoint()
                if self._progress is not None:
                    self._progress(self._done, self._total)


def _continues(path: Path) -> bool:
    """Return whether a file contains a catalog that an earlier object has begun, and not finished."""
    if not path.is_file():
        return False
    with closing(sqlite3.connect(path)) as database:
        query = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?"
        return bool(database.execute(query, (_PIECES,)).fetchone()[0])


def _columns(database: sqlite3.Connection) -> dict[str, list[tuple[str, str, int]]]:
    """Return name, declared type and whether it is required of the columns of each table that moves."""
    query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY rowid"
    tables = [name for (name,) in database.execute(query) if name not in (*LEFT, _PIECES)]
    columns = 'SELECT name, type, "notnull" FROM pragma_table_info(?)'
    return {table: database.execute(columns, (table,)).fetchall() for table in tables}


def _check(column: str, kind: str, required: int) -> _Check:
    """Return a check of the values of a column, by the column's declared type."""
    check = _is_key if column == "key" else _CHECKS[kind] if kind in _CHECKS else _json_check(_JSON[column])
    return check if required else lambda value: value is None or check(value)


def _is_integer(value: Any) -> bool:
    return type(value) is int and -_LARGEST < value < _LARGEST


def _is_boolean(value: Any) -> bool:
    return type(value) is int and value in (0, 1)


def _is_text(value: Any) -> bool:
    return type(value) is str


def _is_key(value: Any) -> bool:
    """Return whether a value is a key; earlier versions gave files in many folders keys of more than ``MAX_KEY``."""
    return type(value) is str and 0 < len(value) <= MAX_SOURCE and "\0" not in value


def _is_weight(value: Any) -> bool:
    return type(value) is float and math.isfinite(value) and value != 0


def _is_blob(value: Any) -> bool:
    return type(value) is bytes


def _is_within(data: bytes) -> bool:
    """Return whether all values of a row are below the limit of distances; NaN is not."""
    return bool((np.abs(np.frombuffer(data, "<f4")) < MAX_VALUE).all())


_CHECKS: Mapping[str, _Check] = {
    **dict.fromkeys(("INTEGER", "BIGINT"), _is_integer),
    "BOOLEAN": _is_boolean,
    "TEXT": _is_text,
    "FLOAT": _is_weight,
    "BLOB": _is_blob,
}


def _json_check(kind: type) -> _Check:
    def check(value: Any) -> bool:
        if type(value) is not str:
            return False
        if value in ("{}", "[]"):
            return value == str(kind())
        try:
            parsed = json.loads(value)
        except (ValueError, RecursionError):
            return False
        if kind is list and isinstance(parsed, list):
            return all(type(key) is str for key in parsed)  # keys
        return isinstance(parsed, kind) and _is_flat(parsed, value)

    return check


def _is_flat(parsed: Any, text: str) -> bool:
    """Return whether a JSON value is nested less than ``_DEEPEST`` levels: its readers recurse that deep."""
    if text.count("[") + text.count("{") < _DEEPEST:
        return True
    level = [parsed]
    for _ in range(_DEEPEST):
        inner = (node.values() if isinstance(node, dict) else node for node in level if isinstance(node, dict | list))
        level = [value for values in inner for value in values]
    return not level


_COPIED_AT_ONCE = 1_000


class Copy:
    """A copy of a collection: a sound database whose content is not trusted.

    Raises InvalidInputError for a file that is damaged or not a copy.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._source = opened_copy(path)

    def close(self) -> None:
        """Close the file."""
        self._source.close()

    def make_catalog(self, folder: Path, progress: Progress | None = None) -> Path:
        """Make the catalog of a new collection from the copy's rows, in an empty folder; return the catalog's file.

        Only rows of known tables are used: views, triggers and constraints of the file are ignored. Raises
        InvalidInputError for a value that crossview would not write, and StorageError if the catalog cannot be written.
        """
        with closing(NewCatalog(folder, self._version(), lambda how: damaged(self._path, how))) as catalog:
            with self._understood():
                counts = {
                    table: self._source.execute(f"SELECT count(*) FROM {table}").fetchone()[0]  # noqa: S608 - a name of this program's schema
                    for table in catalog.tables
                }
            catalog.expect(sum(counts.values()), progress)
            for table, columns in catalog.tables.items():
                catalog.bring(table, table, self._rows(table, columns))
            return catalog.finish()

    def _version(self) -> str:
        with self._understood():
            versions = [version for (version,) in self._source.execute("SELECT version_num FROM alembic_version")]
        if len(versions) == 1 and versions[0] in known_versions():
            return str(versions[0])
        raise InvalidInputError(
            f"{self._path} has the unknown schema version {', '.join(map(repr, versions[:3])) or 'none'}: the file is "
            "damaged, or a newer crossview made it; use another copy, or upgrade crossview"
        )

    def _rows(self, table: str, columns: Collection[str]) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a table."""
        with self._understood():
            there = {row[1].lower() for row in self._source.execute(f"PRAGMA table_info({table})")}
            if lacking := sorted(set(columns) - there):  # SQLite could read the name of a missing column as a text
                raise damaged(self._path, f"table {table} has no column {lacking[0]}")
            cursor = self._source.execute(f"SELECT {', '.join(columns)} FROM {table}")  # noqa: S608 - names of this program's schema
            while rows := cursor.fetchmany(_COPIED_AT_ONCE):
                yield from rows

    @contextmanager
    def _understood(self) -> Iterator[None]:
        """Raise InvalidInputError if SQLite or Python cannot decode the content of the file."""
        try:
            yield
        except (sqlite3.Error, OverflowError, UnicodeDecodeError) as error:
            raise damaged(self._path, str(error)) from None
