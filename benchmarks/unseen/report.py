"""Tables of the benchmark of unseen databases, and the verdict on the default."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from benchmarks.frame.benchmark import Document
from benchmarks.frame.databases import TRAINED, UNSEEN
from benchmarks.frame.tables import summary, table
from benchmarks.unseen.trial import DEFAULT, METHODS, SHARE
from crossview.engine.evaluation import MIXED

Trials = Sequence[Mapping[str, Any]]
Figures = dict[tuple[str, str, str, str, str], dict[str, NDArray[np.float64]]]
"""Values over the splits by set, database, query view, view and metric, then by method."""
_BEHIND, _WIDE = -0.01, 0.02


def figures_of(trials: Trials) -> Figures:
    """Return the values of all splits."""
    found: dict[tuple[str, str, str, str, str], dict[str, list[float]]] = {}
    for trial in trials:
        for method, *key, value in trial["figures"]:
            found.setdefault((trial["data"], *key), {}).setdefault(method, []).append(value)
    return {key: {name: np.array(values) for name, values in one.items()} for key, one in found.items()}


def rows(trials: Trials) -> list[dict[str, Any]]:
    """Return mean and deviation over the splits of every figure."""
    names = ("data", "database", "query_view", "database_view", "metric")
    return [
        {**dict(zip(names, key, strict=True)), "method": method, **_rounded(summary(values))}
        for key, methods in figures_of(trials).items()
        for method, values in methods.items()
    ]


def _rounded(found: Mapping[str, float]) -> dict[str, float]:
    return {name: round(value, 5) for name, value in found.items()}


def compared(trials: Trials) -> list[dict[str, Any]]:
    """Return the trials with the compared values: all among unseen items, otherwise those of the default.

    To five digits, as thousands of values are kept.
    """
    return [
        {
            **trial,
            "figures": [
                [method, database, *key, round(value, 5)]
                for method, database, *key, value in trial["figures"]
                if database == UNSEEN or (method == DEFAULT and database)
            ],
        }
        for trial in trials
    ]


def interval(differences: NDArray[np.float64], overlap: float) -> tuple[float, float]:
    """Return mean and half width of the 95 % interval of paired differences over random splits that overlap."""
    count = len(differences)
    if count < 2:
        return float(differences.mean()), float("inf")
    return float(differences.mean()), float(stats.t.ppf(0.975, count - 1)) * standard_error(differences, overlap)


def standard_error(differences: NDArray[np.float64], overlap: float) -> float:
    """Return that of the mean of two or more paired differences over random splits that overlap.

    Nadeau and Bengio (2003): the variance of the mean is (1 / n + n_test / n_train) times that of the splits.
    """
    return float(np.sqrt((1 / len(differences) + overlap) * differences.var(ddof=1)))


def holds(mean: float, half: float) -> bool:
    """Return whether a difference of the default to the best learner keeps the rule.

    It is at least -.01 mAP, or its interval has 0 in it and reaches at most .02 to either side.
    """
    return mean >= _BEHIND or (abs(mean) <= half <= _WIDE)


def markdown(document: Document) -> str:
    """Return the report: mAP of all methods in every direction, and the default beside the best of the others."""
    figures = figures_of(document["trials"])
    overlaps = {trial["data"]: trial["sizes"][1] / trial["sizes"][0] for trial in document["trials"]}
    text = (
        "Each learner at its own defaults, on random splits of 80 to 20 % in which groups stay together (speakers; "
        "equal pictures). Unseen: each held-out item asks all others. Trained: it asks the items that were learned "
        "from. Mixed: both; there `unseen share` is the share of unseen items among the first ten hits, divided by "
        "that in the database. mAP, means over the splits; the difference is that of the default to the best other "
        "learner, paired, with a 95 % interval corrected for overlapping splits (Nadeau and Bengio, 2003). LMNN is "
        "measured where at most 1,000 items are learned from."
    )
    parts = ["# Items that were not learned from: which learner, and what the default is worth", text]
    for data in overlaps:
        parts.append(f"## {data}, {_count(document['trials'], data)} splits")
        parts.append(table([_HEAD, *_lines(figures, data, overlaps[data])]))
    parts += ["## All sets and directions, unseen", table([["method", "mean mAP"], *_means(figures)])]
    return "\n\n".join(parts)


def headline(document: Document) -> tuple[str, str, str]:
    """Return the mean over sets and directions across views of the default, and the best of the others."""
    figures = figures_of(document["trials"])
    means, trained = _across(figures), _across(figures, TRAINED)
    best = max((name for name in means if name != DEFAULT), key=lambda name: means[name])
    sets = len({trial["data"] for trial in document["trials"]})
    unseen = f"{means[DEFAULT]:.3f} among unseen items ({best}: {means[best]:.3f})"
    ours = f"{unseen}, {trained[DEFAULT]:.3f} among trained ones"
    return (f"photographs, faces, texts and letters, {sets} sets across views, the default: mAP", ours, "")


_HEAD = [
    "query → items",
    "default",
    "best other",
    "",
    "difference",
    "rule",
    "trained",
    "mixed",
    "unseen share",
]


def _lines(figures: Figures, data: str, overlap: float) -> list[list[str]]:
    lines = []
    for (name, database, query, target, metric), methods in figures.items():
        if (name, database, metric) != (data, UNSEEN, "map"):
            continue
        ours = methods[DEFAULT]
        best = max((other for other in methods if other != DEFAULT), key=lambda other: methods[other].mean())
        mean, half = interval(ours - methods[best], overlap)
        shown = [f"{ours.mean():.3f}", best, f"{methods[best].mean():.3f}", f"{mean:+.3f} ± {half:.3f}"]
        others = [(TRAINED, "map"), (MIXED, "map"), (MIXED, SHARE)]
        further = [f"{figures[data, where, query, target, what][DEFAULT].mean():.3f}" for where, what in others]
        lines.append([f"{query} → {target}", *shown, "kept" if holds(mean, half) else "missed", *further])
    return lines


def _means(figures: Figures) -> list[list[str]]:
    """Return a line for each method that answers across views, and one for those within them."""
    means = _across(figures)
    return [[name, f"{means[name]:.4f}"] for name in sorted(means, key=lambda name: -means[name])]


def _across(figures: Figures, where: str = UNSEEN) -> dict[str, float]:
    """Return the mean mAP over all sets and directions across views, of methods that answer in all of them."""
    found = [
        methods
        for (_, database, query, target, metric), methods in figures.items()
        if database == where and metric == "map" and query != target
    ]
    return {
        name: float(np.mean([methods[name].mean() for methods in found]))
        for name in METHODS
        if all(name in methods for methods in found)
    }


def _count(trials: Trials, data: str) -> int:
    return sum(trial["data"] == data for trial in trials)
