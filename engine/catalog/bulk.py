"""Statements for many rows at once, with the driver's own parameters: SQLAlchemy would make objects for each cell."""

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, islice
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite

T = TypeVar("T")

MOST_PARAMETERS = 10_000
"""Maximum number of parameters of a statement; SQLite accepts at most 32,766."""
_ROWS = 200
"""Rows of one INSERT: to run a statement takes SQLite as long as to write a short row."""


def insert(
    connection: sa.Connection,
    table: sa.Table,
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    replacing: Sequence[str] = (),
) -> None:
    """Insert rows; each row has one value for each column.

    ``replacing`` names columns that are unique together: a row with the same values there replaces the existing row.
    """
    names = ", ".join(map(_quoted, columns))
    row = f"({_marks(len(columns))})"
    assignments = ", ".join(f"{_quoted(name)} = excluded.{_quoted(name)}" for name in columns if name not in replacing)
    conflict = f" ON CONFLICT ({', '.join(map(_quoted, replacing))}) DO UPDATE SET {assignments}" if replacing else ""
    for batch in batches(rows, _ROWS):
        values = ", ".join([row] * len(batch))
        statement = f"INSERT INTO {_quoted(table.name)} ({names}) VALUES {values}{conflict}"  # noqa: S608 - names of this program, values as parameters
        connection.exec_driver_sql(statement, tuple(chain.from_iterable(batch)))


def update(connection: sa.Connection, table: sa.Table, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Give columns of existing rows new values; each entry has the new values, then the row's id."""
    changes = ", ".join(f"{_quoted(name)} = ?" for name in columns)
    statement = f"UPDATE {_quoted(table.name)} SET {changes} WHERE id = ?"  # noqa: S608 - names of this program, values as parameters
    for batch in batches(rows):
        connection.exec_driver_sql(statement, [tuple(row) for row in batch])


def select(connection: sa.Connection, query: "sa.Select[Any]") -> Sequence[Sequence[Any]]:
    """Return the rows of a query, which must be a constant without parameters, as the driver gives them."""
    return _fetched(connection.exec_driver_sql(_text(query)))


def select_among(
    connection: sa.Connection,
    query: "sa.Select[Any]",
    column: "sa.ColumnElement[Any]",
    values: Iterable[Any],
    at_once: int = MOST_PARAMETERS,
) -> Iterator[Sequence[Any]]:
    """Yield the rows of a query whose column is among the values, ``at_once`` values for each statement.

    The query must be a constant without parameters.
    """
    text, name = _text(query), _text(column)
    join = "WHERE" if query.whereclause is None else "AND"
    for batch in batches(values, at_once):
        where = f"{text} {join} {name} IN ({_marks(len(batch))})"
        yield from _fetched(connection.exec_driver_sql(where, tuple(batch)))


def each(
    connection: sa.Connection,
    query: "sa.Select[Any]",
    column: "sa.ColumnElement[int]",
    ids: Iterable[int] | None,
) -> Iterator[Sequence[Any]]:
    """Yield the rows of a query as the driver reads them, all or those whose column is among ``ids``.

    The query must be a constant without parameters.
    """
    if ids is None:
        yield from connection.exec_driver_sql(_text(query))
    else:
        yield from select_among(connection, query, column, ids)


def _fetched(result: "sa.CursorResult[Any]") -> list[tuple[Any, ...]]:
    """Return the rows of a result as tuples of the driver, without an object of SQLAlchemy for each."""
    with result:
        cursor: Any = result.cursor
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows


def listed(values: Iterable[str] | Iterable[int]) -> "sa.Select[tuple[str]]":
    """Return values as one JSON parameter, so that a statement compiles once, and takes any number of values."""
    return sa.select(sa.func.json_each(json.dumps(list(values))).table_valued("value").c.value)


@lru_cache(maxsize=64)  # the key is the identity of the query, so that each constant compiles once
def _text(part: "sa.Select[Any] | sa.ColumnElement[Any]") -> str:
    return str(part.compile(dialect=sqlite.dialect()))


def _marks(count: int) -> str:
    return ", ".join("?" * count)


def _quoted(name: str) -> str:
    return f'"{name}"'


def batches(values: Iterable[T], size: int = MOST_PARAMETERS) -> Iterator[list[T]]:
    """Yield the values in lists of at most ``size``."""
    iterator = iter(values)
    while batch := list(islice(iterator, size)):
        yield batch
