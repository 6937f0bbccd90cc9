"""One split of one set: every fifth class is left out of the collection, and its items are queries, too."""

import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from benchmarks.sets.named import load
from benchmarks.sets.split import Split
from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.learners.frame.supervision import Supervision
from crossview.engine.learners.registry import parse_chain
from crossview.engine.learners.selection import distances
from crossview.engine.values.conditions.filter import Filter
from crossview.engine.values.item import NewItem
from crossview.engine.values.query import HitList, Query, SearchRequest
from crossview.engine.values.recipe import Recipe

FIRST = 10
"""Hits of each list whose match is compared with their relevance."""
BINS = 10
OUTSIDE = 0.2
"""Weight of the queries of unknown classes among all: the share of classes that are unknown."""
EVERY = 5
ALL = "all"
_ITEM = "item/"
"""The prefix of the keys of items that a search can find."""
MEASURES = ("match of the first hit", "largest posterior", "nearest raw distance")

Values = NDArray[np.float64]


class Divided(NamedTuple):
    """Positions of the items of the collection, and of the queries of known and of unknown classes."""

    items: NDArray[np.intp]
    known: NDArray[np.intp]
    unknown: NDArray[np.intp]


def divided(split: Split, seed: int) -> Divided:
    """Leave every fifth class out, in an order that the seed starts."""
    names = np.unique(split.labels)
    outside = np.isin(split.labels, names[seed % EVERY :: EVERY])
    train, held_out = split.train, split.held_out
    return Divided(train[~outside[train]], held_out[~outside[held_out]], np.flatnonzero(outside))


def run(task: tuple[str, int], data: Path, cache: Path) -> dict[str, Any]:
    """Return the figures of one split, each [query view, view, method, metric, value], and its reliability."""
    name, seed = task
    began = time.monotonic()
    split = load(name, data, cache)(seed)
    parts = divided(split, seed)
    numbers = np.concatenate([parts.known, parts.unknown])
    is_known = np.arange(len(numbers)) < len(parts.known)
    with tempfile.TemporaryDirectory() as folder:
        views = {f"view{number}": rows for number, rows in enumerate(split.rows.values())}
        dims = [f"{view}=vectors:dim={rows.shape[1]}" for view, rows in views.items()]
        with Home(Path(folder)).create("match", dims) as collection:
            _fill(collection, views, split, parts.items)
            started = time.perf_counter()
            collection.train(Recipe(views=tuple(views), seed=seed))
            seconds = time.perf_counter() - started
            lists = dict(_searched(collection, views, split, numbers))
            merged = _searched_by_all(collection, views, split, numbers)
    figures, bins = [["", "", "training", "seconds", seconds]], np.zeros((BINS, 3))
    names, weights = list(split.rows), _weights(is_known)
    posteriors = _posteriors(split, parts.items, numbers)
    for (query, target), (match, relevant) in lists.items():
        evidence = (
            match[:, 0],
            posteriors[query].max(axis=1),
            -_nearest(list(split.rows.values())[query], parts.items, numbers),
        )
        for method, values in zip(MEASURES, evidence, strict=True):
            figures.append([names[query], names[target], method, "auc", float(roc_auc_score(is_known, values))])
        counts = reliability(match, relevant, weights)
        figures.append([names[query], names[target], MEASURES[0], "ece", calibration_error(counts)])
        bins += counts
    for method, values in zip(MEASURES[:2], (merged[0][:, 0], np.mean(posteriors, axis=0).max(axis=1)), strict=True):
        figures.append([ALL, ALL, method, "auc", float(roc_auc_score(is_known, values))])
    figures.append([ALL, ALL, MEASURES[0], "ece", calibration_error(reliability(*merged, weights))])
    sizes = len(parts.items), len(parts.known), len(parts.unknown)
    seconds = time.monotonic() - began
    return {"data": name, "seed": seed, "sizes": sizes, "figures": figures, "bins": bins.tolist(), "seconds": seconds}


