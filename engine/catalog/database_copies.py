"""Copies of a catalog's database: making them during reads and writes, checking them, putting them in place."""

import errno
import os
import shutil
import sqlite3
import uuid
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from crossview.engine.catalog.connecting import reading
from crossview.engine.catalog.database import IN_PIECES, foreign_object, storage_errors
from crossview.engine.catalog.file_errors import file_errors
from crossview.engine.catalog.folder import sync_folder
from crossview.engine.catalog.leftovers import PART, PART_NAME, at_work, remove_leftovers
from crossview.engine.catalog.private import make_file
from crossview.engine.runtime.cancellation import checkpoint
from crossview.engine.values.errors import AlreadyExistsError, InvalidInputError, StorageError, call
from crossview.features.files import open_regular

_PAGES_AT_ONCE = 1024
_PIECE = 1 << 20
_MAGIC = b"SQLite format 3\x00"
_SEAL = b"\ncrossview copy, CRC-32 "
"""Start of the seal of a copy, which stands after the pages of the database, where SQLite does not look."""
_SEAL_LENGTH = len(_SEAL) + 9
_WORTH_WRITING = 0.95
"""Largest share of a database that may remain for a rewrite to be worth its time."""
_UNTRUSTED = ("trusted_schema=OFF", "cell_size_check=ON", "query_only=ON", "ignore_check_constraints=ON")
"""Pragmas for foreign files: SQLite must not run functions that the schema of such a file names."""
_LEAST_LENGTH = 1 << 20
"""Bytes that SQLite may need for its own texts, such as the schema."""
_NO_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}

Progress = Callable[[int, int], None]
"""A function of the number of pages done and of all pages."""


def copy_database(source: Path, target: Path, progress: Progress | None = None) -> None:
    """Copy one state of a database into another database, while other processes read and write the source.

    After an error, the target has its former content. Raises StorageError.
    """
    with storage_errors(), closing(_opened(source)) as reader, closing(sqlite3.connect(target, timeout=60)) as writer:
        reader.execute("BEGIN")  # holds one state during later writes
        reader.execute("SELECT count(*) FROM sqlite_master").fetchone()
        reader.backup(writer, pages=_PAGES_AT_ONCE, progress=_reported(progress))


def finish_copy(path: Path) -> None:
    """Make a copy one file on the disk with a checksum; StorageError if it is damaged, because its source is too."""
    with storage_errors(), closing(sqlite3.connect(path)) as database:
        try:
            check_database(path)
        except InvalidInputError as error:
            raise StorageError("the collection's catalog is damaged: restore the collection from a copy") from error
        database.execute("PRAGMA journal_mode=DELETE").fetchone()
    with file_errors(), path.open("rb+") as file:
        size = file.seek(0, os.SEEK_END)
        seal = _seal(file, size)
        file.seek(size)
        file.write(seal)
        file.flush()
        os.fsync(file.fileno())


def place_copy(part: Path, target: Path) -> None:
    """Give a finished copy its name; AlreadyExistsError if a file of this name appeared in the meantime."""
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


def like_pages_of(source: Path, target: Path) -> None:
    """Give the database ``target``, which no other process may have open, the page size of ``source``."""
    with storage_errors():
        with closing(_opened(source)) as database:
            (size,) = database.execute("PRAGMA page_size").fetchone()
        with closing(sqlite3.connect(target, isolation_level=None)) as database:
            if database.execute("PRAGMA page_size").fetchone() != (size,):
                database.execute("PRAGMA journal_mode=DELETE").fetchone()  # with a log, SQLite keeps the page size
                database.execute(f"PRAGMA page_size={size:d}")
                database.execute("VACUUM")


