"""Tables of the benchmark of unseen databases, and the verdict on the default."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.frame import beside
from benchmarks.frame.benchmark import Document
from benchmarks.frame.databases import TRAINED, UNSEEN
from benchmarks.frame.tables import summary, table
from benchmarks.sets.standing import VERDICT, Standing, division_of, interval, of_worst, points, verdict
from benchmarks.unseen.trial import DEFAULT, METHODS, SECONDS, SHARE
from crossview.engine.values.evaluation import MIXED

Trials = Sequence[Mapping[str, Any]]
Figures = dict[tuple[str, str, str, str, str], dict[str, NDArray[np.float64]]]
"""Values over the splits by set, database, query view, view and metric, then by method."""
_BEHIND, _WIDE = -0.01, 0.02


def figures_of(trials: Trials) -> Figures:
    """Return the values of all splits."""
    figures: dict[tuple[str, str, str, str, str], dict[str, list[float]]] = {}
    for trial in trials:
        for method, *key, value in trial["figures"]:
            figures.setdefault((trial["data"], *key), {}).setdefault(method, []).append(value)
    return {key: {name: np.array(values) for name, values in by_method.items()} for key, by_method in figures.items()}


def rows(trials: Trials) -> list[dict[str, Any]]:
    """Return mean and deviation over the splits of every figure."""
    names = ("data", "database", "query_view", "database_view", "metric")
    return [
        {**dict(zip(names, key, strict=True)), "method": method, **_rounded(summary(values))}
        for key, methods in figures_of(trials).items()
        for method, values in methods.items()
    ]


def _rounded(figures: Mapping[str, float]) -> dict[str, float]:
    return {name: round(value, 5) for name, value in figures.items()}


def compared(trials: Trials) -> list[dict[str, Any]]:
    """Return the trials with the values that the report reads, to five digits, as thousands of values are kept.

    These are all mAP among unseen items, the figures beside it across views, all figures of the default, and seconds.
    """
    return [
        {**trial, "figures": [_shortened(figure) for figure in trial["figures"] if _is_read(*figure)]}
        for trial in trials
    ]


def _is_read(method: str, database: str, query: str, target: str, metric: str, value: float) -> bool:
    of_unseen = database == UNSEEN and (metric == beside.MAP or query != target)
    return of_unseen or (method == DEFAULT and bool(database)) or metric == SECONDS


def _shortened(figure: Sequence[Any]) -> list[Any]:
    *key, value = figure
    return [*key, round(value, 5)]


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
        "Random splits of 80 to 20 %, in which groups stay together. *Unseen*: each held-out item asks all others; "
        "*trained*: it asks the items that were learned from; *mixed*: both. Rivals are learners at their defaults, "
        "and learners with settings that cross-validation chooses. Differences of the default to the best other "
        "learner are paired, with a 95 % interval corrected for overlapping splits."
    )
    means = _means(figures)
    if beside.TITLES[beside.COVERAGE] in means[0]:
        text += f" The last table also shows what mAP by classes cannot see: {beside.EXPLAINED}."
    standing = _standing(figures, overlaps)
    parts = [
        "# Items that were not learned from: which learner, and what the default is worth",
        text,
        "## Sets",
        division_of(list(overlaps), document["settings"].get("looks", ())),
        "## Over the sets",
        "Mean mAP in per cent over the directions across views, among unseen items.",
        table([VERDICT, verdict(standing)]),
        table(_by_method(standing, figures)),
    ]
    for data in overlaps:
        parts.append(f"## {data}, {sum(trial['data'] == data for trial in document['trials'])} splits")
        parts.append(table([_HEAD, *_lines(figures, data, overlaps[data])]))
        parts.append(table(_of_set(standing, figures, data)))
    parts += ["## All sets and directions, unseen", table(means)]
    return "\n\n".join(parts)


def headline(document: Document) -> tuple[str, str, str]:
    """Return the mean over sets and directions across views of the default, and the best of the others."""
    figures = figures_of(document["trials"])
    sets = len({trial["data"] for trial in document["trials"]})
    ours, rivals = [], []
    for title, metric in (
        ("mAP", beside.MAP),
        ("own item in the first 10:", beside.RECALL),
        ("coverage", beside.COVERAGE),
    ):
        means = _across(figures, metric=metric)
        if DEFAULT in means:  # results of earlier versions lack some metrics
            best = max((name for name in means if name != DEFAULT), key=lambda name: means[name])
            ours.append(f"{title} {means[DEFAULT]:.3f}")
            rivals.append(f"{means[best]:.3f} ({best})")
    task = f"Find items by a query of another view; no learner has seen the items ({sets} data sets)"
    return task, "; ".join(ours), f"best other learner for each: {'; '.join(rivals)}"


def _standing(figures: Figures, overlaps: Mapping[str, float]) -> Standing:
    """Return where the default stands, by the mean over the directions across views in each split."""
    values: dict[str, dict[str, NDArray[np.float64]]] = {}
    for data in overlaps:
        directions = [of for (name, *key), of in figures.items() if name == data and _is_across(key)]
        methods = [name for name in METHODS if directions and all(name in of for of in directions)]
        values[data] = {name: np.mean([of[name] for of in directions], axis=0) for name in methods}
    return Standing(values, overlaps, DEFAULT, [name for name in METHODS if name != DEFAULT])


def _is_across(key: Sequence[str]) -> bool:
    database, query, target, metric = key
    return (database, metric) == (UNSEEN, beside.MAP) and query != target


def _by_method(standing: Standing, figures: Figures) -> list[list[str]]:
    """Return a table of the mean and the worst set of each method, the best first; seconds are means over the sets."""
    means = {name: standing.mean(name) for name in METHODS}
    order = sorted(((name, mean) for name, mean in means.items() if mean is not None), key=lambda pair: -pair[1])
    lines = [["method", "mean", "worst set", SECONDS]]
    return lines + [
        [name, f"{100 * mean:.1f}", of_worst(standing, name), _seconds(figures, standing.values, name)]
        for name, mean in order
    ]


def _of_set(standing: Standing, figures: Figures, data: str) -> list[list[str]]:
    """Return a table of all methods on a set, across views: mAP, what the default is ahead, and seconds."""
    means = {name: float(values.mean()) for name, values in standing.values[data].items()}
    lines = [["method", "mAP", "default is ahead", SECONDS]]
    for name in sorted(means, key=lambda name: -means[name]):
        ahead = "" if name == DEFAULT else points(*standing.ahead_on(data, name))
        lines.append([name, f"{100 * means[name]:.1f}", ahead, _seconds(figures, [data], name)])
    return lines


def _seconds(figures: Figures, sets: Iterable[str], method: str) -> str:
    """Return the mean seconds of a method over some sets; empty for results of earlier versions, which lack them."""
    values = [figures.get((data, "", "", "", SECONDS), {}).get(method) for data in sets]
    means = [times.mean() for times in values if times is not None]
    return f"{np.mean(means):.1f}" if means else ""


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
        cells = [f"{ours.mean():.3f}", best, f"{methods[best].mean():.3f}", f"{mean:+.3f} ± {half:.3f}"]
        columns = [(TRAINED, "map"), (MIXED, "map"), (MIXED, SHARE)]
        further = [f"{figures[data, where, query, target, what][DEFAULT].mean():.3f}" for where, what in columns]
        lines.append([f"{query} → {target}", *cells, "kept" if holds(mean, half) else "missed", *further])
    return lines


def _means(figures: Figures) -> list[list[str]]:
    """Return mAP and the figures beside it of each method that answers in all directions across views."""
    means = {metric: _across(figures, metric=metric) for metric in beside.TITLES}
    order = sorted(means[beside.MAP], key=lambda name: -means[beside.MAP][name])
    return beside.lines({name: {metric: of[name] for metric, of in means.items() if name in of} for name in order})


def _across(figures: Figures, where: str = UNSEEN, metric: str = "map") -> dict[str, float]:
    """Return the mean of a metric over all sets and directions across views, of methods that answer in all of them."""
    directions = [
        methods
        for (_, database, query, target, what), methods in figures.items()
        if database == where and what == metric and query != target
    ]
    if not directions:
        return {}  # results of earlier versions lack the metric
    return {
        name: float(np.mean([methods[name].mean() for methods in directions]))
        for name in METHODS
        if all(name in methods for methods in directions)
    }
