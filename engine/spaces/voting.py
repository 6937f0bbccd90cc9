"""Voting: labels of queries by those of the labelled items that are nearest to them."""

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
    """The labelled items of a collection as a space finds them for queries of one view; all votes weigh the same."""

    version: Version
    indexed: IndexedSpace
    view: str
    targets: tuple[str, ...]
    k: int
    """Items that vote, in each target; over all of them where distances are on a common scale."""
    labels: Mapping[int, tuple[str, ...]]
    """Those of the labelled items, by id."""

    def shares(self, rows: NDArray[np.float32], own: Sequence[int | None]) -> list[dict[str, float]]:
        """Return, for each of (n, d) rows of the view, the share of the votes that each label has.

        ``own`` are the ids of the items that the rows are of, which do not vote on themselves. A voter with several
        labels votes for each.

        Raises what ``Space.probe`` does.
        """
        probes = self.indexed.space.probe(self.view, rows, self.targets)
        found = neighbours(self.indexed, probes, own, self.k, self._labelled)
        comparable = on_common_scale(probes.keys())
        return [self._share([lists[row] for lists in found.values()], comparable) for row in range(len(rows))]

    def _share(self, lists: Sequence[Sequence[Neighbor]], comparable: bool) -> dict[str, float]:
        voters = [one.item for found in lists for one in found]
        if comparable:  # an item may be in several targets, each with a metric of the view
            by_distance = sorted((one for found in lists for one in found), key=lambda one: one.distance)
            voters = list(dict.fromkeys(one.item for one in by_distance))[: self.k]
        votes = Counter(label for item in voters for label in self.labels[item])
        return {label: count / len(voters) for label, count in votes.items()}

    def _labelled(self, target: Target) -> Selection:
        searcher = self.indexed.searcher(target)
        return self.version.remembered.value(("labelled", searcher), lambda: searcher.selection(self._ids()))

    def _ids(self) -> NDArray[np.int64]:
        return np.array(sorted(self.labels), np.int64)
