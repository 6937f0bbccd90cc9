"""Measures of retrieval, on rankings of a database for each query, and the blocks of queries that are ranked at a time.

A *ranking* is an integer array (queries, n) of database positions, nearest first. *Members* are sparse boolean arrays
(items, classes): which classes each item carries; two items are relevant to each other if they share one.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from crossview.engine.learners.frame.comparisons import Taxonomy
from crossview.engine.runtime.cancellation import checkpoint
from crossview.engine.values.evaluation import RECALL_LEVELS

DISTANCES_AT_ONCE = 1 << 24
"""Distances in memory at a time: 128 MiB of float64, and as much for their ranks. Results do not depend on it."""
HIERARCHICAL_ACCURACY, LCA_LOSS = "hierarchical_accuracy", "lca_loss"
Bools = NDArray[np.bool_]
Costs = NDArray[np.float64]
Members = Any
"""A sparse boolean array (items, classes) of SciPy, in rows."""


def members(labels: Sequence[Sequence[str]], classes: Iterable[str]) -> Members:
    """Return which of the classes each item carries, (items, classes); no item has a label twice."""
    columns = {name: column for column, name in enumerate(classes)}
    places_of = [[columns[name] for name in names if name in columns] for names in labels]
    ends = np.cumsum([0, *map(len, places_of)])
    places = np.fromiter(chain.from_iterable(places_of), np.intp, ends[-1])
    return csr_array((np.ones(len(places), bool), places, ends), shape=(len(places_of), len(columns)))


def ranking(distances: ArrayLike, overwrite: bool = False) -> NDArray[np.intp]:
    """Return the ranking by distances, (queries, n); equal distances rank in the order of the database.

    With ``overwrite``, the ranking takes the memory of the distances if they are float64.

    Distances are equal if they agree in their first binary digits: 32 digits in a database of a million items, one
    more in half of that, and so on. Distances of float32 vectors have only 24 valid digits. Negative values count as 0.
    """
    table = np.asarray(distances, np.float64)
    table = np.maximum(table, 0.0, out=table if overwrite else None)
    table += 0.0  # turns -0.0 into 0.0
    # The bits of non-negative floats, read as integers, have the order of the floats. The position replaces their last
    # bits, so that one sort of plain numbers gives the positions, several times as fast as argsort.
    last = np.uint64((1 << (table.shape[1] - 1).bit_length()) - 1)
    keys = table.view(np.uint64)
    keys &= ~last
    keys |= np.arange(table.shape[1], dtype=np.uint64)
    keys.sort(axis=1)
    keys &= last
    return keys.view(np.intp)


def reranked(order: NDArray[np.intp], distances: ArrayLike) -> NDArray[np.intp]:
    """Return a ranking whose first items are sorted by other distances, (queries, count); ties keep their order.

    ``distances`` belong to the first ``count`` items of the ranking, in its order.
    """
    table = np.asarray(distances)
    first, rest = order[:, : table.shape[1]], order[:, table.shape[1] :]
    within = np.argsort(table, axis=1, kind="stable")
    return np.hstack([np.take_along_axis(first, within, axis=1), rest])


def relevant(query_members: Members, database_members: Members) -> Bools:
    """Return which items share a class with which queries, (queries, n)."""
    shared: Bools = (query_members @ database_members.T).toarray()
    return shared


def relevance(order: NDArray[np.intp], query_members: Members, database_members: Members) -> Bools:
    """Return, rank by rank, whether the item shares a class with the query, (queries, n)."""
    return ranked(relevant(query_members, database_members), order)


def ranked(marks: Bools, order: NDArray[np.intp]) -> Bools:
    """Return marks of database items by query, (queries, n), in the order of rankings, (queries, n or fewer).

    Row by row it takes a fifth of the time of ``take_along_axis``, because a row of a million marks stays in the cache.
    """
    table = np.empty(order.shape, bool)
    for place, (row, items) in enumerate(zip(marks, order, strict=True)):
        table[place] = row[items]
    return table


def knn_votes(order: NDArray[np.intp], database_members: Members, k: int) -> NDArray[np.intp]:
    """Return, per query, the class that its k nearest items vote for, (queries,); -1 if they have no class.

    Every neighbour votes for each of its classes. Among the classes with most votes, the one nearest to the query wins.
    If the database has fewer than k items, all of them vote.
    """
    nearest, classes = order[:, :k], database_members.shape[1]
    voters = database_members[nearest.ravel()].tocoo()
    queries, ranks = np.divmod(voters.row.astype(np.int64), nearest.shape[1])
    candidates, first, votes = np.unique(queries * classes + voters.col, return_index=True, return_counts=True)
    by_query = candidates // max(1, classes)
    best = np.lexsort((ranks[first], -votes, by_query))  # the first class among those at one rank
    voted, place = np.unique(by_query[best], return_index=True)
    winners = np.full(len(order), -1)
    winners[voted] = candidates[best][place] - voted * classes
    return winners


def knn_correct(order: NDArray[np.intp], query_members: Members, database_members: Members, k: int) -> Bools:
    """Return, per query, whether its k nearest items vote for a class of its own; the mean is k-NN accuracy."""
    return voted_for_own(knn_votes(order, database_members, k), query_members)


def voted_for_own(votes: NDArray[np.intp], query_members: Members) -> Bools:
    """Return, per query, whether a vote, (queries,), is for a class of its own."""
    classes, own = query_members.shape[1], query_members.tocoo()
    correct: Bools = (votes >= 0) & np.isin(
        np.arange(len(votes)) * classes + votes, own.row.astype(np.int64) * classes + own.col
    )
    return correct


def costs(taxonomy: Taxonomy, classes: Sequence[str]) -> dict[str, Costs]:
    """Return the cost of confusing one class with another by each measure, (L, L); the classes are leaves.

    The complement of hierarchical accuracy: 1/2 for a sibling, 1 for any other. Law, Thome and Cord, "Learning a
    Distance Metric from Relative Comparisons between Quadruplets of Images" (IJCV 2017), equation (24). The loss of
    Verma et al., "Learning Hierarchical Similarity Metrics" (CVPR 2012): the height of the lowest common ancestor over
    that of the tree.
    """
    places = taxonomy.positions(classes)
    grid = np.ix_(places, places)
    heights = taxonomy.heights
    wrong = 1.0 - np.eye(len(places)) - taxonomy.siblings[grid] / 2
    return {HIERARCHICAL_ACCURACY: wrong, LCA_LOSS: heights[grid] / heights.max()}


def least_costs(votes: NDArray[np.intp], query_members: Members, costs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return, per query, the least cost of its vote, (queries,), over its own classes; 1 without a vote.

    ``costs``, (classes, classes), has the cost of a vote for one class (column) if another (row) is right. NaN for a
    query without a class.
    """
    least = np.full(len(votes), np.inf)
    own = query_members.tocoo()
    each = np.where(votes[own.row] >= 0, costs[own.col, votes[own.row]], 1.0)
    np.minimum.at(least, own.row, each)
    return np.where(np.isinf(least), np.nan, least)


