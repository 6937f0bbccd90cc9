"""One trial of the hashing benchmark: settings by cross-validation, codes of every length, figures."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from benchmarks.frame import beside
from benchmarks.frame.databases import TEST, TRAINED, UNSEEN, without_own
from benchmarks.hashing.methods import METHODS, TUNED_BITS, Method, learners_of_papers
from benchmarks.hashing.stages import Embedded, Labels, Stages
from benchmarks.hashing.ties import average_precision, average_precision_of_codes
from benchmarks.photographs import photographs, train_and_test
from benchmarks.wikipedia.benchmark import read_documents
from crossview.engine.learners.frame.view_rows import Rows
from crossview.engine.learners.selection import distances, search

LABELLED = "labelled"
"""The training items, coded by their labels, as the protocol of supervised cross-modal hashing has it."""
PROTOCOLS = (LABELLED, TRAINED, UNSEEN)
"""The databases that settings are chosen for, one by one."""
CROSSINGS = ((0, 1), (1, 0))
WITHIN = ((0, 0), (1, 1))
FOLDS = 3
DATA = ("wikipedia", "corel")


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
    published: bool
    """Whether the split is that of the data's authors, whose database is all test rows."""

    def databases(self, method: Method) -> tuple[str, ...]:
        """Return what the queries search by a method's embeddings; only codes are made of labels."""
        protocols = PROTOCOLS if method.binary else PROTOCOLS[1:]
        return (*protocols, TEST) if self.published else protocols

    def spec(self, method: Method, bits: int) -> str:
        """Return the whole chain of a method."""
        return method.written(self.steps[method.kernel], bits)

    @cached_property
    def folds(self) -> "list[_Part]":
        """The training part in parts to learn from and held-out ones, which choose settings."""
        splitter = StratifiedKFold(FOLDS, shuffle=True, random_state=self.seed)
        parts = []
        for learned, held_out in splitter.split(self.train[0], self.train_labels):
            train, test = ([rows[places] for rows in self.train] for places in (learned, held_out))
            parts.append(_Part(Stages(train, self.train_labels[learned], test), self.train_labels[held_out]))
        return parts

    @cached_property
    def whole(self) -> "_Part":
        """The training part and the test part."""
        return _Part(Stages(self.train, self.train_labels, self.test), self.test_labels)


@dataclass(frozen=True)
class _Part:
    """Rows to learn from, and others with their labels."""

    stages: Stages
    labels: Labels

    def average_precisions(self, embedded: Embedded, crossing: tuple[int, int], database: str, codes: bool) -> Rows:
        """Return those of the queries, (q,), in a database; NaN where nothing is relevant.

        No query meets itself, among unseen items not even as the row of its own other view.
        """
        query, target = crossing
        labels = self.stages.labels if database in (LABELLED, TRAINED) else self.labels
        relevant = self.labels[:, None] == labels[None]
        squared = self._distances(embedded, crossing, database)
        if database == UNSEEN or (database == TEST and query == target):
            squared, relevant = without_own(squared), without_own(relevant)
        if codes:
            return average_precision_of_codes(np.rint(squared).astype(np.intp), relevant)
        return average_precision(squared, relevant)

    def beside(self, embedded: Embedded, crossing: tuple[int, int]) -> dict[str, float]:
        """Return the figures beside mAP among unseen items, across views."""
        return beside.of_others(self._distances(embedded, crossing, UNSEEN))

    def _distances(self, embedded: Embedded, crossing: tuple[int, int], database: str) -> Rows:
        query, target = crossing
        if database == LABELLED:
            items = codes_of_labels(embedded, self.stages.labels)[target]
        else:
            items = (embedded.train if database == TRAINED else embedded.items)[target]
        return distances(embedded.queries[query], items)


def codes_of_labels(embedded: Embedded, labels: Labels) -> list[Rows]:
    """Return the (n, B) codes of the training items in each view that a hasher learned from their labels.

    If an item has no code of its own, these are the bits of most codes of its class, in any view.
    """
    learner: Any = embedded.learner
    if hasattr(learner, "codes_of_classes"):
        own = learner.codes_of_classes(labels)
    elif hasattr(learner, "codes_"):
        own = learner.codes_
    else:
        names, classes = np.unique(labels, return_inverse=True)
        votes = np.zeros((len(names), embedded.train[0].shape[1]))
        for codes in embedded.train:
            np.add.at(votes, classes, codes - 0.5)
        own = (votes > 0).astype(float)[classes]
    return [own] * len(embedded.train)


