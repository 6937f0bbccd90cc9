"""Measures of retrieval, on rankings of a database for each query; pure NumPy.

A *ranking* is an integer array (queries, n) of database positions, nearest first. *Members* are boolean arrays
(items, classes): which classes each item carries; two items are relevant to each other if they share one.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

Bools = NDArray[np.bool_]


def members(labels: Sequence[Sequence[str]], classes: Sequence[str]) -> Bools:
    """Return which of the classes each item carries, (items, classes)."""
    columns = {name: column for column, name in enumerate(classes)}
    table = np.zeros((len(labels), len(classes)), bool)
    for row, names in enumerate(labels):
        table[row, [columns[name] for name in names if name in columns]] = True
    return table


def ranking(distances: ArrayLike, random: np.random.Generator | None = None) -> NDArray[np.intp]:
    """Return the ranking by distances, (queries, n); equal ones in the order of the database, or at random.

    Codes tie so often that the order of the database, where items of a class stand together, would decide the measures.
    With a random order they are, in expectation, the means over all orders of the ties.
    """
    table = np.asarray(distances)
    columns = np.arange(table.shape[1]) if random is None else random.permutation(table.shape[1])
    return columns[np.argsort(table[:, columns], axis=1, kind="stable")]


def reranked(order: NDArray[np.intp], distances: ArrayLike, count: int) -> NDArray[np.intp]:
    """Return a ranking with its first ``count`` sorted by other distances, (queries, n); equal ones stay in order."""
    first, rest = order[:, :count], order[:, count:]
    within = np.argsort(np.take_along_axis(np.asarray(distances), first, axis=1), axis=1, kind="stable")
    return np.hstack([np.take_along_axis(first, within, axis=1), rest])


def relevance(order: NDArray[np.intp], query_members: Bools, database_members: Bools) -> Bools:
    """Return, rank by rank, whether the item shares a class with the query, (queries, n)."""
    shared = query_members.astype(np.float32) @ database_members.astype(np.float32).T > 0
    return np.take_along_axis(shared, order, axis=1)


def knn_correct(order: NDArray[np.intp], query_members: Bools, database_members: Bools, k: int) -> Bools:
    """Return, per query, whether its k nearest items vote for a class of its own; the mean is k-NN accuracy.

    Every neighbour votes for each of its classes; among classes with most votes the one that is met first wins. Where
    the database holds fewer than k items, all of them vote.
    """
    pairs = zip(order, query_members, strict=True)
    return np.array([own[_elected(database_members[nearest[:k]])] for nearest, own in pairs], bool)


def precision_at_k(ranked: Bools, k: int) -> NDArray[np.float64]:
    """Return, per query, the share of relevant items among the first k, or among all of fewer."""
    shares: NDArray[np.float64] = ranked[:, :k].mean(axis=1)
    return shares


def share_in_proportion(ranked: Bools, k: int) -> NDArray[np.float64]:
    """Return, per query, the share of some items among the first k, divided by their share of the whole ranking.

    1 is in proportion. NaN for a query whose ranking holds none of them. ``ranked``, (queries, n), says which they are.
    """
    shares = ranked.mean(axis=1)
    ratios = np.full(len(ranked), np.nan)
    np.divide(precision_at_k(ranked, k), shares, out=ratios, where=shares > 0)
    return ratios


def ranks(order: NDArray[np.intp], own: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the rank, from 1, of each query's own item, by the item's position in the database, (queries,)."""
    found: NDArray[np.intp] = (order == own[:, None]).argmax(axis=1) + 1
    return found


def average_precision(ranked: Bools) -> NDArray[np.float64]:
    """Return, per query, the mean over its relevant items of the precision at their ranks, over the whole ranking.

    NaN for a query without relevant items in the database; the mean over the others is mAP.
    """
    precision = ranked.cumsum(axis=1) / np.arange(1, ranked.shape[1] + 1)
    counts = ranked.sum(axis=1)
    sums = (precision * ranked).sum(axis=1)
    means: NDArray[np.float64] = np.divide(sums, counts, out=np.full(len(ranked), np.nan), where=counts > 0)
    return means


def nearness_of_own(ranked: Bools) -> NDArray[np.float64]:
    """Return, per query, how soon its only relevant item is found; 1 if first, 0 if last of n.

    It is 1 - (sqrt(rank) - 1) / (sqrt(n) - 1).

    NaN for a query without one. The square root lies between 1 / rank, which only the first hits decide and so chance
    among settings, and the rank itself, which the last ones decide.
    """
    ranks = ranked.argmax(axis=1) + 1.0
    found = 1 - (np.sqrt(ranks) - 1) / (np.sqrt(max(2, ranked.shape[1])) - 1)
    return np.where(ranked.any(axis=1), found, np.nan)


def _elected(votes: Bools) -> int:
    """Return the class with most votes, (k, classes); of several, the one that votes first."""
    totals = votes.sum(axis=0)
    first = np.where(totals == totals.max(), votes.argmax(axis=0), len(votes))
    return int(first.argmin())
