"""The catalog of one collection: transactions over its tables."""

import secrets
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple, Protocol

import sqlalchemy as sa

from crossview.engine.catalog import schema
from crossview.engine.catalog.answers import Answers
from crossview.engine.catalog.captures import Captures
from crossview.engine.catalog.database import Database
from crossview.engine.catalog.item_writer import ItemWriter
from crossview.engine.catalog.items import Items
from crossview.engine.catalog.roots import Roots
from crossview.engine.catalog.rows import Rows
from crossview.engine.catalog.snapshots import Snapshots
from crossview.engine.catalog.spaces import Spaces
from crossview.engine.catalog.views import ViewRecord, Views
from crossview.engine.runtime.cancellation import checkpoint


class KnownViews(Protocol):
    """The views of a collection."""

    def all(self) -> tuple[ViewRecord, ...]:
        """Return every view in the order of its creation."""


class Described(Protocol):
    """What knows a collection's name and views: a transaction, or a state that is in memory."""

    @property
    def views(self) -> KnownViews:
        """The views."""

    def name(self) -> str:
        """Return the collection's name."""


class Head(NamedTuple):
    """What a catalog states of its collection at one time."""

    name: str
    sequence: int
    active_space: str
    history: str
    purged: int

    @property
    def state(self) -> tuple[str, int]:
        """What no other state of the items, views and spaces has, in this history or another."""
        return self.history, self.sequence


_HEAD = str(sa.select(*(schema.collection.c[name] for name in Head._fields)))
"""As text, which costs a tenth of the expression: each reading on demand begins with it."""


class Transaction:
    """One consistent state of the catalog; in a write transaction also the way to change it."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection
        self.answers = Answers(connection)
        self.captures = Captures(connection)
        self.items = Items(connection)
        self.item_writer = ItemWriter(connection)
        self.roots = Roots(connection)
        self.rows = Rows(connection)
        self.snapshots = Snapshots(connection)
        self.spaces = Spaces(connection)
        self.views = Views(connection)

    def head(self) -> Head:
        """Return the collection's name, the number of the last change, and the space that answers by default."""
        return Head(*self._connection.exec_driver_sql(_HEAD).one())

    def name(self) -> str:
        """Return the collection's name."""
        return str(self._connection.scalar(sa.select(schema.collection.c.name)))

    def count_collections(self) -> int:
        """Return how many collections the catalog describes: one, unless it comes from elsewhere."""
        return int(self._connection.scalar(sa.select(sa.func.count()).select_from(schema.collection)) or 0)

    def description(self) -> str:
        """Return the collection's description."""
        return str(self._connection.scalar(sa.select(schema.collection.c.description)))

    def created(self) -> str:
        """Return when the collection was created, ISO 8601 in UTC."""
        return str(self._connection.scalar(sa.select(schema.collection.c.created)))

    def sequence(self) -> int:
        """Return the number of the last change."""
        return int(self._connection.scalar(sa.select(schema.collection.c.sequence)) or 0)

    def next_sequence(self) -> int:
        """Take the number of a new change."""
        bump = sa.update(schema.collection).values(sequence=schema.collection.c.sequence + 1)
        return int(self._connection.execute(bump.returning(schema.collection.c.sequence)).scalar_one())

    def active_space(self) -> str:
        """Return the name of the space that answers by default; "" before the first training."""
        return str(self._connection.scalar(sa.select(schema.collection.c.active_space)) or "")

    def purge(self) -> int:
        """Remove the tombstones that the snapshots of all indexes have passed; return how many.

        A follower that is further behind finds that in ``head``, and begins anew.
        """
        passed = self.snapshots.least_sequence()
        sequence = self.sequence() if passed is None else passed
        removed = self.items.purge(sequence)
        if removed:
            self._connection.execute(sa.update(schema.collection).values(purged=sequence))
        return removed

    def rename(self, name: str) -> None:
        """Give the collection another name, and begin another history of its changes: it was restored from a copy."""
        self._connection.execute(sa.update(schema.collection).values(name=name, history=secrets.token_hex(8)))

    def activate(self, space: str) -> None:
        """Make a space the default one."""
        self._connection.execute(sa.update(schema.collection).values(active_space=space))


class Catalog:
    """The catalog in a database file; ``writing`` makes the contexts that its changes are committed in."""

    def __init__(
        self,
        path: Path,
        writing: "Callable[[], AbstractContextManager[object]]" = nullcontext,
        new: bool = False,
    ) -> None:
        """Open it, or with ``new`` make its tables; StorageError where that cannot be."""
        self._database = Database(path, new)
        self._writing = writing

    @classmethod
    def create(cls, path: Path, name: str, description: str = "") -> "Catalog":
        """Open an empty database as the catalog of a new collection."""
        catalog = cls(path, new=True)
        new = {"id": 1, "name": name, "description": description, "created": now(), "sequence": 0, "active_space": ""}
        new["history"] = secrets.token_hex(8)
        with catalog._database.write() as connection:
            connection.execute(sa.insert(schema.collection).values(new))
        return catalog

    @contextmanager
    def read(self) -> Iterator[Transaction]:
        """Open a transaction that sees one consistent state."""
        with self._database.read() as connection:
            yield Transaction(connection)

    @contextmanager
    def write(self) -> Iterator[Transaction]:
        """Open a transaction that is durable when the block ends, and undone if it raises or is no longer wanted.

        Nobody else writes during the block: what takes long is prepared before it, and what that went by is checked
        again in it. Not inside another such block. Raises BusyError after long waiting.
        """
        with self._writing(), self._database.write() as connection:
            yield Transaction(connection)
            checkpoint()

    def counter(self) -> int:
        """Return a number that differs after every change by anybody."""
        return self._database.counter()

    def shrink(self) -> None:
        """Give the space of what was deleted back to the file system, bit by bit, so that other writers get their turn.

        Raises BusyError and StorageError, after which nothing is lost but the space. A catalog of an earlier version is
        written anew, once; that keeps writers waiting, and needs as much again as is left.
        """
        while True:
            with self._writing():
                if not self._database.shrink():
                    break
            checkpoint()
        self.truncate_log()

    def truncate_log(self) -> None:
        """Empty the log of what was written; not while it is being read. Raises BusyError and StorageError."""
        self._database.truncate_log()

    def close(self) -> None:
        """Close every connection."""
        self._database.close()


def now() -> str:
    """Return the time as ISO 8601 in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")
