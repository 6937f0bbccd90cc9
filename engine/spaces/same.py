"""Same or different: thresholds on distances, learned from pairs, and what they say of other pairs."""

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from engine.catalog.contents import Contents
from engine.errors import InvalidInputError
from engine.info import Threshold
from engine.query import CalibrationRequest, Query, SameRequest, Verdict

if TYPE_CHECKING:
    from engine.spaces.loaded import LoadedSpaces
    from engine.spaces.space import Space
    from engine.spaces.version import Version
    from engine.spaces.versions import Versions


class SameOrDifferent(Contents):
    """A collection that tells whether two items are the same."""

    _loaded: "LoadedSpaces"

    def _versions(self) -> "Versions":
        raise NotImplementedError

    def calibrate(self, request: CalibrationRequest) -> Threshold:
        """Learn up to which distance two items are the same, and keep it with the generation that answers.

        Raises InvalidInputError (pairs of one kind only), NotFoundError (an item, a space), NotReadyError (no labels
        to go by), BusyError, StorageError.
        """
        from engine.spaces.calibrating import calibrated, put_threshold

        with self._read() as tx:
            space = self._loaded.get(tx, request.space)
            threshold, pairs = calibrated(tx, space, request)
        with self._writable.write() as tx:
            put_threshold(tx, space, threshold, pairs)
        return threshold

    def same(self, request: SameRequest) -> list[Verdict]:
        """Return whether the two of each pair are the same, by the threshold of the generation that answers.

        Raises InvalidInputError, NotFoundError, NotReadyError (not calibrated), ImageError, StorageError.
        """
        from engine.spaces.search import check_queries, no_targets

        queries = [query for pair in request.pairs for query in pair]
        check_queries(queries)
        return self._versions().answered(
            request.space, no_targets(queries), lambda version, one: _same(version, one.space, self._loaded, request)
        )


def _same(version: "Version", space: "Space", loaded: "LoadedSpaces", request: SameRequest) -> list[Verdict]:
    from engine.spaces.pair_distances import pair_distances
    from engine.spaces.query_rows import query_rows
    from engine.spaces.search import target_of

    space.check_revisions(version.views)
    queries = [query for pair in request.pairs for query in pair]
    verdicts: dict[int, Verdict] = {}
    for (first, second), numbers in _by_views(request.pairs).items():
        target = target_of(space, second, request.target)
        if target.view != second:
            raise InvalidInputError(f"target {str(target)!r} is of view {target.view!r}, not of {second!r}")
        threshold = version.threshold(space, first, str(target))
        asking = query_rows(version, loaded, first, queries, [2 * number for number in numbers]).rows
        found = query_rows(version, loaded, second, queries, [2 * number + 1 for number in numbers]).rows
        places = np.repeat(np.arange(len(numbers))[:, None], 2, axis=1)
        for number, distance in zip(
            numbers, pair_distances(space, target, (first, asking), found, places).tolist(), strict=True
        ):
            verdicts[number] = Verdict(
                same=distance <= threshold.distance,
                distance=distance,
                threshold=threshold.distance,
                probability=threshold.probability(distance),
            )
    return [verdicts[number] for number in range(len(request.pairs))]


def _by_views(pairs: Sequence[tuple[Query, Query]]) -> dict[tuple[str, str], list[int]]:
    """Return the positions of pairs by the views that they are described by."""
    groups: dict[tuple[str, str], list[int]] = defaultdict(list)
    for number, (first, second) in enumerate(pairs):
        groups[first.view, second.view].append(number)
    return groups
