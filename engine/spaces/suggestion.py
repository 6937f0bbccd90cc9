"""Votes of the nearest labelled items: suggested labels for queries, and whether a space recognises its labels."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.isotonic import IsotonicRegression

from crossview.engine.catalog.catalog import Transaction
from crossview.engine.catalog.joined import joined_view
from crossview.engine.runtime.cancellation import checkpoint
from crossview.engine.spaces.fusing import Fusion
from crossview.engine.spaces.indexed import IndexedSpace
from crossview.engine.spaces.queries import by_view, query_rows
from crossview.engine.spaces.search import check_queries, check_without_view
from crossview.engine.spaces.space import Space
from crossview.engine.spaces.target import Near, Target, on_common_scale
from crossview.engine.spaces.version import SearchState, Version
from crossview.engine.values.errors import InvalidInputError, NotReadyError
from crossview.engine.values.labels import (
    FEW_ITEMS,
    FEWEST_ITEMS,
    LABELLING,
    NOT_RECOGNIZED,
    LabelReport,
    fault_of_name,
    without_labels,
)
from crossview.engine.values.query import (
    LabelShare,
    LikeliestClass,
    Query,
    SuggestedLabels,
    Suggestions,
    SuggestRequest,
)
from crossview.engine.values.strategy import Nearest
from crossview.index.base import Searcher, Selection

MOST_ITEMS = 1_000
"""Maximum number of items that calibrate; larger sets are sampled at random."""
_MOST_FUSED = 200
"""The same without a view: each of them asks for a list of all items."""
_PRIOR = 4.0
"""Weight of the prior that a share is its own probability, as a number of votes. On Corel the expected calibration
error after 10 items is .07 with it and .10 without; after 150 items both are .06."""


@dataclass(frozen=True)
class Voters:
    """The labelled items of a collection that a space finds for queries; all votes have the same weight."""

    state: SearchState
    view: str
    """The view of the queries; "" for all views, whose targets one list fuses."""
    targets: tuple[str, ...]
    k: int
    """Items that vote in each target, or over all targets if distances have a common scale or are fused."""
    labels: Mapping[int, tuple[str, ...]]
    """Labels of the labelled items, by id."""

    def shares(self, rows: NDArray[np.float32], own: Sequence[int | None]) -> list[dict[str, float]]:
        """Return the share of the votes of each label, for each of (n, d) rows of the view.

        ``own`` has the id of the item behind each row, which does not vote on itself. A voter with several labels votes
        for each.

        Raises the errors of ``Space.probe``.
        """
        probes = self.state.space.probe(self.view, rows, self.targets)
        by_target = self.state.indexed.neighbours(probes, own, self.k, self._labelled)
        comparable = on_common_scale(probes.keys())
        by_row = ([lists[row] for lists in by_target.values()] for row in range(len(rows)))
        return [vote_shares(lists, self.labels, self.k, comparable) for lists in by_row]

    def fused(self, queries: Sequence[Query]) -> tuple[list[dict[str, float]], list[int | None]]:
        """Return the shares as ``shares``, and the id of the item behind each query without a view.

        Raises the errors of ``Fusion.columns_of``.
        """
        fusion = Fusion(self.state, Nearest(targets=self.targets), self.k, self._labelled)
        shares, own = list[dict[str, float]](), list[int | None]()
        for query in queries:
            checkpoint()
            columns, _ = fusion.columns_of(query)
            ids = fusion.ranking(0, columns).ids
            shares.append(
                vote_shares([Near(ids, np.arange(len(ids), dtype=np.float64))], self.labels, self.k, True)
                if len(ids)
                else {}
            )
            own.append(columns[0].own)
        return shares, own

    def _labelled(self, target: Target) -> Selection:
        searcher, place = self.state.indexed.searcher(target), ("labelled", self.state.space.ignored_labels)
        # By weak references, because a selection keeps the rows of its searcher, which compaction can replace.
        selections = self.state.version.remembered.value(place, WeakKeyDictionary[Searcher, Selection])
        selection = selections.get(searcher)
        if selection is None:
            selection = selections[searcher] = searcher.selection(np.array(sorted(self.labels), np.int64))
        return selection


def vote_shares(
    lists: Sequence[Near], labels: Mapping[int, Sequence[str]], k: int, comparable: bool
) -> dict[str, float]:
    """Return the share of the votes of each label, the nearest voter's first.

    ``lists`` are the voters in each target, of which the k nearest vote if the targets are ``comparable``.
    """
    ids = np.concatenate([near.ids for near in lists])
    if comparable:  # an item can be in several targets, one for each metric of the view
        order = np.argsort(np.concatenate([near.distances for near in lists]), kind="stable")
        voters = list(dict.fromkeys(ids[order].tolist()))[:k]
    else:
        voters = ids.tolist()
    votes = Counter(label for item in voters for label in labels[item])
    return {label: count / len(voters) for label, count in votes.items()}


@dataclass(frozen=True)
class VoteCalibration:
    """Probabilities by shares of votes, both ascending, and a sentence about the calibration items."""

    shares: NDArray[np.float64]
    probabilities: NDArray[np.float64]
    protocol: str

    def probability(self, share: float) -> float:
        """Return the probability of a label with this share; it is linear between the observed shares."""
        return float(np.interp(share, self.shares, self.probabilities))


def calibrate(voters: Voters) -> VoteCalibration:
    """Calibrate on labelled items that the space was not trained on, or on all labelled items if there are none.

    No item votes on itself. Raises NotReadyError if no labelled item with the view has neighbours.
    """
    with voters.state.version.read() as tx:
        ids, protocol = _items(voters, tx)
        keys = tx.items.keys()
        stored = joined_view(tx, voters.view).rows(tx, ids) if voters.view else None
    if stored is None:
        votes, _ = voters.fused([Query(key=keys[item]) for item in ids])
    else:
        ids, votes = stored.ids.tolist(), voters.shares(stored.rows, stored.ids.tolist())
    shares, right = _outcomes(votes, ids, voters.labels)
    if not len(shares):
        raise NotReadyError(f"too few labelled items{_of_view(voters)} can vote: ", LABELLING)
    return fitted_calibration(shares, right, protocol)


def fitted_calibration(shares: NDArray[np.float64], right: NDArray[np.bool_], protocol: str) -> VoteCalibration:
    """Return the isotonic regression of whether labels are right, (n,), on their shares of the votes, (n,).

    It never falls with the share (Zadrozny and Elkan, KDD 2002), stays near the share where observations are few,
    and is never certain: at most (n + 1) / (n + 2), by the rule of succession.
    """
    levels, least = np.unique(shares), 1 / (len(shares) + 2)
    regression = IsotonicRegression(y_min=least, y_max=1 - least).fit(
        np.concatenate([shares, levels]),
        np.concatenate([right.astype(float), levels]),
        sample_weight=np.concatenate([np.ones(len(shares)), np.full(len(levels), _PRIOR)]),
    )
    return VoteCalibration(levels, np.asarray(regression.predict(levels), np.float64), protocol)


def _items(voters: Voters, tx: Transaction) -> tuple[list[int], str]:
    """Return the calibration items, and a sentence about them."""
    space, keys = voters.state.space, tx.items.keys()
    views = [voters.view] if voters.view else space.views
    having = {item for view in views for item in joined_view(tx, view).ids(tx).tolist()}
    labelled = sorted(having & voters.labels.keys())
    unseen = [item for item in labelled if keys[item] not in space.training_keys]
    items = unseen or labelled
    most = MOST_ITEMS if voters.view else _MOST_FUSED
    if len(items) > most:
        items = np.sort(np.random.default_rng(0).permutation(items)[:most]).tolist()
    what = f"shares are calibrated on {len(items)} labelled items{_of_view(voters)}"
    if not space.training_keys:
        return items, f"{what}, none of which votes on itself"
    if unseen:
        return items, f"{what} that space {space.name!r} was not trained on"
    return items, (
        f"{what}, none of which votes on itself; space {space.name!r} was trained on all of them, so shares are too "
        "high for new items: hold out items in the training"
    )


def _of_view(voters: Voters) -> str:
    return f" of view {voters.view!r}" if voters.view else ""


def _outcomes(
    votes: Sequence[Mapping[str, float]], ids: Sequence[int], labels: Mapping[int, tuple[str, ...]]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the share of every label with votes for an item, and whether the item has the label."""
    outcomes = [
        (share, label in labels[item])
        for item, shares in zip(ids, votes, strict=True)
        for label, share in shares.items()
    ]
    return np.array([share for share, _ in outcomes], np.float64), np.array([right for _, right in outcomes], np.bool_)


