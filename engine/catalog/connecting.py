"""Connections that read a database file, also on a full disk and in a folder that this user cannot write.

SQLite reads a database in WAL mode through a log and the index of the log, and makes both files if they are missing. If
it cannot, a connection here reads the file as it is: a **frozen** one. The file cannot change meanwhile unless the disk
gets space or the folder becomes writable, which ``stamp`` shows.
"""

import os
import shutil
import sqlite3
from pathlib import Path
from urllib.parse import quote

_NO_SPACE = ("SQLITE_FULL", "SQLITE_IOERR_SHM", "SQLITE_IOERR_WRITE")
"""Beginnings of the names of SQLite's errors on a disk without space."""
_DISK = (*_NO_SPACE, "SQLITE_CANTOPEN", "SQLITE_READONLY")
"""Beginnings of the names of SQLite's errors if the log or its index cannot be made.

A disk that fails to read has others: a frozen connection would fail, too, or wait for those of its own program.
"""
_LEAST_FREE = 1 << 20
"""Bytes that are free on a disk that is not full."""
_PATIENCE = 60.0
"""Seconds that a connection waits for others."""


def may_write(path: Path) -> bool:
    """Return whether this user can make files beside a file."""
    return os.access(path.parent, os.W_OK)


def is_disk_error(error: BaseException | None) -> bool:
    """Return whether an error of SQLite means that it cannot make or write a file."""
    return str(getattr(error, "sqlite_errorname", "")).startswith(_DISK)


def is_full(error: BaseException | None, path: Path | None) -> bool:
    """Return whether the disk of a file has no space, by an error of SQLite on the file."""
    name = str(getattr(error, "sqlite_errorname", ""))
    if name == "SQLITE_FULL":
        return True
    return path is not None and name.startswith(_NO_SPACE) and shutil.disk_usage(path.parent).free < _LEAST_FREE


def stamp(path: Path) -> tuple[int, ...]:
    """Return the inode, size and time of change of a file and of the log beside it: another value after each commit."""
    return tuple(number for file in (path, _log(path)) for number in _facts(file))


def file_stamp(path: Path) -> tuple[int, ...]:
    """Return the inode, size and time of change of a file."""
    return _facts(path)


def reading(path: Path) -> sqlite3.Connection:
    """Return a connection that reads one database file; raise sqlite3.Error."""
    database = sqlite3.connect(_uri(path, "mode=ro"), uri=True, timeout=_PATIENCE)
    try:
        database.execute("PRAGMA schema_version").fetchone()  # SQLite opens the file at the first statement
    except sqlite3.OperationalError as error:
        if is_disk_error(error):
            database.close()
            return frozen(path)
    except sqlite3.DatabaseError:
        pass  # the first statement of the caller raises it again
    return database


def frozen(path: Path) -> sqlite3.Connection:
    """Return a connection that makes no file, for any thread in turn.

    It reads the commits of a log that a killed process left: alone, with the index in its memory, or if this user
    cannot write the folder, with the index beside the log.
    """
    log = _log(path)
    if not (log.is_file() and log.stat().st_size):
        return sqlite3.connect(_uri(path, "immutable=1"), uri=True, check_same_thread=False)
    if not may_write(path):
        return sqlite3.connect(_uri(path, "mode=ro"), uri=True, check_same_thread=False)
    database = sqlite3.connect(_uri(path, "mode=rw"), uri=True, timeout=_PATIENCE, check_same_thread=False)
    database.execute("PRAGMA locking_mode=EXCLUSIVE")
    return database


def _uri(path: Path, mode: str) -> str:
    return f"file:{quote(str(path.absolute()))}?{mode}"


def _log(path: Path) -> Path:
    return Path(f"{path}-wal")


def _facts(path: Path) -> tuple[int, ...]:
    try:
        facts = path.stat()
    except FileNotFoundError:
        return ()
    return facts.st_ino, facts.st_size, facts.st_mtime_ns
