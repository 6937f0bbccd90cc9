"""Fused search: one list over several targets, exact over all items, with weights that can be learned."""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from crossview.engine.runtime.cancellation import checkpoint
from crossview.engine.spaces.columns import (
    Column,
    Crossing,
    Evidence,
    Floats,
    best_first,
    distances_to,
    every_distance,
    mean_of_crossings,
    mean_scores,
    reciprocal_ranks,
)
from crossview.engine.spaces.indexed import Selector
from crossview.engine.spaces.match import FEWEST_LABELLED, Familiarity, Match, fitted_match
from crossview.engine.spaces.near_copies import Copies, near_copies
from crossview.engine.spaces.queries import Asked, described, familiarity, query_probes, views_of, words_of_queries
from crossview.engine.spaces.random_pairs import random_pairs, similarities
from crossview.engine.spaces.rankings import Ranking
from crossview.engine.spaces.space import Space
from crossview.engine.spaces.version import SearchState
from crossview.engine.values.errors import Argument, InvalidInputError, NotReadyError
from crossview.engine.values.labels import LABELLING, without_labels
from crossview.engine.values.query import Query
from crossview.engine.values.strategy import DISTANCE, LEARN, MATCH, Nearest
from crossview.features.base import QueryWords
from crossview.index.base import Ids

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
_NEAR = 20
"""A target speaks for the nearest of so many of its items."""
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


class Fused(NamedTuple):
    """The scores of all items that a query may find, the greatest first by ``order``."""

    way: str
    columns: Sequence[Column]
    """The columns that count."""
    weights: Sequence[float]
    """The weight of each column; an item has the weighted mean of the columns that have it."""
    ids: Ids
    """Ascending, (n,)."""
    parts: Sequence[Floats]
    """The evidence of each column for its items, (n,): matches by match, and otherwise scores. The greatest is where a
    hit is nearest."""
    means: Floats
    """The mean of each item, (n,): of logits by match."""
    matches: Floats | None
    """The match of each item; None if nothing is calibrated."""
    order: NDArray[np.intp] = np.empty(0, np.intp)
    """The places of the first k items."""
    similarities: Floats | None = None
    """The similarity of each item, without matches; None if ranks make the list."""
    line: tuple[float, float] = (0.0, 1.0)
    """The offset and the slope of the logits of ``matches`` by ``means``."""


