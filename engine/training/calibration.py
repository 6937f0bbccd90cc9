"""Calibration: small trainings without some items show how near relevant items are to queries that they never saw."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crossview.engine.catalog.catalog import Transaction
from crossview.engine.catalog.rows import ViewRows
from crossview.engine.runtime.cancellation import checkpoint
from crossview.engine.runtime.progress import Progress
from crossview.engine.runtime.threads import one_blas_thread, over
from crossview.engine.spaces import thresholds
from crossview.engine.spaces.columns import mean_of_crossings
from crossview.engine.spaces.known_pairs import (
    ItemPairs,
    PairRows,
    base_rate,
    check_kinds,
    drawn_pairs,
    having_both,
    labels_for,
    stated_pairs,
)
from crossview.engine.spaces.match import FAMILIAR, FEWEST_LABELLED, Familiarity, Floats, Match, Novelty, fitted_match
from crossview.engine.spaces.space import Space
from crossview.engine.spaces.target import Target, view_of
from crossview.engine.spaces.teaching import fusion_weights
from crossview.engine.training.examples import Examples, examples
from crossview.engine.training.learning import Refit, refitting
from crossview.engine.training.splits import fold_groups, groups_of, split
from crossview.engine.training.supervision import with_supervision
from crossview.engine.values.errors import InvalidInputError, NotReadyError
from crossview.engine.values.info import Threshold
from crossview.engine.values.query import CalibrationRequest
from crossview.engine.values.recipe import FOLDS
from crossview.index.base import Index

FEWEST_ITEMS = 100
"""Training items below which nothing is calibrated without labels, and labelled ones below which each is a query."""
MOST_ITEMS = 500
"""Maximum number of items of a small training, which bounds its time and the memory for novelties."""
ROUNDS, MOST_ROUNDS = 3, 5
"""Small trainings of many and of few labelled items; each leaves out other items and classes."""
_QUERIES = 1 / MOST_ROUNDS
OUTSIDE = 0.2
"""Share of classes that a small training leaves out, and assumed share of queries that no item is relevant to."""
_HITS = 20
_LEAST_PRIOR = 1e-9
_SCALE_ITEMS = 200
"""Items whose mean distance is the unit of distances in a space."""


@dataclass(frozen=True, kw_only=True)
class Round:
    """One small training: the space that it made, the items that it learned, and queries that it never saw."""

    space: Space
    learned: Examples
    items: Examples
    """The items that the queries can find: the learned ones or, without labels, the queries' own items, none of which
    was learned. A learned item is not like the new ones that a query of another view has to find."""
    queries: Examples
    outside: NDArray[np.bool_]
    """Whether no item is relevant to a query, because its class was left out, (q,)."""

    @cached_property
    def placed(self) -> Mapping[str, tuple[Index, float]]:
        """The index of the items in each target, and the mean distance there."""
        scales = _scales(self.space, self.items)
        return {
            str(target): (self.space.index_of(target, *_rows(self.items, target)), scales[str(target)])
            for target in self.space.targets
        }

    @cached_property
    def novelties(self) -> Mapping[str, Novelty]:
        """The novelty of each view's rows among the learned ones, calibrated on queries that have relevant items."""
        queries = self.queries.take(~self.outside)
        return {
            view: Novelty.of(view, self.learned.seen_in(view).rows[view], queries.seen_in(view).rows[view])
            for view in self.space.views
            if self.learned.seen(view).any() and queries.seen(view).any()
        }

    @cached_property
    def familiar(self) -> Mapping[str, Floats]:
        """The evidence of the familiarity of the queries that have a view, (q, 3), by view."""
        return {
            view: novelty.evidence(self.queries.seen_in(view).rows[view]) for view, novelty in self.novelties.items()
        }

    @cached_property
    def hits(self) -> Mapping[tuple[str, str], tuple[NDArray[np.int64], Floats]]:
        """The ids and the distances of all items, (q, n) each, for the queries that have a view, by view and target."""
        lists = {}
        for view in self.familiar:
            names = [name for name in self.placed if self.space.cross_view or view_of(name) == view]
            queries = self.queries.seen_in(view)
            for target, vectors in self.space.probe(view, queries.rows[view], names).items() if names else ():
                index = self.placed[str(target)][0]
                if len(index):  # a metric of a view has the items of its own classes alone
                    hits = index.search(vectors, len(index), None)
                    lists[view, str(target)] = hits.ids, hits.distances.astype(np.float64)
        return lists


