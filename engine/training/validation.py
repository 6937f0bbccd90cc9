"""Validation: folds of training items or of their comparisons, and the quality of a fitted pipeline in each."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossview.engine.catalog.values import within_reach
from crossview.engine.learners.frame.chain import Chain
from crossview.engine.learners.frame.comparisons import AnyComparisons, folds_of
from crossview.engine.learners.frame.view_rows import cut
from crossview.engine.learners.selection import CrossValidation, Fold, Scores
from crossview.engine.spaces.pipeline import distances, metrics_of_items
from crossview.engine.training.examples import Examples
from crossview.engine.training.learning import learn
from crossview.engine.training.measures import (
    Members,
    average_precision,
    blocks,
    knn_correct,
    members,
    nearness_of_own,
    ranking,
    relevant,
)
from crossview.engine.training.splits import fold_groups
from crossview.engine.values.evaluation import TRAINED, UNSEEN
from crossview.engine.values.recipe import ITEMS

ACCURACY = "accuracy"
NEIGHBORS = 5
"""Neighbours that vote in the measure "accuracy"."""

AnyRows = NDArray[Any]
"""Rows of any float type: vectors are float32, the rows of folds float64."""
Bools = NDArray[np.bool_]
Crossing = tuple[int, int]
Scored = tuple[Crossing, AnyRows]
"""A query view, the view of a target, and a measure of each query of a fold; NaN without a relevant item."""


def validate_retrieval(
    training: Examples, folds: int, measure: str, seed: int
) -> tuple[str, "CrossValidation[Scored]"]:
    """Return the kind of database, and folds of items: the items of a fold are queries, the others are training items.

    The database is the fold itself, "unseen", so that unseen items judge the settings. A query must not find itself or
    another item of its group, except with the measure "items", by which only its own item is relevant to its other
    views. If fewer than half of the items have a similar item in their own fold, the training items are the database,
    "trained".

    The measure covers the queries of every pair of a query view and a target that the pipeline can match: across the
    views, or within each view if the learner does not compare views.
    """
    retrieval = _Retrieval(training, spread(training, folds, seed), measure, seed)
    if not retrieval.finds_unseen():
        retrieval = replace(retrieval, unseen=False)
    folds_of_items = [retrieval.fold(number) for number in range(retrieval.folds.max() + 1)]
    return UNSEEN if retrieval.unseen else TRAINED, CrossValidation(folds_of_items, retrieval)


def by_crossing(scored: list[list[Scored]]) -> Scores:
    """Return the measures in all folds by pair of a query view and a target."""
    gathered: dict[Crossing, list[AnyRows]] = defaultdict(list)
    for fold in scored:
        for crossing, values in fold:
            gathered[crossing].append(values)
    return {crossing: np.concatenate(values) for crossing, values in gathered.items()}


def validate_order(training: Examples, comparisons: AnyComparisons, folds: int, seed: int) -> "CrossValidation[float]":
    """Return folds of comparisons: distances learned from the other folds are tested on the comparisons of a fold.

    Every notion spreads evenly over the folds. If the learner has notions, the distances of each measure its own.
    """
    fold_of = folds_of(comparisons, folds, seed)
    rows, mask = _dense(training), training.mask
    database = [view[present] for view, present in zip(rows, mask.T, strict=True)]

    def agreement(number: int, chain: Chain, _: list[AnyRows], placed: list[AnyRows]) -> Iterator[float]:
        held_out = comparisons.take(fold_of == number)
        for view, (embedded, present) in enumerate(zip(placed, mask.T, strict=True)):
            of_view = held_out.among(present, len(present))
            if len(of_view) and np.isfinite(score := _agreement(chain, view, of_view, within_reach(embedded))):
                yield score

    def fold(number: int) -> Fold:
        learned = replace(training, constraints=comparisons.take(fold_of != number))
        return _fold(learned, queries=[view[:0] for view in rows], database=database)

    return CrossValidation([fold(number) for number in range(folds)], agreement)


def _agreement(chain: Chain, view: int, comparisons: AnyComparisons, embedded: AnyRows) -> float:
    """Return the agreement of the embeddings of a view with comparisons, the mean over its notions."""
    if comparisons.notions is None or not chain.metric_names_:
        return comparisons.agreement(embedded)
    notions = comparisons.notions.astype(str)
    metrics = cut(embedded, chain.widths_of_metrics(view, embedded.shape[1]))
    of_notion = [
        comparisons.take(notions == name).agreement(metric)
        for name, metric in zip(chain.metric_names_, metrics, strict=True)
        if (notions == name).any()
    ]
    return float(np.mean(of_notion))


@dataclass(frozen=True)
class _Retrieval:
    """A measure of retrieval in folds of items."""

    training: Examples
    folds: NDArray[np.intp]
    """(n,) the fold of each item."""
    measure: str
    seed: int
    unseen: bool = True
    """Whether the items of a fold are also its database."""

    def fold(self, number: int) -> Fold:
        """Return the training rows and the embedded rows of a fold."""
        queries, items = self._positions(number)
        rows = _dense(self.training)
        asking = [view[places] for view, places in zip(rows, queries, strict=True)]
        database = [view[places] for view, places in zip(rows, items, strict=True)]
        return _fold(self.training.take(self.folds != number), asking, asking if self.unseen else database)

    def __call__(self, number: int, chain: Chain, probes: list[AnyRows], placed: list[AnyRows]) -> Iterator[Scored]:
        """Yield the measure of each query of a fold by query view and target, if a query has relevant items."""
        queries, items = self._positions(number)
        classes = self.training.classes()
        for query, target in _crossings(chain, len(queries)):
            if len(queries[query]) and len(items[target]):
                item_classes = np.full(len(items[target]), "") if self.unseen else classes[items[target]]
                metrics = metrics_of_items(chain, item_classes, target, placed[target])
                vectors = within_reach(probes[query]), within_reach(placed[target])
                widths = chain.widths_of_metrics(target, placed[target].shape[1])
                quality = self._quality(*vectors, (metrics, widths), queries[query], items[target])
                if np.isfinite(quality).any():
                    yield (query, target), quality

    def finds_unseen(self) -> bool:
        """Return whether at least half of the items have a similar item in their own fold."""
        if self.measure == ITEMS:
            return True
        by_fold = [np.flatnonzero(self._known() & (self.folds == number)) for number in np.unique(self.folds)]
        flags = np.concatenate([self._has_similar(items) for items in by_fold])
        return bool(len(flags)) and float(flags.mean()) >= 0.5

    def _known(self) -> Bools:
        """Return which items have known similar items: those in pairs, or those with labels."""
        if self.measure == ITEMS:
            return np.ones(len(self.training), bool)
        if self.training.similar is not None:
            return np.asarray(self.training.similar.sum(axis=1)).ravel() > 1
        return np.array([bool(labels) for labels in self.training.labels], bool)

    def _positions(self, number: int) -> tuple[list[NDArray[np.intp]], list[NDArray[np.intp]]]:
        """Return the positions of a fold's queries and of its database by view."""
        usable = self.training.mask.T & self._known()
        held_out = self.folds == number
        queries = [np.flatnonzero(view & held_out) for view in usable]
        return queries, queries if self.unseen else [np.flatnonzero(view & ~held_out) for view in usable]

    def _quality(
        self,
        probes: AnyRows,
        placed: AnyRows,
        metrics: tuple[Bools, Sequence[int]],
        queries: NDArray[np.intp],
        items: NDArray[np.intp],
    ) -> AnyRows:
        """Return the measure of each query, (q,); items at equal distances rank in a random order by the seed.

        ``metrics`` has the metrics of each item, and the number of columns of each metric.
        """
        (indexed, widths) = metrics
        order, apart = np.random.default_rng(self.seed).permutation(len(items)), self.training.apart
        placed, indexed, items = placed[order], indexed[order], items[order]
        quality = np.empty(len(queries))
        for block in blocks(np.arange(len(queries)), len(items)):
            gaps = distances(probes[block], placed, indexed, widths)
            if self.measure != ITEMS:
                # items of the query's group rank last, as irrelevant
                gaps[apart[queries[block], None] == apart[None, items]] = np.inf
            quality[block] = self._judged(ranking(gaps), queries[block], items)
        return quality

    def _judged(self, order: NDArray[np.intp], queries: NDArray[np.intp], items: NDArray[np.intp]) -> AnyRows:
        if self.measure == ACCURACY:
            return knn_correct(order, self._members[queries], self._members[items], NEIGHBORS).astype(float)
        ranked = np.take_along_axis(self._relevant(queries, items), order, axis=1)
        return nearness_of_own(ranked) if self.measure == ITEMS else average_precision(ranked)

    def _relevant(self, queries: NDArray[np.intp], items: NDArray[np.intp]) -> Bools:
        """Return which items are relevant to which queries, (q, n)."""
        itself = queries[:, None] == items[None, :]
        if self.measure == ITEMS:
            return np.asarray(itself)
        apart = self.training.apart
        other_group = apart[queries, None] != apart[None, items]
        if self.training.similar is not None:
            return np.asarray((self.training.similar[queries][:, items].toarray() > 0) & other_group)
        return np.asarray(relevant(self._members[queries], self._members[items]) & other_group)

    def _has_similar(self, items: NDArray[np.intp]) -> Bools:
        """Return which of the items have a similar item of another group among the items."""
        apart = self.training.apart[items]
        mask = np.zeros(len(items), bool)
        if self.training.similar is not None:
            pairs = self.training.similar[items][:, items].tocoo()
            mask[pairs.row[apart[pairs.row] != apart[pairs.col]]] = True
            return mask
        labelled = self._members[items].tocoo()
        groups = apart[labelled.row]
        least, most = np.full(labelled.shape[1], groups.max(initial=0)), np.zeros(labelled.shape[1], groups.dtype)
        np.minimum.at(least, labelled.col, groups)
        np.maximum.at(most, labelled.col, groups)
        mask[labelled.row[(least < most)[labelled.col]]] = True
        return mask

    @cached_property
    def _members(self) -> Members:
        """Which examples have which label, (n, L)."""
        labels = self.training.labels
        return members(labels, sorted({label for of_one in labels for label in of_one}))