def check_request(request: SuggestRequest) -> None:
    """Raise InvalidInputError for a request that no collection can answer."""
    check_queries(request.queries, request.k)
    check_without_view(request.search)
    if any(query.label is not None for query in request.queries):
        raise InvalidInputError(
            "a query by label cannot get suggested labels: give an item, a picture, a text or a vector"
        )
    if not 0 <= request.min_share <= 1:
        raise InvalidInputError(f"min_share must be a probability between 0 and 1, not {request.min_share:g}")


def suggest(state: SearchState, request: SuggestRequest) -> Suggestions:
    """Return the labels of every query.

    Raises NotReadyError if no item has a label, and the errors of ``search.answer``.
    """
    queries, version, results, protocols = request.queries, state.version, dict[int, SuggestedLabels](), list[str]()
    ignored = state.space.ignored_labels
    labels = version.remembered.value(("labels", ignored), lambda: labels_of(version, ignored))
    for view, numbers in by_view(queries).items():
        voters = Voters(state, view, tuple(request.targets), request.k, labels)
        likeliest: Sequence[LikeliestClass | None] = [None] * len(numbers)
        own: Sequence[int | None]
        if view:
            described = query_rows(version, view, queries, numbers)
            shares, own = voters.shares(described.rows, described.own), described.own
            likeliest = likeliest_of(state.space, view, described.rows)
        else:
            shares, own = voters.fused([queries[number] for number in numbers])
        calibration = _calibration(voters)
        protocols.append(calibration.protocol)
        for number, item, votes, of_all in zip(numbers, own, shares, likeliest, strict=True):
            own_labels = () if item is None else labels.get(item, ())
            suggested = suggested_labels(number, votes, calibration, request.min_share, own_labels)
            results[number] = replace(suggested, likeliest=of_all)
    return Suggestions(tuple(results[number] for number in range(len(queries))), "; ".join(protocols))


