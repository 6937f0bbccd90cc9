"""Tables and plot of the benchmark of examples."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.examples.trial import GIVEN, JUDGED, METHODS, ONE, OWN, ROUNDS, SAME
from benchmarks.frame.benchmark import Document
from benchmarks.frame.plots import panels
from benchmarks.frame.tables import mean_and_error, table
from crossview.engine.values.strategy import COMBINE

Trials = Sequence[Mapping[str, Any]]
LEARN = COMBINE[0]
ALL = "all sets"
WANTED_MS = {100_000: 50.0, 1_000_000: 300.0}
_LESS_WRONG = "less wrong than one example, by learn"
_SHOWN = {
    SAME: "Average precision over the items that are left, in per cent. In each round, a person judges the first hits "
    "of all methods in turn; all methods learn from the same judgements, and rank the same items. The items found "
    "first are gone in later rounds, so that figures fall: compare the methods of one round.",
    OWN: "Items of the class that a method has shown after each round, in per cent of those that it could have shown. "
    "A person judges what the method itself shows, and nothing is shown twice.",
}
caption = "rounds of feedback, mean of all sets"


def markdown(document: Document) -> str:
    """Return the report: questions, rounds of feedback, and times."""
    trials, settings = document["trials"], document["settings"]
    judged = ", ".join(f"{count} in {space}" for space, count in JUDGED.items())
    about = (
        f"Precision of the first ten hits in per cent, the mean of {len(settings['seeds'])} splits ± standard error, "
        f"{settings['questions']} questions for each set and split. Each question has {GIVEN} examples of a class and "
        f"{GIVEN} counter-examples: random items of other classes, or the first wrong hits of the first example. In "
        "the views themselves (raw), all items are examples and hits; in the default space, only items that it has not "
        "learned from, half of each class. All methods know the same, and a sample of the items besides."
    )
    parts = ["# Search by examples", about]
    for space in JUDGED:
        parts += [f"## Three examples, {space}", *_questions(trials, space)]
    rounds = (
        f"{max(1, settings['questions'] // 4)} searches for each set and split begin with one example and go on for "
        f"{ROUNDS} rounds; in each, a person judges some hits ({judged})."
    )
    parts += ["## Rounds of feedback", rounds]
    for protocol, text in _SHOWN.items():
        parts += [f"### {protocol.capitalize()}", text, *_rounds(trials, protocol)]
    return "\n\n".join([*parts, "## Time", table(_times(document["rows"]))])


def plot(path: Path, document: Document) -> None:
    """Draw the rounds of feedback: a panel for each space and kind of judgements."""
    trials = document["trials"]
    with panels(path, len(_SHOWN), len(JUDGED), (10, 8)) as figure:
        places = [(protocol, space) for protocol in _SHOWN for space in JUDGED]
        for axis, (protocol, space) in zip(figure.axes, places, strict=True):
            for method in METHODS:
                means = np.mean(_curves(trials, space, protocol, method), axis=0)
                axis.plot(range(ROUNDS + 1 - len(means), ROUNDS + 1), 100 * means, "o-", label=method, markersize=3)
            axis.set_title(f"{space}, {protocol}")
            axis.set_xlabel("rounds of feedback")
        figure.axes[0].legend(frameon=False, fontsize="small")


def _questions(trials: Trials, space: str) -> list[str]:
    """Return the table of questions in a space, and where learning is below."""
    lines, below = [["set", "counter-examples", *METHODS, _LESS_WRONG]], list[str]()
    for kind in dict.fromkeys(figure[1] for trial in trials for figure in trial["figures"]):
        for name in [*_sets(trials), ALL]:
            values = {method: _precisions(trials, space, name, kind, method) for method in METHODS}
            if not values[LEARN]:  # its classes have too few items
                continue
            means = {method: float(np.mean(precisions)) for method, precisions in values.items()}
            less = 1 - (1 - means[LEARN]) / max(1 - means[ONE], 1e-9)
            cells = (mean_and_error(precisions) for precisions in values.values())
            lines.append([name, kind, *cells, f"{100 * less:.0f} %"])
            if name != ALL:
                below += _better(means, f"{name}, {kind}")
    return [table(lines), _stated(below)]


def _rounds(trials: Trials, protocol: str) -> list[str]:
    """Return the table of rounds by one kind of judgements, and where learning is below after the last round."""
    first = 0 if protocol == SAME else 1
    lines = [["space", "set", "method", *(f"round {number}" for number in range(first, ROUNDS + 1))]]
    below: list[str] = []
    for space in JUDGED:
        for name in [*_sets(trials), ALL]:
            curves = {method: _curves(trials, space, protocol, method, name) for method in METHODS}
            if not curves[LEARN]:  # its classes have too few items
                continue
            means = {method: np.mean(splits, axis=0) for method, splits in curves.items()}
            lines += [
                [space, name, method, *(f"{100 * value:.1f}" for value in curve)] for method, curve in means.items()
            ]
            if name != ALL:
                below += _better({method: float(curve[-1]) for method, curve in means.items()}, f"{space}, {name}")
    return [table(lines), _stated(below, f" after round {ROUNDS}")]


def _better(means: Mapping[str, float], where: str) -> list[str]:
    """Return the methods that are better than learning, by at least a tenth of a point, and by how much."""
    gaps = {method: 100 * (mean - means[LEARN]) for method, mean in means.items()}
    better = [f"{method} by {gap:.1f}" for method, gap in gaps.items() if gap >= 0.1]
    return [f"{where} ({', '.join(better)})"] if better else []


def _stated(below: Sequence[str], when: str = "") -> str:
    what = f"{'; '.join(below)}" if below else "nowhere"
    return f"Where another method is above {LEARN}{when}, in points: {what}."


def _sets(trials: Trials) -> list[str]:
    return list(dict.fromkeys(trial["data"] for trial in trials))


def _precisions(trials: Trials, space: str, name: str, kind: str, method: str) -> list[float]:
    """Return the precision of each split of a set; of all sets, the mean of their precisions for each seed."""
    by_seed: dict[int, list[float]] = {}
    for trial in trials:
        for *names, value in trial["figures"]:
            if names == [space, kind, method] and name in (trial["data"], ALL):
                by_seed.setdefault(trial["seed"], []).append(value)
    return [float(np.mean(values)) for values in by_seed.values()]


def _curves(trials: Trials, space: str, protocol: str, method: str, name: str = ALL) -> list[list[float]]:
    return [
        curve
        for trial in trials
        if name in (trial["data"], ALL)
        for *names, curve in trial["curves"]
        if names == [space, protocol, method]
    ]


def _times(rows: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    lines = [["items", "way", "ms", "wanted"]]
    for row in rows:
        limit = WANTED_MS.get(row["items"])
        lines.append([f"{row['items']:,}", row["method"], f"{row['value']:.1f}", f"<= {limit:g}" if limit else ""])
    return lines