def corel(data: Path, cache: Path, seed: int) -> Split:
    """Return a split of the photographs in folders of classes."""
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
        published=False,
    )


def wikipedia(data: Path, seed: int) -> Split:
    """Return the documents with the split of their authors; the seed is of folds and of what methods draw."""
    steps, views = ("l1,sqrt", "l1,kernel:chi2"), ("image", "text")
    return Split(data="wikipedia", seed=seed, views=views, steps=steps, published=True, **vars(read_documents(data)))


@learners_of_papers()
def run(task: tuple[str, int], images: Path, cache: Path, documents: Path, bits: Sequence[int]) -> dict[str, Any]:
    """Return the figures of all methods on one split as "rows", and what was chosen as "chosen".

    The task is the data and a seed.
    """
    started = time.monotonic()
    data, seed = task
    split = wikipedia(documents, seed) if data == "wikipedia" else corel(images, cache, seed)
    rows: list[dict[str, Any]] = []
    choices = []
    for method in METHODS:
        began = time.monotonic()
        settings = tuned(method, split)
        seconds = round(time.monotonic() - began, 1)
        choices.append({"method": method.name, "settings": settings, "tuning": seconds})
        for length in bits if method.binary else [None]:
            rows += figures(method, settings, split, length)
    return {"data": split.data, "seed": seed, "rows": rows, "chosen": choices, "seconds": time.monotonic() - started}


def tuned(method: Method, split: Split) -> dict[str, dict[str, Any]]:
    """Return for each database the settings with the best mAP across views in such a one, in the training part."""
    databases = [database for database in PROTOCOLS if database in split.databases(method)]
    cached: dict[str, dict[str, float]] = {}

    def scores(settings: dict[str, Any]) -> dict[str, float]:
        if (key := repr(sorted(settings.items()))) not in cached:
            cached[key] = _scores(method, settings, split, databases)
        return cached[key]

    best = {}
    for database in databases:

        def score(point: dict[str, Any], database: str = database) -> float:
            return scores(method.settings(point, split.seed))[database]

        best[database] = method.settings(search(method.grid, score, exhaustive=method.exhaustive)[0], split.seed)
    return best


def _scores(method: Method, settings: dict[str, Any], split: Split, databases: Sequence[str]) -> dict[str, float]:
    scores: dict[str, list[float]] = {database: [] for database in databases}
    for part in split.folds:
        embedded = part.stages.embedded(split.spec(method, TUNED_BITS), settings)
        for database, values in scores.items():
            for crossing in CROSSINGS:
                precisions = part.average_precisions(embedded, crossing, database, method.binary)
                values.append(float(np.nanmean(precisions)))
    return {database: float(np.mean(values)) for database, values in scores.items()}


def figures(
    method: Method, settings: dict[str, dict[str, Any]], split: Split, bits: int | None
) -> Iterator[dict[str, Any]]:
    """Yield the mAP of a method's codes of one length, or of its embeddings, for all pairs of views and databases, and
    the figures beside it across views among unseen items."""
    embedded: dict[str, Embedded] = {}
    for database in split.databases(method):
        own = settings[UNSEEN if database == TEST else database]
        if (key := repr(sorted(own.items()))) not in embedded:
            embedded[key] = split.whole.stages.embedded(split.spec(method, bits or TUNED_BITS), own)
        for query, target in (*CROSSINGS, *WITHIN):
            precisions = split.whole.average_precisions(embedded[key], (query, target), database, method.binary)
            views = {"query_view": split.views[query], "database_view": split.views[target]}
            about = {"data": split.data, "method": method.name, "bits": bits, **views, "database": database}
            yield {**about, "metric": beside.MAP, "value": float(np.nanmean(precisions))}
            if database == UNSEEN and query != target:
                further = split.whole.beside(embedded[key], (query, target))
                yield from ({**about, "metric": metric, "value": value} for metric, value in further.items())


def task_names(seeds: Sequence[int]) -> dict[str, tuple[str, int]]:
    """Return the tasks of some seeds by name, those of one seed after those of another."""
    return {f"{data}-{seed}": (data, seed) for seed in seeds for data in DATA}
