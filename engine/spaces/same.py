"""Verification: whether two queries are the same, by their distance and the threshold of a space."""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from crossview.engine.spaces.known_pairs import pair_distances
from crossview.engine.spaces.queries import query_rows, without_row
from crossview.engine.spaces.search import target_of
from crossview.engine.spaces.version import SearchState, Version
from crossview.engine.values.errors import InvalidInputError
from crossview.engine.values.item import Failure
from crossview.engine.values.query import Query, SameRequest, Verdict
from crossview.engine.values.strategy import check_base_rate


def same(state: SearchState, request: SameRequest) -> list[Verdict | Failure]:
    """Return for each pair whether its two queries are the same, or the failure of a key without a row of the view.

    Raises the errors of ``search.answer``.
    """
    check_base_rate(request.base_rate)
    version, space = state.version, state.space
    space.check_revisions(version.views)
    queries = [query for pair in request.pairs for query in pair]
    verdicts: dict[int, Verdict | Failure] = _left_out(version, request.pairs)
    for (first, second), numbers in _by_views(request.pairs).items():
        target = target_of(space, second, request.target)
        if target.view != second:
            raise InvalidInputError(
                f"target {str(target)!r} belongs to view {target.view!r}: choose a target of view {second!r}"
            )
        space.targets_for(first, [str(target)])  # raises for two views in a space that cannot compare them
        threshold = version.threshold(space, first, str(target))
        numbers = [number for number in numbers if number not in verdicts]
        if not numbers:
            continue
        asking = query_rows(version, first, queries, [2 * number for number in numbers]).rows
        found = query_rows(version, second, queries, [2 * number + 1 for number in numbers]).rows
        places = np.repeat(np.arange(len(numbers))[:, None], 2, axis=1)
        for number, distance in zip(
            numbers, pair_distances(space, target, (first, asking), found, places).tolist(), strict=True
        ):
            verdicts[number] = Verdict(
                same=distance <= threshold.distance,
                distance=distance,
                threshold=threshold.distance,
                probability=threshold.probability(distance, request.base_rate),
            )
    return [verdicts[number] for number in range(len(request.pairs))]


def _left_out(version: Version, pairs: Sequence[tuple[Query, Query]]) -> dict[int, Verdict | Failure]:
    """Return the failure of each pair, by its position, with a key of an unknown item or of one without the view."""
    numbers: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for number, pair in enumerate(pairs):
        for query in pair:
            if query.key is not None:
                numbers[query.view][query.key].append(number)
    return {
        number: Failure(key, str(error))
        for view, of_keys in numbers.items()
        for key, error in without_row(version, view, of_keys).items()
        for number in of_keys[key]
    }


def _by_views(pairs: Sequence[tuple[Query, Query]]) -> dict[tuple[str, str], list[int]]:
    """Return the positions of pairs by their two views."""
    groups: dict[tuple[str, str], list[int]] = defaultdict(list)
    for number, (first, second) in enumerate(pairs):
        groups[first.view, second.view].append(number)
    return groups
