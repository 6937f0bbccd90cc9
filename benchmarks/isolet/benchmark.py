"""Table 1 of Zhang, Maji and Tomioka (2015): spoken letters, with a metric for each group of speakers.

    python -m benchmarks isolet --data DIR [--json OUT] [--parts 3] [--trials N] [--report DIR]

DIR holds ``isolet_g1_g5.npz``: the first and the last of ISOLET's five groups of 30 speakers, which are two tasks; with
``--parts 3`` each is three, of ten speakers whose mean rows are alike. Rows are reduced to the principal components
with 99 per cent of their variance. Every run divides each task again, 60 per cent to train on, 20 to choose settings by
and 20 to test with: the share of these that their three nearest training rows give another letter.
"""

import argparse
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.frame.benchmark import Benchmark, Document, positive, seeds_of, trial_arguments
from benchmarks.frame.journal import by_seed, run_trials
from benchmarks.frame.tables import mean_and_error, summary, table
from benchmarks.isolet.data import NEIGHBORS, SHARES, VARIANCE, Letters, divide, read
from benchmarks.isolet.methods import JOINT, METHODS, MULTI, PEER, SEPARATE, WAYS, WIDE, measure

Trials = Sequence[Mapping[str, Any]]
PAPER: Mapping[str, tuple[str, str]] = {MULTI: ("5.48", "4.23"), JOINT: ("4.42", "3.72"), WIDE: ("4.65", "3.81")}
"""The means of the paper's tasks 1 and 5, whose "all" are five groups of speakers and not two."""
PAIRS = ((MULTI, SEPARATE), (JOINT, MULTI), (WIDE, MULTI), (JOINT, WIDE))
_SHOWN = {"own": "task's own rows", "all": "rows of all tasks"}


def measure_all(options: argparse.Namespace) -> dict[str, Any]:
    """Return settings, rows and trials of all divisions."""
    letters = read(options.data, options.parts)
    names = [name for name in options.methods or METHODS if name != PEER or peers.available()]
    settings = {
        "seeds": list(seeds_of(options)),
        "rows": len(letters.rows),
        "columns": letters.rows.shape[1],
        "variance": VARIANCE,
        "tasks": np.bincount(letters.tasks).tolist(),
        "shares": SHARES,
        "neighbors": NEIGHBORS,
        "grids": {name: METHODS[name].grid for name in names},
        "workers": options.workers,
    }
    trials = run_trials(options, settings, by_seed(seeds_of(options)), run, letters, names, progress=progress)
    return {"settings": settings, "rows": rows(trials), "trials": trials}


def run(seed: int, letters: Letters, names: Sequence[str]) -> dict[str, Any]:
    """Return the figures of the named methods on one division."""
    began = time.perf_counter()
    division = divide(letters, seed)
    methods = {name: measure(METHODS[name], division) for name in names}
    return {"seed": seed, "methods": methods, "seconds": time.perf_counter() - began}


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", type=Path, required=True, help="folder with isolet_g1_g5.npz")
    parser.add_argument("--parts", type=positive, default=1, help="tasks that each group of speakers is cut into")
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), help="only these")
    trial_arguments(parser, trials=10)


def values(trials: Trials, method: str, way: str) -> list[float]:
    """Return the mean error over the tasks in every run."""
    return [float(np.mean(trial["methods"][method][way]["tasks"])) for trial in trials]


def rows(trials: Trials) -> list[dict[str, Any]]:
    """Return mean and deviation of the errors, of seconds, and of paired differences."""
    names = list(trials[0]["methods"])
    summaries: list[dict[str, Any]] = [
        {"method": name, "neighbors": way, "metric": "error", **summary(values(trials, name, way))}
        for name in names
        for way in WAYS
    ]
    summaries += [
        {"method": name, "metric": "seconds", **summary([trial["methods"][name]["seconds"] for trial in trials])}
        for name in names
    ]
    for first, second in _pairs(names):
        for way in WAYS:
            gain = np.subtract(values(trials, first, way), values(trials, second, way))
            row = {"method": first, "against": second, "neighbors": way, "metric": "difference in error"}
            summaries.append({**row, **summary(gain)})
    return summaries


