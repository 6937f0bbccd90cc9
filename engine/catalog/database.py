"""Opening a catalog database: connections, transactions, migrations, and storage errors in plain words."""

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

import sqlalchemy as sa

from crossview.engine.catalog.file_errors import DISK_FAILS, DISK_FULL, OPEN_FILES, file_errors, too_many_files
from crossview.engine.catalog.foreign import foreign_object
from crossview.engine.catalog.schema import metadata
from crossview.engine.errors import BusyError, NotReadyError, StorageError

HEAD = "0007"
"""The schema version that this code reads and writes (the newest migration)."""

_WRITE = "crossview_write"
_ALONE = "crossview_alone"
_PRAGMAS = (
    "journal_mode=WAL",
    "synchronous=FULL",
    "foreign_keys=ON",
    "busy_timeout=10000",
    "trusted_schema=OFF",
    "cell_size_check=ON",
)
_PAGE_SIZE = "PRAGMA page_size=16384"
"""Of a new database only: rows of 2 kB leave less of a large page unused."""
_INCREMENTAL = 2
IN_PIECES = f"PRAGMA auto_vacuum={_INCREMENTAL}"
"""Lets space be given back in pieces; of a new database, or from the next VACUUM on."""
_PAGES_AT_ONCE = 512
"""Pages given back in one step: 8 MB, a few hundredths of a second."""
_MIGRATIONS = Path(__file__).parent / "migrations"
_versions = sa.Table(
    "alembic_version",
    sa.MetaData(),
    sa.Column("version_num", sa.String(32)),
    sa.PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)
"""Where Alembic keeps the schema version."""


class Database:
    """The SQLite database in a file; with ``new``, make its tables.

    Raises StorageError, also for one that is not new and has no tables, or has what runs by itself: it is damaged.
    """

    def __init__(self, path: Path, new: bool = False) -> None:
        self._watching = threading.Lock()
        self._watch: Any = None
        self._closed = False
        with storage_errors(), _readable_schema():
            self._engine = sa.create_engine(_url(path))
            sa.event.listen(self._engine, "connect", _configure)
            sa.event.listen(self._engine, "begin", _begin)
            self._check()
            self._migrate(new)

    @contextmanager
    def read(self) -> Iterator[sa.Connection]:
        """Open a transaction that sees one consistent state and changes nothing."""
        self._check_open()
        with storage_errors(), self._engine.connect() as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[sa.Connection]:
        """Open a transaction that is durable when the block ends, and undone if it raises."""
        self._check_open()
        with (
            storage_errors(),
            self._engine.connect().execution_options(**{_WRITE: True}) as connection,
            connection.begin(),
        ):
            yield connection

    def counter(self) -> int:
        """Return a number that differs after every commit of another connection.

        It is asked for by a connection of its own, which never writes, in a few microseconds.
        """
        self._check_open()
        try:
            with self._watching:
                if self._watch is None:
                    pooled = self._engine.raw_connection()
                    self._watch = pooled.driver_connection
                    pooled.detach()  # no transaction is ever begun on it
                return int(self._watch.execute("PRAGMA data_version").fetchone()[0])
        except Exception:
            with storage_errors():  # entered here only: each query asks
                raise

    def shrink(self) -> bool:
        """Give some of the space of deleted rows back to the file system; return whether there may be more.

        Searches go on meanwhile. A database of an earlier version is written anew, beside itself, once.
        """
        with self._alone() as connection:
            if _number(connection, "auto_vacuum") != _INCREMENTAL:
                connection.exec_driver_sql(IN_PIECES)
                connection.exec_driver_sql("VACUUM")
                return False
            driver = cast(sqlite3.Connection, connection.connection.driver_connection)
            # As a script it runs to its end; as a statement, which has no columns, Python leaves it after one page.
            driver.executescript(f"PRAGMA incremental_vacuum({_PAGES_AT_ONCE})")
            return _number(connection, "freelist_count") > 0

    def truncate_log(self) -> None:
        """Bring what was written into the database's own file, and empty the log; not while it is being read."""
        with self._alone() as connection:
            patience = _number(connection, "busy_timeout")
            connection.exec_driver_sql("PRAGMA busy_timeout=0")  # who waits for readers here keeps writers waiting
            try:
                connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").all()
            finally:
                connection.exec_driver_sql(f"PRAGMA busy_timeout={patience}")

    @contextmanager
    def _alone(self) -> Iterator[sa.Connection]:
        """Open a connection without a transaction, for what no transaction may hold."""
        self._check_open()
        with storage_errors(), self._engine.connect().execution_options(**{_ALONE: True}) as connection:
            yield connection

    def close(self) -> None:
        """Close every connection; what is asked for then raises NotReadyError."""
        self._closed = True
        with self._watching:
            if self._watch is not None:
                self._watch.close()
                self._watch = None
        self._engine.dispose()

    def _check_open(self) -> None:
        if self._closed:
            raise NotReadyError("the collection is closed: open it again, and close it when nothing needs it any more")

    def _check(self) -> None:
        """Raise StorageError for a database that somebody else has had their way with."""
        with self._alone() as connection:
            found = foreign_object(cast(sqlite3.Connection, connection.connection.driver_connection))
        if found:
            raise StorageError(f"the catalog has a {found}, which no collection has: restore it from a copy")

    def _migrate(self, new: bool) -> None:
        with self._engine.connect() as connection:
            version = _version(connection)
        if version == HEAD:
            return
        if not version and not new:
            raise StorageError("the catalog is damaged (it is empty); restore it from a copy")
        with self.write() as connection:
            if version:
                migrate(connection, version)
            else:
                make_tables(connection)