def with_matches(space: Space, refit: Refit, trained: Examples) -> Space:
    """Return a fitted space with the matches of its query views and targets, and the novelties of its views.

    The learner fits again, three times, with the choices of its fit, on four fifths of at most 500 training items. Each
    small training leaves out a fifth of the classes, as queries of no class that the space knows, and a fifth of the
    other items, as queries that have relevant items; fewer than 100 items are all queries, in five trainings. A
    logistic regression then learns from the first 20 hits of each query which of them share a label with it, by their
    distances and by the query's familiarity: the prior is that of a list of hits. Another one learns it from the mean
    logits of all views and targets. Without labels, the relevant item is the query's own in another view, among the
    items that one training left out, and the targets get weights beside each other.

    Too few items leave the space as it is.
    """
    labelled = trained.take(np.array([bool(labels) for labels in trained.labels], bool))
    by_labels = len(labelled) >= FEWEST_LABELLED
    usable = labelled if by_labels else trained
    if not by_labels and (len(usable) < FEWEST_ITEMS or not space.cross_view):
        return space
    numbers = range((ROUNDS if len(usable) >= FEWEST_ITEMS else MOST_ROUNDS) if by_labels else 1)
    try:
        with one_blas_thread():
            rounds = over(numbers, lambda number: _round(space, refit, usable, number, by_labels))
        scales = _scales(space, rounds[0].items)
        matches = tuple(_matches(space, rounds, scales, len(trained), _sharing if by_labels else _own))
        every = _match_of_all(rounds, matches, scales) if by_labels else None
        matches = tuple(_weighed(rounds[0], matches)) if not by_labels else matches
        known = rounds[0].learned
        if by_labels:  # as many of all classes
            known = usable.take(np.random.default_rng(space.seed).permutation(len(usable))[: len(known)])
        novelties = tuple(
            rounds[0].novelties[view].among(known.seen_in(view).rows[view])
            for view in dict.fromkeys(match.view for match in matches)
        )
    except (InvalidInputError, NotReadyError):  # too few items of a kind for this learner; the space itself is good
        return space
    return replace(space, matches=matches if every is None else (*matches, every), novelties=novelties)


def _round(space: Space, refit: Refit, usable: Examples, number: int, by_labels: bool) -> Round:
    """Learn from a sample without one part of its classes and without other queries."""
    generator = np.random.default_rng([space.seed, number])
    sample = usable.take(np.sort(generator.permutation(len(usable))[:MOST_ITEMS]))
    queries = split(len(sample), _QUERIES, space.seed + number, sample.groups)
    if by_labels and sample.groups is None:
        queries = np.random.default_rng(space.seed).permutation(len(sample)) % MOST_ROUNDS == number
    outside = np.zeros(len(sample), bool)
    if by_labels:
        names, classes = np.unique(sample.classes(), return_inverse=True)
        left_out = np.random.default_rng(space.seed).permutation(len(names)) % round(1 / OUTSIDE) == number
        outside = left_out[classes.ravel()] if len(names) > 2 else outside
    learned = sample.take(~(queries | outside))
    queried = sample.take(queries | outside)
    again = replace(space, pipeline=refit(learned))
    items, outside_of_asked = learned if by_labels else queried, outside[queries | outside]
    return Round(space=again, learned=learned, items=items, queries=queried, outside=outside_of_asked)


Relevance = Callable[[Examples, Examples, NDArray[np.int64]], NDArray[np.bool_]]
"""A function from queries, items and the ids of hits, (q, k), to whether each hit is relevant, (q, k)."""


