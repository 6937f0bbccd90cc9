"""Distances of versions, thresholds and labels, judged on days that were not learned from."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.svm import LinearSVC

from benchmarks.changes.history import AMBIGUOUS, DISSIMILAR, IDENTICAL, SIMILAR
from benchmarks.changes.pages import TO_LEARN, Page
from crossview.engine.findings.changes.decision import C, decide, least_sure, region_distances
from crossview.engine.findings.changes.importance import Importance, Labels, learn
from crossview.engine.findings.changes.monotony import monotony
from crossview.engine.learners.frame.view_rows import Rows
from crossview.engine.values.changes import EXTREME, Form

Places = NDArray[np.int64]
GRID = 10
EUCLIDEAN, WORDS = "Euclidean", "colour-SIFT words"
TRIPLETS, DIAGONAL, PRINTED, FULL, STRUCTURAL = "triplets", "diagonal", "full, as printed", "full", "1-slack"
LEARNED: Mapping[str, tuple[Form, dict[str, Any]]] = {
    TRIPLETS: ("diagonal", {}),
    DIAGONAL: ("diagonal", {}),
    PRINTED: ("full", {"as_printed": True}),
    FULL: ("full", {}),
    STRUCTURAL: ("structural", {}),
}
METHODS = (EUCLIDEAN, WORDS, *LEARNED)
COUNTS = (5, 10, 20)
"""How many labels are given."""
OF_EACH_KIND = (5, 20)
"""How many labels of similar and as many of dissimilar pairs are given, as in the paper's table 3."""
RANDOM, ACTIVE = "random", "active"
VISUAL, STRUCTURE, BOTH = "visual", "structural", "both"
SVM = "both, SVM with weights of any sign"
UNLEARNED = "unlearned distances"
"""The approach that the paper compares with, its reference [41]: GIST, colour-SIFT words and structure."""


@dataclass(frozen=True)
class Split:
    """Five days of a page to learn from, and the others to judge by.

    Attributes:
        page: the page.
        number: of the split; it also seeds the draws of labels.
    """

    page: Page
    number: int

    @property
    def own(self) -> Places:
        """(119,) the pairs of successive versions of the days to learn from."""
        return np.arange(TO_LEARN - 1) + self.number * TO_LEARN

    @cached_property
    def labels(self) -> NDArray[np.str_]:
        """(versions - 1,) what successive versions are to each other."""
        return np.array(self.page.history.labels())

    @cached_property
    def judged(self) -> Places:
        """The pairs of other days that are clearly similar or dissimilar, and not identical."""
        days = np.arange(self.number * TO_LEARN - 1, (self.number + 1) * TO_LEARN)
        return np.setdiff1d(np.flatnonzero(np.isin(self.labels, (SIMILAR, DISSIMILAR))), days)

    @cached_property
    def important(self) -> NDArray[np.bool_]:
        """Whether these are dissimilar."""
        return np.asarray(self.labels[self.judged] == DISSIMILAR)

    def regions(self, grid: int = GRID) -> Rows:
        """Return the (versions - 1, g^2) region distances of all successive versions."""
        count = len(self.page.rows[grid])
        return region_distances(
            self.page.rows[grid], np.column_stack([np.arange(count - 1), np.arange(1, count)]), grid
        )

    def metric(self, method: str, grid: int = GRID, labels: Labels | None = None) -> tuple[Importance, float]:
        """Return what a method learns of the days, and the seconds that it takes."""
        form, settings = LEARNED[method]
        first = self.number * TO_LEARN
        rows = self.page.rows[grid][first : first + TO_LEARN]
        began = time.perf_counter()
        comparisons = monotony(np.arange(TO_LEARN, dtype=np.float64))
        comparisons = comparisons.triplets() if method == TRIPLETS else comparisons
        importance = learn(region_distances(rows, comparisons.pairs, grid), comparisons, form, labels, **settings)
        return importance, time.perf_counter() - began

    def precision(self, distances: Rows) -> dict[str, float]:
        """Return the average precision of similar and of dissimilar pairs, and their mean."""
        judged = distances[self.judged]
        similar = float(average_precision_score(~self.important, -judged))
        dissimilar = float(average_precision_score(self.important, judged))
        return {"AP_S": similar, "AP_D": dissimilar, "MAP": (similar + dissimilar) / 2}

    def accuracy(self, distances: Rows, labelled: Places | None = None) -> float:
        """Return the mean of both kinds' accuracies, of the threshold that the days and their labels give."""
        places = np.empty(0, np.int64) if labelled is None else labelled
        return self.balanced(self.scores(distances, places)[self.judged] > 1)

    def balanced(self, predicted: NDArray[np.bool_]) -> float:
        """Return the mean of both kinds' accuracies, of what is predicted for the judged pairs."""
        return float(np.mean([np.mean(predicted[self.important]), np.mean(~predicted[~self.important])]))

    def scores(self, distances: Rows, labelled: Places) -> Rows:
        """Return all pairs' weighted distances in units of that threshold; ``labelled`` are pairs with labels."""
        clear = labelled[self.labels[labelled] != AMBIGUOUS]
        pool = distances[np.setdiff1d(self.own, labelled)]
        return decide(pool, distances[clear], np.asarray(self.labels[clear] == DISSIMILAR)).scores(distances)

    def labels_of(self, answered: Places, regions: Rows) -> Labels:
        """Return what is learned of labelled pairs; of ambiguous ones nothing."""
        clear = answered[self.labels[answered] != AMBIGUOUS]
        return Labels(regions[clear], np.asarray(self.labels[clear] == DISSIMILAR))


