"""Catalogs made from copies: an untrusted file gives its rows, each value checked, to tables that crossview makes."""

import json
import math
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from crossview.engine.catalog.checks import MAX_KEY
from crossview.engine.catalog.copies import Progress, damaged, opened_copy
from crossview.engine.catalog.database import known_versions, new_database, storage_errors
from crossview.engine.catalog.folder import CollectionFolder
from crossview.engine.catalog.private import make_file, sync_file
from crossview.engine.catalog.soundness import check_sound
from crossview.engine.errors import InvalidInputError
from crossview.engine.runtime.cancellation import checkpoint

_LEFT = ("alembic_version", "snapshots")
"""Tables that are not copied: the version is that of the new tables, and the snapshots are in another folder."""
_JSON: Mapping[str, type] = {
    **dict.fromkeys(("attributes", "params", "summary", "threshold", "file"), dict),
    **dict.fromkeys(("near", "far"), list),
}
"""The type of the values of each JSON column."""
_DEEPEST = 64
"""Levels of nested lists and objects; items may have fewer."""
_LARGEST = 2**62
"""Bound of integers: the integer after any accepted one also has 64 bits."""
_ROWS_AT_ONCE = 1_000

_Check = Callable[[Any], bool]


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

        The collection starts a new history of changes. Only rows of known tables are used: views, triggers and
        constraints of the file are ignored. Raises InvalidInputError for a value that crossview would not write, and
        StorageError if the catalog cannot be written.
        """
        version, database = self._version(), CollectionFolder(folder).database
        with storage_errors():
            make_file(database)
            new_database(database, version)
            with closing(sqlite3.connect(database, isolation_level=None)) as made:
                # Without a log: after an error the whole file is deleted.
                for pragma in ("journal_mode=OFF", "synchronous=OFF"):
                    made.execute(f"PRAGMA {pragma}").fetchone()
                made.execute("BEGIN")
                self._bring(made, progress)
                made.execute("COMMIT")
                made.execute("PRAGMA journal_mode=WAL").fetchone()
            sync_file(database)
        try:
            # Opening the catalog migrates it.
            with closing(CollectionFolder(folder).open_catalog()) as catalog, catalog.write() as tx:
                check_sound(tx)
                tx.begin_history()
        except ValueError as error:
            raise damaged(self._path, str(error)) from error
        return database

    def _version(self) -> str:
        with self._understood():
            found = [version for (version,) in self._source.execute("SELECT version_num FROM alembic_version")]
        if len(found) == 1 and found[0] in known_versions():
            return str(found[0])
        raise InvalidInputError(
            f"{self._path} has the unknown schema version {', '.join(map(repr, found[:3])) or 'none'}: the file is "
            "damaged, or a newer crossview made it; use another copy, or upgrade crossview"
        )

    def _bring(self, made: sqlite3.Connection, progress: Progress | None) -> None:
        """Write the rows of every table of the new database ``made`` into it."""
        query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY rowid"
        tables = [name for (name,) in made.execute(query) if name not in _LEFT]
        with self._understood():
            counts = {
                table: self._source.execute(f"SELECT count(*) FROM {table}").fetchone()[0]  # noqa: S608 - a name of this program's schema
                for table in tables
            }
        done, total = 0, sum(counts.values())
        for table in tables:
            columns = {name: _check(name, kind, required) for _, name, kind, required, *_ in _columns(made, table)}
            rows = _reported(self._rows(table, columns), done, total, progress)
            done += counts[table]
            statement = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"  # noqa: S608 - names of this program's schema
            try:
                made.executemany(statement, rows)
            except sqlite3.IntegrityError as error:
                raise damaged(self._path, str(error)) from None
        if (found := made.execute("PRAGMA foreign_key_check").fetchone()) is not None:
            raise damaged(self._path, f"a row of table {found[0]} refers to a missing row of table {found[2]}")

    def _rows(self, table: str, checks: Mapping[str, _Check]) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a table with checked values; InvalidInputError names the column of a wrong value."""
        with self._understood():
            there = {column[1].lower() for column in _columns(self._source, table)}
            if lacking := sorted(checks.keys() - there):  # SQLite could read the name of a missing column as a text
                raise damaged(self._path, f"table {table} has no column {lacking[0]}")
            for row in self._source.execute(f"SELECT {', '.join(checks)} FROM {table}"):  # noqa: S608 - names of this program's schema
                for value, (column, check) in zip(row, checks.items(), strict=True):
                    if not check(value):
                        raise damaged(self._path, f"column {column} of table {table} holds {repr(value)[:40]}")
                yield row

    @contextmanager
    def _understood(self) -> Iterator[None]:
        """Raise InvalidInputError if SQLite or Python cannot decode the content of the file."""
        try:
            yield
        except (sqlite3.Error, OverflowError, UnicodeDecodeError) as error:
            raise damaged(self._path, str(error)) from None


def _columns(database: sqlite3.Connection, table: str) -> list[tuple[Any, ...]]:
    return database.execute(f"PRAGMA table_info({table})").fetchall()


def _reported(
    rows: Iterator[tuple[Any, ...]], done: int, total: int, progress: Progress | None
) -> Iterator[tuple[Any, ...]]:
    """Yield rows and report progress; stop if the work is cancelled."""
    for number, row in enumerate(rows, done + 1):
        yield row
        if number % _ROWS_AT_ONCE == 0 or number == total:
            checkpoint()
            if progress is not None:
                progress(number, total)


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
    return type(value) is str and 0 < len(value) <= MAX_KEY and "\0" not in value


def _is_weight(value: Any) -> bool:
    return type(value) is float and math.isfinite(value) and value != 0


def _is_blob(value: Any) -> bool:
    return type(value) is bytes


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
            found = json.loads(value)
        except (ValueError, RecursionError):
            return False
        if kind is list and isinstance(found, list):
            return all(type(one) is str for one in found)  # keys
        return isinstance(found, kind) and _is_flat(found, value)

    return check


def _is_flat(found: Any, text: str) -> bool:
    """Return whether a JSON value is nested less than ``_DEEPEST`` levels: its readers recurse that deep."""
    if text.count("[") + text.count("{") < _DEEPEST:
        return True
    level = [found]
    for _ in range(_DEEPEST):
        inner = (one.values() if isinstance(one, dict) else one for one in level if isinstance(one, dict | list))
        level = [value for values in inner for value in values]
    return not level
