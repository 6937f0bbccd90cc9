"""One draw of the benchmark on novel classes: metrics of other classes, and examples that choose among them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.musl.features import Labels, Pictures, pictures
from benchmarks.musl.trial import (
    AS_PRINTED,
    FEW,
    KMEANS,
    PRINTED,
    RETRAINED,
    TRAIN,
    Trial,
    choose,
    measure,
    split,
)
from crossview.engine.learners.frame.view_rows import Rows
from crossview.engine.learners.papers.musl.musl import MuSL, by_means

EXAMPLES = (5, TRAIN)
"""How many pictures of a novel class its metric is found by."""
ONE_PRINTED = PRINTED[0]
ONE_WIDE, KINDS = "one metric, three times the bits", "a metric for each kind"
WIDE = 3
"""As many times the bits has the single metric that is tried besides."""
GRID = (1, 7)
"""Numbers of thresholds a word that cross-validation chooses from: more cost as much again and gain little."""
PRINTED_FEW = 3
"""Metrics, beside one, that are learned with the paper's own constants: where it is the best."""
DEFAULT, CHOSEN = "default", "chosen"
"""Thresholds a word: the learner's default, and what cross-validation chooses among the training pictures."""


@dataclass(frozen=True)
class Halves:
    """Rows and class names of a draw.

    Attributes:
        old, old_names: training pictures of the learned classes.
        old_queries, old_query_names: their test pictures.
        new, new_names: examples of the novel classes, their database.
        new_queries, new_query_names: their test pictures.
        kinds: the kind of every class.
    """

    old: Rows
    old_names: Labels
    old_queries: Rows
    old_query_names: Labels
    new: Rows
    new_names: Labels
    new_queries: Rows
    new_query_names: Labels
    kinds: Mapping[str, str]


def run(seed: int, data: Path, novel: Path, counts: Sequence[int]) -> Trial:
    """Return the figures of one draw of training, example and test pictures, and the thresholds that were chosen."""
    halves = drawn(pictures(data), pictures(novel), seed)
    thresholds = {
        count: choose(halves.old, halves.old_names, seed, "n_thresholds", GRID, n_metrics=count) for count in (1, FEW)
    }
    figures = []
    for kind, method, count, learner in _fits(halves, counts, thresholds, seed):
        learner.fit(halves.old, halves.old_names)
        about = {"thresholds": kind, "method": method, "metrics": count}
        figures += [{**about, **row} for row in of_novel_classes(learner, halves)]
    return {
        "seed": seed,
        "novel": figures,
        "chosen thresholds": {str(count): number for count, number in thresholds.items()},
    }


def drawn(learned: Pictures, unseen: Pictures, seed: int) -> Halves:
    """Return a draw of pictures, described by words that are learned from the learned classes' training part."""
    both = Pictures((*learned.paths, *unseen.paths), np.concatenate([learned.labels, unseen.labels]))
    train, test = split(both.labels, seed)
    first = len(learned.paths)
    parts = [part[is_new] for part in (train, test) for is_new in (part < first, part >= first)]
    old, new, old_queries, new_queries = parts
    words, labels = both.words(old, seed), both.labels
    return Halves(
        words[old],
        labels[old],
        words[old_queries],
        labels[old_queries],
        words[new],
        labels[new],
        words[new_queries],
        labels[new_queries],
        dict(zip(both.classes.tolist(), both.kinds.tolist(), strict=True)),
    )


