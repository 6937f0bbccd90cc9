"""Voting: the nearest labelled items give queries their labels."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crossview.engine.spaces.indexed import IndexedSpace
from crossview.engine.spaces.matching import neighbours
from crossview.engine.spaces.neighbor import Neighbor
from crossview.engine.spaces.target import Target, on_common_scale
from crossview.engine.spaces.version import Version
from crossview.index.base import Selection


@dataclass(frozen=True)
class Voters:
    """The labelled items of a collection that a space finds for queries of one view; all votes have the same weight."""

    version: Version
    indexed: IndexedSpace
    view: str
    targets: tuple[str, ...]
    k: int
    """Items that vote in each target, or over all targets if distances have a common scale."""
    labels: Mapping[int, tuple[str, ...]]
    """Labels of the labelled items, by id."""

    def shares(self, rows: NDArray[np.float32], own: Sequence[int | None]) -> list[dict[str, float]]:
        """Return the share of the votes of each label, for each of (n, d) rows of the view.

        ``own`` has the id of the item behind each row, which does not vote on itself. A voter with several labels votes
        for each.

        Raises the errors of ``Space.probe``.
        """
        probes = self.indexed.space.probe(self.view, rows, self.targets)
        found = neighbours(self.indexed, probes, own, self.k, self._labelled)
        comparable = on_common_scale(probes.keys())
        return [self._share([lists[row] for lists in found.values()], comparable) for row in range(len(rows))]

    def _share(self, lists: Sequence[Sequence[Neighbor]], comparable: bool) -> dict[str, float]:
        voters = [one.item for found in lists for one in found]
        if comparable:  # an item can be in several targets, one for each metric of the view
            by_distance = sorted((one for found in lists for one in found), key=lambda one: one.distance)
            voters = list(dict.fromkeys(one.item for one in by_distance))[: self.k]
        votes = Counter(label for item in voters for label in self.labels[item])
        return {label: count / len(voters) for label, count in votes.items()}

    def _labelled(self, target: Target) -> Selection:
        searcher = self.indexed.searcher(target)
        return self.version.remembered.value(("labelled", searcher), lambda: searcher.selection(self._ids()))

    def _ids(self) -> NDArray[np.int64]:
        return np.array(sorted(self.labels), np.int64)
