"""Kinds of information: few, missing, wrong and no labels, pairs of similar items, items that lack views.

Random 80/20 splits of photographs (corel1k, merged20), of Wikipedia's images and texts, of faces (pubfig) and of spoken
letters (isolet). The seed draws at most 1,000 training items with supervision: every method learns from
that, each at its own defaults, and held-out items ask each other across the views.
"""

import argparse
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.frame import beside
from benchmarks.frame.benchmark import Benchmark, Document, seeds_of, trial_arguments
from benchmarks.frame.databases import TRAINED, UNSEEN
from benchmarks.frame.journal import cache_folder, run_trials
from benchmarks.frame.tables import mean_and_error, summary, table
from benchmarks.information import rivals
from benchmarks.information.kinds import KINDS, Known, known
from benchmarks.sets.named import load, sets_argument, sets_of
from benchmarks.sets.split import Split
from benchmarks.unseen.report import standard_error
from benchmarks.unseen.trial import retrieved
from crossview.engine.learners.chain import Chain
from crossview.engine.learners.registry import parse_chain
from crossview.engine.learners.supervision import Supervision

SETS = ("corel1k", "merged20", "wikipedia", "pubfig", "isolet")

Trials = Sequence[Mapping[str, Any]]
Values = dict[str, NDArray[np.float64]]
"""The values of a figure over the splits, by method."""
FIRST = "co-em"

