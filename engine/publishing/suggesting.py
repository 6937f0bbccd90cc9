"""Labels for queries of a published collection, by votes of its nearest labelled items.

Shares of votes are calibrated on the labelled items of the collection when its bundle is made.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from crossview.engine.catalog.words import Mask
from crossview.engine.collections.collection import Collection
from crossview.engine.publishing.expression import expression_of
from crossview.engine.publishing.version import EngineSelection, PublishedSpace
from crossview.engine.spaces.queries import by_view, query_rows
from crossview.engine.spaces.space import Space
from crossview.engine.spaces.suggestion import (
    VoteCalibration,
    Voters,
    calibrate,
    check_request,
    labels_of,
    likeliest_of,
    suggested_labels,
    vote_shares,
)
from crossview.engine.spaces.target import Target, on_common_scale
from crossview.engine.spaces.version import SearchState, Version
from crossview.engine.values.conditions.tree import Field, FieldTest
from crossview.engine.values.errors import InvalidInputError, NotReadyError
from crossview.engine.values.item import Item
from crossview.engine.values.labels import without_labels
from crossview.engine.values.query import Suggestions, SuggestRequest

_HAS_LABEL = FieldTest(Field("label"), "exists")


def calibrations(collection: Collection, space: str) -> bytes:
    """Return the content of the file of votes of a space of a collection; views that cannot vote are left out."""
    votes = {}
    for view in collection.spaces.get(space).views:

        def calibrated(state: SearchState, view: str = view) -> VoteCalibration:
            labels = labels_of(state.version, state.space.ignored_labels)
            return calibrate(Voters(state, view, (), SuggestRequest.k, labels))

        def targets(_: Version, used_space: Space, view: str = view) -> Sequence[Target]:
            return used_space.targets_for(view)

        try:
            calibration = collection.opened.versions().answered(space, targets, calibrated)
        except NotReadyError:  # no item has a label, or too few have
            continue
        votes[view] = {
            "shares": calibration.shares.tolist(),
            "probabilities": calibration.probabilities.tolist(),
            "protocol": calibration.protocol,
        }
    return json.dumps(votes).encode()


def read_calibrations(content: bytes) -> Mapping[str, VoteCalibration]:
    """Return the calibrations of the file of votes by view; ValueError and others of Python for other content."""
    votes = dict[str, VoteCalibration]()
    for view, tree in json.loads(content).items():
        shares, probabilities = (np.asarray(tree[name], np.float64) for name in ("shares", "probabilities"))
        sound = all(((values >= 0) & (values <= 1)).all() for values in (shares, probabilities))
        if shares.ndim != 1 or shares.shape != probabilities.shape or not sound:
            raise ValueError(f"the votes of view {view!r} are not shares and their probabilities")
        votes[view] = VoteCalibration(shares, probabilities, str(tree["protocol"]))
    return votes


@dataclass(frozen=True, kw_only=True)
class _LabelledItems(EngineSelection):
    """The items with a label that counts."""

    ignored: tuple[str, ...]

    def passing(self, items: Sequence[Item]) -> Mask:
        """Return which of the items have such a label, (n,)."""
        return np.array([any(label not in self.ignored for label in item.labels) for item in items], bool)


def suggest(indexed: PublishedSpace, votes: Mapping[str, VoteCalibration], request: SuggestRequest) -> Suggestions:
    """Return the labels of every query. Raises NotReadyError for a view without calibrated votes."""
    check_request(request)
    if request.k != SuggestRequest.k:
        raise InvalidInputError(f"votes of a published collection are calibrated for k={SuggestRequest.k}: leave k out")
    version, results, protocols = indexed.version, {}, []
    for view, numbers in by_view(request.queries).items():
        calibration = votes.get(view)
        if calibration is None:
            raise NotReadyError(f"no votes of view {view!r} are calibrated: label items, and publish the collection")
        rows = query_rows(version, view, request.queries, numbers)
        probes = indexed.space.probe(view, rows.rows, tuple(request.targets))
        neighbours = indexed.neighbours(probes, rows.own, request.k, lambda _: _labelled(indexed))
        labels = without_labels(
            {version.numbers.of(key): item.labels for key, item in version.met.items()}, indexed.space.ignored_labels
        )
        comparable = on_common_scale(probes.keys())
        protocols.append(calibration.protocol)
        for place, (number, of_all) in enumerate(
            zip(numbers, likeliest_of(indexed.space, view, rows.rows), strict=True)
        ):
            shares = vote_shares([lists[place] for lists in neighbours.values()], labels, request.k, comparable)
            own = rows.own[place]
            own_labels = () if own is None else version.records[version.numbers.keys[own]].item.labels
            suggestion = suggested_labels(number, shares, calibration, request.min_share, own_labels)
            results[number] = replace(suggestion, likeliest=of_all)
    return Suggestions(tuple(results[number] for number in range(len(request.queries))), "; ".join(protocols))


def _labelled(indexed: PublishedSpace) -> EngineSelection:
    version, ignored = indexed.version, indexed.space.ignored_labels
    expression = expression_of(_HAS_LABEL, version.generation.engine.negates)
    if ignored:
        expression = expression._replace(exact=False)
    return _LabelledItems(np.empty(0, np.int64), version, condition=_HAS_LABEL, expression=expression, ignored=ignored)
