"""A catalog's database: connections, transactions, migrations, and SQLite's errors in plain words."""

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, cast

import sqlalchemy as sa

from crossview.engine.catalog.connecting import (
    file_stamp,
    frozen,
    is_disk_error,
    is_full,
    may_write,
    reading,
    stamp,
)
from crossview.engine.catalog.file_errors import (
    DISK_FAILS,
    DISK_FULL,
    OPEN_FILES,
    file_errors,
    free_space,
    too_many_files,
)
from crossview.engine.catalog.schema import metadata
from crossview.engine.values.errors import BusyError, NotReadyError, StorageError

HEAD = "0017"
"""The schema version that this code reads and writes (the newest migration)."""

# Options of a connection, by which _begin chooses the statement that begins its transaction.
_WRITE = "crossview_write"
_ALONE = "crossview_alone"
# The file of a frozen connection, and its stamp.
_FROZEN = "crossview_frozen"
_PRAGMAS = (
    "journal_mode=WAL",  # readers and the writer do not wait for each other
    "synchronous=FULL",  # an acknowledged write survives a power failure
    "foreign_keys=ON",  # off by default, and a setting of the connection
    "busy_timeout=10000",  # for locks beside the writer lock, such as that of a checkpoint
    "trusted_schema=OFF",  # a copied file may name functions in its schema
    "cell_size_check=ON",  # a damaged page gives an error, not wrong rows
)
_PAGE_SIZE = "PRAGMA page_size=16384"
"""Page size of new databases: rows of 2 kB leave a smaller share of a large page unused."""
_INCREMENTAL = 2
IN_PIECES = f"PRAGMA auto_vacuum={_INCREMENTAL}"
"""Allows ``shrink`` to free space in steps; takes effect in a new database, or at the next VACUUM."""
_PAGES_AT_ONCE = 512
"""Pages that one step frees: 8 MB in a few hundredths of a second, so that writers wait only briefly."""
_WRITERS_CACHE = 1 << 16
"""Kibibytes of pages in the memory of a writer until its commit; with SQLite's 2,000, keys in no order wrote each page
of their index many times."""
_MIGRATIONS = Path(__file__).parent / "migrations"
_versions = sa.Table(
    "alembic_version",
    sa.MetaData(),
    sa.Column("version_num", sa.String(32)),
    sa.PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)
"""Alembic's table of the schema version."""
_OBJECTS = "SELECT type || ' ' || name FROM sqlite_master WHERE type NOT IN ('table', 'index')"
_TABLES = (
    "SELECT type || ' table ' || name FROM pragma_table_list WHERE schema = 'main' AND type != 'table' "
    "ORDER BY type DESC"  # a virtual table before its shadow tables
)
_COLUMNS = (
    "SELECT 'computed column ' || columns.name || ' of ' || tables.name FROM sqlite_master AS tables, "
    "pragma_table_xinfo(tables.name) AS columns WHERE tables.type = 'table' AND columns.hidden"
)
_INDEXES = (
    "SELECT 'computed index ' || indexes.name FROM sqlite_master AS indexes, "
    "pragma_index_xinfo(indexes.name) AS columns WHERE indexes.type = 'index' AND columns.cid = -2"
)


