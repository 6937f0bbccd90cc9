"""Weights of targets in a fused list, and its match, that labels or comparisons of items teach."""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from crossview.engine.runtime.cancellation import checkpoint
from crossview.engine.spaces.columns import (
    Column,
    Crossing,
    Evidence,
    Floats,
    distances_to,
    mean_of_crossings,
)
from crossview.engine.spaces.match import Match, fitted_match
from crossview.engine.spaces.version import SearchState
from crossview.engine.values.errors import Argument, NotReadyError
from crossview.engine.values.labels import LABELLING, without_labels

T = TypeVar("T")
Pairs = NDArray[np.int64]
MOST_ITEMS, MOST_QUERIES, MOST_COMPARISONS = 1_000, 200, 500
"""Maximum numbers of labelled items to learn from, of those that are queries, and of comparisons."""
FEWEST_UNSEEN = 30
"""Labelled items that a space was not trained on below which all labelled items are learned from."""
_FOLDS = 5
"""Parts of the labelled items; a query by one of them asks what is learned without its part."""
_DRAWN, _HITS = 20, 20
"""Relevant and other items that are compared for each query, and its first hits, which calibrate the match."""
_READ = 4
"""Items whose labels are read first, for each that is wanted."""
_LEAST = 0.01
"""Least share of the weight of one target, which an item that only this target has needs."""


@dataclass(frozen=True, eq=False)
class LearnedFusion:
    """Weights of targets, and the calibrated match of their weighted mean score."""

    weights: Mapping[Crossing, float]
    """Positive, with sum 1."""
    match: Match | None
    """The match by the negative mean score as a distance; None after comparisons, which do not calibrate."""
    loss: float
    """Mean logarithmic loss of the comparisons that taught the weights."""
    by_match: bool
    """Whether the weights are for logits of matches, or for scores."""


