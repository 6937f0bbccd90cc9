"""One split of one set: all unseen items ranked by each view alone, and by each way to fuse the views."""

import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.sets.named import load
from benchmarks.sets.split import Split
from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.values.hits import HitList
from crossview.engine.values.item import NewItem
from crossview.engine.values.query import Query, SearchRequest
from crossview.engine.values.recipe import Recipe
from crossview.engine.values.strategy import DISTANCE, LEARN, MATCH, RANK

RAW, LEARNED = "raw", "default"
FIRST = 20
"""Hits whose match is compared with their relevance."""
HELD_OUT = 0.2
"""Share of the labelled items that the trained space holds out, from which its fusion learns weights."""
MAP, ERROR = "map", "calibration error"
WAYS: Mapping[str, Sequence[str]] = {RAW: (RANK, DISTANCE, LEARN), LEARNED: (RANK, DISTANCE, MATCH, LEARN)}
_BINS = 10
_LATER = "later = true"

Figure = tuple[str, str, float]
"""Method, metric and value."""


class Ranked(NamedTuple):
    """The hits of every query: all unseen items but its own."""

    relevant: list[NDArray[np.bool_]]
    matches: list[list[float]]

    def figures(self, method: str) -> Iterator[Figure]:
        """Yield the mean average precision, and the calibration error of the first hits if they have a match."""
        yield method, MAP, float(np.mean([_precision(row) for row in self.relevant]))
        if all(self.matches):
            matches = np.concatenate([row[:FIRST] for row in self.matches])
            yield method, ERROR, _error(matches, np.concatenate([row[:FIRST] for row in self.relevant]))


def run(task: tuple[str, int], data: Path, cache: Path) -> dict[str, Any]:
    """Return the figures of one split: [space, method, metric, value]."""
    name, seed = task
    began, split = time.monotonic(), load(name, data, cache)(seed)
    figures = list[list[Any]]()
    with tempfile.TemporaryDirectory() as folder:
        views = [f"{view}=vectors:dim={rows.shape[1]}" for view, rows in split.rows.items()]
        with Home(folder).create("items", views) as collection:
            labels = _put(collection, split, seed)
            for space, ways in WAYS.items():
                for view in split.rows:
                    own = {"view": view, "targets": (view,)}
                    figures += [[space, *figure] for figure in _ranked(collection, labels, space, own).figures(view)]
                for way in ways:
                    ranked = _ranked(collection, labels, space, {"fuse": way})
                    figures += [[space, *figure] for figure in ranked.figures(way)]
    return {"data": name, "seed": seed, "figures": figures, "seconds": time.monotonic() - began}


def _put(collection: Collection, split: Split, seed: int) -> dict[str, Any]:
    """Index the items and train; return the labels of the unseen items by key, which the collection does not know."""

    def items(places: Sequence[int], later: bool) -> Iterator[NewItem]:
        for place in places:
            rows = {view: matrix[place] for view, matrix in split.rows.items()}
            labels = () if later else (str(split.labels[place]),)
            yield NewItem(f"item/{place:06d}", rows=rows, labels=labels, attributes={"later": later})

    collection.items.put(list(items(split.train.tolist(), False)))
    collection.train(Recipe(seed=seed, holdout=HELD_OUT), space=LEARNED)
    collection.items.put(list(items(split.held_out.tolist(), True)))
    return {f"item/{place:06d}": split.labels[place] for place in split.held_out.tolist()}


def _ranked(collection: Collection, labels: Mapping[str, Any], space: str, settings: Mapping[str, Any]) -> Ranked:
    view, options = settings.get("view", ""), {name: value for name, value in settings.items() if name != "view"}
    ranked = Ranked([], [])
    for key, label in labels.items():
        request = SearchRequest([Query(view, key=key)], k=len(labels), space=space, filter=_LATER, **options)
        (hits,) = _complete(collection.search(request), len(labels) - 1)
        ranked.relevant.append(np.array([labels[hit.key] == label for hit in hits], bool))
        ranked.matches.append([hit.match for hit in hits if hit.match is not None])
    return ranked


def _complete(lists: Sequence[HitList], count: int) -> Sequence[HitList]:
    """Return the lists; ValueError if an item is missing, which would make them look better than they are."""
    if any(len(hits) != count for hits in lists):
        raise ValueError(f"a list has not all {count} items")
    return lists


def _precision(relevant: NDArray[np.bool_]) -> float:
    """Return the average precision of a ranking, (n,)."""
    places = np.flatnonzero(relevant)
    return float(np.mean(np.arange(1, len(places) + 1) / (places + 1))) if len(places) else 0.0


def _error(matches: NDArray[Any], relevant: NDArray[np.bool_]) -> float:
    """Return the expected calibration error in ten bins of equal width (Guo et al., ICML 2017)."""
    bins = np.clip((matches * _BINS).astype(int), 0, _BINS - 1)
    gaps = [abs(matches[bins == number].sum() - relevant[bins == number].sum()) for number in range(_BINS)]
    return float(np.sum(gaps)) / len(matches)
