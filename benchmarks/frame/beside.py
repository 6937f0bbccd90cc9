"""The figures beside mAP, which see what classes hide: whether a query finds its own item, and which items are hits."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossview.engine.training import measures
from crossview.engine.values.evaluation import FIRST, RECALLS

MAP, RECALL, MEDIAN_RANK, COVERAGE, HUBNESS = "map", "recall@10", "median_rank", "coverage", "hubness"
OWN = (*(f"recall@{k}" for k in RECALLS), MEDIAN_RANK)
"""How soon queries find their own items; across views only, as within a view the two are one row."""
SPREAD = (COVERAGE, HUBNESS)
TITLES = {
    MAP: "mAP",
    "recall@1": "own in first 1",
    RECALL: "own in first 10",
    MEDIAN_RANK: "own median rank",
    COVERAGE: "coverage",
    HUBNESS: "hubness",
}
"""Heads of columns, in their order."""
EXPLAINED = (
    "how soon a query finds its own item by its other view, the share of items in some list of ten (coverage, divided "
    "by the largest possible share), and the skewness of how often an item is in one (hubness). By these two, a query "
    "never finds its own item. The best of each figure is bold"
)
_LEAST = (MEDIAN_RANK, HUBNESS)
_DIGITS = 9  # distances of floats that differ by rounding only are ties, too


def of_own(distances: NDArray[np.float64], own: NDArray[np.intp]) -> dict[str, float]:
    """Return recall at each of ``RECALLS`` and the median rank of the queries' own items.

    The recalls are means over all orders of ties; a rank is its mean over them.

    Args:
        distances: (queries, n).
        own: (queries,) positions of the own items.
    """
    table = np.round(distances, _DIGITS)
    at_own = table[np.arange(len(own)), own][:, None]
    before, ties = (table < at_own).sum(axis=1), (table == at_own).sum(axis=1)
    recalls = {f"recall@{k}": float(np.clip((k - before) / ties, 0, 1).mean()) for k in RECALLS}
    return {**recalls, MEDIAN_RANK: float(np.median(before + (ties + 1) / 2))}


def of_hits(order: NDArray[np.intp], items: int) -> dict[str, float]:
    """Return coverage and hubness of rankings, (queries, n), of the positions of some items."""
    counts = np.bincount(order[:, :FIRST].ravel(), minlength=items)
    return {COVERAGE: measures.coverage(counts), HUBNESS: measures.hubness(counts)}


def of_others(distances: NDArray[np.float64]) -> dict[str, float]:
    """Return all figures of (n, n) distances of queries to items whose own items are on the diagonal.

    Hits at equal distances are in an order that is drawn once.
    """
    order = np.random.default_rng(0).permutation(len(distances))
    masked = np.round(distances, _DIGITS)
    np.fill_diagonal(masked, np.inf)
    hits = order[np.argsort(masked[:, order], axis=1, kind="stable")][:, :-1]  # the own item is last
    return {**of_own(distances, np.arange(len(distances))), **of_hits(hits, len(distances))}


def lines(figures: Mapping[str, Mapping[str, float]], first: str = "method") -> list[list[str]]:
    """Return a table of the figures by name and metric, whose head begins with ``first``; the best of each is bold.

    A metric that no name has gets no column.
    """
    metrics = [metric for metric in TITLES if any(metric in of for of in figures.values())]
    columns = [best_in_bold([of.get(metric) for of in figures.values()], metric) for metric in metrics]
    head = [first, *(TITLES[metric] for metric in metrics)]
    return [head, *([name, *cells] for name, *cells in zip(figures, *columns, strict=True))]


def best_in_bold(values: Sequence[Any], metric: str) -> list[str]:
    """Return values of one metric as cells; the best, and those that look the same, are bold, and None is empty."""
    digits = 1 if metric == MEDIAN_RANK else 3
    cells = ["" if value is None else f"{value:.{digits}f}" for value in values]
    numbers = [value for value in values if value is not None]
    best = f"{(min if metric in _LEAST else max)(numbers):.{digits}f}" if numbers else ""
    return [f"**{cell}**" if cell and cell == best else cell for cell in cells]
