"""Tuning: what settings chosen by cross-validation are worth among unseen items, with labels and without.

The splits are those of the benchmark ``unseen``. The default is tuned as the product tunes it. On Corel and
Wikipedia kernel CCA, the default where no labels are known, is tuned by labels (mAP) and by how soon an item's own
other view is found, which needs none; both are measured by labels.
"""

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.frame.benchmark import Benchmark, Document, seeds_of, trial_arguments
from benchmarks.frame.databases import UNSEEN
from benchmarks.frame.journal import cache_folder, run_trials
from benchmarks.frame.tables import table
from benchmarks.sets.named import DEVELOPMENT, load, sets_argument, sets_of
from benchmarks.sets.split import Split
from benchmarks.sets.standing import interval, standard_error
from benchmarks.unseen import report
from benchmarks.unseen.trial import learn, retrieved
from crossview.engine.training.examples import Examples
from crossview.engine.training.settling import OF_ITEMS, OF_LABELS, OTHERS_OF_LABELS, Settled
from crossview.engine.training.tuning import tuned
from crossview.engine.values.recipe import ITEMS, LEARNER, MEASURES, Recipe, Tune

PLAIN, TUNED = "default", "default, tuned"
BY_LABELS, BY_ITEMS = "kernel cca, tuned by labels", "kernel cca, tuned without labels"
METHODS: dict[str, tuple[str, Tune | None]] = {
    PLAIN: (OF_LABELS, None),
    TUNED: (OF_LABELS, Tune({LEARNER: (OF_LABELS, *OTHERS_OF_LABELS)})),
    BY_LABELS: (OF_ITEMS, Tune(measure=MEASURES[0])),
    BY_ITEMS: (OF_ITEMS, Tune(measure=ITEMS)),
}
UNLABELLED = ("corel1k", "wikipedia")
"""Sets on which kernel CCA is tuned, which takes minutes."""
_PAIRS = ((TUNED, PLAIN), (BY_ITEMS, BY_LABELS))


def run(task: tuple[str, int], data: Path, cache: Path) -> dict[str, Any]:
    """Return the figures of all methods on one split, each [method, database, query view, view, metric, value]."""
    name, seed = task
    began = time.monotonic()
    split = load(name, data, cache)(seed)
    figures, choices = [], {}
    for method, (spec, how) in METHODS.items():
        if method in (BY_LABELS, BY_ITEMS) and name not in UNLABELLED:
            continue
        recipe = Recipe(spec=spec, views=tuple(split.rows), tune=how, seed=seed)
        for figure in _measured(recipe, split):
            figures.append([method, *figure[0]])
            choices[method] = figure[1]
    sizes = len(split.train), len(split.held_out)
    seconds = time.monotonic() - began
    return {"data": name, "seed": seed, "sizes": sizes, "figures": figures, "chosen": choices, "seconds": seconds}


def _measured(recipe: Recipe, split: Split) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Yield figures of a recipe, and with each the settings that were chosen."""
    settled, began, settings = Settled.without_catalog(recipe), time.perf_counter(), {}
    if settled.tune is not None:
        settled, tuning = tuned(settled, settled.tune, examples(split))
        settings = dict(tuning.chosen)
    chain = settled.pipeline()
    learn(chain, split)
    yield ("", "", "", "seconds", time.perf_counter() - began), settings
    for figure in retrieved(chain, split):
        if figure[0] == UNSEEN:
            yield figure, settings


def examples(split: Split) -> Examples:
    """Return the training items of a split, as the product's training has them."""
    count = len(split.train)
    return Examples(
        ids=np.arange(count),
        keys=tuple(map(str, range(count))),
        rows={name: rows[split.train] for name, rows in split.rows.items()},
        mask=np.ones((count, len(split.rows)), bool),
        labels=tuple((str(label),) for label in split.labels[split.train]),
        groups=None if split.groups is None else np.unique(split.groups[split.train], return_inverse=True)[1],
    )


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Return settings, rows and trials of all sets and seeds."""
    seeds, cache = seeds_of(options), cache_folder(options)
    for name in sets_of(options):
        load(name, options.data, cache)  # described once, before trials in several processes need it
    methods = {name: [spec, how and dict(how.values), how and how.measure] for name, (spec, how) in METHODS.items()}
    settings = {"seeds": list(seeds), "methods": methods, "workers": options.workers}
    tasks = {f"{name} seed {seed}": (name, seed) for seed in seeds for name in sets_of(options)}
    trials = run_trials(options, settings, tasks, run, options.data, cache)
    return {"settings": settings, "rows": report.rows(trials), "trials": trials}


def markdown(document: Document) -> str:
    """Return the report: in every direction what tuning gains, and what choosing without labels costs."""
    figures = report.figures_of(document["trials"])
    overlaps = {trial["data"]: trial["sizes"][1] / trial["sizes"][0] for trial in document["trials"]}
    text = (
        "mAP of held-out items that ask each other, means over random splits; differences are paired, with a 95 % "
        "interval corrected for overlapping splits (Nadeau and Bengio, 2003)."
    )
    parts = ["# Tuning: what chosen settings are worth among items that were not learned from", text]
    for new, old in _PAIRS:
        lines = [["set", "query → items", old, new, "difference", "standard error"]]
        for (data, database, query, target, metric), methods in figures.items():
            if (database, metric) == (UNSEEN, "map") and new in methods:
                differences = methods[new] - methods[old]
                mean, half = interval(differences, overlaps[data])
                error = standard_error(differences, overlaps[data])
                cells = [f"{methods[name].mean():.3f}" for name in (old, new)]
                lines.append([data, f"{query} → {target}", *cells, f"{mean:+.3f} ± {half:.3f}", f"{error:.3f}"])
        parts += [f"## {new}, beside: {old}", table(lines)]
    return "\n\n".join(parts)


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", type=Path, required=True, help="folder of the sets")
    sets_argument(parser, DEVELOPMENT)
    trial_arguments(parser, trials=5)


BENCHMARK = Benchmark("tuning", __doc__, _arguments, measure, markdown)
