"""One split of the MuSL benchmark: accuracy against the number of metrics and of thresholds a word, and the groups."""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import StratifiedKFold

from benchmarks.musl.features import Labels, Positions, pictures
from crossview.engine.learners.frame.view_rows import Rows
from crossview.engine.learners.papers.musl.musl import MuSL, by_means, distances, votes

MUSL, RETRAINED, KMEANS, RANDOM = METHODS = ("MuSL", "MuSL, retrained", "k-means", "random")
ONE, PER_CLASS, ONE_CHOSEN = "one metric", "one per class", "one metric, alpha chosen"
AS_PRINTED: dict[str, Any] = {"objective": "paper", "alpha": 0.1, "joint_alpha": 0.1, "r": 500.0}
PRINTED_COUNT = 5
PRINTED = tuple(f"{method}, as printed" for method in (ONE, PER_CLASS, MUSL, RETRAINED))
TRAIN = 30
"""Training pictures of each class."""
NEIGHBORS = (1, 5)
ALPHAS = (0.1, 0.2, 0.3, 0.6, 1.0)
THRESHOLDS = (1, 7, 15)
"""Numbers of thresholds a word that are tried, and that cross-validation chooses from."""
FEW = 5
"""Metrics whose thresholds are tried and chosen, beside one metric and one for each class."""
FOLDS = 3
DRAWS = 5
"""Random groupings of a split, whose figures are averaged: single ones differ by more than the methods do."""

Trial = dict[str, Any]


def run(seed: int, data: Path, counts: Sequence[int]) -> Trial:
    """Return the figures of one split: "curve", "groupings", "thresholds", and what cross-validation chose."""
    images = pictures(data)
    train, test = split(images.labels, seed)
    words, labels = images.words(train, seed), images.labels
    halves = words[train], labels[train], words[test], labels[test]
    return {"seed": seed, **learned(halves, images.kinds, counts, seed), **by_thresholds(halves, seed)}


def split(labels: Labels, seed: int) -> tuple[Positions, Positions]:
    """Return 30 training pictures of each class, and all others."""
    generator = np.random.default_rng(seed)
    drawn = [generator.permutation(np.flatnonzero(labels == name))[:TRAIN] for name in np.unique(labels)]
    train = np.sort(np.concatenate(drawn))
    return train, np.setdiff1d(np.arange(len(labels)), train)


def learned(halves: tuple[Rows, Labels, Rows, Labels], kinds: Labels, counts: Sequence[int], seed: int) -> Trial:
    """Return the figures of all methods for every number of metrics, database and queries of the learned classes.

    Args:
        halves: rows and class names of the training part, which is the database, and of the queries.
        kinds: (C,) of the classes, sorted by their names.
        counts: numbers of metrics.
        seed: of k-means, random groups and folds.
    """
    rows, names, queries, query_names = halves
    curve, groupings = [], []
    for count, method, learners in _fits(rows, names, counts, seed):
        tried = []
        for learner in learners:
            started = time.process_time()
            learner.fit(rows, names)
            seconds = time.process_time() - started
            tried.append({"seconds": seconds, **measure(learner, rows, names, queries, query_names)})
        means = {name: float(np.mean([figures[name] for figures in tried])) for name in tried[0]}
        curve.append({"method": method, "metrics": count, **means})
        if method in (MUSL, KMEANS):
            groups = learners[0].metric_of_class(np.unique(names))
            agreed = adjusted_rand_score(kinds, groups)
            groupings.append({"method": method, "metrics": count, "parts": groups.tolist(), "kinds": agreed})
    alpha = choose(rows, names, seed, "alpha", ALPHAS, n_metrics=1)
    single = MuSL(n_metrics=1, alpha=alpha).fit(rows, names)
    curve.append({"method": ONE_CHOSEN, "metrics": 1, **measure(single, rows, names, queries, query_names)})
    return {"curve": curve, "groupings": groupings, "alpha": alpha}


