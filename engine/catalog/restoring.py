"""Restoring: a copy, which is not trusted, gives its rows to the catalog of a new collection."""

import sqlite3
from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from crossview.engine.catalog.copies import Progress, damaged, opened_copy
from crossview.engine.catalog.database import known_versions
from crossview.engine.catalog.new_catalog import NewCatalog
from crossview.engine.values.errors import InvalidInputError

_ROWS_AT_ONCE = 1_000


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
        with closing(NewCatalog(folder, self._version(), lambda how: damaged(self._path, how))) as made:
            with self._understood():
                counts = {
                    table: self._source.execute(f"SELECT count(*) FROM {table}").fetchone()[0]  # noqa: S608 - a name of this program's schema
                    for table in made.tables
                }
            made.expect(sum(counts.values()), progress)
            for table, columns in made.tables.items():
                made.bring(table, table, self._rows(table, columns))
            return made.finish()

    def _version(self) -> str:
        with self._understood():
            found = [version for (version,) in self._source.execute("SELECT version_num FROM alembic_version")]
        if len(found) == 1 and found[0] in known_versions():
            return str(found[0])
        raise InvalidInputError(
            f"{self._path} has the unknown schema version {', '.join(map(repr, found[:3])) or 'none'}: the file is "
            "damaged, or a newer crossview made it; use another copy, or upgrade crossview"
        )

    def _rows(self, table: str, columns: Collection[str]) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a table."""
        with self._understood():
            there = {row[1].lower() for row in self._source.execute(f"PRAGMA table_info({table})")}
            if lacking := sorted(set(columns) - there):  # SQLite could read the name of a missing column as a text
                raise damaged(self._path, f"table {table} has no column {lacking[0]}")
            found = self._source.execute(f"SELECT {', '.join(columns)} FROM {table}")  # noqa: S608 - names of this program's schema
            while rows := found.fetchmany(_ROWS_AT_ONCE):
                yield from rows

    @contextmanager
    def _understood(self) -> Iterator[None]:
        """Raise InvalidInputError if SQLite or Python cannot decode the content of the file."""
        try:
            yield
        except (sqlite3.Error, OverflowError, UnicodeDecodeError) as error:
            raise damaged(self._path, str(error)) from None