def progress(trial: Mapping[str, Any]) -> str:
    """Return the errors of a run in one line."""
    means = {name: [100 * np.mean(of[way]["tasks"]) for way in WAYS] for name, of in trial["methods"].items()}
    errors = ", ".join(f"{name} {own:.2f}/{every:.2f}" for name, (own, every) in means.items())
    return f"{errors}; {trial['seconds']:.0f} s"


def headline(document: Document) -> tuple[str, str, str]:
    """Return a line of README."""
    trials = document["trials"]
    errors = [mean_and_error(values(trials, name, "own"), 100, 2) for name in (JOINT, MULTI)]
    task = "Recognise spoken letters by metrics that groups of speakers share: error of 3-NN, %"
    theirs = f"{PAPER[JOINT][0]} (MT-LMNN: {PAPER[MULTI][0]}) in the paper"
    return task, f"{errors[0]} (MT-LMNN: {errors[1]})", theirs


def markdown(document: Document) -> str:
    """Return the report: errors beside the paper's, paired differences, errors by task, and the chosen settings."""
    settings, trials = document["settings"], document["trials"]
    names = list(trials[0]["methods"])
    protocol = (
        f"{settings['rows']:,} rows of {settings['columns']} principal components in {len(settings['tasks'])} tasks; "
        f"60/20/20 per cent of each to train on, to choose settings by, to test with. {len(trials)} runs. Errors of "
        f"{settings['neighbors']}-NN in per cent, mean over the tasks, ± standard error over the runs. The paper's "
        "figures are of the same two groups of speakers, learned beside three that are not here."
    )
    lines = [["method", *(f"{_SHOWN[way]}{extra}" for way in WAYS for extra in ("", ", paper")), "seconds a fit"]]
    for name in names:
        paper = PAPER.get(name, ("", ""))
        errors = [mean_and_error(values(trials, name, way), 100, 2) for way in WAYS]
        cells = [cell for pair in zip(errors, paper, strict=True) for cell in pair]
        seconds = np.mean([trial["methods"][name]["seconds"] for trial in trials])
        lines.append([name, *cells, f"{seconds:.1f}"])
    differences = [["difference in error, points", *(_SHOWN[way] for way in WAYS)]]
    for first, second in _pairs(names):
        gains = [np.subtract(values(trials, first, way), values(trials, second, way)) for way in WAYS]
        differences.append([f"{first} − {second}", *(mean_and_error(gain, 100, 2, "+") for gain in gains)])
    parts = ["# Spoken letters of groups of speakers, after Zhang, Maji and Tomioka (2015), table 1", protocol]
    parts += [table(lines), f"## Paired over runs\n\n{table(differences)}", f"## By task\n\n{_by_task(trials, names)}"]
    return "\n\n".join([*parts, f"## Chosen settings\n\n{_chosen(trials, names)}"])


def _pairs(names: Sequence[str]) -> list[tuple[str, str]]:
    return [pair for pair in PAIRS if set(pair) <= set(names)]


def _by_task(trials: Trials, names: Sequence[str]) -> str:
    count = len(trials[0]["methods"][names[0]]["own"]["tasks"])
    lines = [["task", *(f"{name}, {_SHOWN[way]}" for name in names for way in WAYS)]]
    for task in range(count):
        cells = [[trial["methods"][name][way]["tasks"][task] for trial in trials] for name in names for way in WAYS]
        lines.append([str(task + 1), *(mean_and_error(cell, 100, 2) for cell in cells)])
    return table(lines)


def _chosen(trials: Trials, names: Sequence[str]) -> str:
    tuned = [name for name in names if trials[0]["methods"][name]["own"]["settings"]]
    lines = [["run", *tuned]]
    for trial in trials:
        lines.append([str(trial["seed"]), *(_settings(trial["methods"][name]["own"]["settings"]) for name in tuned)])
    return f"By the errors among the tasks' own rows.\n\n{table(lines)}"


def _settings(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value:g}" for name, value in settings.items() if isinstance(value, float | int))


BENCHMARK = Benchmark("isolet", __doc__, _arguments, measure_all, markdown, headline=headline)