MOST_ITEMS = 1000
"""Items that are learned from, drawn by chance where there are more."""


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Return settings, rows and trials of all sets and seeds."""
    seeds, cache = seeds_of(options), cache_folder(options)
    for name in sets_of(options):
        load(name, options.data, cache)  # described once, before trials in several processes need it
    methods = {name: [method.spec, dict(SETTINGS.get(name, {}))] for name, method in METHODS.items()}
    settings = {"seeds": list(seeds), "methods": methods, "kinds": list(KINDS), "most_items": MOST_ITEMS}
    settings["workers"] = options.workers
    tasks = {f"{name} seed {seed}": (name, seed) for seed in seeds for name in sets_of(options)}
    trials = run_trials(options, settings, tasks, run, options.data, cache)
    return {"settings": settings, "rows": rows(trials), "trials": trials}


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", required=True, type=Path, help="folder of the sets")
    sets_argument(parser, SETS)
    trial_arguments(parser, trials=5)


def figures_of(trials: Trials) -> dict[tuple[str, str, str, str], Values]:
    """Return the values by set, kind, database and metric, then by method."""
    found: dict[tuple[str, str, str, str], dict[str, list[float]]] = {}
    for trial in trials:
        for kind, method, database, metric, value in trial["figures"]:
            found.setdefault((trial["data"], kind, database, metric), {}).setdefault(method, []).append(value)
    return {key: {name: np.array(values) for name, values in one.items()} for key, one in found.items()}


def rows(trials: Trials) -> list[dict[str, Any]]:
    """Return mean and deviation over the splits of every figure."""
    names = ("data", "kind", "database", "metric")
    return [
        {**dict(zip(names, key, strict=True)), "method": method, **summary(values)}
        for key, methods in figures_of(trials).items()
        for method, values in methods.items()
    ]


def lead(values: Values, count: int, overlap: float) -> tuple[str, float, float] | None:
    """Return the best method but ``FIRST``, and by how much ``FIRST`` is ahead of it, with the standard error of the
    paired difference; None where ``FIRST`` or all others lack a split."""
    others = [name for name in values if name != FIRST and len(values[name]) == count]
    if not others or len(values.get(FIRST, ())) < count:
        return None
    best = max(others, key=lambda name: float(values[name].mean()))
    gain = values[FIRST] - values[best]
    return best, float(gain.mean()), standard_error(gain, overlap) if count > 1 else float("inf")


def markdown(document: Document) -> str:
    """Return the report: for every kind of information the mAP of all methods on every set."""
    trials, settings = document["trials"], document["settings"]
    figures, sets = figures_of(trials), list(dict.fromkeys(trial["data"] for trial in trials))
    text = (
        f"Of at most {settings['most_items']:,} training items something is known: their classes, of some or wrong "
        "ones of some; pairs of items of one class, some of them wrong; nothing but that an item's views belong "
        "together. Every method learns from the same, at its own defaults: those that take classes take items that "
        "pairs join for one; Multi-NPP and cluster CCA (Rasiwasia et al., 2014) all pairs of similar items; kernel CCA "
        "and PLS the views of items. Held-out items ask each other across the views: mAP in per cent, mean over all "
        "directions, ± standard error over the splits. The last columns: the best of the others, and what co-EM is "
        "ahead, paired, with a standard error corrected for overlapping splits (Nadeau and Bengio, 2003)."
    )
    parts = [
        "# Kinds of supervision: few, wrong and no labels, pairs, missing views",
        text,
        *_summary(trials),
        *_beyond_classes(trials),
    ]
    for name in sets:
        parts.append(f"## {name}")
        parts += [table(_lines(trials, figures, name, UNSEEN))]
    parts += ["## In the database that was learned from", "Held-out items ask the items that were learned from."]
    for name in sets:
        parts.append(f"### {name}, trained")
        parts += [table(_lines(trials, figures, name, TRAINED))]
    return "\n\n".join(parts)


def headline(document: Document) -> tuple[str, str, str]:
    """Return the mean over the sets of two labels a class, of co-EM and of class posteriors."""
    figures = figures_of(document["trials"])
    kind, other = "2 labels a class", "posteriors"
    parts = []
    for metric, title in (
        ("across", ""),
        (beside.RECALL, "own item in the first ten: "),
        (beside.COVERAGE, "coverage: "),
    ):
        if found := [of for key, of in figures.items() if key[1:] == (kind, UNSEEN, metric)]:
            ours, theirs = (np.mean([of[name].mean() for of in found]) for name in (FIRST, other))
            parts.append(f"{title}{ours:.3f} ({other}: {theirs:.3f})")
    shown = "; ".join(parts)
    return "two labels a class on five sets across views, unseen items: mAP", shown, ""


def _lines(
    trials: Trials, figures: Mapping[tuple[str, str, str, str], Values], name: str, database: str
) -> list[list[str]]:
    own = [trial for trial in trials if trial["data"] == name]
    overlap = own[0]["sizes"][1] / own[0]["sizes"][0]
    methods = list(dict.fromkeys(figure[1] for figure in own[0]["figures"]))
    lines = [["known", *methods, "best other", "ahead"]]
    for kind in dict.fromkeys(figure[0] for figure in own[0]["figures"]):
        values = figures.get((name, kind, database, "across"), {})
        cells = [mean_and_error(values.get(method, ())) for method in methods]
        found = lead(values, len(own), overlap)
        shown = ["", ""] if found is None else [found[0], f"{100 * found[1]:+.1f} ± {100 * found[2]:.1f}"]
        lines.append([kind, *cells, *shown])
    return lines


def _summary(trials: Trials) -> list[str]:
    """Return a table of the kinds: on how many sets co-EM is first, equal and behind, beyond its standard error."""
    figures = figures_of(trials)
    lines = [["known", "sets where co-EM is first", "equal", "behind", "mean mAP of co-EM", "of the best others"]]
    for kind in dict.fromkeys(figure[0] for figure in trials[0]["figures"]):
        counts, ours, theirs = [0, 0, 0], [], []
        for name in dict.fromkeys(trial["data"] for trial in trials):
            own = [trial for trial in trials if trial["data"] == name]
            values = figures.get((name, kind, UNSEEN, "across"), {})
            found = lead(values, len(own), own[0]["sizes"][1] / own[0]["sizes"][0])
            if found is None:
                continue
            best, gain, error = found
            counts[0 if gain > error else 2 if gain < -error else 1] += 1
            ours.append(values[FIRST].mean())
            theirs.append(values[best].mean())
        means = [f"{100 * np.mean(one):.1f}" if one else "" for one in (ours, theirs)]
        lines.append([kind, *map(str, counts), *means])
    return ["## By what is known", table(lines)]


def _beyond_classes(trials: Trials) -> list[str]:
    """Return a table of each figure beside mAP, by kind and method; results of earlier versions have none."""
    figures = figures_of(trials)
    parts = []
    for metric in (*beside.OWN, *beside.SPREAD):
        lines = [["known", *METHODS]]
        for kind in dict.fromkeys(figure[0] for figure in trials[0]["figures"]):
            of_sets = [of for key, of in figures.items() if key[1:] == (kind, UNSEEN, metric)]
            found = [[of[name].mean() for of in of_sets if name in of] for name in METHODS]
            means = [float(np.mean(one)) if one and len(one) == len(of_sets) else None for one in found]
            lines.append([kind, *beside.best_in_bold(means, metric)])
        if any(cell for line in lines[1:] for cell in line[1:]):
            parts += [f"### {beside.TITLES[metric]}", table(lines)]
    text = f"Means over the sets and the directions across views, among unseen items: {beside.EXPLAINED}."
    return ["## Own items, coverage and hubness", text, *parts] if parts else []


@dataclass(frozen=True)
class Method:
    """A column of the tables: a pipeline, and the form of its supervision."""

    spec: str
    supervision: Callable[[Known], Supervision]

    def fitted(self, rows: list[NDArray[Any]], given: Known, settings: Mapping[str, Any]) -> Chain | None:
        """Return the pipeline after it learned rows, (n, d_v) by view, with the same random draws each time."""
        chain = parse_chain(self.spec, settings)
        for step in chain.steps:
            if "random_state" in step.get_params():
                step.set_params(random_state=0)
        chain.fit(rows, self.supervision(given))
        return chain


@dataclass(frozen=True)
class Rival:
    """A column of the tables: a method that is not the product's."""

    learn: Callable[[list[NDArray[Any]], Known], Chain | None]

    @property
    def spec(self) -> str:
        """The name of the function."""
        return self.learn.__name__

    def fitted(self, rows: list[NDArray[Any]], given: Known, settings: Mapping[str, Any]) -> Chain | None:
        """Return a pipeline after the method learned rows; None if it can learn nothing."""
        return self.learn(rows, given)