def spread(training: Examples, folds: int, seed: int) -> NDArray[np.intp]:
    """Return the fold of each example, (n,): random, with every set of labels spread evenly over the folds.

    Groups stay whole, and labels then spread as evenly as possible; InvalidInputError for too few groups.
    """
    names, codes = np.unique(["\x1f".join(labels) for labels in training.labels], return_inverse=True)
    if training.groups is not None:
        return fold_groups(training.groups, codes, folds, seed)
    generator = np.random.default_rng(seed)
    fold_of = np.empty(len(training), np.intp)
    # each class continues at the fold after the last one, so that small classes do not all fill the first fold
    first = 0
    for code in range(len(names)):
        of_class = generator.permutation(np.flatnonzero(codes == code))
        fold_of[of_class] = (first + np.arange(len(of_class))) % folds
        first += len(of_class)
    return fold_of


def _fold(learned: Examples, queries: list[AnyRows], database: list[AnyRows]) -> Fold:
    def fit(chain: Chain, rows: list[AnyRows]) -> Chain:
        return learn(chain, replace(learned, rows=dict(zip(learned.rows, rows, strict=True))))

    return Fold(training=_dense(learned), mask=learned.mask, learn=fit, queries=queries, database=database)


def _dense(examples: Examples) -> list[AnyRows]:
    """Return the rows by view as float64, (n, d_v), with zeros for items without the view."""
    rows = zip(examples.rows.values(), examples.mask.T, strict=True)
    return [np.where(present[:, None], view, 0.0).astype(np.float64) for view, present in rows]


def _crossings(chain: Chain, views: int) -> list[tuple[int, int]]:
    """Return the (query view, target view) pairs to measure: across views if the space can, otherwise within views."""
    if chain.capabilities.cross_view and views > 1:
        return [(query, target) for query in range(views) for target in range(views) if query != target]
    return [(view, view) for view in range(views)]
