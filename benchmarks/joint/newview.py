"""Figure 4 (c) of Zhang, Maji and Tomioka (2015): a notion that comes later, of which few triplets are known.

Each notion of a set is left out in turn, and the others are learned together from 3,000 triplets each. The left-out one
is then learned from few: over the map of the others, which stays as it is; together with the others from the start; or
by itself.
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.frame.benchmark import Benchmark, Document, numbers, positive, seeds_of, trial_arguments
from benchmarks.frame.journal import run_trials
from benchmarks.frame.plots import panels
from benchmarks.frame.tables import mean_and_error, summary, table
from benchmarks.joint import tables
from benchmarks.joint.methods import ENOUGH, FOLDS, SOLVING, Method, best_of, weights
from benchmarks.joint.notion_measures import triplet_error
from benchmarks.joint.people import Triplets, drawn
from benchmarks.joint.sets import SYNTHETIC, Notions
from benchmarks.joint.synthetic_report import COLORS
from crossview.engine.learners.frame.comparisons import Comparisons
from crossview.engine.learners.frame.view_rows import Rows
from crossview.engine.learners.papers.joint.joint_objects import JointObjects, Listed
from crossview.engine.learners.papers.joint.objectives import Features

DIMENSIONS, MANY = 10, 3_000
"""Dimension of the embeddings; and triplets of each earlier notion."""
NEW = "new"
FEW = (10, 30, 100, 300, 1_000, 3_000, 10_000)
MAP, ALONE = (3e-2, 1e-2, 3e-3), (1e-1, 1e-2, 1e-3)
"""Weights that are tried: of the others together, and of the notion by itself."""

Trials = Sequence[Mapping[str, Any]]

ADDED, JOINT, INDEPENDENT = "added over the map", "joint from the start", "independent"
METHODS = {ADDED: COLORS["joint"], JOINT: "#009E73", INDEPENDENT: COLORS["independent"]}
PAPER = 700
"""Triplets up to which joint learning was better than independent, of one view of birds."""


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Return settings, rows and trials: a trial is of a set and a seed."""
    settings = {
        "seeds": list(seeds_of(options)),
        "sets": options.sets,
        "triplets of the others": options.many,
        "triplets": options.few,
        "dimensions": DIMENSIONS,
        "test triplets": tables.TEST,
        "grids": {"map": MAP, INDEPENDENT: ALONE},
        "folds": FOLDS,
        "held-out triplets that choose": ENOUGH,
        "solver": {"tol": SOLVING.tol, "max_iter": SOLVING.max_iter},
        "workers": options.workers,
    }
    tasks = {f"{name}, seed {seed}": (name, seed) for name in options.sets for seed in seeds_of(options)}
    trials = run_trials(options, settings, tasks, run, options.many, options.few, progress=progress)
    return {"settings": settings, "rows": rows(trials), "trials": trials}


def run(task: tuple[str, int], many: int, few: Sequence[int]) -> dict[str, Any]:
    """Return the errors of every method by number of triplets, with each notion of a set left out."""
    name, seed = task
    notions = SYNTHETIC[name](seed)
    left_out = [_left_out(notions, place, many, few, seed) for place in range(len(notions.names))]
    return {"set": name, "seed": seed, "notions": left_out}


def _left_out(notions: Notions, place: int, many: int, few: Sequence[int], seed: int) -> dict[str, Any]:
    """Return the errors in one notion, of which the others are known."""
    rest = replace(
        notions,
        names=(*notions.names[:place], *notions.names[place + 1 :]),
        distances=np.delete(notions.distances, place, axis=0),
    )
    comparisons = tables.compared(rest, [many] * len(rest.names), np.random.default_rng([seed, 1, place]))
    method = Method("joint", DIMENSIONS, MAP)
    (alpha, *_) = weights(method, comparisons, notions.count, len(rest.names), seed)
    learner = JointObjects(replace(SOLVING, n_components=DIMENSIONS, alpha=alpha)).fit(comparisons, notions.count)
    distances = notions.distances[place]
    own = drawn(distances, max(few), np.random.default_rng([seed, 2, place]))
    test = drawn(distances, tables.TEST, np.random.default_rng([seed, 3, place]))
    curves = []
    for count in few:
        embeddings = _learned(learner, comparisons, own[:count], seed)
        curves += [
            {"method": name, "triplets": count, "error": triplet_error(rows, test).value} for name, rows in embeddings
        ]
    return {"notion": notions.names[place], "map": triplet_error(learner.common_, test).value, "curves": curves}


def _learned(learner: JointObjects, comparisons: Comparisons, few: Triplets, seed: int) -> Iterator[tuple[str, Rows]]:
    """Yield the embedding of the new notion by every method."""
    count = len(learner.common_)
    yield ADDED, added(learner, Comparisons(few))
    notions = np.concatenate([np.asarray(comparisons.notions), np.full(len(few), NEW)])
    together = Comparisons(np.concatenate([comparisons.items, few]), notions=notions)
    yield JOINT, JointObjects(learner.how).fit(together, count).embeddings_[NEW]
    yield INDEPENDENT, best_of(partial(_alone, count), ALONE, few, seed)[0]


def added(learner: JointObjects, comparisons: Comparisons) -> Rows:
    """Return the places of the objects in one more notion, over the common embedding, which stays as it is.

    The weight of the penalty relative to the mean loss of these comparisons is that relative to the mean loss of all
    others.
    """
    listed = Listed.of(comparisons, [NEW], learner.bounds, "objects")
    (factor,) = listed.learn(Features(learner.common_), replace(learner.how, sharing="independent")).factors
    return np.asarray(learner.common_ @ factor)