def precision_at_k(ranked: Bools, k: int) -> NDArray[np.float64]:
    """Return, per query, the share of relevant items among the first k, or among all of fewer."""
    shares: NDArray[np.float64] = ranked[:, :k].mean(axis=1)
    return shares


def recall_at_k(ranked: Bools, k: int) -> NDArray[np.float64]:
    """Return, per query, the share of its relevant items that are among the first k; NaN without a relevant item."""
    return _over_counts(ranked[:, :k].sum(axis=1), ranked.sum(axis=1))


def r_precision(ranked: Bools) -> NDArray[np.float64]:
    """Return, per query, the precision among the first R, its number of relevant items; NaN without one."""
    counts = ranked.sum(axis=1)
    return _over_counts((ranked & (np.arange(ranked.shape[1]) < counts[:, None])).sum(axis=1), counts)


def ndcg_at_k(ranked: Bools, k: int) -> NDArray[np.float64]:
    """Return, per query, the normalised discounted cumulative gain of the first k; NaN without a relevant item.

    A relevant item at a rank gains 1 / log2(rank + 1), and the sum is divided by that of the best ranking (Jarvelin and
    Kekalainen, "Cumulated gain-based evaluation of IR techniques", 2002).
    """
    first = ranked[:, :k]
    gains = 1 / np.log2(np.arange(2, first.shape[1] + 2))
    best = np.concatenate([[0.0], np.cumsum(gains)])[np.minimum(ranked.sum(axis=1), first.shape[1])]
    return _over_counts(first @ gains, best)