@dataclass(frozen=True)
class Fusion:
    """How one search fuses the targets of each query."""

    state: SearchState
    strategy: Nearest
    k: int
    only: Selector

    @property
    def _evidence(self) -> Evidence:
        return Evidence(self.state)

    def columns(self, group: Asked, queries: Sequence[Query]) -> list[list[Column]]:
        """Return the columns of every query of a group; ``queries`` are those of the request.

        Raises the errors of ``near_copies``.
        """
        copies = near_copies(self.state, queries, group, self.k)
        familiar = familiarity(self.state, group, queries)
        return [
            [
                self._column(
                    (group.view, target), vectors[row], own, copies[row], None if familiar is None else familiar[row]
                )
                for target, vectors in group.probes.items()
            ]
            for row, own in enumerate(group.own)
        ]

    def _column(
        self, crossing: Crossing, vector: NDArray[Any], own: int | None, copies: Copies, familiarity: Familiarity | None
    ) -> Column:
        target = crossing[1]
        only = None if self.only is None else self.only(target)
        ids, distances = every_distance(target, self.state.indexed.indexes[target].index, vector, only)
        if own is not None:
            mask = ids != own
            ids, distances = ids[mask], distances[mask]
        return Column(crossing, vector, ids, distances, own, copies, familiarity)

    def ranking(self, number: int, columns: Sequence[Column], words: QueryWords | None = None) -> Ranking:
        """Return the first k items for the query with a number, each at its distance in the target that has it nearest.

        Raises the errors of ``scored``.
        """
        fused, least = self.scored(columns), self.strategy.min_match
        if least and fused.matches is None:
            raise NotReadyError(no_match(self.state.space, columns[0].crossing[0], str(columns[0].crossing[1])))
        places = fused.order if fused.matches is None else fused.order[fused.matches[fused.order] >= least]
        ids = fused.ids[places]
        best, distances = np.full(len(ids), -1, np.int32), np.zeros(len(ids))
        near = np.zeros((len(ids), len(fused.columns)), bool)
        greatest = np.full(len(ids), -np.inf)
        for place, (column, part) in enumerate(zip(fused.columns, fused.parts, strict=True)):
            if not len(column.ids):
                continue
            at = np.minimum(np.searchsorted(column.ids, ids), len(column.ids) - 1)
            first = -(-len(part) // _NEAR)
            near[:, place] = (column.ids[at] == ids) & (part[at] >= np.partition(part, -first)[-first])
            nearer = (column.ids[at] == ids) & ((part[at] > greatest) | (best < 0))
            best[nearer], greatest[nearer] = place, part[at[nearer]]
            distances[nearer] = column.distances[at[nearer]]
            for copy in np.flatnonzero(nearer & np.isin(ids, list(column.copies))) if column.copies else ():
                distances[copy] = shown_distance(column, int(ids[copy]), int(at[copy]))
        near[np.arange(len(ids)), best] = True
        targets = [column.crossing[1] for column in fused.columns]
        scores = np.zeros((len(ids), len(self.state.space.axes)))
        for place, target in enumerate(targets):
            if (values := self.state.indexed.scores(target, ids[best == place])) is not None:
                scores[best == place] = values
        return Ranking(
            query=number,
            name=f"{fused.way} of {', '.join(dict.fromkeys(map(str, targets)))}",
            ids=ids,
            distances=distances,
            crossings=[(column.crossing[0], str(column.crossing[1])) for column in fused.columns],
            at=best,
            near=near,
            matches=None if fused.matches is None else fused.matches[places],
            similarities=None if fused.similarities is None else fused.similarities[places],
            scores=scores if self.state.space.axes else None,
            words=words,
        )

    def of_every_view(self, number: int, query: Query) -> Ranking:
        """Return the list of a query without a view, fused over all views by which it can ask, and all targets."""
        columns, words = self.columns_of(query)
        return self.ranking(number, columns, words[0] if words else None)

    def columns_of(self, query: Query) -> tuple[list[Column], list[QueryWords]]:
        """Return the columns of a query in each view by which it can ask, and the words of a text.

        A view without a row for the query, such as one that finds nothing in the picture, is left out, and so is a
        target without matches if others have one. Raises the error of the first view if every view is left out.
        """
        version, space = self.state.version, self.state.space
        views = views_of(version, space, query, self.strategy.targets)
        if not query.view:
            query = described(version, query, dict.fromkeys([*views, *filter(None, [space.robust_view])]))
        columns, words, errors = list[Column](), list[QueryWords](), list[InvalidInputError | NotReadyError]()
        for view, names in views.items():
            alone = [replace(query, view=view)]
            try:
                for group in query_probes(self.state, alone, names):
                    columns += self.columns(group, alone)[0]
                words += words_of_queries(version, alone).values()
            except (InvalidInputError, NotReadyError) as error:
                errors.append(error)
        if not columns:
            raise errors[0]
        return columns, words

    def scored(self, columns: Sequence[Column]) -> Fused:
        """Return the scores of all items.

        Raises NotReadyError if nothing is calibrated, or states what to learn, and the search needs it.
        """
        way = self._way(columns)
        columns = self._within(columns)
        if way == MATCH:
            return self._by_match([column for column in columns if self._evidence.match(column) is not None])
        if way == LEARN:
            return self._by_learning(columns)
        if way == DISTANCE:
            pairs = random_pairs(self._evidence, [column.crossing for column in columns])
            return self._by_scores(way, columns, pairs.weights)
        ranks, weights = [reciprocal_ranks(column.distances) for column in columns], [1.0] * len(columns)
        return self._ordered(Fused(way, columns, weights, *_with_parts(columns, ranks, weights), None))

    def _by_scores(self, way: str, columns: Sequence[Column], weights: Sequence[float]) -> Fused:
        """Fuse by weighted mean scores; one target alone keeps the order of its distances."""
        parts = self._evidence.scores(columns) if len(columns) > 1 else [-columns[0].distances]
        result = _with_parts(columns, parts, weights)
        alike = similarities(self._evidence, columns, weights, result[2])
        return self._ordered(Fused(way, columns, weights, *result, None, similarities=alike))

    def _within(self, columns: Sequence[Column]) -> Sequence[Column]:
        """Return the columns with the items that are in one of them within the maximum distance."""
        most = self.strategy.max_distance
        if most is None:
            return columns
        near = np.unique(np.concatenate([column.ids[column.distances <= most] for column in columns]))
        inside = [np.isin(column.ids, near, assume_unique=True) for column in columns]
        return [
            replace(column, ids=column.ids[mask], distances=column.distances[mask])
            for column, mask in zip(columns, inside, strict=True)
        ]

    def _way(self, columns: Sequence[Column]) -> str:
        """Return the way to fuse: the wanted one, or match where calibrated, and otherwise distance."""
        calibrated = any(self._evidence.match(column) is not None for column in columns)
        if not calibrated and (self.strategy.fuse == MATCH or (self.strategy.min_match and not self.strategy.fuse)):
            raise NotReadyError(no_match(self.state.space, columns[0].crossing[0], str(columns[0].crossing[1])))
        return self.strategy.fuse or (MATCH if calibrated else DISTANCE)

    def _by_match(self, columns: Sequence[Column]) -> Fused:
        """Fuse by the weighted logistic mean of the matches in all targets; far items, without one, by distances."""
        parts = self._evidence.matches(columns)
        far = [-column.distances / (column.first() or 1.0) for column in columns]
        weights = [match.weight for column in columns if (match := self._evidence.match(column)) is not None]
        ids, means = _means(columns, self._evidence.logits(columns), weights)
        every, line = self.state.space.match_of.get(("", "")), (0.0, 1.0)
        if every is not None and len(ids) and len(columns) == len(self.state.space.matches) - 1:
            others = ~np.isin(ids, [item for column in columns for item in column.copies])
            line = every.line(float(means[others if others.any() else ~others].max()))
        fused = Fused(MATCH, columns, weights, ids, parts, means, expit(line[0] + line[1] * means), line=line)
        return self._ordered(fused, _means(columns, far, weights)[1])

    def _by_learning(self, columns: Sequence[Column]) -> Fused:
        own = frozenset(column.own for column in columns if column.own is not None)
        crossings = tuple(column.crossing for column in columns)
        by_match = self._evidence.calibrated(crossings) and all(column.familiarity is not None for column in columns)
        taught = [
            Teacher(self._evidence, crossings, way).learned(own) for way in ((False, True) if by_match else (False,))
        ]
        learned = min(taught, key=lambda fusion: fusion.loss)
        weights = [learned.weights[column.crossing] for column in columns]
        if learned.match is None and not learned.by_match:
            return self._by_scores(LEARN, columns, weights)
        parts = self._evidence.to_learn(columns, learned.by_match)
        ids, _, means = result = _with_parts(columns, parts, weights)
        matches = None if learned.match is None or not len(ids) else learned.match.of_all(-means, -means.max())
        return self._ordered(Fused(LEARN, columns, weights, *result, matches))

    def _ordered(self, fused: Fused, *further: Floats) -> Fused:
        """Return the first items by their means, and ``further`` scores among equal ones; near copies come before."""
        closest: dict[int, float] = {}
        for column in fused.columns:
            for item, distance in column.copies.items():
                closest[item] = min(distance, closest.get(item, distance))
        ids, scores = fused.ids, (fused.means, *further)
        copies = np.isin(ids, list(closest)) if closest else np.zeros(len(ids), bool)
        if not copies.any():
            return fused._replace(order=best_first(self.k, *scores))
        lead = np.full(len(ids), -np.inf)
        lead[copies] = [-closest[item] for item in ids[copies].tolist()]
        order = np.lexsort((ids, *(-part for part in reversed(scores)), -lead))[: self.k]
        matches, alike = (
            None if values is None else np.where(copies, 1.0, values) for values in (fused.matches, fused.similarities)
        )
        return fused._replace(order=order, matches=matches, similarities=alike)


def _means(columns: Sequence[Column], parts: Sequence[Floats], weights: Sequence[float]) -> tuple[Ids, Floats]:
    return mean_scores([column.ids for column in columns], parts, weights)


def _with_parts(
    columns: Sequence[Column], parts: Sequence[Floats], weights: Sequence[float]
) -> tuple[Ids, Sequence[Floats], Floats]:
    ids, means = _means(columns, parts, weights)
    return ids, parts, means


def shown_distance(column: Column, item: int, place: int) -> float:
    """Return the distance of the item at a place; that of a near copy is as in ``copies_first``."""
    if item not in column.copies:
        return float(column.distances[place])
    return float(column.distances.min()) * column.copies[item]


def no_match(space: Space, view: str, target: str) -> str:
    """Return why hits have no match, and the remedy."""
    return (
        f"space {space.name!r} has no calibrated match for queries of view {view!r} and items in {target!r}: "
        f"train it (again) with labels on at least {FEWEST_LABELLED} items, or leave min_match out"
    )