class Judged(NamedTuple):
    """The first hits of the queries of one view in one target."""

    distances: Floats
    """(q, k), in units of the mean distance in the target."""
    relevant: NDArray[np.bool_]
    """(q, k)."""
    weights: Floats
    """Weights of the queries, (q,)."""
    familiar: Floats
    """The evidence of the queries' familiarity, (q, 3)."""


def _matches(
    space: Space, rounds: list[Round], scales: Mapping[str, float], count: int, relevance: Relevance
) -> Iterator[Match]:
    own = relevance is _own
    for view in space.views:
        names = [str(target) for target in space.targets if (not own if view == target.view else space.cross_view)]
        of_rounds = [_judged(round_, view, names, relevance) for round_ in rounds]
        for name in names:
            checkpoint()
            parts = [judged[name] for judged in of_rounds if name in judged]
            if not parts or not scales[name] or len({judged.distances.shape[1] for judged in parts}) > 1:
                continue
            lists = Judged(*map(np.concatenate, zip(*parts, strict=True)))
            match = fitted_match((view, name), *lists[:3], scales[name], None if own else lists.familiar)
            if match is not None:
                # An own item is one of all items: among more items, more others are as near as it is.
                more = count / len(rounds[0].items)
                usual = float(np.clip(lists.relevant.mean() / more, _LEAST_PRIOR, 0.5))
                yield match if not own else replace(match, offset=match.offset - np.log(more), prior=usual)


def _weighed(round_: Round, matches: Sequence[Match]) -> Iterator[Match]:
    """Yield the matches of own items with the weights by which targets are best fused for each view of queries.

    Targets repeat in part what others know. A logistic regression learns from which of two items is a query's own, by
    the evidence of all targets together.
    """
    for view in dict.fromkeys(match.view for match in matches):
        of_view = [match for match in matches if match.view == view]
        queries = round_.queries.take(np.flatnonzero(round_.queries.seen(view)))
        evidence = np.stack([_evidence(round_, match) for match in of_view], axis=2)
        own = queries.ids[:, None] == round_.items.ids
        query, other = np.nonzero(own.any(axis=1)[:, None] & ~own)
        gaps = evidence[query, own.argmax(axis=1)[query]] - evidence[query, other]
        comparable = ~np.isnan(gaps).any(axis=1)
        weights = fusion_weights(gaps[comparable])[0] if len(of_view) > 1 and comparable.any() else [1.0] * len(of_view)
        for match, weight in zip(of_view, weights, strict=True):
            yield replace(match, weight=weight / max(weights))


def _match_of_all(rounds: Sequence[Round], matches: Sequence[Match], scales: Mapping[str, float]) -> Match | None:
    """Return the match of a list of all views and targets, by the first hits of the queries that have all views.

    The views repeat in part what others know, so that the mean of their logits alone is too certain or too vague.
    """
    if len(matches) < 2:
        return None
    lists = []
    for round_ in rounds:
        mask: NDArray[np.bool_] = np.asarray(round_.queries.mask.all(axis=1))
        queries = round_.queries.take(mask)
        placed = all((match.view, match.target) in round_.hits and round_.placed[match.target][1] for match in matches)
        if not placed or not len(queries) or len(round_.items) <= _HITS:
            continue
        logits = []
        for match in matches:
            unit = scales[match.target] / round_.placed[match.target][1]
            familiar = Familiarity(evidence=round_.familiar[match.view][:, None])
            logits.append(_evidence(round_, match, unit, familiar)[mask[round_.queries.seen(match.view)]])
        means = mean_of_crossings(np.stack(logits, axis=2), [1.0] * len(matches))
        first = np.argsort(-means, axis=1, kind="stable")[:, :_HITS]
        relevant = _sharing(queries, round_.items, round_.items.ids[first])
        lists.append((-np.take_along_axis(means, first, axis=1), relevant, _weights(round_.outside[mask])))
    if not lists:
        return None
    distances, relevant, weights = (np.concatenate(each) for each in zip(*lists, strict=True))
    full = np.isfinite(distances).all(axis=1)
    return fitted_match(("", ""), distances[full], relevant[full], weights[full], 1.0)