@dataclass(frozen=True, eq=False)
class Teacher:
    """The source of knowledge about similar items of a collection: labels or, without them, comparisons."""

    evidence: Evidence
    crossings: tuple[Crossing, ...]
    by_match: bool
    """Whether the weights are for logits of matches, which all crossings must have, or for scores."""

    @property
    def state(self) -> SearchState:
        """The space, in one state of the collection."""
        return self.evidence.state

    def learned(self, own: frozenset[int]) -> LearnedFusion:
        """Return the fusion of the crossings, learned without the queries' ``own`` items, once for each state.

        Raises NotReadyError if neither labels nor comparisons state that some items are more similar than others.
        """
        labels = self._remembered("labels", self._labels)
        pool = np.array(sorted(labels), np.int64)
        inside = np.flatnonzero(np.isin(pool, list(own)))
        if len(inside) == 1:  # few things are learned, for any number of queries by key
            inside = np.flatnonzero(np.arange(len(pool)) % _FOLDS == inside[0] % _FOLDS)
        fusion = self._remembered(tuple(inside.tolist()), lambda: self._from_labels(labels, np.delete(pool, inside)))
        if fusion is not None:
            return fusion
        near, far = self._compared()  # an answer does not change the state of a collection
        items = own & {*near.ravel().tolist(), *far.ravel().tolist()}
        what = near.tobytes(), far.tobytes(), items
        fusion = self._remembered(what, lambda: self._from_comparisons(near, far, items))
        if fusion is None:
            raise NotReadyError(
                f"nothing states which items of collection {self.state.version.name()!r} are similar, which the "
                "fusion by learning needs: leave out ",
                Argument("fuse", "learn"),
                ", or ",
                LABELLING,
            )
        return fusion

    def _remembered(self, what: Hashable, make: Callable[[], T]) -> T:
        state = self.state
        what = ("fusion", state.space.name, state.indexed.identity, self.crossings, self.by_match, what)
        return state.version.remembered.value(what, make)

    def _labels(self) -> Mapping[int, tuple[str, ...]]:
        """Return labels of some items by id: of those that the space was not trained on, if there are enough."""
        indexes = self.state.indexed.indexes
        ids = np.unique(np.concatenate([indexes[target].index.ids() for _, target in self.crossings]))
        drawn = np.random.default_rng(0).permutation(ids)
        labels = self._labels_of(drawn[: _READ * MOST_ITEMS])
        if len(labels) < MOST_ITEMS and len(drawn) > _READ * MOST_ITEMS:  # few items are labelled, or are unseen
            labels = self._labels_of(drawn)
        items = [item for item in drawn.tolist() if item in labels][:MOST_ITEMS]
        return {item: labels[item] for item in items}

    def _labels_of(self, ids: NDArray[np.int64]) -> Mapping[int, tuple[str, ...]]:
        space = self.state.space
        with self.state.version.read() as tx:
            labels = without_labels(tx.items.labels(ids.tolist()), space.ignored_labels)
            if not (space.training_keys and labels):
                return labels
            keys = tx.items.keys_after("", len(ids), ids)
        unseen = {item: names for item, names in labels.items() if keys[item] not in space.training_keys}
        return unseen if len(unseen) >= FEWEST_UNSEEN else labels

    def _from_labels(self, labels: Mapping[int, tuple[str, ...]], items: NDArray[np.int64]) -> LearnedFusion | None:
        """Return what labelled items teach, each of which asks the others; None if all are alike, or none are."""
        random = np.random.default_rng(0)
        queries = np.sort(random.permutation(items)[:MOST_QUERIES])
        relevant = _sharing(labels, queries, items)
        other = queries[:, None] != items
        near, far = relevant & other, ~relevant & other
        both = np.flatnonzero(near.any(axis=1) & far.any(axis=1))
        if not len(both):
            return None
        scores = self._scores(queries, items)
        pairs = [np.repeat(both, _DRAWN), *(_drawn(random, kind[both]).ravel() for kind in (near, far))]
        weights, loss = fusion_weights(scores[pairs[0], pairs[1]] - scores[pairs[0], pairs[2]])
        match = _match(mean_of_crossings(scores, weights), near, other)
        return LearnedFusion(dict(zip(self.crossings, weights, strict=True)), match, loss, self.by_match)

    def _from_comparisons(self, near: Pairs, far: Pairs, own: frozenset[int]) -> LearnedFusion | None:
        """Return what comparisons teach that do not name the queries' items; None if there are none."""
        mask = ~np.isin(np.hstack([near, far]), list(own)).any(axis=1)
        if not mask.any():
            return None
        near, far = near[mask], far[mask]
        queries, items = np.unique([near[:, 0], far[:, 0]]), np.unique([near[:, 1], far[:, 1]])
        scores = self._scores(queries, items)
        apart = [scores[np.searchsorted(queries, ids[:, 0]), np.searchsorted(items, ids[:, 1])] for ids in (near, far)]
        weights, loss = fusion_weights(apart[0] - apart[1])
        return LearnedFusion(dict(zip(self.crossings, weights, strict=True)), None, loss, self.by_match)

    def _compared(self) -> tuple[Pairs, Pairs]:
        """Return pairs of items, (n, 2) each, that are nearer and further apart: of answers, and of the space."""
        with self.state.version.read() as tx:
            orders = [((a, b), (a, c)) for answer in tx.answers.page() for a, b, c in answer.triplets]
            stated = self.state.space.constraints
            for part in () if stated is None else stated.sets:
                if part.comparisons.similar is None:
                    pairs = zip(part.comparisons.near.tolist(), part.comparisons.far.tolist(), strict=True)
                    orders += [((part.keys[a], part.keys[b]), (part.keys[c], part.keys[d])) for (a, b), (c, d) in pairs]
            drawn = np.random.default_rng(0).permutation(len(orders))[:MOST_COMPARISONS]
            sample = [orders[place] for place in np.sort(drawn)]
            ids = tx.items.ids_of({key for pairs in sample for pair in pairs for key in pair})
        full = [pairs for pairs in sample if all(key in ids for pair in pairs for key in pair)]
        rows = np.array([[[ids[key] for key in pair] for pair in pairs] for pairs in full], np.int64).reshape(-1, 2, 2)
        return rows[:, 0], rows[:, 1]

    def _scores(self, queries: NDArray[np.int64], items: NDArray[np.int64]) -> Floats:
        """Return the scores of items for queries, which are items, too, in every crossing, (q, n, c); NaN for none."""
        table = np.full((len(queries), len(items), len(self.crossings)), np.nan)
        for columns in self._columns(queries, items):
            for column, scores in zip(columns, self.evidence.to_learn(columns, self.by_match), strict=True):
                row, places = np.searchsorted(queries, column.own or 0), np.searchsorted(items, column.ids)
                table[row, places, self.crossings.index(column.crossing)] = scores
        return table

    def _columns(self, queries: NDArray[np.int64], items: NDArray[np.int64]) -> Iterator[list[Column]]:
        """Yield the columns of each query that has a row, over the items that have a vector, without its own."""
        space, by_query = self.state.space, dict[int, list[Column]]()
        for view, target in self.crossings:
            with self.state.version.read() as tx:
                stored = self.state.version.joined_view(view).rows(tx, queries.tolist())
            index, novelty = self.state.indexed.indexes[target].index, space.novelty_of.get(view)
            if not len(stored.ids):
                continue
            vectors = space.probe(view, stored.rows, [str(target)])[target]
            present = items[np.isin(items, index.ids(), assume_unique=True)]
            rows, familiar = index.get(present), None if novelty is None else novelty.familiarity(stored.rows)
            for number, query in enumerate(stored.ids.tolist()):
                checkpoint()
                mask = present != query
                distances = distances_to(target, vectors[number], rows[mask])
                of_query = None if familiar is None else familiar[number]
                column = Column((view, target), vectors[number], present[mask], distances, query, {}, of_query)
                by_query.setdefault(query, []).append(column)
        yield from by_query.values()