METHODS: Mapping[str, Method | Rival] = {
    "co-em": Method("co-em,dot", Known.supervision),
    "class and instance": Method("class-instance:co-em,dot", Known.supervision),
    "instances": Method("instances", lambda given: Supervision(mask=given.mask, groups=given.groups)),
    "posteriors": Method("posteriors,dot", Known.by_classes),
    "ridge to the classes": Method("sqrt,kernel:rbf,semantic,dot", Known.by_classes),
    "multi-npp": Method("sqrt,kernel:rbf,multi-npp", Known.by_pairs),
    "multi-npp, dot": Method("sqrt,kernel:rbf,multi-npp,dot", Known.by_pairs),
    "cluster cca": Method("sqrt,kernel:rbf,multi-npp", Known.by_pairs),
    "kernel cca": Method("sqrt,kernel:rbf,cca", lambda given: Supervision(mask=given.mask)),
    "kernel cca, cosine": Method("sqrt,kernel:rbf,cca,l2", lambda given: Supervision(mask=given.mask)),
    "kernel pls": Method("sqrt,kernel:rbf,pls", lambda given: Supervision(mask=given.mask)),
    "label spreading": Rival(rivals.label_spreading),
    "self-training": Rival(rivals.self_training),
    "spectral clustering": Rival(rivals.spectral_clustering),
}
SETTINGS: Mapping[str, Mapping[str, Any]] = {"cluster cca": {"max_iter": 0}}


def run(task: tuple[str, int], data: Path, cache: Path) -> dict[str, Any]:
    """Return the figures of all methods on one split, each [kind, method, database, metric, value]."""
    name, seed = task
    began = time.monotonic()
    split = load(name, data, cache)(seed)
    draw = np.random.default_rng(seed)
    items = split.train if len(split.train) <= MOST_ITEMS else np.sort(draw.permutation(split.train)[:MOST_ITEMS])
    figures = []
    for kind in KINDS:
        given = known(kind, split, items, seed)
        for method in METHODS:
            figures += [[kind, method, *figure] for figure in _measured(method, given, split, items)]
    sizes = len(items), len(split.held_out)
    return {"data": name, "seed": seed, "sizes": sizes, "figures": figures, "seconds": time.monotonic() - began}


def _measured(method: str, given: Known, split: Split, items: Any) -> Iterator[tuple[str, str, float]]:
    """Yield database, metric and value of a method; nothing where it cannot learn from what is given."""
    began = time.perf_counter()
    views = zip(split.rows.values(), given.mask.T, strict=True)
    rows = [np.where(present[:, None], view[items], np.nan) for view, present in views]
    try:
        chain = METHODS[method].fitted(rows, given, SETTINGS.get(method, {}))
    except ValueError:
        return
    if chain is None:
        return
    yield "", "seconds", time.perf_counter() - began
    learned = Split(rows=split.rows, labels=split.labels, train=items, held_out=split.held_out, groups=split.groups)
    found: dict[tuple[str, str], list[float]] = {}
    for database, query, target, metric, value in retrieved(chain, learned):
        if metric == beside.MAP and database in (TRAINED, UNSEEN):
            found.setdefault((database, "within" if query == target else "across"), []).append(value)
        elif metric in beside.TITLES and database == UNSEEN and query != target:
            found.setdefault((database, metric), []).append(value)
    yield from ((*key, float(np.mean(values))) for key, values in found.items())


BENCHMARK = Benchmark("information", __doc__, _arguments, measure, markdown, headline=headline)
