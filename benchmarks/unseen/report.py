"""Tables of the benchmark of unseen databases, and the verdict on the default."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from benchmarks.frame import beside
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
    """Return the trials with the values that the report reads, to five digits, as thousands of values are kept.

    These are all mAP among unseen items, the figures beside it across views, and all figures of the default.
    """
    return [{**trial, "figures": [_shortened(one) for one in trial["figures"] if _is_read(*one)]} for trial in trials]


def _is_read(method: str, database: str, query: str, target: str, metric: str, value: float) -> bool:
    of_unseen = database == UNSEEN and (metric == beside.MAP or query != target)
    return of_unseen or (method == DEFAULT and bool(database))


def _shortened(figure: Sequence[Any]) -> list[Any]:
    *key, value = figure
    return [*key, round(value, 5)]


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
    means = _means(figures)
    if beside.TITLES[beside.COVERAGE] in means[0]:
        text += f" The last table also shows what mAP by classes cannot see: {beside.EXPLAINED}."
    parts = ["# Items that were not learned from: which learner, and what the default is worth", text]
    for data in overlaps:
        parts.append(f"## {data}, {_count(document['trials'], data)} splits")
        parts.append(table([_HEAD, *_lines(figures, data, overlaps[data])]))
    parts += ["## All sets and directions, unseen", table(means)]
    return "\n\n".join(parts)


def headline(document: Document) -> tuple[str, str, str]:
    """Return the mean over sets and directions across views of the default, and the best of the others."""
    figures = figures_of(document["trials"])
    means, trained = _across(figures), _across(figures, TRAINED)
    sets = len({trial["data"] for trial in document["trials"]})
    ours = f"{_beside_best(means)}, {trained[DEFAULT]:.3f} among trained ones"
    for title, metric in (("own item in the first ten", beside.RECALL), ("items in some list of ten", beside.COVERAGE)):
        if DEFAULT in (found := _across(figures, metric=metric)):  # results of earlier versions lack the metric
            ours += f"; {title}: {_beside_best(found, '')}"
    return (f"photographs, faces, texts and letters, {sets} sets across views, the default: mAP", ours, "")


def _beside_best(means: Mapping[str, float], where: str = " among unseen items") -> str:
    """Return the figure of the default, and in brackets the best of the others."""
    best = max((name for name in means if name != DEFAULT), key=lambda name: means[name])
    return f"{means[DEFAULT]:.3f}{where} ({best}: {means[best]:.3f})"


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
    """Return mAP and the figures beside it of each method that answers in all directions across views."""
    means = {metric: _across(figures, metric=metric) for metric in beside.TITLES}
    order = sorted(means[beside.MAP], key=lambda name: -means[beside.MAP][name])
    return beside.lines({name: {metric: of[name] for metric, of in means.items() if name in of} for name in order})


def _across(figures: Figures, where: str = UNSEEN, metric: str = "map") -> dict[str, float]:
    """Return the mean of a metric over all sets and directions across views, of methods that answer in all of them."""
    found = [
        methods
        for (_, database, query, target, what), methods in figures.items()
        if database == where and what == metric and query != target
    ]
    if not found:
        return {}  # results of earlier versions lack the metric
    return {
        name: float(np.mean([methods[name].mean() for methods in found]))
        for name in METHODS
        if all(name in methods for methods in found)
    }


def _count(trials: Trials, data: str) -> int:
    return sum(trial["data"] == data for trial in trials)
