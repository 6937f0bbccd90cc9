"""One folder of pictures before any training: the first hits of each view, of their ranks, and of the one list."""

import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.photographs import pictures_by_class, train_and_test
from benchmarks.pretrained.rows import MODEL, model_folder
from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.values.item import IndexOptions
from crossview.engine.values.query import Query, SearchRequest
from crossview.engine.values.strategy import DISTANCE, RANK
from crossview.features.copy_kinds import EXACT, copies

HAND_MADE: Mapping[str, Sequence[str]] = {"osr8": ("sift", "gist")}
"""The hand-made views of grey pictures; other sets have all three."""
THREE = ("color", "sift", "gist")
KEYS, NEW, COPIES, FIRST = 300, 100, 40, 10
"""Maximum numbers of queries by items, by new pictures and by copies of each kind, and of their hits."""
ALONE, FOUND = "alone", "share of the first hits"
BY_ITEM, BY_NEW, BY_COPY = "items", "new pictures", "copies"


def run(name: str, data: Path, models: Path) -> dict[str, Any]:
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
            for views, way in _ways(hand_made):
                for query, queries in ((BY_ITEM, by_key), (BY_NEW, by_picture), (BY_COPY, by_copy)):
                    value = _figure(collection, views, way, query, queries)
                    names = {"query": query, "views": ", ".join(views), "method": way or ALONE}
                    figures.append({"data": name, **names, "metric": FOUND, "value": value})
    return {"data": name, "rows": figures, "seconds": time.monotonic() - began}


def _ways(hand_made: Sequence[str]) -> Iterator[tuple[Sequence[str], str]]:
    """Yield the views to search by, and the way: each view alone, then the fusions without the model and with it."""
    for view in (*hand_made, MODEL):
        yield (view,), ""
    for views in (hand_made, (*hand_made, MODEL)):
        for way in (RANK, DISTANCE):
            yield views, way


def _figure(
    collection: Collection, views: Sequence[str], way: str, query: str, queries: Sequence[tuple[Query, str]]
) -> float:
    shares = list[float]()
    for asked, wanted in queries:
        (hits,) = collection.search(SearchRequest([asked], targets=views, fuse=way, k=FIRST))
        right = [hits[0].key == wanted] if query == BY_COPY else [wanted in hit.labels for hit in hits]
        shares.append(float(np.mean(right)))
    return float(np.mean(shares))


def lines(rows: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """Return the table of the figures in per cent: a line for each set, its views and way, a column for each query."""
    queries = (BY_ITEM, BY_NEW, BY_COPY)
    values = {(row["data"], row["views"], row["method"], row["query"]): row["value"] for row in rows}
    table = [["set", "views", "way", f"by {BY_ITEM}", f"by {BY_NEW}", f"original of {BY_COPY} first"]]
    for names in dict.fromkeys(names[:3] for names in values):
        table.append([*names, *(f"{100 * values[*names, query]:.1f}" for query in queries)])
    return table