def _over_counts(values: NDArray[Any], counts: NDArray[Any]) -> NDArray[np.float64]:
    """Return values divided by counts, (queries,); NaN where the count is 0."""
    quotients: NDArray[np.float64] = np.divide(values, counts, out=np.full(len(values), np.nan), where=counts > 0)
    return quotients


def share_in_proportion(ranked: Bools, k: int) -> NDArray[np.float64]:
    """Return, per query, the share of some items among the first k, divided by their share of the whole ranking.

    1 is in proportion. NaN for a query whose ranking lacks these items. ``ranked``, (queries, n), marks them.
    """
    return _over_counts(precision_at_k(ranked, k), ranked.mean(axis=1))


def ranks(order: NDArray[np.intp], own: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the rank, from 1, of each query's own item, by the item's position in the database, (queries,)."""
    positions: NDArray[np.intp] = (order == own[:, None]).argmax(axis=1) + 1
    return positions


def coverage(counts: NDArray[np.intp]) -> float:
    """Return the share of items that are in some hit list, divided by the largest share that the lists can show.

    ``counts``, (n,), is how often each item is a hit. The largest share is min(1, hits / n), so that few queries can
    reach 1, too. NaN without a hit.
    """
    hits = int(counts.sum())
    return np.count_nonzero(counts) / min(len(counts), hits) if hits else float("nan")


def hubness(counts: NDArray[np.intp]) -> float:
    """Return the skewness of how often each item is a hit, (n,) counts; 0 if all are hits equally often.

    It is the third standardised moment of the k-occurrences (Radovanovic, Nanopoulos and Ivanovic, "Hubs in space",
    JMLR 11, 2010): large if a few items answer many queries.
    """
    from_mean = counts - counts.mean()
    variance = float(np.mean(from_mean**2))
    return float(np.mean(from_mean**3)) / variance**1.5 if variance else 0.0


def average_precision(ranked: Bools) -> NDArray[np.float64]:
    """Return, per query, the mean over its relevant items of the precision at their ranks, over the whole ranking.

    NaN for a query without relevant items in the database; the mean over the others is mAP.
    """
    rows, ranks = np.nonzero(ranked)
    counts = np.bincount(rows, minlength=len(ranked))
    nth = np.arange(1, len(rows) + 1) - np.repeat(np.cumsum(counts) - counts, counts)
    sums = np.bincount(rows, nth / (ranks + 1), minlength=len(ranked))
    return _over_counts(sums, counts)


def interpolated_precision(ranked: Bools) -> NDArray[np.float64]:
    """Return, per query, the greatest precision at each recall of 0, 0.1 to 1 or more, (queries, 11), as in TREC.

    NaN for a query without relevant items in the database. ``ranked``, (queries, n), is of the whole ranking.
    """
    precision = np.full((len(ranked), len(RECALL_LEVELS)), np.nan)
    for query in np.flatnonzero(ranked.any(axis=1)):
        ranks = np.flatnonzero(ranked[query]) + 1
        hits = np.arange(1, len(ranks) + 1)
        best = np.maximum.accumulate((hits / ranks)[::-1])[::-1]
        # The relevant item with which the ranking reaches each recall, in whole numbers; the first for a recall of 0.
        first = -(-np.arange(len(RECALL_LEVELS)) * len(ranks) // 10) - 1
        precision[query] = best[np.maximum(first, 0)]
    return precision


def nearness_of_own(ranked: Bools) -> NDArray[np.float64]:
    """Return, per query, how soon its only relevant item is found; 1 if first, 0 if last of n.

    It is 1 - (sqrt(rank) - 1) / (sqrt(n) - 1).

    NaN for a query without a relevant item. The square root is a compromise: with 1 / rank the first hits decide, so
    that chance chooses among settings, and with the rank itself the last hits decide.
    """
    ranks = ranked.argmax(axis=1) + 1.0
    nearness = 1 - (np.sqrt(ranks) - 1) / (np.sqrt(max(2, ranked.shape[1])) - 1)
    return np.where(ranked.any(axis=1), nearness, np.nan)


def blocks(queries: NDArray[np.intp], items: int) -> Iterator[NDArray[np.intp]]:
    """Yield queries, (q,), in non-empty parts with at most ``DISTANCES_AT_ONCE`` distances to ``items`` items."""
    at_once = max(1, DISTANCES_AT_ONCE // max(1, items))
    for start in range(0, len(queries), at_once):
        checkpoint()
        yield queries[start : start + at_once]
