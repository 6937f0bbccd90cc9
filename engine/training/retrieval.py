"""Retrieval: the rankings of held-out queries by a fitted space in each database, and their measures."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from crossview.engine.learners.frame.chain import Chain
from crossview.engine.learners.frame.comparisons import Taxonomy
from crossview.engine.runtime.cancellation import checkpoint
from crossview.engine.runtime.progress import Progress
from crossview.engine.runtime.threads import in_turn, one_blas_thread
from crossview.engine.spaces.pipeline import codes_and_vectors, distances, metrics_of_items, vectors
from crossview.engine.spaces.space import Space
from crossview.engine.training import measures
from crossview.engine.training.collected import Collected, Extremes, Listed, Shapes
from crossview.engine.training.divisions import Division
from crossview.engine.training.estimate import Estimate, Figures, Key, Median, Sample, Statistic, Values
from crossview.engine.training.examples import Examples
from crossview.engine.training.measures import HIERARCHICAL_ACCURACY, Costs, blocks, costs
from crossview.engine.training.stored_vectors import IndexedTarget
from crossview.engine.values.evaluation import (
    FIRST,
    ITEMS,
    MIXED,
    RECALLS,
    TRAINED,
    UNSEEN,
    Confusion,
    Curve,
    PerQuery,
    QueryExample,
)

_ROWS_AT_ONCE = 16_384
"""Rows embedded at a time, because the stages of a pipeline can make them wide."""

_OF_ONE = {"map": "average_precision", "median_rank": "rank"}
"""The names of figures of one query whose mean or median has another name."""

Bools = NDArray[np.bool_]
Labels = tuple[str, ...]
Measured = tuple[tuple[str, int | None], Estimate | Median | Statistic]
"""A metric, its k, and the figure."""


class Part(NamedTuple):
    """The rankings of some queries, for some lengths of hit lists."""

    queries: NDArray[np.intp]
    """Positions of the queries."""
    order: NDArray[np.intp]
    """Their rankings, without the items of their groups."""
    whole: NDArray[np.intp]
    """Their rankings of the whole database."""
    lengths: Sequence[int]


class MeasurePlan(NamedTuple):
    """The options of measuring, the same for every space."""

    databases: Sequence[str]
    by: str
    ks: Sequence[int]
    notion: str
    """The notion whose distances and labels are measured; "": all."""
    taxonomy: Taxonomy | None = None
    """The tree of labels that gives the costs of wrong votes; None: no costs."""
    per_query: bool = False
    """Whether to return the figures of each query."""
    hits: int = 0
    """Number of first hits to return for each query."""
    details: bool = False
    """Whether to return curves, the confusion of classes, and examples of queries."""
    every: bool = False
    """Whether to measure label_recall, ndcg and r_precision, too."""


class Trial(NamedTuple):
    """One space to measure, perhaps a refit, with the items that have one of its views."""

    space: Space
    pipeline: Chain
    items: Examples
    """Without their rows."""
    rows: Examples
    """The queries and, unless the view to find items in has an index, all items, with their rows."""
    indexes: Mapping[str, IndexedTarget]
    """By view."""
    division: Division


class _Placed(NamedTuple):
    """Vectors of items. Codes have columns of 0 and 1, and their float vectors if searches re-rank by them."""

    vectors: NDArray[np.float32]
    floats: NDArray[np.float32]
    """(n, 0) without re-ranking."""

    def take(self, places: NDArray[np.intp]) -> "_Placed":
        return _Placed(self.vectors[places], self.floats[places])


class Measurement(NamedTuple):
    """The figures of one space in one split, for one target or several."""

    figures: Figures
    per_query: Sequence[PerQuery] = ()
    """By target and database; empty unless the plan wants them."""
    curves: Sequence[Curve] = ()
    """By target and database; empty unless the plan wants them."""
    confusions: Sequence[Confusion] = ()
    examples: Sequence[QueryExample] = ()


def figures(trial: Trial, view: str, target: str, plan: MeasurePlan, progress: Progress | None = None) -> Measurement:
    """Return the figures of queries of a view among the items of another, or of the same, in every database.

    Held-out items are indexed without their labels, which are the truth to be found. Items at equal distances rank in
    a random order of the database, drawn once with a fixed seed, so that the expected measures are the means over all
    orders. Codes tie so often that the catalog's order, in which items of a class are neighbours, would decide.
    """
    division = trial.division
    queries = trial.rows.of_ids(division.queries)
    queries = queries.having_all(view, target) if plan.by == ITEMS else queries.seen_in(view)
    items = trial.items.of_ids(np.concatenate([division.held_out, division.trained])).seen_in(target)
    unseen = np.isin(items.ids, division.held_out, assume_unique=True)
    probes, placed = _embedded(trial, queries, view, queries=True), _placed(trial, items, target)
    metrics = _metrics(trial, items, unseen, placed.vectors, target, plan.notion)
    position = trial.space.views.index(target)
    widths = trial.pipeline.widths_of_metrics(position, placed.vectors.shape[1])
    labelled = None if plan.by == ITEMS else _Labelled.of(queries, items, plan)
    in_database = {TRAINED: ~unseen, UNSEEN: unseen, MIXED: np.ones(len(items), bool)}
    estimates: dict[Key, Estimate | Median | Statistic] = {}
    per_query: list[PerQuery] = []
    shapes: list[Shapes] = []
    examples: list[QueryExample] = []
    for database in plan.databases:
        order = np.random.default_rng(0).permutation(np.flatnonzero(in_database[database]))
        lists = _Lists(
            name=f"{trial.space.name}: {view} to {target}, {database}",
            probes=probes,
            placed=placed.take(order),
            metrics=metrics[order],
            widths=widths,
            asking=np.full(len(queries), -1) if labelled is None else queries.apart,
            offered=items.apart[order],
            rerank=trial.space.rerank,
            progress=progress,
        )
        own = _positions(queries.ids, items.ids[order])
        keys = [items.keys[item] for item in order.tolist()] if plan.details or plan.per_query else ()
        place = {"query_view": view, "database_view": target, "space": trial.space.name, "database": database}
        if labelled is not None and plan.details:
            shapes.append(Shapes(place, labelled.classes, labelled.own, plan.ks))
        extremes = Extremes(len(queries)) if plan.details else None
        collected = Collected(Listed(len(queries), plan.hits), shapes[-1] if shapes else None, extremes)
        if labelled is None:
            measured = _by_items(lists, own, plan.ks, collected)
        else:
            across = own if view != target else np.full(len(own), -1)
            marked = unseen[order] if database == MIXED else None
            measured = _by_labels(lists, labelled.take(order), across, marked, plan, collected)
        finite = {key: figure for key, figure in measured if np.isfinite(figure.value)}
        estimates |= {(database, target, *key): figure for key, figure in finite.items()}
        of_each = _of_each(finite)
        if extremes is not None:
            examples += extremes.examples(place, queries.keys, keys, of_each)
        if plan.per_query:
            per_query.append(collected.listed.per_query(place, queries.keys, of_each, keys))
    curves, confusions = [shape.curve() for shape in shapes], [shape.confusion() for shape in shapes]
    return Measurement(estimates, per_query, curves, confusions, examples)


def _of_each(measured: Mapping[tuple[str, int | None], Estimate | Median | Statistic]) -> dict[str, Values]:
    """Return the values of the queries by the name of a figure of one query."""
    values: dict[str, Values] = {}
    for (metric, k), figure in measured.items():
        name = _OF_ONE.get(metric, metric) if k is None else f"{metric}@{k}"
        match figure:
            case Estimate([sample]):
                values[name] = sample.values
            case Median():
                values[name] = figure.values
    return values


def _metrics(
    trial: Trial, items: Examples, unseen: Bools, embedded: NDArray[np.float32], view: str, notion: str
) -> Bools:
    """Return the metrics under which the items are indexed, (n, metrics); for a notion, only its own metric."""
    if notion in trial.pipeline.metric_names_:
        return np.tile(np.array(trial.pipeline.metric_names_) == notion, (len(items), 1))
    if trial.pipeline.n_metrics_ == 1:
        return np.ones((len(items), 1), bool)
    classes = np.where(unseen, "", items.classes())
    return metrics_of_items(trial.pipeline, classes, trial.space.views.index(view), embedded)


def _placed(trial: Trial, items: Examples, view: str) -> _Placed:
    """Return the vectors of items to find: those of the index or, without one, of their rows."""
    if view not in trial.indexes:
        return _embedded(trial, trial.rows.of_ids(items.ids), view)
    vectors = trial.indexes[view].vectors(items.ids)
    return _Placed(vectors, vectors[:, :0])


def _embedded(trial: Trial, items: Examples, view: str, queries: bool = False) -> _Placed:
    position, parts = trial.space.views.index(view), []
    for start in range(0, max(1, len(items)), _ROWS_AT_ONCE):
        checkpoint()
        rows = items.rows[view][start : start + _ROWS_AT_ONCE]
        if trial.space.rerank:
            parts.append(codes_and_vectors(trial.pipeline, rows, position, queries))
        else:
            embedded = vectors(trial.pipeline, rows, position, queries)
            parts.append((embedded, embedded[:, :0]))
    columns = zip(*parts, strict=True)
    return _Placed(*(np.concatenate(column) for column in columns))


class _Labelled(NamedTuple):
    """The L labels, those of the queries, (q, L), and of the items, (n, L), and costs of wrong votes, (L, L) each."""

    classes: Sequence[str]
    own: measures.Members
    offered: measures.Members
    costs: Mapping[str, Costs]

    @classmethod
    def of(cls, queries: Examples, items: Examples, plan: MeasurePlan) -> "_Labelled":
        of_queries, offered = queries.labels_in(plan.notion), items.labels_in(plan.notion)
        classes = sorted({label for labels in (*of_queries, *offered) for label in labels})
        wrong = {} if plan.taxonomy is None else costs(plan.taxonomy, classes)
        return cls(classes, measures.members(of_queries, classes), measures.members(offered, classes), wrong)

    def take(self, places: NDArray[np.intp]) -> "_Labelled":
        return self._replace(offered=self.offered[places])

    @property
    def by_label(self) -> measures.Members:
        """The labels of the items in columns, from which relevance is read fastest."""
        return self.offered.tocsc()


def _positions(own_ids: NDArray[np.int64], ids: NDArray[np.int64]) -> NDArray[np.intp]:
    """Return the positions of wanted ids among unsorted ids; -1 for an id that is not among them."""
    if not len(ids):
        return np.full(len(own_ids), -1)
    order = np.argsort(ids)
    places = order[np.minimum(np.searchsorted(ids, own_ids, sorter=order), len(ids) - 1)]
    return np.where(ids[places] == own_ids, places, -1)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Lists:
    """The rankings of one database for every query."""

    name: str
    """Name of the work in progress reports."""
    probes: _Placed
    placed: _Placed
    metrics: Bools
    """(n, metrics), whether an item is indexed under a metric."""
    widths: Sequence[int]
    """Columns of each metric."""
    asking: NDArray[np.int64]
    """(q,) the group of each query, which finds no item of its own group."""
    offered: NDArray[np.int64]
    """(n,) the group of each item."""
    rerank: int
    progress: Progress | None

    def parts(self, ks: Sequence[int]) -> Iterator[Part]:
        """Yield the rankings of some queries at a time; with re-ranking of codes, one ranking for each length.

        Equal distances rank in the order of the database.
        """
        done = 0
        with one_blas_thread():
            for part, order, whole in in_turn(self._parts_of_equal_length(), self._orders):
                yield from self._of_lengths(part, order, whole, ks)
                done += len(part)
                if self.progress is not None:
                    self.progress(self.name, done, len(self.asking))

    def _of_lengths(
        self, part: NDArray[np.intp], order: NDArray[np.intp], whole: NDArray[np.intp], ks: Sequence[int]
    ) -> Iterator[Part]:
        """Yield the rankings of some queries; with re-ranking of codes, one for each length."""
        if not self.rerank:
            yield Part(part, order, whole, ks)
            return
        for k in ks:
            exact = self._reranked(part, order, k)
            yield Part(part, exact, exact if whole is order else self._reranked(part, whole, k), [k])

    def _parts_of_equal_length(self) -> Iterator[NDArray[np.intp]]:
        """Yield the queries in parts with rankings of equal length, without queries that have nothing to find."""
        groups, sizes = np.unique(self.offered, return_counts=True)
        places = np.minimum(np.searchsorted(groups, self.asking), len(groups) - 1)
        left_out = np.where(groups[places] == self.asking, sizes[places], 0)
        for count in np.unique(left_out[left_out < len(self.offered)]):
            yield from blocks(np.flatnonzero(left_out == count), len(self.offered))

    def _orders(self, part: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
        """Return some queries, and their rankings without the items of their groups, and with them, from one sort."""
        table = distances(self.probes.vectors[part], self.placed.vectors, self.metrics, self.widths)
        left_out = self.asking[part][:, None] == self.offered
        whole = measures.ranking(table, overwrite=True)
        if not left_out.any():
            return part, whole, whole
        return part, whole[~measures.ranked(left_out, whole)].reshape(len(part), -1), whole

    def _reranked(self, part: NDArray[np.intp], order: NDArray[np.intp], k: int) -> NDArray[np.intp]:
        """Return rankings whose first ``rerank`` x k items are in the order of their float vectors."""
        probes, placed, listed = self.probes.floats, self.placed.floats, order[:, : self.rerank * k]
        pairs = zip(part, listed, strict=True)
        return measures.reranked(
            order, np.concatenate([cdist(probes[query, None], placed[items]) for query, items in pairs])
        )


def _by_labels(
    lists: _Lists,
    labelled: _Labelled,
    across: NDArray[np.intp],
    unseen: Bools | None,
    plan: MeasurePlan,
    collected: Collected,
) -> Iterator[Measured]:
    """Yield the figures by metric and k, of queries and items with labels.

    ``across``, (q,), has the positions of the queries' own items, or -1 where there is nothing to find across views.
    ``unseen`` marks the held-out items of a mixed database. ``collected`` gets the votes, and the rankings whose mAP is
    measured.
    """
    own, offered, by_label, ks = labelled.own, labelled.offered, labelled.by_label, plan.ks
    values_of: dict[tuple[str, int | None], NDArray[np.float64]] = {}
    ranks, hits = _Ranks(across), _Hits(offered.shape[0])

    def record(metric: str, k: int | None, part: NDArray[np.intp], values: NDArray[Any]) -> None:
        values_of.setdefault((metric, k), np.full(own.shape[0], np.nan))[part] = values

    for rankings in lists.parts(sorted({*ks, *RECALLS, FIRST})):
        part, order, _, lengths = rankings
        ranks.add(rankings)
        hits.add(rankings)
        if not (measured := [k for k in ks if k in lengths]):
            continue
        ranked = measures.relevance(order, own[part], by_label)
        for k in measured:
            votes = measures.knn_votes(order, offered, k)
            record("accuracy", k, part, measures.voted_for_own(votes, own[part]))
            collected.vote(k, part, votes)
            for metric, table in labelled.costs.items():
                wrong = measures.least_costs(votes, own[part], table)
                record(metric, k, part, 1 - wrong if metric == HIERARCHICAL_ACCURACY else wrong)
            record("precision", k, part, measures.precision_at_k(ranked, k))
            if plan.every:
                record("label_recall", k, part, measures.recall_at_k(ranked, k))
                record("ndcg", k, part, measures.ndcg_at_k(ranked, k))
            if unseen is not None:
                record("unseen_share", k, part, measures.share_in_proportion(unseen[order], k))
        if max(ks) in measured:
            record("map", None, part, measures.average_precision(ranked))
            if plan.every:
                record("r_precision", None, part, measures.r_precision(ranked))
            collected.add(part, order, ranked)
    yield from ((key, Estimate([Sample(values)])) for key, values in values_of.items())
    yield from ranks.figures(RECALLS, max(ks))
    yield from hits.figures()


def _by_items(lists: _Lists, own: NDArray[np.intp], ks: Sequence[int], collected: Collected) -> Iterator[Measured]:
    """Yield the figures by metric and k of how soon queries find their own items, (q,) positions."""
    ranks, hits = _Ranks(own), _Hits(len(lists.offered))
    for rankings in lists.parts(sorted({*ks, FIRST})):
        ranks.add(rankings)
        hits.add(rankings)
        if max(ks) in rankings.lengths:
            collected.add(rankings.queries, rankings.order, rankings.order == own[rankings.queries, None])
    yield from ranks.figures(ks, max(ks))
    yield from hits.figures()


class _Ranks:
    """The ranks of the queries' own items among the whole database, by the length of the hit list."""

    def __init__(self, own: NDArray[np.intp]) -> None:
        self._own = own
        self._ranks: dict[int, NDArray[np.float64]] = {}

    def add(self, rankings: Part) -> None:
        part = rankings.queries[self._own[rankings.queries] >= 0]
        if not len(part):
            return
        whole = rankings.whole[self._own[rankings.queries] >= 0]
        ranks = measures.ranks(whole, self._own[part])
        for k in rankings.lengths:
            self._ranks.setdefault(k, np.full(len(self._own), np.nan))[part] = ranks

    def figures(self, ks: Sequence[int], longest: int) -> Iterator[Measured]:
        if not self._ranks:
            return
        for k in ks:
            of_length = self._ranks[k]
            yield ("recall", k), Estimate([Sample(np.where(np.isnan(of_length), np.nan, of_length <= k))])
        yield ("median_rank", None), Median(self._ranks[longest])


class _Hits:
    """How often each of n items is among the first ``FIRST`` hits of the queries, without the queries' groups."""

    def __init__(self, items: int) -> None:
        self._counts, self._queries = np.zeros(items, np.intp), 0

    def add(self, rankings: Part) -> None:
        if FIRST in rankings.lengths:
            self._counts += np.bincount(rankings.order[:, :FIRST].ravel(), minlength=len(self._counts))
            self._queries += len(rankings.queries)

    def figures(self) -> Iterator[Measured]:
        if self._queries:
            yield ("coverage", FIRST), Statistic(measures.coverage(self._counts))
            yield ("hubness", FIRST), Statistic(measures.hubness(self._counts))
