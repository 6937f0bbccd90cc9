"""The parts of an evaluation besides its figures: hits, curves, confused classes and examples of queries."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crossview.engine.training.measures import Bools, Members, interpolated_precision
from crossview.engine.values.evaluation import (
    FIRST,
    SHOWN_HITS,
    SHOWN_QUERIES,
    Confused,
    Confusion,
    Curve,
    PerQuery,
    QueryExample,
)

NOTHING = np.empty(0, np.int32)


class Listed:
    """The first hits of each of q queries and its relevant items, as positions in the database."""

    def __init__(self, queries: int, length: int) -> None:
        self._length = length
        self._hits = [NOTHING] * queries
        self._relevant = [NOTHING] * queries

    def add(self, queries: NDArray[np.intp], order: NDArray[np.intp], ranked: Bools) -> None:
        """Add the rankings of some queries, (part, n), and whether each ranked item is relevant."""
        if not self._length:
            return
        for query, hits, relevant in zip(queries.tolist(), order.astype(np.int32), ranked, strict=True):
            self._hits[query] = hits[: self._length].copy()
            self._relevant[query] = np.sort(hits[relevant])

    def per_query(
        self, place: Mapping[str, str], keys: tuple[str, ...], figures: Mapping[str, Any], items: Sequence[str]
    ) -> PerQuery:
        """Return the figures of queries with these hits, in a database with the keys ``items``, if hits are wanted."""
        about: dict[str, Any] = {**place, "split": 1, "keys": keys, "figures": figures}
        if self._length:
            about |= {"items": tuple(items), "hits": tuple(self._hits), "relevant": tuple(self._relevant)}
        return PerQuery(**about)


class Shapes:
    """The precision at every recall, and the classes that the nearest items of queries vote for, in one database.

    ``place`` names the space, the views and the database; ``own``, (q, classes), has the labels of the queries, and
    ``ks`` the measured lengths of the hit lists.
    """

    def __init__(self, place: Mapping[str, str], classes: Sequence[str], own: Members, ks: Sequence[int]) -> None:
        self._place, self._classes, self._own = place, classes, own
        self._k = FIRST if FIRST in ks else min(ks)
        self._precision: list[NDArray[np.float64]] = []
        self._confused: Counter[tuple[int, int]] = Counter()

    def add(self, ranked: Bools) -> None:
        """Add the relevance of the rankings of some queries, (part, n)."""
        self._precision.append(interpolated_precision(ranked))

    def vote(self, k: int, queries: NDArray[np.intp], votes: NDArray[np.intp]) -> None:
        """Add the classes that the k nearest items of some queries vote for; -1 for none."""
        if k != self._k:
            return
        for query, vote in zip(queries.tolist(), votes.tolist(), strict=True):
            own = self._own[[query]].indices.tolist()
            if own and vote >= 0:
                self._confused[vote if vote in own else own[0], vote] += 1

    def curve(self) -> Curve:
        """Return the mean precision of the queries that have a relevant item."""
        precision = np.concatenate([np.empty((0, 11)), *self._precision])
        measured = precision[~np.isnan(precision).any(axis=1)]
        return Curve(**self._place, precision=tuple(measured.mean(axis=0).tolist()) if len(measured) else ())

    def confusion(self) -> Confusion:
        """Return how often queries of each class get the votes for each class, in the order of names."""
        entries = (Confused(self._classes[own], self._classes[vote], n) for (own, vote), n in self._confused.items())
        ordered = sorted(entries, key=lambda entry: (entry.label, entry.vote))
        return Confusion(**self._place, k=self._k, entries=tuple(ordered))


class Extremes:
    """The first hits of q queries, for those that find best and worst."""

    def __init__(self, queries: int) -> None:
        self._hits = np.full((queries, SHOWN_HITS), -1, np.int32)
        self._relevant = np.zeros((queries, SHOWN_HITS), bool)

    def add(self, queries: NDArray[np.intp], order: NDArray[np.intp], ranked: Bools) -> None:
        """Add the rankings of some queries, (part, n), and whether each ranked item is relevant."""
        count = min(SHOWN_HITS, order.shape[1])
        self._hits[queries, :count] = order[:, :count]
        self._relevant[queries, :count] = ranked[:, :count]

    def examples(
        self, place: Mapping[str, str], keys: Sequence[str], items: Sequence[str], figures: Mapping[str, Any]
    ) -> list[QueryExample]:
        """Return the best queries and the worst by their figures; equal ones are in the order of keys.

        ``keys`` are those of the queries, and ``items`` those of the database.
        """
        metric = "average_precision" if "average_precision" in figures else "rank"
        if metric not in figures:
            return []
        values = figures[metric]
        finite = [query for query in range(len(keys)) if np.isfinite(values[query])]
        worse = -1 if metric == "average_precision" else 1
        ordered = sorted(finite, key=lambda query: (worse * values[query], keys[query]))
        count = min(SHOWN_QUERIES, (len(ordered) + 1) // 2)
        last = sorted(ordered[count:], key=lambda query: (-worse * values[query], keys[query]))[:count]
        examples = []
        for query in (*ordered[:count], *last):
            hits = [hit for hit in self._hits[query].tolist() if hit >= 0]
            examples.append(
                QueryExample(
                    **place,
                    best=query not in last,
                    key=keys[query],
                    metric=metric,
                    value=float(values[query]),
                    hits=tuple(items[hit] for hit in hits),
                    relevant=tuple(self._relevant[query, : len(hits)].tolist()),
                )
            )
        return examples


class Collected(NamedTuple):
    """The collectors of one database."""

    listed: Listed
    shapes: Shapes | None
    extremes: Extremes | None

    def add(self, queries: NDArray[np.intp], order: NDArray[np.intp], ranked: Bools) -> None:
        """Add the rankings of some queries, (part, n), and whether each ranked item is relevant."""
        self.listed.add(queries, order, ranked)
        if self.shapes is not None:
            self.shapes.add(ranked)
        if self.extremes is not None:
            self.extremes.add(queries, order, ranked)

    def vote(self, k: int, queries: NDArray[np.intp], votes: NDArray[np.intp]) -> None:
        """Add the votes of the k nearest items of some queries."""
        if self.shapes is not None:
            self.shapes.vote(k, queries, votes)


def joined_curves(splits: Sequence[Sequence[Curve]]) -> tuple[Curve, ...]:
    """Return the curves of several splits, each the mean over the splits that have it."""
    by_place: dict[Any, list[Curve]] = {}
    for curve in chain.from_iterable(splits):
        by_place.setdefault(curve.place, []).append(curve)
    means = {key: [curve.precision for curve in same if curve.precision] for key, same in by_place.items()}
    return tuple(
        replace(same[0], precision=tuple(np.mean(means[key], axis=0).tolist()) if means[key] else ())
        for key, same in by_place.items()
    )


def joined_confusions(splits: Sequence[Sequence[Confusion]]) -> tuple[Confusion, ...]:
    """Return the confusions of several splits, each with the counts of all splits."""
    by_place: dict[Any, list[Confusion]] = {}
    for confusion in chain.from_iterable(splits):
        by_place.setdefault(confusion.place, []).append(confusion)
    return tuple(replace(same[0], entries=_added(same)) for same in by_place.values())


def _added(same: Sequence[Confusion]) -> tuple[Confused, ...]:
    counts: Counter[tuple[str, str]] = Counter()
    for entry in chain.from_iterable(confusion.entries for confusion in same):
        counts[entry.label, entry.vote] += entry.count
    return tuple(Confused(*names, count) for names, count in sorted(counts.items()))
