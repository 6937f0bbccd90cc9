"""Suggestion of labels for queries, by calibrated votes of the nearest labelled items; it writes nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from crossview.engine.errors import InvalidInputError, NotReadyError
from crossview.engine.query import LabelShare, LikeliestClass, SuggestedLabels, Suggestions, SuggestRequest
from crossview.engine.spaces.indexed import IndexedSpace
from crossview.engine.spaces.loaded import LoadedSpaces
from crossview.engine.spaces.matching import by_view
from crossview.engine.spaces.query_rows import query_rows
from crossview.engine.spaces.search import check_queries
from crossview.engine.spaces.space import Space
from crossview.engine.spaces.version import Version
from crossview.engine.spaces.vote_calibration import VoteCalibration, calibrate
from crossview.engine.spaces.voting import Voters


def check_request(request: SuggestRequest) -> None:
    """Raise InvalidInputError for a request that no collection can answer."""
    check_queries(request.queries, request.k)
    if any(query.label is not None for query in request.queries):
        raise InvalidInputError(
            "a query by label cannot get suggested labels: give an item, a picture, a text or a vector"
        )
    if not 0 <= request.min_share <= 1:
        raise InvalidInputError(f"min_share must be a probability between 0 and 1, not {request.min_share:g}")


def suggest(version: Version, indexed: IndexedSpace, loaded: LoadedSpaces, request: SuggestRequest) -> Suggestions:
    """Return the labels of every query.

    Raises NotReadyError if no item has a label, and the errors of ``search.answer``.
    """
    queries, results, protocols = request.queries, {}, []
    labels = version.remembered.value("labels", lambda: _labels(version))
    for view, numbers in by_view(queries).items():
        described = query_rows(version, loaded, view, queries, numbers)
        voters = Voters(version, indexed, view, tuple(request.targets), request.k, labels)
        shares, calibration = voters.shares(described.rows, described.own), _calibration(voters)
        protocols.append(calibration.protocol)
        likeliest = _likeliest(indexed.space, view, described.rows)
        for number, item, votes, of_all in zip(numbers, described.own, shares, likeliest, strict=True):
            known = () if item is None else labels.get(item, ())
            found = _suggested(number, votes, calibration, request.min_share, known)
            results[number] = replace(found, likeliest=of_all)
    return Suggestions(tuple(results[number] for number in range(len(queries))), "; ".join(protocols))


def _labels(version: Version) -> dict[int, tuple[str, ...]]:
    """Return the labels of the labelled items; NotReadyError if no item has a label."""
    with version.read() as tx:
        labels = tx.items.labels()
    if not labels:
        raise NotReadyError(
            f"no item of collection {version.name()!r} has a label: label some items with: "
            "`collection.items.annotate('FILE.csv')`"
        )
    return labels


def _calibration(voters: Voters) -> VoteCalibration:
    """Return the calibration of votes, computed once for each state of the collection."""
    space = voters.indexed
    place = "calibration", space.space.name, space.identity, voters.view, voters.targets, voters.k
    return voters.version.remembered.value(place, lambda: calibrate(voters))


def _likeliest(space: Space, view: str, rows: NDArray[np.float32]) -> Sequence[LikeliestClass | None]:
    """Return the likeliest class of each of (n, d) rows if the learner also knows classes by orderings alone."""
    # the raw space lists the parts of a joined view only
    place = space.views.index(view) if view in space.views else -1
    described = space.pipeline.described_classes(place) if place >= 0 else ()
    if not described:
        return [None] * len(rows)
    found = space.pipeline.class_probabilities(rows, place)
    names, shares = list(found), np.array(list(found.values()))
    best = [(names[at], float(shares[at, row])) for row, at in enumerate(np.argmax(shares, axis=0))]
    return [LikeliestClass(name, share, name in described) for name, share in best]


def _suggested(
    number: int, votes: Mapping[str, float], calibration: VoteCalibration, min_share: float, known: tuple[str, ...]
) -> SuggestedLabels:
    """Return the labels with votes, the most probable first, divided by whether they are probable enough."""
    found = sorted(
        (LabelShare(label, calibration.probability(votes), votes) for label, votes in votes.items()),
        key=lambda one: (-one.votes, one.label),
    )
    passed = tuple(one for one in found if one.share >= min_share)
    return SuggestedLabels(number, passed, tuple(found[len(passed) :]), known)
