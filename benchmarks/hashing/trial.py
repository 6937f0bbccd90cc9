"""One split of the hashing benchmark: settings by cross-validation, codes of every length, figures."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.frame.databases import TEST, TRAINED, UNSEEN, without_own
from benchmarks.hashing.methods import METHODS, TUNED_BITS, Method
from benchmarks.hashing.ties import average_precision, precision_at_k
from benchmarks.photographs import photographs, train_and_test
from benchmarks.wikipedia.benchmark import read_documents
from engine.learners.chain import Chain
from engine.learners.registry import parse_chain
from engine.learners.selection import ClassValidation, Selection, distances, select

CROSSINGS = ((0, 1), (1, 0))
WITHIN = ((0, 0), (1, 1))
PAIRS = (*CROSSINGS, *WITHIN)
CUTS = (50, 100)
FOLDS = 3
WIKIPEDIA = -1
"""Stands for the documents among the seeds of the photographs."""

Rows = NDArray[np.float64]
Labels = NDArray[Any]


@dataclass(frozen=True, kw_only=True)
class Split:
    """Training rows and test rows of two views. Test rows are the queries."""

    data: str
    seed: int
    views: tuple[str, str]
    steps: tuple[str, str]
    """The data's own steps, without and with a kernel."""
    train: list[Rows]
    test: list[Rows]
    train_labels: Labels
    test_labels: Labels
    unseen: bool
    """Whether settings are chosen for a database of the test rows, as the data's authors have it, else the training
    rows."""

    @property
    def databases(self) -> tuple[str, ...]:
        """What the queries search: first what is usual for the data."""
        return (TEST, UNSEEN, TRAINED) if self.unseen else (TRAINED, UNSEEN)

    def steps_of(self, method: Method) -> str:
        """Returns the steps before a method's own."""
        return self.steps[method.kernel]

    @cached_property
    def across(self) -> ClassValidation:
        """Measures chains across the views."""
        return _validation(self, CROSSINGS, self.unseen)


def corel(data: Path, cache: Path, seed: int) -> Split:
    """Returns a split of the photographs in folders of classes."""
    images = photographs(data, cache)
    train, test = train_and_test(images.labels, seed)
    rows = [images.color.astype(float), images.words(train, seed).astype(float)]
    return Split(
        data="corel",
        seed=seed,
        views=("color", "sift"),
        steps=("l1,sqrt", "l1,sqrt@0,kernel:chi2"),
        train=[x[train] for x in rows],
        test=[x[test] for x in rows],
        train_labels=images.labels[train],
        test_labels=images.labels[test],
        unseen=False,
    )


def wikipedia(data: Path) -> Split:
    """Returns the documents with the split of their authors."""
    steps, views = ("l1,sqrt", "l1,kernel:chi2"), ("image", "text")
    return Split(data="wikipedia", seed=0, views=views, steps=steps, unseen=True, **vars(read_documents(data)))


def run(seed: int, images: Path, cache: Path, documents: Path, bits: Sequence[int]) -> dict[str, Any]:
    """Returns the figures of all methods on one split as "rows", and what was chosen as "chosen".

    The split is that of a seed of the photographs, or for ``WIKIPEDIA`` that of the documents.
    """
    started = time.monotonic()
    split = wikipedia(documents) if seed == WIKIPEDIA else corel(images, cache, seed)
    rows: list[dict[str, Any]] = []
    chosen = []
    for method in METHODS:
        began = time.monotonic()
        selection = tuned(method, split)
        score = selection.score if method.grid else None
        seconds = round(time.monotonic() - began, 1)
        chosen.append({"method": method.name, "settings": selection.settings, "score": score, "tuning": seconds})
        for length in bits if method.binary else [None]:
            rows += figures(method, selection.settings, split, length)
    return {"data": split.data, "seed": seed, "rows": rows, "chosen": chosen, "seconds": time.monotonic() - started}