def reliability(match: Values, relevant: NDArray[np.bool_], weights: Values) -> Values:
    """Return the weight, the sum of matches and the sum of relevant hits in each bin of match, (bins, 3)."""
    each = np.repeat(weights, match.shape[1])
    place = np.minimum((match.ravel() * BINS).astype(int), BINS - 1)
    sums = (each, each * match.ravel(), each * relevant.ravel())
    return np.stack([np.bincount(place, values, minlength=BINS) for values in sums], axis=1)


def calibration_error(bins: Values) -> float:
    """Return the expected calibration error of bins: the weighted mean gap between match and relevance."""
    return float(np.abs(bins[:, 1] - bins[:, 2]).sum() / bins[:, 0].sum())


def _fill(collection: Collection, views: dict[str, Any], split: Split, items: NDArray[np.intp]) -> None:
    numbers = items.tolist()
    rows = [{view: values[number] for view, values in views.items()} for number in numbers]
    labels = [(str(split.labels[number]),) for number in numbers]
    new_items = [
        NewItem(f"{_ITEM}{number}", rows=row, labels=own_labels)
        for number, row, own_labels in zip(numbers, rows, labels, strict=True)
    ]
    failures = collection.items.put(new_items).failures
    if failures:
        raise ValueError(failures[0].reason)


def _searched(
    collection: Collection, views: dict[str, Any], split: Split, numbers: NDArray[np.intp]
) -> Iterator[tuple[tuple[int, int], tuple[Values, NDArray[np.bool_]]]]:
    """Yield the match and the relevance of the first hits, (q, k) each, of each pair of views."""
    for query, target in product(range(len(views)), repeat=2):
        queries = [Query(f"view{query}", vector=split.rows[list(split.rows)[query]][number]) for number in numbers]
        lists = collection.search(SearchRequest(queries, targets=(f"view{target}",), k=FIRST))
        yield (query, target), _judged(lists, split, numbers)


def _searched_by_all(
    collection: Collection, views: dict[str, Any], split: Split, numbers: NDArray[np.intp]
) -> tuple[Values, NDArray[np.bool_]]:
    """Return the match and the relevance of the first hits, (q, k) each, of a search without a view.

    The queries become items without labels, which no search finds.
    """
    rows = [{view: values[number] for view, values in views.items()} for number in numbers.tolist()]
    keys = [f"query/{number}" for number in numbers.tolist()]
    collection.items.put([NewItem(key, rows=row) for key, row in zip(keys, rows, strict=True)])
    lists = collection.search(SearchRequest([Query(key=key) for key in keys], k=FIRST, filter=Filter(key_prefix=_ITEM)))
    return _judged(lists, split, numbers)


def _judged(lists: Sequence[HitList], split: Split, numbers: NDArray[np.intp]) -> tuple[Values, NDArray[np.bool_]]:
    match = np.array([[hit.match for hit in hits] for hits in lists], np.float64)
    keys = np.array([[int(hit.key.removeprefix(_ITEM)) for hit in hits] for hits in lists])
    return match, split.labels[keys] == split.labels[numbers][:, None]


def _weights(is_known: NDArray[np.bool_]) -> Values:
    weights: Values = np.where(is_known, (1 - OUTSIDE) / is_known.sum(), OUTSIDE / (~is_known).sum())
    return weights


def _posteriors(split: Split, items: NDArray[np.intp], numbers: NDArray[np.intp]) -> list[Values]:
    """Return the class posteriors of each query, (q, classes), by view."""
    chain = parse_chain("posteriors", {})
    chain.fit([rows[items] for rows in split.rows.values()], Supervision(classes=split.labels[items]))
    rows = enumerate(split.rows.values())
    return [chain.transform_queries(matrix[numbers], number).astype(np.float64) for number, matrix in rows]


def _nearest(rows: Any, items: NDArray[np.intp], numbers: NDArray[np.intp]) -> Values:
    nearest: Values = distances(rows[numbers].astype(np.float64), rows[items].astype(np.float64)).min(axis=1)
    return nearest
