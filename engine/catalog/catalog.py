"""The catalog of one collection: transactions over its tables."""

import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import sqlalchemy as sa

from crossview.engine.catalog import schema
from crossview.engine.catalog.captures import Captures
from crossview.engine.catalog.database import Database
from crossview.engine.catalog.fingerprints import Fingerprints
from crossview.engine.catalog.item_writer import ItemWriter, KeptFields
from crossview.engine.catalog.items import Items
from crossview.engine.catalog.judgements import Answers, Judgements, PairJudgements
from crossview.engine.catalog.maps import Maps
from crossview.engine.catalog.moves import Moves
from crossview.engine.catalog.roots import Roots
from crossview.engine.catalog.rows import RowStore
from crossview.engine.catalog.snapshots import Snapshots
from crossview.engine.catalog.spaces import Spaces
from crossview.engine.catalog.views import ViewRecord, Views
from crossview.engine.runtime.cancellation import checkpoint


class KeptState(NamedTuple):
    """A state of the catalog that stays readable until ``close``."""

    transaction: "Transaction"
    close: Callable[[], None]


class KnownViews(Protocol):
    """The views of a collection."""

    def all(self) -> tuple[ViewRecord, ...]:
        """Return every view in the order of its creation."""


class NamedViews(Protocol):
    """A collection's name and views: a transaction, or a version of the collection in memory."""

    @property
    def views(self) -> KnownViews:
        """The views."""

    def name(self) -> str:
        """Return the collection's name."""


class Head(NamedTuple):
    """The facts about a collection that change with its sequence, at one moment."""

    name: str
    sequence: int
    active_space: str
    history: str
    purged: int

    @property
    def state(self) -> tuple[str, int]:
        """The identity of this state: no other state, in this history or another, has the same value."""
        return self.history, self.sequence


_HEAD = str(sa.select(*(schema.collection.c[name] for name in Head._fields[1:])))
"""SQL text, because every read begins with this query, and compiling the expression takes ten times as long."""


class Transaction:
    """One consistent state of the catalog; a write transaction can also change it."""

    home: Path

    def __init__(self, connection: sa.Connection, name: str, home: Path) -> None:
        self._connection, self._name, self.home = connection, name, home
        self.answers: Answers = Answers(connection)
        self.captures: Captures = Captures(connection)
        self.fingerprints: Fingerprints = Fingerprints(connection)
        self.items: Items = Items(connection)
        self.item_writer: ItemWriter = ItemWriter(connection)
        self.judgements: Judgements = Judgements(connection)
        self.kept_fields: KeptFields = KeptFields(connection)
        self.maps: Maps = Maps(connection)
        self.moves: Moves = Moves(connection)
        self.pair_judgements: PairJudgements = PairJudgements(connection)
        self.roots: Roots = Roots(connection)
        self.rows: RowStore = RowStore(connection)
        self.snapshots: Snapshots = Snapshots(connection)
        self.spaces: Spaces = Spaces(connection)
        self.views: Views = Views(connection)

    def head(self) -> Head:
        """Return the collection's name, the number of the last change, and the space that answers by default."""
        return Head(self._name, *self._connection.exec_driver_sql(_HEAD).one())

    def row(self, query: str, *parameters: Any) -> Sequence[Any]:
        """Return the only row of a query."""
        return self._connection.exec_driver_sql(query, parameters).one()

    def name(self) -> str:
        """Return the collection's name."""
        return self._name

    def count_collections(self) -> int:
        """Return the number of collections that the catalog describes: 1, except in a damaged or foreign file."""
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
        """Remove the tombstones that the snapshots of all indexes cover; return how many.

        A follower that is further behind sees this in ``head().purged`` and starts again from the items.
        """
        passed = self.snapshots.least_sequence()
        sequence = self.sequence() if passed is None else passed
        removed = self.items.purge(sequence)
        if removed:
            self._connection.execute(sa.update(schema.collection).values(purged=sequence))
        return removed

    def begin_history(self) -> None:
        """Start a new history of changes in a copy, which has no index snapshots."""
        self._connection.execute(sa.update(schema.collection).values(history=secrets.token_hex(8)))
        self.snapshots.clear()

    def activate(self, space: str) -> None:
        """Make a space the default one."""
        self._connection.execute(sa.update(schema.collection).values(active_space=space))


class Catalog:
    """The catalog in a database file; ``writing`` returns the context of a commit, such as the writer lock."""

    def __init__(
        self,
        path: Path,
        writing: "Callable[[], AbstractContextManager[object]]" = nullcontext,
        new: bool = False,
    ) -> None:
        """Open the file, or with ``new`` make its tables; StorageError if the file cannot be used."""
        self._database = Database(path, new)
        self._name = path.parent.name  # a rename of the folder renames the collection
        self._home = path.parent.parent
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
            yield Transaction(connection, self._name, self._home)

    def row(self, query: str, *parameters: Any) -> Sequence[Any]:
        """Return the only row of a query, which sees one consistent state; cheaper than a transaction."""
        return self._database.row(query, *parameters)

    def keep(self) -> KeptState:
        """Keep the current state readable; threads may read it in turn. Keep few states, and not for long."""
        connection = self._database.keep()
        return KeptState(Transaction(connection, self._name, self._home), connection.close)

    @contextmanager
    def write(self) -> Iterator[Transaction]:
        """Open a transaction that is durable after the block, and rolled back if the block raises or is cancelled.

        Other writers wait during the block, so do long work before it, and check the assumptions of that work again
        inside it. Do not nest these blocks. Raises BusyError if the lock stays busy.
        """
        with self._writing(), self._database.write() as connection:
            yield Transaction(connection, self._name, self._home)
            checkpoint()  # the last moment: a cancelled call must not commit

    def counter(self) -> int:
        """Return a number that differs after every change by any process."""
        return self._database.counter()

    def shrink(self) -> None:
        """Give the space of deleted rows back to the file system, in steps, so that other writers get their turn.

        A catalog of an earlier version is rewritten once: writers wait for it, and it needs free disk space for a copy.
        Raises BusyError and StorageError; the catalog is then whole, and only keeps its space.
        """
        while True:
            with self._writing():
                if not self._database.shrink():
                    break
            checkpoint()
        self.truncate_log()

    def truncate_log(self) -> None:
        """Empty the write-ahead log unless a reader uses it. Raises BusyError and StorageError."""
        self._database.truncate_log()

    def close(self) -> None:
        """Close every connection."""
        self._database.close()


def now() -> str:
    """Return the time as ISO 8601 in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")