def _evidence(round_: Round, match: Match, unit: float = 1.0, familiarity: Familiarity = FAMILIAR) -> Floats:
    """Return the evidence of a target for each item of a round, (q, n), given the queries of the match's view.

    It is NaN for items without the target. ``unit`` times a distance in the round is one in the space of the match.
    """
    ids, distances = round_.hits[match.view, match.target]
    evidence = np.full((len(ids), len(round_.items)), np.nan)
    logits = match.evidence(match.of_all(unit * distances, unit * distances[:, :1], familiarity))
    np.put_along_axis(evidence, np.searchsorted(round_.items.ids, ids), logits, axis=1)
    return evidence


def _judged(round_: Round, view: str, names: Sequence[str], relevance: Relevance) -> dict[str, Judged]:
    """Return the first hits of the queries that have a view, by name of target; nothing in a target of few items."""
    mask = round_.queries.seen(view)
    queries, judged = round_.queries.take(np.flatnonzero(mask)), {}
    for name in names:
        ids, distances = round_.hits.get((view, name), (np.empty((0, 0), np.int64), np.empty(0)))
        if ids.shape[1] <= _HITS or not round_.placed[name][1]:  # a notion can lack comparisons here
            continue
        relevant = relevance(queries, round_.items, ids[:, :_HITS])
        weights = _weights(round_.outside[mask])
        if relevance is _own and round_.items.similar is None:
            weights = weights * relevant.shape[1]  # one of them is relevant: each of the others is evidence of its own
        judged[name] = Judged(distances[:, :_HITS] / round_.placed[name][1], relevant, weights, round_.familiar[view])
    return judged


def _weights(outside: NDArray[np.bool_]) -> Floats:
    """Return weights of queries, (q,), by which queries outside all classes have their assumed share."""
    count = int(outside.sum())
    if not count or count == len(outside):
        return np.ones(len(outside))
    return np.where(outside, OUTSIDE * len(outside) / count, (1 - OUTSIDE) * len(outside) / (len(outside) - count))


def _scales(space: Space, items: Examples) -> dict[str, float]:
    """Return the mean distance of the first few items, as queries, to each other in each target; 0 for one item."""
    scales = {}
    for target in space.targets:
        having = items.take(np.flatnonzero(items.seen(target.view)))
        few = having.take(np.arange(min(_SCALE_ITEMS, len(having))))
        index = space.index_of(target, *_rows(few, target))
        vectors = space.probe(target.view, few.rows[target.view], [str(target)])[target]
        enough = len(index) > 1
        scales[str(target)] = float(index.search(vectors, len(index), None).distances.mean()) if enough else 0.0
    return scales


def _rows(items: Examples, target: Target) -> tuple[ViewRows, dict[int, tuple[str, ...]]]:
    """Return the rows and labels by which a space places the items in a target."""
    having = items.take(np.flatnonzero(items.seen(target.view)))
    return ViewRows(having.ids, having.rows[target.view]), _labels(having)


def _labels(items: Examples) -> dict[int, tuple[str, ...]]:
    return dict(zip(items.ids.tolist(), items.labels, strict=True))


