"""Tables of the benchmark of kinds of information, and where the default stands beside the rivals."""

from collections.abc import Mapping, Sequence
from itertools import pairwise, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.frame import beside
from benchmarks.frame.benchmark import Document
from benchmarks.frame.databases import UNSEEN
from benchmarks.frame.tables import mean_and_error, table
from benchmarks.information.methods import DEFAULT, METHODS, OWN
from benchmarks.sets.named import DIVISION, PARTS
from benchmarks.sets.standing import VERDICT, Standing, division_of, points, standard_error, verdict

ACROSS, SECONDS = "across", "seconds"
METRICS = (ACROSS, *beside.OWN, *beside.SPREAD)
Trials = Sequence[Mapping[str, Any]]
Figures = dict[tuple[str, str, str, str], dict[str, NDArray[np.float64]]]
"""Values over the splits by set, kind, database and metric, then by method."""


def figures_of(trials: Trials) -> Figures:
    """Return the values of all splits."""
    figures: dict[tuple[str, str, str, str], dict[str, list[float]]] = {}
    for trial in trials:
        for kind, method, database, metric, value in trial["figures"]:
            figures.setdefault((trial["data"], kind, database, metric), {}).setdefault(method, []).append(value)
    return {key: {name: np.array(values) for name, values in by_method.items()} for key, by_method in figures.items()}


def rows(trials: Trials) -> list[dict[str, Any]]:
    """Return the means over the development sets and over the report sets; the trials have the figures of each set."""
    means = []
    for part, of_part in _divided(trials).items():
        in_part = Found(of_part)
        for kind, metric, method in product(in_part.kinds, METRICS, in_part.methods):
            value = in_part.standing(kind, metric).mean(method)
            if value is not None:
                means.append({"sets": part, "kind": kind, "metric": metric, "method": method, "value": value})
    return means


class Found:
    """The figures of some trials of a run."""

    def __init__(self, trials: Trials) -> None:
        self.figures = figures_of(trials)
        self.sets = list(dict.fromkeys(trial["data"] for trial in trials))
        self.kinds = list(dict.fromkeys(figure[0] for trial in trials for figure in trial["figures"]))
        names = dict.fromkeys(figure[1] for trial in trials for figure in trial["figures"])
        self.methods = sorted(names, key=lambda name: [DEFAULT, *METHODS, *names].index(name))
        self.overlaps = {trial["data"]: trial["sizes"][1] / trial["sizes"][0] for trial in trials}
        self.rivals = [name for name in self.methods if name not in (DEFAULT, *OWN)]

    def standing(self, kind: str, metric: str = ACROSS, sets: Sequence[str] = ()) -> Standing:
        """Return where the default stands with a kind on some sets [default: all]."""
        values = {name: self.figures.get((name, kind, UNSEEN, metric), {}) for name in sets or self.sets}
        return Standing(values, self.overlaps, DEFAULT, self.rivals)

    def seconds(self, method: str, sets: Sequence[str]) -> str:
        """Return the mean seconds of a method over some sets and all kinds."""
        values = [self.figures.get((name, kind, "", SECONDS), {}).get(method) for name in sets for kind in self.kinds]
        means = [times.mean() for times in values if times is not None]
        return f"{np.mean(means):.1f}" if means else ""


def markdown(document: Document) -> str:
    """Return the report: where the default stands with every kind, then mAP and seconds of all methods on every set."""
    trials, settings = document["trials"], document["settings"]
    text = (
        f"Something is known of at most {settings['most_items']:,} training items: some labels, wrong labels, pairs, "
        "or only that the views of an item belong together. Held-out items ask each other across the views: mAP in per "
        "cent, mean over all directions. Rivals are methods of scikit-learn and of papers, with settings that "
        "cross-validation chooses. Differences are paired, with a 95 % interval corrected for overlapping splits."
    )
    parts = [
        "# Kinds of supervision: few, wrong and no labels, pairs",
        text,
        "## Sets",
        division_of(list(dict.fromkeys(trial["data"] for trial in trials)), settings["looks"]),
    ]
    for name, of_part in _divided(trials).items():
        parts += _of_part(f"{name.capitalize()} sets", Found(of_part))
    return "\n\n".join(parts)


def _divided(trials: Trials) -> dict[str, Trials]:
    """Return the trials of the sets for development and for reports, without a part that has none."""
    parts = {name: [trial for trial in trials if trial["data"] in DIVISION[name]] for name in PARTS}
    return {name: of_part for name, of_part in parts.items() if of_part}


def _of_part(title: str, results: Found) -> list[str]:
    """Return the tables of some sets, then one of each set."""
    standings = [[kind, *verdict(results.standing(kind))] for kind in results.kinds]
    parts = [
        f"## {title}",
        table([["known", *VERDICT], *standings, _means(results)]),
        *_more_labels(results),
        "### Means over the sets",
        "A method has a mean where it learns on every set. Seconds are means over sets and kinds.",
        table(_by_method(results)),
        *_beyond_classes(results),
    ]
    for name in results.sets:
        parts += [f"### {name}", table(_of_set(results, name))]
    return parts