def _fits(
    halves: Halves, counts: Sequence[int], thresholds: Mapping[int, int], seed: int
) -> Iterator[tuple[str, str, int, MuSL]]:
    """Yield how thresholds were set, the method, the number of metrics and an unfitted learner, to be fitted there."""
    classes, codes = np.unique(halves.old_names, return_inverse=True)
    kinds = np.unique([halves.kinds[name] for name in classes.tolist()], return_inverse=True)[1]
    few, single = thresholds[FEW], thresholds[1]
    for count in counts:
        learner = MuSL(n_metrics="class" if count == len(classes) else count)
        yield DEFAULT, RETRAINED, count, learner
        groups = learner.metric_of_class(classes).tolist()  # those that it would learn again
        yield CHOSEN, RETRAINED, count, MuSL(assignment=groups, n_thresholds=single if count == 1 else few)
        if 1 < count < len(classes):
            means = by_means(np.sqrt(halves.old), codes, count, np.random.RandomState(seed))
            yield CHOSEN, KMEANS, count, MuSL(assignment=means.tolist(), n_thresholds=few)
    yield CHOSEN, KINDS, int(kinds.max()) + 1, MuSL(assignment=kinds.tolist(), n_thresholds=few)
    yield CHOSEN, ONE_WIDE, 1, MuSL(n_metrics=1, n_bits=WIDE * MuSL().n_bits, n_thresholds=single)
    yield DEFAULT, ONE_PRINTED, 1, MuSL(n_metrics=1, **AS_PRINTED)
    yield DEFAULT, PRINTED[-1], PRINTED_FEW, MuSL(n_metrics=PRINTED_FEW, **AS_PRINTED)


def of_novel_classes(learner: MuSL, halves: Halves) -> list[Trial]:
    """Return, by number of examples, accuracies on the novel classes; their metrics are found by the first examples.

    All examples are the database and the test pictures the queries; "all": with the learned classes' pictures too, in
    both; "kind known": hits of another kind than the query's left out. "kinds" is the share of the novel classes that
    are given a metric of their kind, which most of the classes that it was learned for are.
    """
    rows, names = np.vstack([halves.old, halves.new]), np.concatenate([halves.old_names, halves.new_names])
    queries = np.vstack([halves.old_queries, halves.new_queries])
    query_names = np.concatenate([halves.old_query_names, halves.new_query_names])
    results = []
    for examples in EXAMPLES:
        metrics = {
            name: learner.assign(halves.new[halves.new_names == name][:examples], category=name)
            for name in np.unique(halves.new_names).tolist()
        }
        matched = np.mean(
            [kind_of(learner, metric, halves.kinds) == halves.kinds[name] for name, metric in metrics.items()]
        )
        figures: Trial = {"examples": examples, "kinds": float(matched)}
        figures |= measure(learner, halves.new, halves.new_names, halves.new_queries, halves.new_query_names)
        among = measure(learner, rows, names, queries, query_names)
        figures |= {f"{name}, all": value for name, value in among.items()}
        within = _within_kinds(learner, halves)
        results.append({**figures, **{f"{name}, kind known": value for name, value in within.items()}})
    return results


def _within_kinds(learner: MuSL, halves: Halves) -> dict[str, float]:
    """Return the mean over novel classes of accuracies where database and queries are of the query's kind."""
    sums: dict[str, float] = {}
    classes = np.unique(halves.new_names)
    of_rows, of_queries = (
        np.array([halves.kinds[name] for name in names.tolist()])
        for names in (halves.new_names, halves.new_query_names)
    )
    for kind in np.unique(of_rows):
        base, probes = of_rows == kind, of_queries == kind
        accuracies = measure(
            learner,
            halves.new[base],
            halves.new_names[base],
            halves.new_queries[probes],
            halves.new_query_names[probes],
        )
        share = len(np.unique(halves.new_names[base])) / len(classes)
        sums = {name: sums.get(name, 0.0) + share * value for name, value in accuracies.items()}
    return sums


def kind_of(learner: MuSL, metric: int, kinds: Mapping[str, str]) -> str:
    """Return the kind of most classes that a metric was learned for; "" for a metric that was learned for no class."""
    own_kinds = [kinds[str(name)] for name in learner.classes_[learner.metric_of_class(learner.classes_) == metric]]
    return max(sorted(set(own_kinds)), key=own_kinds.count, default="")
