"""Notions that nobody named: triplets of 2, 3 and 6 views, mixed, against the same with their views.

200 uniform objects and random projections of them onto 2 dimensions and more, as in ``joint-synthetic``. Notions are
inferred by expectation maximisation, from the best of several random starts, and matched with the views by the least
triplet error in all. Both learn with the logistic loss, and with each weight of the same grid; that of the likeliest
held-out triplets is chosen, which are a tenth of the training triplets. The same likelihood is reported of one notion
fewer and of one more.
"""

import argparse
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.frame.benchmark import Benchmark, Document, numbers, positive, seeds_of, trial_arguments
from benchmarks.frame.journal import run_trials
from benchmarks.frame.tables import mean_and_error, summary, table
from benchmarks.joint.data import DIMENSIONS, OBJECTS, of, synthetic, triplets
from benchmarks.joint.hidden_notions import Hidden, learn_hidden, matched
from benchmarks.joint.notion_measures import triplet_error
from crossview.engine.learners.frame.comparisons import Comparisons
from crossview.engine.learners.papers.joint.joint_fit import JointSettings
from crossview.engine.learners.papers.joint.joint_objects import JointObjects
from crossview.engine.learners.papers.joint.objectives import Objects
from crossview.engine.learners.papers.losses.constraints import triplets as constrained

GRID = (3e-4, 1e-3, 3e-3)
TEST, HELD_OUT = 4_000, 0.1
SOLVING = JointSettings(n_components=10, loss="logistic", tol=1e-5, max_iter=400)


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Return settings, rows and trials: a trial is of a number of notions and a seed."""
    seeds = list(seeds_of(options))
    settings = {
        "seeds": seeds,
        "notions": options.notions,
        "triplets of a notion": options.triplets,
        "starts": options.starts,
        "grid": GRID,
        "dimensions": SOLVING.n_components,
    }
    tasks = {f"{count} notions, seed {seed}": (count, seed) for count in options.notions for seed in seeds}
    trials = run_trials(options, settings, tasks, run, settings, progress=_progress)
    rows = [
        {"notions": count, "method": method, "metric": "error", **summary(_errors(trials, count, method))}
        for count in options.notions
        for method in ("labelled", "hidden")
    ]
    return {"settings": settings, "rows": rows, "trials": trials}


def run(task: tuple[int, int], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the mean triplet errors of hidden and of labelled notions."""
    count, seed = task
    began = time.perf_counter()
    views = synthetic("uniform", seed, OBJECTS, DIMENSIONS[:count]).views
    generator = np.random.default_rng([seed, count])
    train, test = (triplets(views, [each] * count, generator) for each in (settings["triplets of a notion"], TEST))
    mask = generator.random(len(train)) >= HELD_OUT
    learned, other = train.take(mask), train.take(~mask)
    hidden, likelihood = _best(learned, other, count, settings)
    errors = _matched_errors(hidden, test, count)
    labelled = min((_labelled(learned, other, alpha) for alpha in GRID), key=lambda fit: fit[0])[1]
    return {
        "notions": count,
        "seed": seed,
        "hidden": errors,
        "labelled": [
            triplet_error(labelled.embeddings_[str(notion)], of(test, notion)).value for notion in range(count)
        ],
        "likelihoods": {str(count): likelihood}
        | {str(near): _best(learned, other, near, settings)[1] for near in (count - 1, count + 1)},
        "seconds": time.perf_counter() - began,
    }


def _best(learned: Comparisons, other: Comparisons, count: int, settings: Mapping[str, Any]) -> tuple[Hidden, float]:
    """Return the hidden notions of the weight under which other triplets are likeliest, and their likelihood."""
    inputs, fits = Objects(OBJECTS), []
    for alpha in GRID:
        how = replace(SOLVING, alpha=alpha)
        hidden = learn_hidden(inputs, constrained(learned.items), count, how, settings["starts"])
        fits.append((hidden, hidden.held_out(inputs, constrained(other.items))))
    return max(fits, key=lambda fit: fit[1])


def _labelled(learned: Comparisons, other: Comparisons, alpha: float) -> tuple[float, JointObjects]:
    learner = JointObjects(replace(SOLVING, alpha=alpha)).fit(learned, OBJECTS)
    errors = [triplet_error(rows, of(other, int(name))).value for name, rows in learner.embeddings_.items()]
    return float(np.mean(errors)), learner


def _matched_errors(hidden: Hidden, test: Comparisons, count: int) -> list[float]:
    placed = [Objects(OBJECTS).project(factor) for factor in hidden.learned.factors]
    errors = np.array([[triplet_error(rows, of(test, notion)).value for rows in placed] for notion in range(count)])
    return [float(errors[place, notion]) for place, notion in enumerate(matched(errors))]


def _errors(trials: Any, count: int, method: str) -> list[float]:
    return [float(np.mean(trial[method])) for trial in trials if trial["notions"] == count]


def _progress(trial: Mapping[str, Any]) -> str:
    return f"hidden {np.mean(trial['hidden']):.3f}, labelled {np.mean(trial['labelled']):.3f}, {trial['seconds']:.0f} s"


def markdown(document: Document) -> str:
    """Return a table of errors, and one of likelihoods by number of notions."""
    settings, trials = document["settings"], document["trials"]
    likelihoods = "nats a held-out triplet: one notion fewer", "as many", "one more"
    lines = [["notions", "labelled, error %", "hidden", "points more", *likelihoods]]
    for count in settings["notions"]:
        labelled, hidden = (np.array(_errors(trials, count, method)) for method in ("labelled", "hidden"))
        nats = [
            [trial["likelihoods"][str(near)] for trial in trials if trial["notions"] == count]
            for near in (count - 1, count, count + 1)
        ]
        cells = [mean_and_error(values) for values in (labelled, hidden, hidden - labelled)]
        lines.append([str(count), *cells, *(mean_and_error(values, 1, 4) for values in nats)])
    about = (
        f"{settings['triplets of a notion']:,} triplets of each view, D = {settings['dimensions']}, "
        f"{settings['starts']} starts, {len(settings['seeds'])} seeds; ± is the standard error over the seeds."
    )
    return f"# Hidden notions\n\n{about}\n\n{table(lines)}"


def _arguments(parser: argparse.ArgumentParser) -> None:
    trial_arguments(parser, trials=5)
    parser.add_argument("--notions", type=numbers, default=(2, 3, 6), help="numbers of notions, 2 at least")
    parser.add_argument("--triplets", type=positive, default=40_000, help="number of triplets of a notion")
    parser.add_argument("--starts", type=positive, default=6, help="number of random starts")


BENCHMARK = Benchmark("joint-hidden", __doc__, _arguments, measure, markdown)