def make_tables(connection: sa.Connection) -> None:
    """Make the tables of a new catalog at once; a test compares them with what the migrations make one by one."""
    metadata.create_all(connection)
    _versions.create(connection)
    connection.execute(sa.insert(_versions).values(version_num=HEAD))


def new_database(path: Path, version: str) -> None:
    """Make the tables of a schema version in an empty file; StorageError."""
    with storage_errors(), closing(sqlite3.connect(path)) as database:
        _configure(database, None)
    engine = sa.create_engine(_url(path), poolclass=sa.NullPool)
    with storage_errors(), engine.begin() as connection:
        if version == HEAD:
            make_tables(connection)
        else:
            migrate(connection, "", version)


def known_versions() -> set[str]:
    """Return the schema versions that this program reads."""
    return {path.name.split("_")[0] for path in (_MIGRATIONS / "versions").glob("[0-9]*.py")}


def migrate(connection: sa.Connection, version: str, target: str = "head") -> None:
    """Bring the tables from a schema version, "" for none, to another; StorageError if they are newer than known."""
    from alembic import command
    from alembic.config import Config

    if version and version not in known_versions():
        raise StorageError(f"the catalog has schema version {version}, newer than this program's {HEAD}: upgrade it")
    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, target)


@contextmanager
def storage_errors() -> Iterator[None]:
    """Turn the database's and the file system's refusals into StorageError or BusyError."""
    try:
        with file_errors():
            yield
    except (sa.exc.DBAPIError, sqlite3.Error) as error:
        text = str(getattr(error, "orig", error))
        if "lock" in text:
            raise BusyError("another process is writing this collection; try again in a moment") from error
        raise StorageError(_plain(text)) from error
    except sa.exc.TimeoutError as error:
        raise BusyError("too many threads read this collection at once; try again in a moment") from error


@contextmanager
def _readable_schema() -> Iterator[None]:
    """Take a schema that SQLite cannot even quote in a message for damaged."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise sqlite3.DatabaseError("malformed database schema") from error


def _plain(text: str) -> str:
    if "full" in text:
        return DISK_FULL
    if "unable to open" in text and too_many_files():
        return OPEN_FILES
    if "readonly" in text or "unable to open" in text:
        return f"the folder is read-only or cannot be opened: let this user write there ({text})"
    if "malformed" in text or "not a database" in text:
        return f"the catalog is damaged ({text}); restore it from a copy"
    if "I/O" in text:
        return f"{DISK_FAILS} ({text})"
    return f"the catalog cannot be used ({text}): try again; if that does not help, restore it from a copy"


def _number(connection: sa.Connection, pragma: str) -> int:
    return int(connection.exec_driver_sql(f"PRAGMA {pragma}").scalar_one())


def _version(connection: sa.Connection) -> str:
    if not sa.inspect(connection).has_table("alembic_version"):
        return ""
    return str(connection.scalar(sa.text("SELECT version_num FROM alembic_version")) or "")


def _url(path: Path) -> sa.URL:
    """Return the URL by which SQLAlchemy opens a file; in a folder that cannot be written, the URL of a read-only file.

    SQLite cannot write its log in such a folder. It reads what a killed process left there if the index is there.
    """
    if os.access(path.parent, os.W_OK):
        return sa.URL.create("sqlite", database=str(path))
    log = Path(f"{path}-wal")
    mode = "mode=ro" if log.is_file() and log.stat().st_size else "immutable=1"
    return sa.URL.create("sqlite", database=f"file:{quote(str(path))}?{mode}", query={"uri": "true"})


def _configure(connection: Any, _record: Any) -> None:
    # Transactions are begun below, where it is known whether they write.
    connection.isolation_level = None
    if connection.execute("PRAGMA page_count").fetchone() == (0,):
        connection.execute(_PAGE_SIZE)
        connection.execute(IN_PIECES)
    for pragma in _PRAGMAS:
        connection.execute(f"PRAGMA {pragma}")


def _begin(connection: sa.Connection) -> None:
    options = connection.get_execution_options()
    if not options.get(_ALONE, False):  # what no transaction may hold
        connection.exec_driver_sql("BEGIN IMMEDIATE" if options.get(_WRITE, False) else "BEGIN")