class Database:
    """The SQLite database in a file; with ``new``, make its tables.

    Raises StorageError, also for an existing file without tables, or with code that runs by itself, such as triggers.
    """

    def __init__(self, path: Path, new: bool = False) -> None:
        self._closed = False
        self._path = path
        with storage_errors(path), _readable_schema():
            self._engine = _engine(sa.URL.create("sqlite", database=str(path)))
            # For transactions that read while SQLite cannot make its log: a new connection each, because that can end.
            self._frozen = _engine("sqlite://", creator=lambda: frozen(path), poolclass=sa.NullPool)
            sa.event.listen(self._engine, "do_connect", lambda *_: self._check_open())  # a caller may have come before
            self._watch, self._lookup = _Apart(path, self._engine), _Apart(path, self._engine)
            try:
                if not new:
                    self._check()
                self._migrate(new)
            except BaseException:
                self._engine.dispose()  # no object is left to close
                raise

    @contextmanager
    def read(self) -> Iterator[sa.Connection]:
        """Open a transaction that sees one consistent state and changes nothing."""
        self._check_open()
        with storage_errors(self._path), self._reading() as connection:
            yield connection
            _check_frozen(connection)

    def _reading(self) -> sa.Connection:
        """Return a connection that reads, frozen while this user or a full disk lets SQLite make no log."""
        if may_write(self._path):
            try:
                return self._engine.connect()
            except (sa.exc.DBAPIError, sqlite3.Error) as error:
                if not is_disk_error(getattr(error, "orig", error)):
                    raise
        before = file_stamp(self._path)
        return self._frozen.connect().execution_options(**{_FROZEN: (self._path, before)})

    def keep(self) -> sa.Connection:
        """Return a connection whose transaction sees one state until the caller closes it, from any thread in turn.

        It does not count against the limit of connections; the write-ahead log grows meanwhile.
        """
        self._check_open()
        with storage_errors(self._path):
            connection = self._reading()
            connection.detach()
            return connection

    @contextmanager
    def write(self) -> Iterator[sa.Connection]:
        """Open a transaction that is durable after the block, and rolled back if the block raises."""
        self._check_open()
        with (
            storage_errors(self._path),
            self._engine.connect().execution_options(**{_WRITE: True}) as connection,
            _large_cache(connection),
            connection.begin(),
        ):
            yield connection

    def counter(self) -> int:
        """Return a number that differs after every commit of another connection.

        A separate connection reads it in a few microseconds: a commit by that connection itself would not count, so it
        never writes. It does nothing else, so that nobody waits for the number.
        """
        self._check_open()
        row = self._watch.row("PRAGMA data_version")
        return -1 - abs(hash(stamp(self._path))) if row is None else int(row[0])

    def row(self, query: str, *parameters: Any) -> Sequence[Any]:
        """Return the only row of a query, which sees one consistent state, at a tenth of the cost of ``read``."""
        self._check_open()
        row = self._lookup.row(query, *parameters)
        if row is not None:
            return row
        with self.read() as connection:
            return connection.exec_driver_sql(query, parameters).one()

    def shrink(self) -> bool:
        """Give some of the space of deleted rows back to the file system; return whether more may remain.

        Searches continue. A database of an earlier version, which cannot free space in steps, is rewritten once.
        """
        with self._alone() as connection:
            if _number(connection, "auto_vacuum") != _INCREMENTAL:
                connection.exec_driver_sql(IN_PIECES)
                connection.exec_driver_sql("VACUUM")
                return False
            driver = cast(sqlite3.Connection, connection.connection.driver_connection)
            # Python steps a statement without columns only once, which would free one page; a script runs to its end.
            driver.executescript(f"PRAGMA incremental_vacuum({_PAGES_AT_ONCE})")
            return _number(connection, "freelist_count") > 0

    def truncate_log(self) -> None:
        """Move the write-ahead log into the database file and empty the log, unless a reader still uses the log."""
        with self._alone() as connection:
            patience = _number(connection, "busy_timeout")
            connection.exec_driver_sql("PRAGMA busy_timeout=0")  # waiting for readers here would make writers wait
            try:
                connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").all()
            finally:
                connection.exec_driver_sql(f"PRAGMA busy_timeout={patience}")

    @contextmanager
    def _alone(self) -> Iterator[sa.Connection]:
        """Open a connection without a transaction, for statements that SQLite refuses inside one, such as VACUUM."""
        self._check_open()
        with storage_errors(self._path), self._engine.connect().execution_options(**{_ALONE: True}) as connection:
            yield connection

    def close(self) -> None:
        """Close every connection; later calls raise NotReadyError."""
        self._closed = True
        self._engine.dispose()  # from now on, nothing finds or opens a connection
        self._watch.close()
        self._lookup.close()

    def _check_open(self) -> None:
        if self._closed:
            raise NotReadyError("the collection is closed: open it again, and close it after its last use")

    def _check(self) -> None:
        """Raise StorageError for a database with objects that crossview does not make, such as triggers."""
        with self._reading().execution_options(**{_ALONE: True}) as connection:
            kind = foreign_object(cast(sqlite3.Connection, connection.connection.driver_connection))
        if kind:
            raise StorageError(
                f"the catalog contains a {kind}, which a collection never contains: restore the collection from a copy"
            )

    def _migrate(self, new: bool) -> None:
        with self._engine.connect() if new else self._reading() as connection:
            version = _version(connection)
        if version == HEAD:
            return
        if not version and not new:
            raise StorageError("the catalog is damaged (it is empty): restore the collection from a copy")
        with self.write() as connection:
            if version:
                migrate(connection, version)
            else:
                make_tables(connection)


