"""One split of one set: every method among unseen and among learned items, and by copies of pictures."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.frame import beside
from benchmarks.frame.databases import TRAINED, UNSEEN
from benchmarks.hashing.ties import average_precision
from benchmarks.photographs import photographs, pictures_by_class, train_and_test
from benchmarks.pretrained.copy_searches import SPACES, found_copies
from benchmarks.pretrained.rows import MODEL, model_folder, rows_of
from benchmarks.pretrained.taught_methods import METHODS, SIFT, Method
from crossview.engine.learners.selection import distances
from crossview.engine.values.evaluation import MIXED
from crossview.features.copy_kinds import EXACT, KINDS

ACCURACY, COPY = "accuracy", "copy first, "
"""The share of held-out items whose likeliest class is theirs; the share of copies that find their picture first, with
the kind of copy."""
SEARCHES = "searches"
"""The database of searches by pictures, as users make them, in a collection of all items."""

Trial = dict[str, Any]
Figure = tuple[str, str, str, str, float]
"""Database, query view, view of the items, metric and value."""


@dataclass(frozen=True, eq=False)
class Divided:
    """Pictures, some of which are held out."""

    rows: Mapping[str, NDArray[np.float32]]
    """By view, (kinds, n, d): of the pictures themselves, then of each kind of copy, if the view has rows of copies.
    Those of the model have unit length."""
    stored: Mapping[str, NDArray[np.float32]]
    """By view, (n, d), of the pictures themselves, as collections store them."""
    classes: NDArray[np.int64]
    """(n,) from 0."""
    train: NDArray[np.int64]
    held_out: NDArray[np.int64]


def divided(name: str, seed: int, data: Path, models: Path, cache: Path) -> Divided:
    """Return the pictures of a set, described once, and a fifth of every class held out.

    Raises MissingDataError; ModelError without onnxruntime.
    """
    pictures = photographs(data / name, cache)
    train, held_out = train_and_test(pictures.labels, seed)
    counts = pictures.words(train, seed)
    words = (counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)).astype(np.float32)
    rows = rows_of(pictures_by_class(data / name), model_folder(models), cache, KINDS)
    classes = np.unique(pictures.labels, return_inverse=True)[1]
    stored = {SIFT: words, **{view: blocks[0] for view, blocks in rows.items()}}
    units = rows[MODEL] / np.linalg.norm(rows[MODEL], axis=2, keepdims=True)
    return Divided({**rows, MODEL: units, SIFT: words[None]}, stored, classes, train, held_out)


def run(task: tuple[str, int, int], data: Path, models: Path, cache: Path) -> Trial:
    """Return the figures of all methods on one split, each [method, database, query view, view, metric, value].

    The task is a set, a seed, and the number of pictures by whose copies users search.
    """
    began = time.monotonic()
    name, seed, count = task
    split = divided(name, seed, data, models, cache)
    figures = [[method, *figure] for method, how in METHODS.items() for figure in measured(how, split, seed)]
    files, model = pictures_by_class(data / name), model_folder(models)
    queries = np.random.default_rng(seed).permutation(split.held_out)[:count]
    by_copy = found_copies(files, split.stored, split.classes, split.train, queries, model, seed)
    figures += [
        [SPACES[space], SEARCHES, MODEL, MODEL, COPY + kind, float(np.mean(ranks <= 1))]
        for (space, _, kind), ranks in by_copy.items()
    ]
    sizes = len(split.train), len(split.held_out)
    return {"data": name, "seed": seed, "sizes": sizes, "figures": figures, "seconds": time.monotonic() - began}


def measured(method: Method, split: Divided, seed: int) -> Iterator[Figure]:
    """Yield the figures of one method."""
    own, held_out = {view: blocks[0] for view, blocks in split.rows.items()}, split.held_out
    chain = method.learned([own[view][split.train] for view in method.views], split.classes[split.train], seed)
    if method.probabilities:
        first = chain.steps[0].transform(own[method.views[0]][held_out], view=0)[:, : split.classes.max() + 1]
        right = first.argmax(axis=1) == split.classes[held_out]
        yield UNSEEN, method.views[0], method.views[0], ACCURACY, float(right.mean())
    for query, target in method.directions():
        place = method.views.index(query)
        items = chain.transform(own[target], view=method.views.index(target)).astype(np.float64)
        for kind, rows in zip(KINDS, split.rows[query], strict=False):
            query_distances = distances(chain.transform_queries(rows[held_out], place).astype(np.float64), items)
            if kind != EXACT:
                yield MIXED, query, target, COPY + kind, beside.of_own(query_distances, held_out)["recall@1"]
                continue
            for database, metric, value in _retrieved(query_distances, split):
                if query != target or metric not in beside.OWN:
                    yield database, query, target, metric, value


def _retrieved(query_distances: NDArray[np.float64], split: Divided) -> Iterator[tuple[str, str, float]]:
    """Yield database, metric and value, given the (queries, n) distances of held-out items to all."""
    train, held_out = split.train, split.held_out
    relevant = split.classes[held_out][:, None] == split.classes
    yield TRAINED, beside.MAP, float(np.nanmean(average_precision(query_distances[:, train], relevant[:, train])))
    order = np.random.default_rng(0).permutation(len(train))  # of hits at equal distances
    hits = order[np.argsort(query_distances[:, train][:, order], axis=1, kind="stable")]
    yield from ((TRAINED, metric, value) for metric, value in beside.of_hits(hits, len(train)).items())
    unseen = query_distances[:, held_out]
    without_own = ~np.eye(len(held_out), dtype=bool) & relevant[:, held_out]
    far = np.where(np.eye(len(held_out), dtype=bool), np.inf, unseen)  # a query never finds its own item
    yield UNSEEN, beside.MAP, float(np.nanmean(average_precision(far, without_own)))
    yield from ((UNSEEN, metric, value) for metric, value in beside.of_others(unseen).items())