def _alone(count: int, few: Triplets, alpha: float) -> Rows:
    how = replace(SOLVING, n_components=DIMENSIONS, alpha=alpha, sharing="independent")
    return JointObjects(how).fit(Comparisons(few), count).embeddings_[""]


def _arguments(parser: argparse.ArgumentParser) -> None:
    trial_arguments(parser, trials=5)
    parser.add_argument(
        "--sets", nargs="+", choices=list(SYNTHETIC), default=["uniform", "poses"], help="which objects"
    )
    parser.add_argument("--many", type=positive, default=MANY, help="number of triplets of each of the others")
    parser.add_argument("--few", type=numbers, default=FEW, help="numbers of triplets of the new notion")


def progress(trial: Mapping[str, Any]) -> str:
    """Return the errors of a trial in one line."""
    counts = _counts([trial])
    errors = (
        f"{name} {' '.join(f'{100 * _errors([trial], name, count)[0]:.1f}' for count in counts)}" for name in METHODS
    )
    return ", ".join(errors)


def rows(trials: Trials) -> list[dict[str, Any]]:
    """Return mean and deviation over the seeds of every mean error over the notions."""
    summaries = []
    for name in _sets(trials):
        of_set = _of(trials, name)
        maps = summary([float(np.mean([notion["map"] for notion in trial["notions"]])) for trial in of_set])
        summaries.append({"set": name, "method": "map alone", "metric": "error", **maps})
        for method in METHODS:
            for count in _counts(of_set):
                errors = summary(_errors(of_set, method, count))
                summaries.append({"set": name, "method": method, "triplets": count, "metric": "error", **errors})
    return summaries


def markdown(document: Document) -> str:
    """Return the report: errors by number of triplets of the new notion, and how long the others help."""
    settings, trials = document["settings"], document["trials"]
    about = (
        f"Each notion is left out in turn, with {settings['triplets of the others']:,} triplets of each of the others. "
        f"Error of {settings['test triplets']:,} test triplets of the notion that was left out in per cent, by the "
        f"number of its triplets, the mean over all notions, ± standard error over {len(settings['seeds'])} seeds. D = "
        f"{settings['dimensions']}. *Added*: the map of the others stays, and only the notion's metric is learned."
    )
    parts = ["# A notion that comes later, after Zhang, Maji and Tomioka (2015), figure 4 (c)", about]
    for name in _sets(trials):
        of_set = _of(trials, name)
        maps = [float(np.mean([notion["map"] for notion in trial["notions"]])) for trial in of_set]
        text = (
            f"Without any triplet of the notion, by the map alone: {mean_and_error(maps)} %. Added is better than "
            f"independent up to {_better(of_set)} triplets; in the paper joint was so up to around {PAPER}, on birds."
        )
        parts += [f"## {name.capitalize()}", text, _table(of_set)]
    return "\n\n".join(parts)


def plot(path: Path, document: Document) -> None:
    """Draw the errors by number of triplets, a panel for each set."""
    trials = document["trials"]
    names = _sets(trials)
    with panels(path, 1, len(names), (5.5 * len(names), 4.5), sharey=True, squeeze=False) as figure:
        for axis, name in zip(figure.axes, names, strict=True):
            of_set = _of(trials, name)
            counts = _counts(of_set)
            for method, color in METHODS.items():
                errors = [100 * np.mean(_errors(of_set, method, count)) for count in counts]
                axis.semilogx(counts, errors, "o-", color=color, label=method)
            axis.set_title(name)
            axis.set_xlabel("triplets of the new notion")
        figure.axes[0].set_ylabel("triplet error, %")
        figure.axes[0].legend(frameon=False)


def _table(trials: Trials) -> str:
    lines = [["method", *(f"{count:,}" for count in _counts(trials))]]
    lines += [[name, *(mean_and_error(_errors(trials, name, count)) for count in _counts(trials))] for name in METHODS]
    return table(lines)


def _better(trials: Trials) -> str:
    """Return the most triplets up to which the mean error of the added notion is less than the independent one's."""
    last = "no"
    for count in _counts(trials):
        if np.mean(_errors(trials, ADDED, count)) >= np.mean(_errors(trials, INDEPENDENT, count)):
            break
        last = f"{count:,}"
    return last


def _errors(trials: Trials, method: str, count: int) -> list[float]:
    """Return the mean error over the notions, by trial."""
    return [_error(trial, method, count) for trial in trials]


def _error(trial: Mapping[str, Any], method: str, count: int) -> float:
    points = (point for notion in trial["notions"] for point in notion["curves"])
    return float(
        np.mean([point["error"] for point in points if (point["method"], point["triplets"]) == (method, count)])
    )


def _counts(trials: Trials) -> list[int]:
    return sorted({point["triplets"] for point in trials[0]["notions"][0]["curves"]})


def _sets(trials: Trials) -> list[str]:
    return list(dict.fromkeys(trial["set"] for trial in trials))


def _of(trials: Trials, name: str) -> Trials:
    return [trial for trial in trials if trial["set"] == name]


BENCHMARK = Benchmark(
    "joint-newview",
    __doc__,
    _arguments,
    measure,
    markdown,
    plot,
    "error of a new notion by its number of triplets",
)
