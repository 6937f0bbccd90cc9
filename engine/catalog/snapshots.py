"""Index snapshots in the catalog: which file holds the index of which target, and up to which change."""

from collections.abc import Collection
from typing import NamedTuple

import sqlalchemy as sa

from crossview.engine.catalog.schema import generations, snapshots

Place = tuple[str, int, str]
"""A space, a generation of it, and a target."""


class Snapshot(NamedTuple):
    """The snapshot of a target's index that the catalog takes for the current one."""

    space: str
    generation: int
    target: str
    token: str
    """Random, and in the name of the file: no other snapshot was or will be called so."""
    sequence: int
    """The change up to which it covers the catalog."""

    @property
    def place(self) -> Place:
        """What it is the snapshot of."""
        return self.space, self.generation, self.target

    @property
    def file_name(self) -> str:
        """The name of its file, which leads out of no folder, whatever the names are made of."""
        made = f"{self.space}-{self.generation}-{self.target}-{self.token}.idx"
        return made.replace("%", "%25").replace("/", "%2F")


class Snapshots:
    """The snapshots of one transaction."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def all(self) -> list[Snapshot]:
        """Return every snapshot."""
        query = sa.select(*(snapshots.c[name] for name in Snapshot._fields))
        return [Snapshot(*row) for row in self._connection.execute(query)]

    def get(self, place: Place) -> Snapshot | None:
        """Return the snapshot of a target; None where there is none."""
        query = sa.select(*(snapshots.c[name] for name in Snapshot._fields)).where(*_at(place))
        found = self._connection.execute(query).one_or_none()
        return None if found is None else Snapshot(*found)

    def least_sequence(self) -> int | None:
        """Return the least change that a snapshot covers; None where there is none."""
        least = self._connection.scalar(sa.select(sa.func.min(snapshots.c.sequence)))
        return None if least is None else int(least)

    def put(self, new: Snapshot) -> None:
        """Take note of a snapshot whose file is whole, in place of an earlier one and of those of generations gone.

        The raw views have no generations here: of them only those of this one stay.
        """
        self.delete(new.place)
        kept = sa.select(generations.c.generation).where(generations.c.space == new.space)
        gone = (snapshots.c.generation != new.generation) & snapshots.c.generation.not_in(kept)
        self._connection.execute(sa.delete(snapshots).where(snapshots.c.space == new.space, gone))
        self._connection.execute(sa.insert(snapshots).values(new._asdict()))

    def delete(self, place: Place) -> None:
        """Forget the snapshot of a target."""
        self._connection.execute(sa.delete(snapshots).where(*_at(place)))

    def keep(self, places: Collection[Place]) -> None:
        """Forget the snapshots of all other targets."""
        for one in self.all():
            if one.place not in places:
                self.delete(one.place)


def _at(place: Place) -> tuple["sa.ColumnElement[bool]", ...]:
    space, generation, target = place
    return snapshots.c.space == space, snapshots.c.generation == generation, snapshots.c.target == target