def labels_of(version: Version, ignored: tuple[str, ...]) -> Mapping[int, tuple[str, ...]]:
    """Return the labels of the labelled items without the ignored ones; NotReadyError if no item has a label."""
    with version.read() as tx:
        labels = without_labels(tx.items.labels(), ignored)
    if not labels:
        raise NotReadyError(f"no item of collection {version.name()!r} has a label: ", LABELLING)
    return labels


def _calibration(voters: Voters) -> VoteCalibration:
    """Return the calibration of votes, computed once for each state of the collection."""
    space = voters.state.indexed
    place = "calibration", space.space.name, space.identity, voters.view, voters.targets, voters.k
    return voters.state.version.remembered.value(place, lambda: calibrate(voters))


def likeliest_of(space: Space, view: str, rows: NDArray[np.float32]) -> Sequence[LikeliestClass | None]:
    """Return the likeliest class of each of (n, d) rows if the learner also knows classes by orderings alone."""
    # the raw space lists the parts of a joined view only
    place = space.views.index(view) if view in space.views else -1
    described = space.pipeline.described_classes(place) if place >= 0 else ()
    if not described:
        return [None] * len(rows)
    probabilities = space.pipeline.class_probabilities(rows, place)
    names, shares = list(probabilities), np.array(list(probabilities.values()))
    best = [(names[at], float(shares[at, row])) for row, at in enumerate(np.argmax(shares, axis=0))]
    return [LikeliestClass(name, share, name in described) for name, share in best]


def suggested_labels(
    number: int, votes: Mapping[str, float], calibration: VoteCalibration, min_share: float, own_labels: tuple[str, ...]
) -> SuggestedLabels:
    """Return the labels with votes, the most probable first, divided by whether they are probable enough."""
    shares = sorted(
        (LabelShare(label, calibration.probability(votes), votes) for label, votes in votes.items()),
        key=lambda share: (-share.votes, share.label),
    )
    passed = tuple(share for share in shares if share.share >= min_share)
    return SuggestedLabels(number, passed, tuple(shares[len(passed) :]), own_labels)


VOTERS = 10
"""Number of training items that vote in each view."""
MOST_REPORTED = 1_000
"""Maximum number of labels in the report, which every description of the space contains."""
_COMPARED = 2 * 10**8
"""Maximum number of distances, which bounds the time to a few seconds; more voters mean fewer tested items."""
_DEVIATIONS = 1.645
"""Distance of a bound that holds with a probability of .95, in standard deviations."""
_HARDLY, _CLEARLY = 0.55, 0.75
"""Areas under the ROC curve: hardly above chance, which is 1/2, and halfway between chance and perfection."""

Votes = NDArray[np.float64]
Labels = Mapping[int, Sequence[str]]