def precisions(split: Split) -> dict[str, dict[str, Any]]:
    """Return, by method, its average precisions, the seconds that it learned and the shares of its map."""
    regions = split.regions()
    words = np.square(np.diff(split.page.words, axis=0)).sum(axis=1)
    figures: dict[str, dict[str, Any]] = {
        EUCLIDEAN: split.precision(regions.sum(axis=1)),
        WORDS: split.precision(words),
    }
    for method in LEARNED:
        metric, seconds = split.metric(method)
        figures[method] = {
            **split.precision(metric.distances(regions)),
            "seconds": seconds,
            "C": metric.weight,
            "order": metric.order,
            "map": split.page.shares(metric.weights()),
        }
    return figures


def by_grid(split: Split) -> dict[int, float]:
    """Return the accuracy without labels of the diagonal metric, by the number of cells a side."""
    accuracies = {}
    for grid in split.page.rows:
        metric, _ = split.metric(DIAGONAL, grid)
        accuracies[grid] = split.accuracy(metric.distances(split.regions(grid))[:, None])
    return accuracies


def by_evidence(split: Split) -> dict[str, float]:
    """Return the accuracy without labels of what is seen, of the source, and of both (the paper's table 2)."""
    visual = split.metric(DIAGONAL)[0].distances(split.regions())[:, None]
    structure = split.page.structure
    alone, both = structure.mean(axis=1, keepdims=True), np.hstack([visual, structure])
    accuracies = {name: split.accuracy(rows) for name, rows in ((VISUAL, visual), (STRUCTURE, alone), (BOTH, both))}
    order = split.own[np.argsort(visual[split.own, 0], kind="stable")]
    order = order[visual[order, 0] > 0]
    count = min(EXTREME, len(order) // 4)
    extremes = both[np.concatenate([order[:count], order[-count:]])]
    machine = make_pipeline(MaxAbsScaler(), LinearSVC(C=C, dual=False)).fit(extremes, np.repeat([False, True], count))
    return {**accuracies, SVM: split.balanced(machine.predict(both[split.judged]))}


def by_kind(split: Split) -> dict[str, float]:
    """Return the accuracy with labels of as many random pairs of each kind (the paper's table 3)."""
    regions, structure = split.regions(), split.page.structure
    words = np.square(np.diff(split.page.words, axis=0)).sum(axis=1)
    drawn, accuracies = np.random.default_rng(split.number).permutation(split.own), dict[str, float]()
    for count in OF_EACH_KIND:
        by_kind = [drawn[split.labels[drawn] == kind][:count] for kind in (SIMILAR, DISSIMILAR)]
        answered = np.concatenate(by_kind)
        seen = split.metric(DIAGONAL, labels=split.labels_of(answered, regions))[0].distances(regions)[:, None]
        evidence = {
            VISUAL: seen,
            BOTH: np.hstack([seen, structure]),
            UNLEARNED: np.column_stack([regions.sum(axis=1), words, structure]),
        }
        accuracies |= {f"{count} {name}": split.accuracy(rows, answered) for name, rows in evidence.items()}
    return accuracies


def by_labels(split: Split) -> dict[str, dict[int, float]]:
    """Return the accuracy with so many labels, given at random and asked for, and that of unlearned distances."""
    accuracies: dict[str, dict[int, float]] = {name: {} for name in (RANDOM, ACTIVE, f"{ACTIVE}, {BOTH}", UNLEARNED)}
    regions, structure = split.regions(), split.page.structure
    open_ = split.own[split.labels[split.own] != IDENTICAL]
    drawn = np.random.default_rng(split.number).permutation(open_)
    words = np.square(np.diff(split.page.words, axis=0)).sum(axis=1)
    unlearned = np.column_stack([regions.sum(axis=1), words, structure])
    for count in COUNTS:
        answered = drawn[:count]
        metric, _ = split.metric(DIAGONAL, labels=split.labels_of(answered, regions))
        accuracies[RANDOM][count] = split.accuracy(metric.distances(regions)[:, None], answered)
        accuracies[UNLEARNED][count] = split.accuracy(unlearned, answered)
    for name, extra in ((ACTIVE, structure[:, :0]), (f"{ACTIVE}, {BOTH}", structure)):
        answered = np.empty(0, np.int64)
        while len(answered) <= max(COUNTS):
            metric, _ = split.metric(DIAGONAL, labels=split.labels_of(answered, regions))
            distances = np.column_stack([metric.distances(regions), extra])
            if len(answered) in COUNTS:
                accuracies[name][len(answered)] = split.accuracy(distances, answered)
            candidates = least_sure(split.scores(distances, answered), np.setdiff1d(open_, answered))
            answered = np.append(answered, candidates[:1])
    return accuracies