def tuned(method: Method, split: Split) -> Selection:
    """Returns the settings with the best mAP across views in the training part.

    Where codes of different views do not compare, it is that within views, and the other folds are the database, so
    that no item of the fold finds itself.
    """
    spec = method.written(split.steps_of(method), TUNED_BITS)
    if not method.grid:
        return Selection(spec, dict(method.fixed), np.nan)
    validation = split.across if method.across else _validation(split, WITHIN, False)
    return select({"spec": [spec], **method.grid}, validation, fixed=method.fixed, exhaustive=method.exhaustive)


def _validation(split: Split, crossings: Sequence[tuple[int, int]], unseen: bool) -> ClassValidation:
    return ClassValidation(
        split.train,
        split.train_labels,
        measure=mean_average_precision,
        crossings=crossings,
        folds=FOLDS,
        seed=split.seed,
        unseen=unseen,
    )


def figures(method: Method, settings: dict[str, Any], split: Split, bits: int | None) -> Iterator[dict[str, Any]]:
    """Yields the figures of a method's codes of one length, or of its embeddings, for all pairs of views it serves."""
    spec = method.written(split.steps_of(method), bits or TUNED_BITS)
    before = time.monotonic()
    chain = parse_chain(spec, settings).fit(split.train, split.train_labels)
    seconds = time.monotonic() - before
    about = {"data": split.data, "method": method.name, "bits": bits}
    yield {**about, "metric": "seconds", "value": seconds}
    embedded = _embedded(chain, split)
    for database, (query, target) in product(split.databases, PAIRS if method.across else WITHIN):
        squared, relevant = _searched(chain, split, embedded, (query, target), database)
        views = {"query_view": split.views[query], "database_view": split.views[target]}
        key = {**about, **views, "database": database}
        yield {**key, "metric": "map", "k": None, "value": float(np.nanmean(average_precision(squared, relevant)))}
        for k in CUTS:
            yield {**key, "metric": "precision", "k": k, "value": float(precision_at_k(squared, relevant, k).mean())}


class _Embedded(NamedTuple):
    """What a chain makes of the rows of each view."""

    train: list[Rows]
    test: list[Rows]


def _embedded(chain: Chain, split: Split) -> _Embedded:
    parts = ([chain.transform(x, view=view) for view, x in enumerate(part)] for part in (split.train, split.test))
    return _Embedded(*parts)


def mean_average_precision(squared: Rows, query_labels: Labels, labels: Labels) -> float:
    """mAP, ties in every order, the measure that settings are chosen by."""
    return float(np.nanmean(average_precision(squared, query_labels[:, None] == labels[None])))


def _searched(
    chain: Chain, split: Split, embedded: _Embedded, crossing: tuple[int, int], database: str
) -> tuple[Rows, NDArray[np.bool_]]:
    """Returns the distances of the queries to a database, and what is relevant.

    None meets itself, but for the row of its own other view among all test rows.
    """
    query, target = crossing
    seen = database == TRAINED
    items, labels = (embedded.train, split.train_labels) if seen else (embedded.test, split.test_labels)
    metrics = chain.metric_of_class(labels, target) if seen else None
    squared = _under_metrics(embedded.test[query], items[target], chain.n_metrics_, metrics)
    relevant = split.test_labels[:, None] == labels[None]
    if database == UNSEEN or (database == TEST and query == target):
        return without_own(squared), without_own(relevant)
    return squared, relevant


def _under_metrics(probes: Rows, stored: Rows, count: int, metrics: NDArray[np.intp] | None) -> Rows:
    """Squared distances, (q, n), of rows whose embeddings are K metrics' side by side.

    Each is under the stored row's own metric, of (n,) ``metrics``; None: under the one that brings the two nearest, as
    for items without a label.
    """
    if count == 1:
        return distances(probes, stored)
    pairs = zip(np.split(probes, count, 1), np.split(stored, count, 1), strict=True)
    squared = np.array([distances(*pair) for pair in pairs])
    nearest: Rows = squared.min(axis=0) if metrics is None else squared[metrics, :, np.arange(len(stored))].T
    return nearest
