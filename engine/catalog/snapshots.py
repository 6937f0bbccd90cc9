"""Index snapshots in the catalog: the file of each target's index, and the last change that it covers."""

from collections.abc import Collection
from typing import NamedTuple

import sqlalchemy as sa

from crossview.engine.catalog.schema import generations, snapshots

Place = tuple[str, int, str]
"""A space, its generation, and a target."""


class Snapshot(NamedTuple):
    """The current snapshot of a target's index."""

    space: str
    generation: int
    target: str
    token: str
    """Random, and part of the file's name, so that a new snapshot never overwrites a file."""
    sequence: int
    """The change up to which it covers the catalog."""

    @property
    def place(self) -> Place:
        """The space, generation and target of the index."""
        return self.space, self.generation, self.target

    @property
    def file_name(self) -> str:
        """The name of the file; escaping keeps it inside the folder for any name of a space or target."""
        name = f"{self.space}-{self.generation}-{self.target}-{self.token}.idx"
        return name.replace("%", "%25").replace("/", "%2F")


class Snapshots:
    """The snapshots of one transaction."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def all(self) -> list[Snapshot]:
        """Return every snapshot."""
        query = sa.select(*(snapshots.c[name] for name in Snapshot._fields))
        return [Snapshot(*row) for row in self._connection.execute(query)]

    def get(self, place: Place) -> Snapshot | None:
        """Return the snapshot of a target; None if it has none."""
        query = sa.select(*(snapshots.c[name] for name in Snapshot._fields)).where(*_at(place))
        row = self._connection.execute(query).one_or_none()
        return None if row is None else Snapshot(*row)

    def clear(self) -> None:
        """Forget all snapshots."""
        self._connection.execute(sa.delete(snapshots))

    def least_sequence(self) -> int | None:
        """Return the least change that a snapshot covers; None without snapshots."""
        least = self._connection.scalar(sa.select(sa.func.min(snapshots.c.sequence)))
        return None if least is None else int(least)

    def put(self, new: Snapshot) -> None:
        """Record a snapshot whose file is complete; it replaces an earlier one, and those of deleted generations.

        The catalog does not store generations of the raw space: only snapshots of the new one's generation stay.
        """
        self.delete(new.place)
        existing = sa.select(generations.c.generation).where(generations.c.space == new.space)
        gone = (snapshots.c.generation != new.generation) & snapshots.c.generation.not_in(existing)
        self._connection.execute(sa.delete(snapshots).where(snapshots.c.space == new.space, gone))
        self._connection.execute(sa.insert(snapshots).values(new._asdict()))

    def delete(self, place: Place) -> None:
        """Forget the snapshot of a target."""
        self._connection.execute(sa.delete(snapshots).where(*_at(place)))

    def keep(self, places: Collection[Place]) -> None:
        """Forget the snapshots of all other targets."""
        for snapshot in self.all():
            if snapshot.place not in places:
                self.delete(snapshot.place)


def _at(place: Place) -> tuple["sa.ColumnElement[bool]", ...]:
    space, generation, target = place
    return snapshots.c.space == space, snapshots.c.generation == generation, snapshots.c.target == target
