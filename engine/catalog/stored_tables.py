"""The tables of a catalog in one state, read in order while other processes write, for copies in another format."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from crossview.engine.catalog.connecting import reading
from crossview.engine.catalog.database import storage_errors
from crossview.engine.catalog.new_catalog import LEFT

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
                found = cursor.fetchmany(_ROWS_AT_ONCE)
            if not found:
                return
            yield from found

    def _columns(self, table: str) -> dict[str, str]:
        return {name: kind for _, name, kind, *_ in self._database.execute(f"PRAGMA table_info({table})")}

    def _one(self, query: str) -> Any:
        return self._database.execute(query).fetchone()