def reported(tx: Transaction, built: IndexedSpace) -> tuple[tuple[LabelReport, ...], str]:
    """Return reports on labels of the training items, the worst recognised first, and how they were tested.

    Labelled items outside the training test the space. Without any, training items do, if the learner embeds them by
    models without them; otherwise nothing is tested, and the sentence is "". An item gets as many labels as it has:
    those with the most votes of the nearest training items in all its views. A space of notions has no report, because
    each notion has labels of its own.
    """
    space, keys = built.space, tx.items.keys()
    labels = without_labels(tx.items.labels(), space.ignored_labels)
    having = {item for view in space.views for item in joined_view(tx, view).ids(tx).tolist()}
    trained = sorted(item for item in labels if item in having and keys[item] in space.training_keys)
    counts = Counter(label for item in trained for label in labels[item])
    if not counts or space.pipeline.metric_names_:
        return (), ""
    unseen = sorted(item for item in labels if item in having and keys[item] not in space.training_keys)
    test = unseen or (trained if space.pipeline.known_rows_ else [])
    test = _drawn(test, labels, min(MOST_ITEMS, _COMPARED // (len(trained) * len(space.targets)) + 1))
    votes = _votes(tx, built, labels, trained, test)
    which = "that the space was not trained on" if unseen else "of the training, each by a model without it"
    sentence = f"by a vote of the {VOTERS} nearest training items for {len(votes)} items {which}" if votes else ""
    reports = sorted(
        _reports(counts, votes, labels), key=lambda entry: (2 if entry.recall is None else entry.recall, entry.label)
    )
    return tuple(reports[:MOST_REPORTED]), sentence


def _drawn(items: Sequence[int], labels: Labels, most: int) -> list[int]:
    """Return at most ``most`` of the items, drawn at random: about as many of each label."""
    if len(items) <= most:
        return list(items)
    counts: Counter[str] = Counter()
    turns = {}
    for item in np.random.default_rng(0).permutation(items).tolist():
        turns[item] = min(counts[label] for label in labels[item])
        counts.update(labels[item])
    return sorted(sorted(turns, key=turns.__getitem__)[:most])


def _votes(
    tx: Transaction, built: IndexedSpace, labels: Labels, trained: Sequence[int], test: Sequence[int]
) -> dict[int, Counter[str]]:
    """Return the votes of the nearest training items for each tested item with neighbours, by id."""
    votes: dict[int, Counter[str]] = defaultdict(Counter)
    for view in built.space.views if test else ():
        checkpoint()
        rows, targets = joined_view(tx, view).rows(tx, test), built.space.targets_of(view)
        try:
            probes = built.space.probe(view, rows.rows, [str(target) for target in targets]) if len(rows.ids) else {}
        except InvalidInputError:  # a row far outside the training rows; this view cannot test the items
            continue
        voters = {target: built.searcher(target).selection(np.array(trained, np.int64)) for target in probes}
        lists = built.neighbours(probes, rows.ids.tolist(), VOTERS, voters.__getitem__)
        for row, item in enumerate(rows.ids.tolist()):
            near = [hits[row] for hits in lists.values()]
            votes[item].update(vote_shares(near, labels, VOTERS, on_common_scale(probes)))
    return {item: tally for item, tally in votes.items() if tally}


def _reports(counts: Mapping[str, int], votes: Mapping[int, Counter[str]], labels: Labels) -> Iterator[LabelReport]:
    """Yield the report on each label, by its number of training items and the votes for the tested items."""
    top = {item: dict(tally.most_common(len(labels[item]))) for item, tally in votes.items()}
    tested = Counter(label for item in votes for label in labels[item])
    right = Counter(label for item, tally in top.items() for label in tally if label in labels[item])
    wrong = Counter(label for item, tally in top.items() for label in tally if label not in labels[item])
    for label, items in counts.items():
        rest = len(votes) - tested[label]
        recognised = not tested[label] or not rest or is_recognised(*_votes_for(label, votes, labels))
        faults = ([FEW_ITEMS] * (items < FEWEST_ITEMS), [NOT_RECOGNIZED] * (not recognised), [fault_of_name(label)])
        yield LabelReport(
            label=label,
            items=items,
            tested=tested[label],
            recall=right[label] / tested[label] if tested[label] else None,
            chance=wrong[label] / rest if rest else None,
            faults=tuple(filter(None, chain.from_iterable(faults))),
        )


def _votes_for(label: str, votes: Mapping[int, Counter[str]], labels: Labels) -> tuple[Votes, Votes]:
    """Return the votes for a label that items with it get, and those that other items get."""
    has = np.array([label in labels[item] for item in votes], bool)
    got = np.array([tally[label] for tally in votes.values()], float)
    return got[has], got[~has]


def is_recognised(own: Votes, others: Votes) -> bool:
    """Return whether a label may be recognised; False only if there is evidence that it is not.

    ``own`` and ``others`` are the votes for the label that items with and without it get. The area under the ROC curve
    is the probability that an item with the label gets more votes than one without it, 1/2 if votes are blind. A label
    is not recognised if the lower bound of the area is hardly above chance and its upper bound is below ``_CLEARLY``
    (Hanley and McNeil, Radiology 1982). The area does not depend on how common the label is, as a majority does, and
    the bounds from few items are far apart, so that bad luck alone does not condemn a small label.
    """
    n, m = len(own), len(others)
    area = (rankdata(np.concatenate([own, others]))[:n].sum() - n * (n + 1) / 2) / (n * m)
    two_own, two_others = area / (2 - area) - area**2, 2 * area**2 / (1 + area) - area**2
    error = math.sqrt((area * (1 - area) + (n - 1) * two_own + (m - 1) * two_others) / (n * m))
    return bool(area - _DEVIATIONS * error > _HARDLY or area + _DEVIATIONS * error >= _CLEARLY)