def _sharing(queries: Examples, items: Examples, hits: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return whether each hit shares a label with its query."""
    labels = {item: set(names) for item, names in _labels(items).items()}
    rows = zip(queries.labels, hits.tolist(), strict=True)
    return np.array([[not labels[item].isdisjoint(own) for item in row] for own, row in rows], bool)


def _own(queries: Examples, items: Examples, hits: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return whether each hit is the query's own item, or stated to be similar to it."""
    own: NDArray[np.bool_] = hits == queries.ids[:, None]
    if items.similar is None:
        return own
    places = {item: place for place, item in enumerate(items.ids.tolist())}
    rows = zip(queries.ids.tolist(), hits.tolist(), strict=True)
    # A list of one row keeps two axes: by a single number, SciPy returns one axis or two, depending on its version.
    stated = [items.similar[[places[query]]][:, [places[item] for item in row]].toarray()[0] > 0 for query, row in rows]
    own |= np.array(stated, bool)
    return own


def threshold_by_refits(
    tx: Transaction, space: Space, request: CalibrationRequest, progress: Progress | None = None
) -> thresholds.Calibrate:
    """Read the calibration pairs, and return the function that computes the threshold; see ``Collection.calibrate``.

    The function does not read the catalog, so no transaction stays open for it.
    """
    if not request.refit:
        return thresholds.calibrated(tx, space, request)
    if not space.spec:
        raise InvalidInputError(f"space {space.name!r} learns nothing that could be fitted again: leave the refit out")
    target = thresholds.calibrated_target(tx, space, request)
    items, fold_of = _divided(tx, space, request)
    pairs = [
        _pairs_of_fold(tx, request, target, items.ids[fold_of == fold], fold, space.ignored_labels)
        for fold in range(FOLDS)
    ]
    if not any(map(len, pairs)):
        raise NotReadyError(f"none of the pairs has both items in one of {FOLDS} folds: leave the refit out")
    compared = [PairRows.of(tx, request.view, target.view, of_fold) for of_fold in pairs]
    joined = ItemPairs(
        np.concatenate([part.items for part in pairs]), np.concatenate([part.similar for part in pairs]), pairs[0].what
    )
    protocol = _protocol(check_kinds(joined), request)
    refit, keys = refitting(tx, space), tx.items.keys()
    rate = base_rate(tx, request.view, target, space.ignored_labels)

    def calibrate() -> tuple[Threshold, bytes]:
        by_fold = []
        for fold, of_fold in enumerate(compared):
            if progress is not None:
                progress("refitting", fold, FOLDS)
            if not len(of_fold.pairs):
                continue
            without = items.take(fold_of != fold)
            trained = without.take(np.array([key in space.training_keys for key in without.keys], bool))
            again = replace(space, pipeline=refit(with_supervision(trained, space.pairs, space.constraints)))
            # A refit can give the target another width.
            by_fold.append(of_fold.distances(again, thresholds.chosen_target(again, request)))
        distances = np.concatenate(by_fold)
        return thresholds.threshold_of((request.view, target), joined, distances, protocol, keys, rate)

    return calibrate


def _divided(tx: Transaction, space: Space, request: CalibrationRequest) -> tuple[Examples, NDArray[np.intp]]:
    """Return the items of a space's views, and the fold of each, (n,); a group has one fold."""
    items = examples(tx, space.views, space.ignored_labels)
    groups = groups_of(tx, items.ids, request.group_by or space.group_by)
    if groups is None:
        return items, np.random.default_rng(0).permutation(len(items)) % FOLDS
    return items, fold_groups(groups, np.unique(items.classes(), return_inverse=True)[1], FOLDS, 0)


def _pairs_of_fold(
    tx: Transaction,
    request: CalibrationRequest,
    target: Target,
    ids: NDArray[np.int64],
    seed: int,
    ignored: Sequence[str],
) -> ItemPairs:
    """Return the pairs of items of a fold: stated pairs, or pairs by labels that are not ignored."""
    if request.pairs is not None:
        pairs = stated_pairs(tx, request.view, target, request.pairs)
        return pairs.take(np.asarray(np.isin(pairs.items, ids).all(axis=1)))
    labels = labels_for(tx, target, ignored)
    able = having_both(tx, request.view, target)
    items = [item for item in np.intersect1d(ids, able).tolist() if item in labels]
    return replace(drawn_pairs(items, labels, np.random.default_rng(seed)), what="pairs of labelled items")


def _protocol(pairs: ItemPairs, request: CalibrationRequest) -> str:
    similar = int(pairs.similar.sum())
    groups = "" if request.group_by is None else f", which do not part items by {request.group_by.name}"
    return (
        f"calibrated on {similar} similar and {len(pairs) - similar} dissimilar {pairs.what} within {FOLDS} folds"
        f"{groups}, at distances that the learner gives without the fold; {thresholds.HALVES}"
    )