def by_thresholds(halves: tuple[Rows, Labels, Rows, Labels], seed: int) -> Trial:
    """Return figures of one, five and a metric for each class by thresholds a word, and how many of them are chosen.

    ``halves`` are as in ``learned``.
    """
    rows, names, queries, query_names = halves
    figures, choices = [], {}
    counts: dict[str, Any] = {ONE: 1, RETRAINED: FEW, PER_CLASS: "class"}
    for method, count in counts.items():
        choices[method] = choose(rows, names, seed, "n_thresholds", THRESHOLDS, n_metrics=count)
        for thresholds in THRESHOLDS:
            started = time.process_time()
            learner = MuSL(n_metrics=count, n_thresholds=thresholds).fit(rows, names)
            seconds = time.process_time() - started
            about = {"method": method, "thresholds": thresholds, "seconds": seconds}
            figures.append({**about, **measure(learner, rows, names, queries, query_names)})
    return {"thresholds": figures, "chosen thresholds": choices}


def _fits(rows: Rows, names: Labels, counts: Sequence[int], seed: int) -> Iterator[tuple[int, str, list[MuSL]]]:
    """Yield number of metrics, method and unfitted learners, whose figures are to be averaged.

    A retrained one's groups are those found before it.
    """
    classes, codes = np.unique(names, return_inverse=True)
    yield 1, ONE, [MuSL(n_metrics=1)]
    yield len(classes), PER_CLASS, [MuSL(n_metrics="class")]
    yield from _as_printed(len(classes))
    for count in (count for count in counts if 1 < count <= len(classes)):
        boosted = MuSL(n_metrics=count, retrain=False)
        yield count, MUSL, [boosted]
        yield count, RETRAINED, [MuSL(assignment=boosted.assignments_[0].tolist())]
        # Means of square roots: counts of nested words differ by orders of magnitude.
        means = by_means(np.sqrt(rows), codes, count, np.random.RandomState(seed))
        yield count, KMEANS, [MuSL(assignment=means.tolist())]
        seeds = np.random.SeedSequence(seed).generate_state(DRAWS)
        yield count, RANDOM, [MuSL(n_metrics=count, assignment="random", random_state=int(state)) for state in seeds]


def _as_printed(classes: int) -> Iterator[tuple[int, str, list[MuSL]]]:
    """Fit as ``_fits`` does, with the paper's own constants: equal weights of all pairs, and T/2 as the offset."""
    single, per_class, joint, retrained = PRINTED
    yield 1, single, [MuSL(n_metrics=1, **AS_PRINTED)]
    yield classes, per_class, [MuSL(n_metrics="class", **AS_PRINTED)]
    boosted = MuSL(n_metrics=PRINTED_COUNT, retrain=False, **AS_PRINTED)
    yield PRINTED_COUNT, joint, [boosted]
    yield PRINTED_COUNT, retrained, [MuSL(assignment=boosted.assignments_[0].tolist(), **AS_PRINTED)]


def choose(rows: Rows, names: Labels, seed: int, name: str, grid: Sequence[Any], **fixed: Any) -> Any:
    """Return the value of a parameter that has the best 5-NN accuracy in cross-validation among training pictures.

    ``fixed`` are the learner's other parameters. If several values are as good, the first is taken.
    """
    scores = np.zeros(len(grid))
    for train, validation in StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(rows, names):
        for place, value in enumerate(grid):
            learner = MuSL(**fixed, **{name: value}).fit(rows[train], names[train])
            scores[place] += measure(learner, rows[train], names[train], rows[validation], names[validation])["5-NN"]
    return grid[int(scores.argmax())]


def measure(learner: MuSL, rows: Rows, names: Labels, queries: Rows, query_names: Labels) -> dict[str, float]:
    """Return k-NN accuracies, means over classes: distances are under the metrics of the database rows' classes."""
    classes, codes = np.unique(names, return_inverse=True)
    stored, probes = (learner.transform(x).astype(np.float32) for x in (rows, queries))
    found_at = distances(probes, stored, learner.metric_of_class(names), learner.n_bits)
    accuracies = {}
    for k in NEIGHBORS:
        correct = classes[votes(found_at, codes, k).argmax(axis=1)] == query_names
        accuracies[f"{k}-NN"] = float(np.mean([correct[query_names == name].mean() for name in np.unique(query_names)]))
    return accuracies
