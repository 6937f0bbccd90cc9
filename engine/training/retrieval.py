"""Retrieval: the rankings that a fitted space gives for held-out queries, in each database, and what they measure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from engine.evaluation import ITEMS, MIXED, TRAINED, UNSEEN
from engine.learners.cancellation import checkpoint
from engine.learners.chain import Chain
from engine.spaces.pipeline import codes_and_vectors, distances, metrics_of_items, vectors
from engine.spaces.space import Space
from engine.training import measures
from engine.training.division import Division
from engine.training.estimate import Estimate, Figures, Key, Median, Sample
from engine.training.examples import Examples

_QUERIES_AT_ONCE = 256

Bools = NDArray[np.bool_]
Part = tuple[NDArray[np.intp], NDArray[np.intp], Sequence[int]]
"""Positions of some queries, their rankings, and the lengths of hit lists that these are for."""


class What(NamedTuple):
    """What is measured of every space."""

    databases: Sequence[str]
    by: str
    ks: Sequence[int]


class Trial(NamedTuple):
    """One space to be measured, perhaps fitted anew, with the items that have a view that takes part."""

    space: Space
    pipeline: Chain
    items: Examples
    division: Division


class _Placed(NamedTuple):
    """Vectors of items; those of codes are columns of 0 and 1, with the float vectors behind them if these re-rank."""

    vectors: NDArray[np.float32]
    floats: NDArray[np.float32]

    def take(self, chosen: Any) -> "_Placed":
        return _Placed(self.vectors[chosen], self.floats[chosen])


def figures(trial: Trial, view: str, target: str, what: What) -> Figures:
    """Return the figures of queries of a view among the items of another, or of the same, in every database.

    Held-out items are indexed as if they had no labels, which are what is to be found.
    """
    division, position = trial.division, trial.space.views.index(target)
    queries = trial.items.of_ids(division.queries)
    queries = queries.having_all(view, target) if what.by == ITEMS else queries.seen_in(view)
    found = trial.items.of_ids(np.union1d(division.queries, division.trained)).seen_in(target)
    unseen = np.isin(found.ids, division.queries)
    metrics = metrics_of_items(trial.pipeline, np.where(unseen, "", found.classes()), position)
    probes, placed = _embedded(trial, queries, view, queries=True), _embedded(trial, found, target)
    members = {TRAINED: ~unseen, UNSEEN: unseen, MIXED: np.ones(len(found), bool)}
    estimates: dict[Key, Estimate | Median] = {}
    for database in what.databases:
        chosen = members[database]
        lists = _Lists(
            probes=probes,
            placed=placed.take(chosen),
            metrics=metrics[chosen],
            asking=queries.apart if what.by != ITEMS else np.full(len(queries), -1),
            offered=found.apart[chosen],
            rerank=trial.space.rerank,
        )
        if what.by == ITEMS:
            measured = _by_items(lists, np.searchsorted(found.ids[chosen], queries.ids), what.ks)
        else:
            measured = _by_labels(
                lists, queries, found.take(chosen), unseen[chosen] if database == MIXED else None, what.ks
            )
        estimates |= {(database, target, *key): one for key, one in measured if np.isfinite(one.value)}
    return estimates


def _embedded(trial: Trial, items: Examples, view: str, queries: bool = False) -> _Placed:
    rows, position = items.rows[view], trial.space.views.index(view)
    if trial.space.rerank:
        return _Placed(*codes_and_vectors(trial.pipeline, rows, position, queries))
    found = vectors(trial.pipeline, rows, position, queries)
    return _Placed(found, found)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Lists:
    """The rankings of one database for every query."""

    probes: _Placed
    placed: _Placed
    metrics: Bools
    """(n, metrics) under which metrics an item is indexed."""
    asking: NDArray[np.int64]
    """(q,) the group of each query; it finds no item of the same."""
    offered: NDArray[np.int64]
    """(n,) the group of each item."""
    rerank: int

    def parts(self, ks: Sequence[int]) -> Iterator[Part]:
        """Yield the rankings of some queries at a time; where codes are re-ranked, one for each length.

        Equal distances are ranked by chance, drawn with a fixed seed.
        """
        random = np.random.default_rng(0)
        for part in self._chunks():
            checkpoint()
            order = self._order(part, random)
            if not self.rerank:
                yield part, order, ks
                continue
            exact = cdist(self.probes.floats[part], self.placed.floats)
            for k in ks:
                yield part, measures.reranked(order, exact, self.rerank * k), [k]

    def _chunks(self) -> Iterator[NDArray[np.intp]]:
        """Yield the queries in parts of equally long rankings; a query that could find nothing is in none."""
        groups, sizes = np.unique(self.offered, return_counts=True)
        places = np.minimum(np.searchsorted(groups, self.asking), len(groups) - 1)
        left_out = np.where(groups[places] == self.asking, sizes[places], 0)
        for count in np.unique(left_out[left_out < len(self.offered)]):
            queries = np.flatnonzero(left_out == count)
            yield from (queries[start : start + _QUERIES_AT_ONCE] for start in range(0, len(queries), _QUERIES_AT_ONCE))

    def _order(self, part: NDArray[np.intp], random: np.random.Generator) -> NDArray[np.intp]:
        table = distances(self.probes.vectors[part], self.placed.vectors, self.metrics)
        left_out = self.asking[part][:, None] == self.offered
        table[left_out] = np.inf
        return measures.ranking(table, random)[:, : table.shape[1] - np.count_nonzero(left_out[0])]


def _by_labels(
    lists: _Lists, queries: Examples, items: Examples, unseen: Bools | None, ks: Sequence[int]
) -> Iterator[tuple[tuple[str, int | None], Estimate]]:
    """Yield the figures by metric and k; ``unseen``, of a mixed database, is which items were held out."""
    classes = sorted(set(chain(*queries.labels, *items.labels)))
    own, offered = (measures.members(one.labels, classes) for one in (queries, items))
    found: dict[tuple[str, int | None], NDArray[np.float64]] = {}

    def record(metric: str, k: int | None, part: NDArray[np.intp], values: NDArray[Any]) -> None:
        found.setdefault((metric, k), np.full(len(queries), np.nan))[part] = values

    for part, order, lengths in lists.parts(ks):
        ranked = measures.relevance(order, own[part], offered)
        for k in lengths:
            record("accuracy", k, part, measures.knn_correct(order, own[part], offered, k))
            record("precision", k, part, measures.precision_at_k(ranked, k))
            if unseen is not None:
                record("unseen_share", k, part, measures.share_in_proportion(unseen[order], k))
        if max(ks) in lengths:
            record("map", None, part, measures.average_precision(ranked))
    yield from ((key, Estimate([Sample(values)])) for key, values in found.items())


def _by_items(
    lists: _Lists, own: NDArray[np.intp], ks: Sequence[int]
) -> Iterator[tuple[tuple[str, int | None], Estimate | Median]]:
    """Yield how soon the queries' own items, (q,) by position, are found, by metric and k."""
    ranks = {k: np.zeros(len(own)) for k in ks}
    for part, order, lengths in lists.parts(ks):
        for k in lengths:
            ranks[k][part] = measures.ranks(order, own[part])
    for k, of_length in ranks.items():
        yield ("recall", k), Estimate([Sample((of_length <= k).astype(float))])
    yield ("median_rank", None), Median(ranks[max(ks)])
