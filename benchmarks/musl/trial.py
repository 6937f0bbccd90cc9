"""One split of the MuSL benchmark: accuracy against the number of metrics, on learned and on novel classes."""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import StratifiedKFold

from benchmarks.musl.features import Labels, Pictures, Positions, pictures
from engine.learners.musl.grouping import by_means
from engine.learners.musl.musl import MuSL
from engine.learners.musl.pairs import hamming

MUSL, RETRAINED, KMEANS, RANDOM = METHODS = ("MuSL", "MuSL, retrained", "k-means", "random")
ONE, PER_CLASS, ONE_CHOSEN = "one metric", "one per class", "one metric, alpha chosen"
ONE_WIDE = "one metric, three times the bits"
AS_PRINTED: dict[str, Any] = {"objective": "paper", "alpha": 0.1, "joint_alpha": 0.1, "r": 500.0}
PRINTED_COUNT = 5
PRINTED = tuple(f"{method}, as printed" for method in (ONE, PER_CLASS, MUSL, RETRAINED))
TRAIN = 30
"""Training pictures of each class."""
NEIGHBORS = (1, 5)
ALPHAS = (0.1, 0.2, 0.3, 0.6, 1.0)
FOLDS = 3
DRAWS = 5
"""Random groupings of a split, whose figures are averaged: single ones differ by more than the methods do."""
WIDE = 3
"""As many times the bits has the single metric that novel classes are tried with besides."""
NOVEL_PER_KIND = 2
EXAMPLES = (5, TRAIN)
"""How many pictures of a novel class its metric is found by."""

Rows = NDArray[np.float64]
Trial = dict[str, Any]


def run(seed: int, data: Path, counts: Sequence[int], novel_counts: Sequence[int]) -> Trial:
    """Returns the figures of one split: "curve", "chosen", "groupings" and, where classes have kinds, "novel"."""
    found = pictures(data)
    train, test = split(found.labels, seed)
    trial: Trial = {"seed": seed, **learned(found, train, test, counts, seed)}
    if len(np.unique(found.kinds)) > 1:
        trial["novel"] = novel(found, train, test, novel_counts, seed)
    return trial


def split(labels: Labels, seed: int) -> tuple[Positions, Positions]:
    """Returns 30 training pictures of each class, and all others."""
    generator = np.random.default_rng(seed)
    drawn = [generator.permutation(np.flatnonzero(labels == name))[:TRAIN] for name in np.unique(labels)]
    train = np.sort(np.concatenate(drawn))
    return train, np.setdiff1d(np.arange(len(labels)), train)


def learned(found: Pictures, train: Positions, test: Positions, counts: Sequence[int], seed: int) -> Trial:
    """Returns the figures of all methods for every number of metrics, database and queries of the learned classes."""
    words, labels = found.words(train, seed), found.labels
    rows, queries, names, query_names = words[train], words[test], labels[train], labels[test]
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
            groups = learners[0].metric_of_class(found.classes)
            agreed = adjusted_rand_score(found.kinds, groups)
            groupings.append({"method": method, "metrics": count, "parts": groups.tolist(), "kinds": agreed})
    chosen = choose_alpha(rows, names, seed)
    single = MuSL(n_metrics=1, alpha=chosen).fit(rows, names)
    curve.append({"method": ONE_CHOSEN, "metrics": 1, **measure(single, rows, names, queries, query_names)})
    return {"curve": curve, "groupings": groupings, "alpha": chosen}


def _fits(rows: Rows, names: Labels, counts: Sequence[int], seed: int) -> Iterator[tuple[int, str, list[MuSL]]]:
    """Yields number of metrics, method and unfitted learners, whose figures are to be averaged.

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
        yield count, RANDOM, [MuSL(n_metrics=count, assignment="random", random_state=int(one)) for one in seeds]


def _as_printed(classes: int) -> Iterator[tuple[int, str, list[MuSL]]]:
    """As ``_fits``, with the paper's own constants: equal weights of all pairs, and T/2 as the offset."""
    one, per_class, joint, retrained = PRINTED
    yield 1, one, [MuSL(n_metrics=1, **AS_PRINTED)]
    yield classes, per_class, [MuSL(n_metrics="class", **AS_PRINTED)]
    boosted = MuSL(n_metrics=PRINTED_COUNT, retrain=False, **AS_PRINTED)
    yield PRINTED_COUNT, joint, [boosted]
    yield PRINTED_COUNT, retrained, [MuSL(assignment=boosted.assignments_[0].tolist(), **AS_PRINTED)]