def _sharing(
    labels: Mapping[int, Sequence[str]], queries: NDArray[np.int64], items: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return whether queries and items, which have labels, share one, (q, n)."""
    carrying: dict[str, list[int]] = {}
    for place, item in enumerate(items.tolist()):
        for name in labels[item]:
            carrying.setdefault(name, []).append(place)
    shared = np.zeros((len(queries), len(items)), bool)
    for row, query in enumerate(queries.tolist()):
        for name in labels[query]:
            shared[row, carrying[name]] = True
    return shared


def _drawn(random: np.random.Generator, mask: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return places of chosen columns of each row, drawn with repetition, (rows, ``_DRAWN``)."""
    return np.stack([random.choice(np.flatnonzero(row), _DRAWN) for row in mask])


def fusion_weights(gaps: Floats) -> tuple[list[float], float]:
    """Return weights of sum 1, (c,), by a logistic regression of which item is nearer on differences of scores, (n, c).

    Differences that are unknown in a crossing count as 0 there. The second value is the mean logarithmic loss.
    """
    gaps = np.nan_to_num(gaps)
    model = LogisticRegression(fit_intercept=False, max_iter=500)
    model.fit(np.concatenate([gaps, -gaps]), np.repeat([1, 0], len(gaps)))
    weights = np.maximum(model.coef_[0], 0)
    loss = float(np.logaddexp(0, -gaps @ weights).mean())
    weights = np.maximum(weights, _LEAST * weights.sum()) if weights.any() else np.ones_like(weights)
    return (weights / weights.sum()).tolist(), loss


def _match(scores: Floats, relevant: NDArray[np.bool_], other: NDArray[np.bool_]) -> Match | None:
    """Return the match of the mean scores of items, (q, n), by the first ``other`` items of each query."""
    scores = np.where(other, scores, -np.inf)
    first = np.argsort(-scores, axis=1, kind="stable")[:, : min(_HITS, scores.shape[1] - 1)]
    lists = -np.take_along_axis(scores, first, 1)
    full = np.isfinite(lists).all(axis=1)
    if not full.any():
        return None
    hits = np.take_along_axis(relevant, first, 1)[full]
    return fitted_match(("", ""), lists[full], hits, np.ones(int(full.sum())), 1.0)
