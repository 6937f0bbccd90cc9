"""Copies of a catalog's database: made while it is read and written, checked, and put in its place again."""

import errno
import os
import shutil
import sqlite3
import stat
import uuid
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from crossview.engine.catalog.database import IN_PIECES, storage_errors
from crossview.engine.catalog.file_errors import file_errors
from crossview.engine.catalog.folder import sync_folder
from crossview.engine.catalog.foreign import foreign_object
from crossview.engine.catalog.leftovers import PART, PART_NAME, at_work, remove_leftovers
from crossview.engine.catalog.private import make_file
from crossview.engine.errors import AlreadyExistsError, InvalidInputError, StorageError
from crossview.engine.runtime.cancellation import checkpoint

_PAGES_AT_ONCE = 1024
_PIECE = 1 << 20
_MAGIC = b"SQLite format 3\x00"
_SEAL = b"\ncrossview copy, CRC-32 "
"""Begins the end of a copy, behind the pages of the database, where SQLite does not look."""
_SEAL_LENGTH = len(_SEAL) + 9
_WORTH_WRITING = 0.95
"""Share of a database that may be left of it for it to be written anew."""
_UNTRUSTED = ("trusted_schema=OFF", "cell_size_check=ON", "query_only=ON", "ignore_check_constraints=ON")
"""How a file of somebody else is opened: checks and functions that its schema names are not run."""
_LEAST_LENGTH = 1 << 20
"""Bytes that SQLite may need for its own texts."""
_NO_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}

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
    """Make a copy one file on the disk with a checksum; StorageError if it is damaged, as its source is then."""
    with storage_errors(), closing(sqlite3.connect(path)) as database:
        try:
            check_database(path)
        except InvalidInputError as error:
            raise StorageError("the collection's catalog is damaged: restore it from an earlier copy") from error
        database.execute("PRAGMA journal_mode=DELETE").fetchone()
    with file_errors(), path.open("rb+") as file:
        size = file.seek(0, os.SEEK_END)
        seal = _seal(file, size)
        file.seek(size)
        file.write(seal)
        file.flush()
        os.fsync(file.fileno())


def place_copy(part: Path, target: Path) -> None:
    """Give a finished copy its name; AlreadyExistsError where a file of that name has appeared meanwhile."""
    with file_errors():
        try:
            try:
                os.link(part, target)
            except OSError as error:
                if error.errno not in _NO_LINKS:
                    raise
                make_file(target)
                os.replace(part, target)
        except FileExistsError:
            raise AlreadyExistsError(f"{target} exists already: choose another name, or remove it first") from None
        sync_folder(target.parent)


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


def write_anew(path: Path) -> None:
    """Write a database anew, without the room of what was deleted, unless that would gain next to nothing.

    The caller sees to it that nobody else writes it; others read meanwhile. It needs free disk space for a copy, and as
    much again while that takes the database's place. Raises StorageError, after which the database is as it was.
    """
    with temporary(path.parent) as part:
        with storage_errors(), closing(sqlite3.connect(path, isolation_level=None, timeout=60)) as database:
            (size,) = database.execute(
                "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
            ).fetchone()
            _check_room(path, size)
            database.execute(IN_PIECES)
            database.execute("VACUUM INTO ?", (str(part),))
        if (left := part.stat().st_size) <= _WORTH_WRITING * size:
            _check_room(path, left)
            copy_database(part, path)


def _check_room(path: Path, needed: int) -> None:
    """Raise StorageError unless so many bytes are free beside a file."""
    free = shutil.disk_usage(path.parent).free
    if free < needed:
        raise StorageError(
            f"{path} was not written anew and is as it was: that needs {needed / 1e6:,.1f} MB of free disk space, and "
            f"{free / 1e6:,.1f} MB are free: free some space and try again"
        )