class _Apart:
    """A connection of the driver apart from the pool, for queries of one row; threads take turns."""

    def __init__(self, path: Path, engine: sa.Engine) -> None:
        self._path, self._engine = path, engine
        self._turn = threading.Lock()
        self._connection: Any = None

    def row(self, query: str, *parameters: Any) -> Sequence[Any] | None:
        """Return the row of a query; None while only frozen connections can be opened."""
        try:
            with self._turn:
                if self._connection is None and not self._begin():
                    return None
                row: Sequence[Any] = self._connection.execute(query, parameters).fetchone()
                return row
        except Exception:
            with storage_errors(self._path):
                raise  # only on an error: every search comes here, and the context costs more than the read

    def _begin(self) -> bool:
        try:
            if not may_write(self._path):
                return False
            pooled = self._engine.raw_connection()
        except (sa.exc.DBAPIError, sqlite3.Error) as error:
            if not is_disk_error(getattr(error, "orig", error)):
                raise
            return False
        self._connection = pooled.driver_connection
        pooled.detach()  # the pool must not begin a transaction on it
        return True

    def close(self) -> None:
        """Close the connection."""
        with self._turn:
            if self._connection is not None:
                self._connection.close()
                self._connection = None


def make_tables(connection: sa.Connection) -> None:
    """Make the tables of a new catalog at once; a test compares them with the tables that the migrations make."""
    metadata.create_all(connection)
    _versions.create(connection)
    connection.execute(sa.insert(_versions).values(version_num=HEAD))


def new_database(path: Path, version: str) -> None:
    """Make the tables of a schema version in an empty file; StorageError."""
    with storage_errors(), closing(sqlite3.connect(path)) as database:
        _configure(database, None)
    engine = sa.create_engine(sa.URL.create("sqlite", database=str(path)), poolclass=sa.NullPool)
    with storage_errors(), engine.begin() as connection:
        if version == HEAD:
            make_tables(connection)
        else:
            migrate(connection, "", version)


def schema_version(path: Path) -> str:
    """Return the schema version of a catalog without changing it; StorageError."""
    with storage_errors(path), closing(reading(path)) as database:
        (version,) = database.execute("SELECT version_num FROM alembic_version").fetchone()
    return str(version)


def known_versions() -> set[str]:
    """Return the schema versions that this version of crossview reads."""
    return {path.name.split("_")[0] for path in (_MIGRATIONS / "versions").glob("[0-9]*.py")}


def migrate(connection: sa.Connection, version: str, target: str = "head") -> None:
    """Migrate the tables from a schema version ("" for no tables) to another; StorageError for an unknown version."""
    from alembic import command
    from alembic.config import Config

    if version and version not in known_versions():
        raise StorageError(
            f"the catalog has schema version {version}, newer than version {HEAD} of this crossview: upgrade crossview"
        )
    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, target)