def choose_alpha(rows: Rows, names: Labels, seed: int) -> float:
    """Returns the alpha of a single metric by cross-validation among the training pictures, so that it has its best."""
    scores = np.zeros(len(ALPHAS))
    for train, validation in StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(rows, names):
        for place, alpha in enumerate(ALPHAS):
            learner = MuSL(n_metrics=1, alpha=alpha).fit(rows[train], names[train])
            scores[place] += measure(learner, rows[train], names[train], rows[validation], names[validation])["5-NN"]
    return ALPHAS[int(scores.argmax())]


def novel(found: Pictures, train: Positions, test: Positions, counts: Sequence[int], seed: int) -> list[Trial]:
    """Returns accuracies on classes that neither words nor metrics were learned from, two of each kind.

    Their metrics are found from examples among their training pictures. All of these are the database and their test
    pictures the queries; "all": with the learned classes' pictures too, in both.
    """
    unseen = unseen_classes(found, seed)
    old, new = (train[np.isin(found.labels[train], unseen) == is_new] for is_new in (False, True))
    unseen_test = test[np.isin(found.labels[test], unseen)]
    words, labels = found.words(old, seed), found.labels
    kinds = dict(zip(found.classes, found.kinds, strict=True))
    figures = []
    for count in counts:
        groupings = {RETRAINED: MuSL(n_metrics=count)}
        if count == 1:
            groupings[PRINTED[0]] = MuSL(n_metrics=1, **AS_PRINTED)
            groupings[ONE_WIDE] = MuSL(n_metrics=1, n_bits=WIDE * MuSL().n_bits)
        if 1 < count < len(found.classes) - len(unseen):
            codes = np.unique(labels[old], return_inverse=True)[1]
            means = by_means(np.sqrt(words[old]), codes, count, np.random.RandomState(seed))
            groupings[KMEANS] = MuSL(assignment=means.tolist())
        for method, learner in groupings.items():
            learner.fit(words[old], labels[old])
            for examples in EXAMPLES:
                metrics = {n: learner.assign(words[new][labels[new] == n][:examples], category=n) for n in unseen}
                matched = np.mean([kind_of(learner, metric, kinds) == kinds[name] for name, metric in metrics.items()])
                about = {"method": method, "metrics": count, "examples": examples, "kinds": float(matched)}
                alone, among = (
                    measure(learner, words[base], labels[base], words[queries], labels[queries])
                    for base, queries in ((new, unseen_test), (train, test))
                )
                figures.append({**about, **alone, **{f"{name}, all": value for name, value in among.items()}})
    return figures


def unseen_classes(found: Pictures, seed: int) -> list[str]:
    """Returns two classes of each kind."""
    generator = np.random.default_rng(seed)
    of_kinds = [generator.permutation(found.classes[found.kinds == kind]) for kind in np.unique(found.kinds)]
    return sorted(str(name) for names in of_kinds for name in names[:NOVEL_PER_KIND])


def kind_of(learner: MuSL, metric: int, kinds: dict[Any, Any]) -> str:
    """Returns the kind of most classes that a metric was learned for; "" where it was learned for none."""
    found = [str(kinds[name]) for name in learner.classes_[learner.metric_of_class(learner.classes_) == metric]]
    return max(sorted(set(found)), key=found.count, default="")


def measure(learner: MuSL, rows: Rows, names: Labels, queries: Rows, query_names: Labels) -> dict[str, float]:
    """Returns k-NN accuracies, means over classes: distances are under the metrics of the database rows' classes."""
    classes, codes = np.unique(names, return_inverse=True)
    metrics = learner.metric_of_class(names)
    stored, probes = (learner.transform(x).astype(np.float32) for x in (rows, queries))
    distances = np.zeros((len(queries), len(rows)))
    for metric in np.unique(metrics):
        bits = slice(metric * learner.n_bits, (metric + 1) * learner.n_bits)
        distances[:, metrics == metric] = hamming(probes[:, bits], stored[metrics == metric, bits])
    found = {}
    for k in NEIGHBORS:
        correct = classes[votes(distances, codes, k).argmax(axis=1)] == query_names
        found[f"{k}-NN"] = float(np.mean([correct[query_names == name].mean() for name in np.unique(query_names)]))
    return found


def votes(distances: Rows, codes: Positions, k: int) -> Rows:
    """Returns the (q, C) votes of the k nearest for their classes.

    Rows as far as the k-th share what is left of the k votes, for Hamming distances have many ties; of classes with
    as many votes, the one whose voters are nearer on average is ahead.
    """
    kth = np.partition(distances, k - 1, axis=1)[:, k - 1 : k]
    nearer, tied = distances < kth, distances == kth
    shares = nearer + tied * ((k - nearer.sum(axis=1, keepdims=True)) / tied.sum(axis=1, keepdims=True))
    members = np.eye(codes.max() + 1)[codes]
    found = shares @ members
    mean = np.divide((shares * distances) @ members, found, out=np.zeros_like(found), where=found > 0)
    return np.asarray(found - 1e-6 * mean)
