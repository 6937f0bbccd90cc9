"""Columns: the distances of one query to all items of one target, and how much they speak for each item."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossview.engine.spaces.fusion import Floats
from crossview.engine.spaces.item_distances import Scale
from crossview.engine.spaces.match import Match
from crossview.engine.spaces.near_copies import Copies
from crossview.engine.spaces.target import Target
from crossview.engine.spaces.version import SearchState
from crossview.index.base import Ids

Place = tuple[str, Target]
"""The view of a query, and a target in which it finds items."""


@dataclass(frozen=True, eq=False)
class Column:
    """The distances of a query of one view to all items of a target that the search may find, without its own item."""

    place: Place
    vector: NDArray[Any]
    """The query's vector or code, (width,)."""
    ids: Ids
    """Ascending, (n,)."""
    distances: Floats
    """(n,)."""
    own: int | None
    copies: Copies
    familiarity: float | None
    """The share of its match that the query keeps; None without matches."""

    def first(self) -> float:
        """Return the distance of the nearest item that is not a near copy, or of the nearest."""
        others = ~np.isin(self.ids, list(self.copies)) if self.copies else np.ones(len(self.ids), bool)
        return float(self.distances[others if others.any() else ~others].min(initial=np.inf))


@dataclass(frozen=True)
class Evidence:
    """How much the columns of a space speak for their items."""

    state: SearchState

    def match(self, column: Column) -> Match | None:
        """Return the calibrated match of a column; None without one."""
        if column.familiarity is None:
            return None
        return self.state.space.match_of.get((column.place[0], str(column.place[1])))

    def matches(self, columns: Sequence[Column]) -> list[Floats]:
        """Return the match of each item of every column that has one, (n,)."""
        known = [(one, self.match(one)) for one in columns]
        return [
            match.of_all(one.distances, one.first(), one.familiarity or 0.0)
            for one, match in known
            if match is not None
        ]

    def logits(self, columns: Sequence[Column]) -> list[Floats]:
        """Return the bounded logits of the matches of every column that has them, (n,)."""
        known = [match for one in columns if (match := self.match(one)) is not None]
        return [match.evidence(found) for match, found in zip(known, self.matches(columns), strict=True)]

    def scores(self, columns: Sequence[Column]) -> list[Floats]:
        """Return how near each item of every column is, on the scale of its target, (n,)."""
        scales = {one.place[1]: self.scale(one.place[1]) for one in columns}
        return [scales[one.place[1]].scores(one.vector, one.ids, one.distances, one.own) for one in columns]

    def calibrated(self, places: Sequence[Place]) -> bool:
        """Return whether all places have a match."""
        space = self.state.space
        return all((view, str(target)) in space.match_of and view in space.novelty_of for view, target in places)

    def to_learn(self, columns: Sequence[Column], by_match: bool) -> list[Floats]:
        """Return what learned weights weigh, (n,) for each column: logits of the matches, or the scores."""
        return self.logits(columns) if by_match else self.scores(columns)

    def scale(self, target: Target) -> Scale:
        """Return the scale of a target's items, computed once for each state of its index."""
        index = self.state.indexed.indexes[target].index
        return self.state.version.remembered.value(("scale", index), lambda: Scale.of(target, index))
