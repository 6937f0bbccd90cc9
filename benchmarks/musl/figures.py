"""What the trials of the MuSL benchmark found, by name."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from sklearn.metrics import adjusted_rand_score

from benchmarks.frame.tables import summary
from benchmarks.musl.trial import METHODS, NEIGHBORS, ONE, ONE_CHOSEN, PER_CLASS

ACCURACIES = tuple(f"{k}-NN" for k in NEIGHBORS)
MAIN = ACCURACIES[-1]
NAMES = ("method", "metrics", "examples")

Trials = Sequence[Mapping[str, Any]]


def abouts(trials: Trials, part: str, *methods: str) -> list[dict[str, Any]]:
    """Returns what names each figure of a part: method, number of metrics and, of novel classes, of examples."""
    found = [{name: row[name] for name in NAMES if name in row} for row in trials[0].get(part, [])]
    return [about for about in found if not methods or about["method"] in methods]


def counts(trials: Trials, part: str) -> list[int]:
    """Returns the numbers of metrics that a part has figures of methods for."""
    return sorted({about["metrics"] for about in abouts(trials, part, *METHODS)})


def values(trials: Trials, part: str, name: str, **about: Any) -> list[Any]:
    """Returns a figure of every trial; none where there is no such figure."""
    found = [row for trial in trials for row in trial.get(part, []) if about.items() <= row.items()]
    return [row[name] for row in found if name in row]


def single(trials: Trials, method: str, name: str) -> list[Any]:
    """Returns a figure of a method that has one number of metrics only."""
    return values(trials, "curve", name, method=method)


def stability(trials: Trials, method: str, metrics: int) -> list[float]:
    """Returns the adjusted Rand index of the groups of every two trials; 1 of a single trial."""
    groups = values(trials, "groupings", "parts", method=method, metrics=metrics)
    return [adjusted_rand_score(*pair) for pair in combinations(groups, 2)] or [1.0]


def rows(trials: Trials) -> list[dict[str, Any]]:
    """Returns means and standard deviations over the trials of all figures."""
    found = []
    novel = (*ACCURACIES, *(f"{name}, all" for name in ACCURACIES), "kinds")
    parts = {"curve": (*ACCURACIES, "seconds"), "groupings": ("kinds",), "novel": novel}
    for part, names in parts.items():
        for about in abouts(trials, part):
            for name in names:
                if given := values(trials, part, name, **about):
                    found.append({"part": part, **about, "metric": name, **summary(given)})
    for about in abouts(trials, "groupings"):
        found.append({"part": "groupings", **about, "metric": "stability", **summary(stability(trials, **about))})
    return found


def progress(trial: Mapping[str, Any]) -> str:
    """Returns what a trial found, in short."""
    shown = [row for row in trial["curve"] if row["method"] in (ONE, ONE_CHOSEN, PER_CLASS)]
    return ", ".join(f"{row['method']} {100 * row[MAIN]:.1f}" for row in shown)
