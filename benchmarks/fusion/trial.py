"""All unseen items ranked by each view alone and by each way to fuse the views, and first hits before any training."""

import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.photographs import pictures_by_class, train_and_test
from benchmarks.pretrained.rows import MODEL, model_folder
from benchmarks.sets.named import load
from benchmarks.sets.split import Split
from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.values.hits import HitList
from crossview.engine.values.item import IndexOptions, NewItem
from crossview.engine.values.query import Query, SearchRequest
from crossview.engine.values.recipe import Recipe
from crossview.engine.values.strategy import DISTANCE, LEARN, MATCH, RANK
from crossview.features.copy_kinds import EXACT, copies

RAW, LEARNED = "raw", "default"
FIRST = 20
"""Hits whose match is compared with their relevance."""
HELD_OUT = 0.2
"""Share of the labelled items that the trained space holds out, from which its fusion learns weights."""
MAP, ERROR = "map", "calibration error"
WAYS: Mapping[str, Sequence[str]] = {RAW: (RANK, DISTANCE, LEARN), LEARNED: (RANK, DISTANCE, MATCH, LEARN)}
_BINS = 10
_LATER = "later = true"

HAND_MADE: Mapping[str, Sequence[str]] = {"osr8": ("sift", "gist")}
"""The hand-made views of grey pictures; other sets have all three."""
THREE = ("color", "sift", "gist")
KEYS, NEW, COPIES, AMONG = 300, 100, 40, 10
"""Maximum numbers of queries by items, by new pictures and by copies of each kind, and of their hits."""
INSTANCES = "instances"
"""The way of a space that learned without labels, whose list is by distance."""
ALONE, FOUND = "alone", "share of the first hits"
BY_ITEM, BY_NEW, BY_COPY = "items", "new pictures", "copies"

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


def before_training(name: str, data: Path, models: Path) -> dict[str, Any]:
    """Return the rows of the figures of a set.

    The value is the share of the first ten hits with the query's class and, for copies, of queries whose original comes
    first. Four fifths of each class are indexed; the others are new.
    """
    began, files = time.monotonic(), pictures_by_class(data / name)
    labels = np.array([path.parent.name for path in files])
    indexed, new = train_and_test(labels, 0)
    random, figures = np.random.default_rng(0), list[dict[str, Any]]()
    hand_made = HAND_MADE.get(name, THREE)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "pictures"
        keys = dict[str, Path]()
        for place in indexed.tolist():
            copied = root / labels[place] / files[place].name
            copied.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(files[place], copied)
            keys[f"pictures/{labels[place]}/{copied.name}"] = copied
        home = Home(Path(folder) / "home")
        home.models.add(MODEL, model_folder(models))
        with home.create("items", [*hand_made, f"{MODEL}=onnx:{MODEL}"]) as collection:
            collection.index([root], IndexOptions(labels="folder", workers=1))
            asked = random.permutation(sorted(keys))
            by_key = [(Query(key=key), keys[key].parent.name) for key in asked[:KEYS].tolist()]
            by_picture = [
                (Query(image=files[place]), labels[place]) for place in random.permutation(new)[:NEW].tolist()
            ]
            by_copy = [
                (Query(image=copy), key)
                for key in asked[:COPIES].tolist()
                for kind, copy in copies(keys[key].read_bytes()).items()
                if kind != EXACT
            ]
            for views, way in _searches(hand_made):
                if way == INSTANCES:
                    collection.train(Recipe(spec=INSTANCES, views=tuple(views)))
                for query, queries in ((BY_ITEM, by_key), (BY_NEW, by_picture), (BY_COPY, by_copy)):
                    value = _found(collection, views, way, query, queries)
                    names = {"query": query, "views": ", ".join(views), "method": way or ALONE}
                    figures.append({"data": name, **names, "metric": FOUND, "value": value})
    return {"data": name, "rows": figures, "seconds": time.monotonic() - began}


def _searches(hand_made: Sequence[str]) -> Iterator[tuple[Sequence[str], str]]:
    """Yield the views to search by, and the way: each view alone, then the fusions without the model and with it."""
    for view in (*hand_made, MODEL):
        yield (view,), ""
    for views in (hand_made, (*hand_made, MODEL)):
        for way in (RANK, DISTANCE, INSTANCES):
            yield views, way


def _found(
    collection: Collection, views: Sequence[str], way: str, query: str, queries: Sequence[tuple[Query, str]]
) -> float:
    shares = list[float]()
    fuse, space = (DISTANCE, INSTANCES) if way == INSTANCES else (way, RAW)
    for asked, wanted in queries:
        (hits,) = collection.search(SearchRequest([asked], targets=views, fuse=fuse, k=AMONG, space=space))
        right = [hits[0].key == wanted] if query == BY_COPY else [wanted in hit.labels for hit in hits]
        shares.append(float(np.mean(right)))
    return float(np.mean(shares))


def untrained_lines(rows: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """Return the table of the figures in per cent: a line for each set, its views and way, a column for each query."""
    queries = (BY_ITEM, BY_NEW, BY_COPY)
    values = {(row["data"], row["views"], row["method"], row["query"]): row["value"] for row in rows}
    table = [["set", "views", "way", f"by {BY_ITEM}", f"by {BY_NEW}", f"original of {BY_COPY} first"]]
    for names in dict.fromkeys(names[:3] for names in values):
        table.append([*names, *(f"{100 * values[*names, query]:.1f}" for query in queries)])
    return table
