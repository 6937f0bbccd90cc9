"""Spaces in the catalog: each has several generations, and one of them is in use."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import sqlalchemy as sa

from crossview.engine.catalog import bulk
from crossview.engine.catalog.schema import generations, index_choices, maps, snapshots, spaces, thresholds
from crossview.engine.values.info import Threshold


@dataclass(frozen=True, kw_only=True)
class Generation:
    """One training of a space."""

    space: str
    generation: int
    created: str
    sequence: int
    """The collection's sequence that the training saw."""
    summary: Mapping[str, Any]
    """The description for ``show``, so that it need not read the state."""


_COLUMNS = tuple(getattr(generations.c, name) for name in Generation.__dataclass_fields__)
_IN_USE = (spaces.c.name == generations.c.space) & (spaces.c.generation == generations.c.generation)
_IDENTITIES = sa.select(spaces.c.name, generations.c.generation, generations.c.sequence).join(generations, _IN_USE)


class Spaces:
    """The spaces of one transaction."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def in_use(self) -> dict[str, int]:
        """Return the generation in use of every space."""
        query = sa.select(spaces).order_by(spaces.c.name)
        return {row.name: row.generation for row in self._connection.execute(query)}

    def generations(self, space: str | None = None) -> list[Generation]:
        """Return the generations of a space [default: of every space], oldest first."""
        query = sa.select(*_COLUMNS).order_by(generations.c.space, generations.c.generation)
        filtered = query if space is None else query.where(generations.c.space == space)
        return [Generation(**row._mapping) for row in self._connection.execute(filtered)]

    def identity(self, space: str) -> tuple[int, int] | None:
        """Return the generation in use and the sequence that its training saw; None for an unknown space.

        A deletion raises the sequence, so a space that is deleted and trained again has another identity.
        """
        query = sa.select(generations.c.generation, generations.c.sequence).join(spaces, _IN_USE)
        row = self._connection.execute(query.where(spaces.c.name == space)).one_or_none()
        return None if row is None else (row.generation, row.sequence)

    def identities(self) -> dict[str, tuple[int, int]]:
        """Return the ``identity`` of every space."""
        rows = bulk.select(self._connection, _IDENTITIES)
        return {name: (generation, sequence) for name, generation, sequence in rows}

    def trained_at(self, space: str, generation: int) -> int:
        """Return the sequence that the training of a generation saw."""
        query = sa.select(generations.c.sequence).where(generations.c.space == space)
        return int(self._connection.execute(query.where(generations.c.generation == generation)).scalar_one())

    def state(self, space: str, generation: int) -> bytes:
        """Return the fitted state of a generation."""
        query = sa.select(generations.c.state).where(generations.c.space == space)
        return bytes(self._connection.execute(query.where(generations.c.generation == generation)).scalar_one())

    def thresholds(self, space: str, generation: int) -> tuple[Threshold, ...]:
        """Return the thresholds of a generation, in the order of views and targets.

        For the raw space, the generation is the revision of the threshold's view.
        """
        query = sa.select(thresholds.c.threshold).where(*_thresholds(space, generation))
        trees = self._connection.scalars(query.order_by(thresholds.c.view, thresholds.c.target))
        return tuple(Threshold(**{name: _tuple(value) for name, value in tree.items()}) for tree in trees)

    def put_threshold(self, space: str, generation: int, threshold: Threshold, pairs: bytes) -> None:
        """Store the threshold of a view and target with fingerprints of its pairs, replacing an earlier threshold."""
        place = {"space": space, "generation": generation, "view": threshold.view, "target": threshold.target}
        gone = [thresholds.c[name] == value for name, value in place.items()]
        self._connection.execute(sa.delete(thresholds).where(*gone))
        self._connection.execute(sa.insert(thresholds).values(**place, threshold=asdict(threshold), pairs=pairs))

    def index_choices(self) -> dict[tuple[str, int], dict[str, Mapping[str, Any]]]:
        """Return the choices of indexes as JSON by target, for each generation of a space that has any.

        For the raw space, the generation is the revision of the target's view.
        """
        choices: dict[tuple[str, int], dict[str, Mapping[str, Any]]] = {}
        for space, generation, target, choice in self._connection.execute(sa.select(index_choices)):
            choices.setdefault((space, generation), {})[target] = choice
        return choices

    def put_index_choice(self, space: str, generation: int, target: str, choice: Mapping[str, Any]) -> None:
        """Store the choice of an index, as JSON, replacing an earlier one."""
        place = {"space": space, "generation": generation, "target": target}
        gone = [index_choices.c[name] == value for name, value in place.items()]
        self._connection.execute(sa.delete(index_choices).where(*gone))
        self._connection.execute(sa.insert(index_choices).values(**place, choice=choice))

    def calibrating_pairs(self, space: str, generation: int, view: str, target: str) -> bytes:
        """Return the fingerprints of the calibration pairs of a threshold; empty without a threshold."""
        at = (thresholds.c.view == view, thresholds.c.target == target)
        return self._connection.scalar(sa.select(thresholds.c.pairs).where(*_thresholds(space, generation), *at)) or b""

    def forget_view(self, space: str, view: str) -> None:
        """Delete the thresholds of a view and the choice of its index, in every generation of a space."""
        self._connection.execute(sa.delete(thresholds).where(thresholds.c.space == space, thresholds.c.view == view))
        conditions = index_choices.c.space == space, index_choices.c.target == view
        self._connection.execute(sa.delete(index_choices).where(*conditions))

    def add(self, new: Generation, state: bytes) -> None:
        """Store a generation; it is not in use yet."""
        if new.space not in self.in_use():
            self._connection.execute(sa.insert(spaces).values(name=new.space, generation=new.generation))
        self._connection.execute(sa.insert(generations).values(**vars(new), state=state))

    def use(self, space: str, generation: int) -> None:
        """Put a generation of a space to use."""
        self._connection.execute(sa.update(spaces).where(spaces.c.name == space).values(generation=generation))

    def delete(self, space: str, generation: int | None = None) -> None:
        """Delete a generation of a space; without ``generation`` delete the space with all generations."""
        for table in (generations, index_choices, maps, snapshots, thresholds):
            gone = sa.delete(table).where(table.c.space == space)
            self._connection.execute(gone if generation is None else gone.where(table.c.generation == generation))
        if generation is None:
            self._connection.execute(sa.delete(spaces).where(spaces.c.name == space))


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _thresholds(space: str, generation: int) -> tuple["sa.ColumnElement[bool]", ...]:
    return thresholds.c.space == space, thresholds.c.generation == generation