def write_anew(path: Path) -> None:
    """Rewrite a database without the space of deleted rows, unless the rewrite would free almost nothing.

    The caller holds the writer lock; other processes can read. The rewrite needs free disk space for two copies: the
    new file, and the log with which its pages replace the old ones. After a StorageError the database is unchanged.
    """
    with temporary(path.parent) as part:
        with storage_errors(), closing(sqlite3.connect(path, isolation_level=None, timeout=60)) as database:
            (size,) = database.execute(
                "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
            ).fetchone()
            _check_room(path, size)
            database.execute(IN_PIECES)
            database.execute("VACUUM INTO ?", (str(part),))
        if (new_size := part.stat().st_size) <= _WORTH_WRITING * size:
            _check_room(path, new_size)
            copy_database(part, path)


def _check_room(path: Path, needed: int) -> None:
    """Raise StorageError unless the disk of a file has ``needed`` free bytes."""
    free = shutil.disk_usage(path.parent).free
    if free < needed:
        raise StorageError(
            f"{path} is not compacted and unchanged: compacting needs {needed / 1e6:,.1f} MB of free disk space, and "
            f"{free / 1e6:,.1f} MB are free: free some space and try again"
        )


def check_database(path: Path) -> None:
    """Raise InvalidInputError unless a file is an undamaged catalog.

    For a copy, the checksum covers every byte. The database of a collection has no checksum; SQLite checks the
    structure of its pages.
    """
    opened_copy(path).close()


def opened_copy(path: Path) -> sqlite3.Connection:
    """Return a connection to one state of a file that ``check_database`` finds sound; it runs no code of the file.

    No value has more bytes than the file. Raises InvalidInputError.
    """
    try:
        with open_regular(path) as file:
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
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:  # SQLite's message may quote bytes that are not text
        database.close()
        raise damaged(path, str(error)) from None
    except BaseException:
        database.close()
        raise
    return database


def _check_opened(path: Path, database: sqlite3.Connection) -> None:
    database.execute("BEGIN")
    if kind := foreign_object(database):
        raise InvalidInputError(
            f"{path} contains a {kind}, which a copy of a collection never contains: use another copy"
        )
    (answer,) = database.execute("PRAGMA quick_check(1)").fetchone()
    if answer != "ok":
        raise damaged(path, answer)
    tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if not {"collection", "items", "views", "alembic_version"} <= tables:
        raise InvalidInputError(f"{path} is a database, but not a collection's: name a copy of a collection")


def _check_seal(path: Path, file: BinaryIO) -> None:
    """Raise InvalidInputError for a file that is not a database, has a wrong checksum, or lacks its end."""
    begins = file.read(18)
    if not begins.startswith(_MAGIC):
        raise InvalidInputError(
            f"{path} is not a copy of a collection: make a copy with: ", call("home.backup", "NAME", "FILE")
        )
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _SEAL_LENGTH))
    end = file.read()
    if end.startswith(_SEAL):
        if end != _seal(file, size - _SEAL_LENGTH):
            raise damaged(path, "its checksum does not match")
    # the page size; SQLite writes 1 for 65,536, which has no room in two bytes
    elif size % (int.from_bytes(begins[16:18]) or 1):
        raise damaged(path, "its end is missing")


def _seal(file: BinaryIO, size: int) -> bytes:
    """Return the seal of a copy of ``size`` bytes: the magic, the size and the checksum."""
    checksum = 0
    file.seek(0)
    while size:
        piece = file.read(min(size, _PIECE))
        checksum, size = zlib.crc32(piece, checksum), size - len(piece)
    return b"%s%08x\n" % (_SEAL, checksum)


def damaged(path: Path, how: str) -> InvalidInputError:
    """Return the error for a damaged copy; ``how`` describes the damage."""
    return InvalidInputError(f"{path} is damaged: {how}; use another copy")


@contextmanager
def temporary(folder: Path) -> Iterator[Path]:
    """Give the path of a temporary file, and remove it and SQLite's files beside it after the block.

    Also remove temporary files of killed processes from the folder.
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
    return reading(path)


def _reported(progress: Progress | None) -> Callable[[int, int, int], None]:
    def report(_status: int, remaining: int, total: int) -> None:
        checkpoint()
        if progress is not None:
            progress(total - remaining, total)

    return report