def headline(document: Document) -> tuple[str, str, str]:
    """Return the mean over the sets of two labels a class, of the default and of the best rival: of the report sets if
    there are any."""
    part, trials = list(_divided(document["trials"]).items())[-1]
    results = Found(trials)
    parts, rivals = [], []
    for metric, title in ((ACROSS, "mAP"), (beside.RECALL, "own item in the first 10:"), (beside.COVERAGE, "coverage")):
        standing = results.standing("2 labels a class", metric)
        ours, best = standing.mean(DEFAULT), standing.best()
        if ours is not None and best is not None:
            parts.append(f"{title} {ours:.3f}")
            rivals.append(f"{standing.mean(best):.3f} ({best})")
    task = f"Learn from two labels a class, {len(results.sets)} {part} sets, and find unseen items across views"
    return task, "; ".join(parts), f"best other method for each: {'; '.join(rivals)}"


def _means(results: Found) -> list[str]:
    """Return the line of the means over the kinds: of the default, and of the best rival of each kind."""
    standings = [standing for kind in results.kinds if (standing := results.standing(kind)).best()]
    ours = [standing.mean(DEFAULT) for standing in standings]
    theirs = [standing.mean(standing.best() or "") for standing in standings]
    if not standings or None in (*ours, *theirs):
        return ["mean", *[""] * len(VERDICT)]
    first, second = float(np.mean(np.array(ours, float))), float(np.mean(np.array(theirs, float)))
    return ["mean", f"{100 * first:.1f}", "", "best of each kind", f"{100 * second:.1f}", points(first - second), ""]


def _more_labels(results: Found) -> list[str]:
    """Return a table of what the next larger number of labels changes for the default."""
    order = [*(f"{count} label{'s' * (count > 1)} a class" for count in (1, 2, 5, 10)), "all labels"]
    lines = [["labels", "change of the default", "standard error", "not lower"]]
    for fewer, more in pairwise(kind for kind in order if kind in results.kinds):
        change, error = change_of(results.standing(fewer), results.standing(more))
        outcome = "" if not np.isfinite(error) else "kept" if change >= -error else "missed"
        lines.append([f"{fewer} → {more}", points(change), f"{100 * error:.1f}" if outcome else "", outcome])
    text = "More labels should not lower the mean over the sets by more than its standard error."
    return ["### More labels", text, table(lines)] if len(lines) > 1 else []


def change_of(fewer: Standing, more: Standing) -> tuple[float, float]:
    """Return how the mean of the default over the sets changes, and the standard error of this paired difference."""
    pairs = {name: (fewer.values[name].get(fewer.default), of.get(more.default)) for name, of in more.values.items()}
    complete = {
        name: (before, after) for name, (before, after) in pairs.items() if before is not None and after is not None
    }
    changes = [(after - before, more.overlaps[name]) for name, (before, after) in complete.items()]
    errors = [standard_error(change, overlap) if len(change) > 1 else np.inf for change, overlap in changes]
    return float(np.mean([change.mean() for change, _ in changes])), float(np.linalg.norm(errors)) / len(errors)


def _by_method(results: Found) -> list[list[str]]:
    """Return a table of the means over the sets, by method and kind."""
    lines = [["method", *results.kinds, "mean", SECONDS]]
    for method in results.methods:
        means = [results.standing(kind).mean(method) for kind in results.kinds]
        numbers = [value for value in means if value is not None]
        mean = f"{100 * np.mean(numbers):.1f}" if len(numbers) == len(means) else ""
        cells = ["" if value is None else f"{100 * value:.1f}" for value in means]
        lines.append([method, *cells, mean, results.seconds(method, results.sets)])
    return lines


def _of_set(results: Found, name: str) -> list[list[str]]:
    """Return a table of one set: mAP of every method by kind, its seconds, and the default beside the best rival."""
    lines = [["method", *results.kinds, SECONDS]]
    standings = [results.standing(kind, sets=[name]) for kind in results.kinds]
    for method in results.methods:
        cells = [mean_and_error(standing.values[name].get(method, ())) for standing in standings]
        lines.append([method, *cells, results.seconds(method, [name])])
    best = [standing.best_on(name) for standing in standings]
    ahead = [
        points(*standing.ahead_on(name, rival)) if rival and standing.on(name, DEFAULT) is not None else ""
        for standing, rival in zip(standings, best, strict=True)
    ]
    return [*lines, ["best rival", *(rival or "" for rival in best), ""], ["default is ahead", *ahead, ""]]


def _beyond_classes(results: Found) -> list[str]:
    """Return a table of each figure beside mAP, by kind and method."""
    parts = []
    for metric in (*beside.OWN, *beside.SPREAD):
        lines = [["known", *results.methods]]
        for kind in results.kinds:
            standing = results.standing(kind, metric)
            lines.append([kind, *beside.best_in_bold([standing.mean(name) for name in results.methods], metric)])
        if any(cell for line in lines[1:] for cell in line[1:]):
            parts += [f"#### {beside.TITLES[metric]}", table(lines)]
    text = f"Means over the sets and the directions across views, among unseen items: {beside.EXPLAINED}."
    return ["### Own items, coverage and hubness", text, *parts] if parts else []
