"""Copies of a catalog's database: made while it is read and written, checked, and put in its place again."""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from engine.catalog.database import storage_errors
from engine.errors import InvalidInputError
from engine.learners.cancellation import checkpoint

_PAGES_AT_ONCE = 1024
_MAGIC = b"SQLite format 3\x00"

Progress = Callable[[int, int], None]
"""Takes how many pages are done, and of how many."""


def copy_database(source: Path, target: Path, progress: Progress | None = None) -> None:
    """Write a copy of a database, as it is at this moment, into another; others read and write the source meanwhile.

    The target has the copy or what it had. Raises StorageError.
    """
    with storage_errors(), closing(_opened(source)) as one, closing(sqlite3.connect(target, timeout=60)) as other:
        one.execute("BEGIN")  # of one state, whatever is written meanwhile
        one.execute("SELECT count(*) FROM sqlite_master").fetchone()
        one.backup(other, pages=_PAGES_AT_ONCE, progress=_reported(progress))


def finish_copy(path: Path) -> None:
    """Make a copy one file on the disk, after looking through all of it; InvalidInputError if it is damaged."""
    with storage_errors(), closing(sqlite3.connect(path)) as database:
        check_database(path)
        database.execute("PRAGMA journal_mode=DELETE").fetchone()
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def like_pages_of(one: Path, other: Path) -> None:
    """Give a database that nobody else has open, the other, pages of the size of those of one."""
    with storage_errors():
        with closing(_opened(one)) as database:
            (size,) = database.execute("PRAGMA page_size").fetchone()
        with closing(sqlite3.connect(other, isolation_level=None)) as database:
            if database.execute("PRAGMA page_size").fetchone() != (size,):
                database.execute("PRAGMA journal_mode=DELETE").fetchone()
                database.execute(f"PRAGMA page_size={size:d}")
                database.execute("VACUUM")


def check_database(path: Path) -> None:
    """Raise InvalidInputError unless a file is a catalog without damage."""
    try:
        with path.open("rb") as file:
            begins = file.read(len(_MAGIC))
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be read: {error.strerror}") from None
    if begins != _MAGIC:
        raise InvalidInputError(f"{path} is no copy of a collection: make one with crossview backup NAME FILE")
    try:
        with closing(_opened(path)) as database:
            (found,) = database.execute("PRAGMA quick_check(1)").fetchone()
            if found != "ok":
                raise InvalidInputError(f"{path} is damaged: {found}")
            tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    except sqlite3.DatabaseError as error:
        raise InvalidInputError(f"{path} is damaged: {error}") from None
    if not {"collection", "items", "views"} <= tables:
        raise InvalidInputError(f"{path} is a database, but not of a collection")


@contextmanager
def temporary(folder: Path, name: str) -> Iterator[Path]:
    """Give the path of a file to be written, which is removed with what SQLite puts beside it unless it was moved."""
    path = folder / f".{name}.{os.getpid()}.part"
    try:
        yield path
    finally:
        for suffix in ("", "-wal", "-shm", "-journal"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)


def _opened(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=60)


def _reported(progress: Progress | None) -> Callable[[int, int, int], None]:
    def report(_status: int, remaining: int, total: int) -> None:
        checkpoint()
        if progress is not None:
            progress(total - remaining, total)

    return report