def check_database(path: Path) -> None:
    """Raise InvalidInputError unless a file is a catalog without damage.

    In a copy, every byte is checked; in the database of a collection, which has no checksum, how its pages hang
    together.
    """
    opened_copy(path).close()


def opened_copy(path: Path) -> sqlite3.Connection:
    """Return a connection to a file that ``check_database`` finds sound; it sees one state of it, and runs nothing.

    A value has no more bytes than the file. Raises InvalidInputError.
    """
    try:
        with open(path, "rb", opener=_without_waiting) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise InvalidInputError(f"{path} is no file: name a copy of a collection")
            _check_seal(path, file)
            size = file.seek(0, os.SEEK_END)
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be read: {error.strerror}") from None
    database = _opened(path)
    try:
        database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, max(size, _LEAST_LENGTH))
        for pragma in _UNTRUSTED:
            database.execute(f"PRAGMA {pragma}")
        _check_opened(path, database)
    except sqlite3.OperationalError as error:
        database.close()
        raise InvalidInputError(f"{path} cannot be read: {error}") from None
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:  # SQLite's message may quote what is no text
        database.close()
        raise damaged(path, str(error)) from None
    except BaseException:
        database.close()
        raise
    return database


def _check_opened(path: Path, database: sqlite3.Connection) -> None:
    database.execute("BEGIN")
    if found := foreign_object(database):
        raise InvalidInputError(f"{path} has a {found}, which no copy of a collection has: use another copy")
    (answer,) = database.execute("PRAGMA quick_check(1)").fetchone()
    if answer != "ok":
        raise damaged(path, answer)
    tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if not {"collection", "items", "views", "alembic_version"} <= tables:
        raise InvalidInputError(f"{path} is a database, but not of a collection: name a copy of one")


def _without_waiting(path: str, flags: int) -> int:
    """Open a file, also a pipe that nobody writes into."""
    return os.open(path, flags | os.O_NONBLOCK)


def _check_seal(path: Path, file: BinaryIO) -> None:
    """Raise InvalidInputError for what is no database, has another checksum than that at its end, or is cut."""
    begins = file.read(18)
    if not begins.startswith(_MAGIC):
        remedy = "make a copy with: `home.backup('NAME', 'FILE')`"
        raise InvalidInputError(f"{path} is not a copy of a collection: {remedy}")
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _SEAL_LENGTH))
    end = file.read()
    if end.startswith(_SEAL):
        if end != _seal(file, size - _SEAL_LENGTH):
            raise damaged(path, "its checksum does not match")
    elif size % (int.from_bytes(begins[16:18]) or 1):  # the size of a page, 1 for one that does not fit in here
        raise damaged(path, "its end is missing")


def _seal(file: BinaryIO, size: int) -> bytes:
    """Return what ends a copy of so many bytes."""
    checksum = 0
    file.seek(0)
    while size:
        piece = file.read(min(size, _PIECE))
        checksum, size = zlib.crc32(piece, checksum), size - len(piece)
    return b"%s%08x\n" % (_SEAL, checksum)


def damaged(path: Path, how: str) -> InvalidInputError:
    """Return the error for a copy that is damaged in some way."""
    return InvalidInputError(f"{path} is damaged: {how}; use another copy")


@contextmanager
def temporary(folder: Path) -> Iterator[Path]:
    """Give the path of a file to be written, which is removed with what SQLite puts beside it.

    What others that were killed left in the folder is removed, too.
    """
    remove_leftovers(folder, PART_NAME)
    part = folder / f"{PART}{uuid.uuid4().hex}"
    try:
        with at_work(folder):
            with file_errors():
                make_file(part)
            yield part
    finally:
        for path in folder.glob(f"{part.name}*"):
            with suppress(OSError):
                path.unlink()


def _opened(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=60)


def _reported(progress: Progress | None) -> Callable[[int, int, int], None]:
    def report(_status: int, remaining: int, total: int) -> None:
        checkpoint()
        if progress is not None:
            progress(total - remaining, total)

    return report