@contextmanager
def storage_errors(path: Path | None = None) -> Iterator[None]:
    """Turn errors of the database and the file system into StorageError or BusyError; ``path`` is the database."""
    try:
        with file_errors():
            yield
    except (sa.exc.DBAPIError, sqlite3.Error) as error:
        cause = getattr(error, "orig", error)
        if is_full(cause, path):
            raise StorageError(DISK_FULL, detail=None if path is None else free_space(path.parent)) from error
        text = str(cause)
        if "lock" in text:
            raise BusyError("another process is writing this collection: try again in a moment") from error
        raise StorageError(_plain(text), detail=path) from error
    except sa.exc.TimeoutError as error:
        raise BusyError("too many threads read this collection at once: try again in a moment") from error


@contextmanager
def _large_cache(connection: sa.Connection) -> Iterator[None]:
    """Give a connection a large cache of pages for a block, so that changes in any order write each page once."""
    driver: Any = connection.connection.driver_connection  # a statement of SQLAlchemy would begin the transaction
    (usual,) = driver.execute("PRAGMA cache_size").fetchone()
    driver.execute(f"PRAGMA cache_size=-{_WRITERS_CACHE}")
    try:
        yield
    finally:
        driver.execute(f"PRAGMA cache_size={usual}")


@contextmanager
def _readable_schema() -> Iterator[None]:
    """Report a damaged database if SQLite's message quotes a schema that is not text."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise sqlite3.DatabaseError("malformed database schema") from error


def _plain(text: str) -> str:
    if "unable to open" in text and too_many_files():
        return OPEN_FILES
    if "readonly" in text or "unable to open" in text:
        return f"the folder is read-only or cannot be opened: let this user write there ({text})"
    if "malformed" in text or "not a database" in text:
        return (
            f"the catalog is damaged ({text}), or the disk fails to read it: check the disk and try again; if this "
            "does not help, restore the collection from a copy"
        )
    if "I/O" in text:
        return f"{DISK_FAILS} ({text})"
    return f"the catalog cannot be used ({text}): try again; if this does not help, restore the collection from a copy"


def _number(connection: sa.Connection, pragma: str) -> int:
    return int(connection.exec_driver_sql(f"PRAGMA {pragma}").scalar_one())


def _version(connection: sa.Connection) -> str:
    if not sa.inspect(connection).has_table("alembic_version"):
        return ""
    return str(connection.scalar(sa.text("SELECT version_num FROM alembic_version")) or "")


def _engine(url: sa.URL | str, **options: Any) -> sa.Engine:
    engine = sa.create_engine(url, **options)
    sa.event.listen(engine, "connect", _configure)
    sa.event.listen(engine, "begin", _begin)
    sa.event.listen(engine, "before_cursor_execute", lambda connection, *_: _check_frozen(connection))
    return engine


def _check_frozen(connection: sa.Connection) -> None:
    """Raise BusyError if the file of a frozen connection has changed: SQLite would mix two states."""
    path, before = connection.get_execution_options().get(_FROZEN, (None, ()))
    if path is not None and file_stamp(path) != before:
        raise BusyError("another process has written this collection meanwhile: try again")


def _configure(connection: Any, _record: Any) -> None:
    # The driver must not begin transactions: only _begin knows whether a transaction writes.
    connection.isolation_level = None
    if connection.execute("PRAGMA page_count").fetchone() == (0,):
        connection.execute(_PAGE_SIZE)
        connection.execute(IN_PIECES)
    for pragma in _PRAGMAS:
        connection.execute(f"PRAGMA {pragma}")


def _begin(connection: sa.Connection) -> None:
    options = connection.get_execution_options()
    # A writer takes SQLite's lock at once: to upgrade a read transaction later can fail as busy without a wait.
    if not options.get(_ALONE, False):  # statements that SQLite refuses inside a transaction
        connection.exec_driver_sql("BEGIN IMMEDIATE" if options.get(_WRITE, False) else "BEGIN")


def foreign_object(database: sqlite3.Connection) -> str:
    """Return a view, trigger, virtual table, computed column or computed index of a database in words; "" for none.

    Such objects run code of their maker at any read or write. A catalog never has one.
    """
    for query in (_OBJECTS, _TABLES, _COLUMNS, _INDEXES):
        if (row := database.execute(query).fetchone()) is not None:
            return str(row[0])
    return ""
