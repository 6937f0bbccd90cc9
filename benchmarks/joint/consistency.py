"""Figure 5 of Zhang, Maji and Tomioka (2015): what sharing gains, by how consistent the notions are.

    python -m benchmarks joint-consistency [--json OUT] [--data DIR] [--trials N] [--report DIR]

Consistency is the share of random triplets that two notions order equally, the mean over all pairs of notions. The gain
is the share by which the area under the triplet error is smaller than that of independent embeddings.

Sets are those of the other benchmarks of notions, faces where DIR holds ``pubfig_relattr.npz``, and a family in which
consistency is chosen: five notions have four normal coordinates in common, which are a share of every squared distance,
and four of their own each.
"""

import argparse
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.frame.benchmark import Benchmark, Document, numbers, positive, seeds_of, trial_arguments
from benchmarks.frame.journal import run_trials
from benchmarks.frame.plots import panels
from benchmarks.frame.tables import mean_and_error, summary, table
from benchmarks.joint import tables
from benchmarks.joint.methods import FOLDS, SOLVING, Method
from benchmarks.joint.objects import GRIDS
from benchmarks.joint.sets import SYNTHETIC, Notions, faces, partly_shared
from benchmarks.joint.synthetic_report import COLORS

SHARES = (0, 30, 60, 85)
"""Per cent of a squared distance that notions have in common."""
ENOUGH = 600
"""Held-out triplets that choose a weight."""

Trials = Sequence[Mapping[str, Any]]

PAPER: Mapping[str, tuple[float, float, float]] = {
    "birds": (0.53, -4.6, -8.0),
    "faces": (0.59, 6.5, -56),
    "uniform": (0.60, 26, -40),
    "clustered": (0.69, 44, -29),
    "poses": (0.85, 35, 23),
}
"""Table 3, by set: consistency, and the gains of joint and of pooled learning, per cent."""
SHARINGS = tables.JOINT, tables.POOLED


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Return settings, rows and trials: a trial is of a set and a seed."""
    settings = {
        "seeds": list(seeds_of(options)),
        "budgets": options.budgets,
        "dimensions": options.width,
        "shares": options.shares,
        "grids": GRIDS,
        "test triplets of a notion": tables.TEST,
        "folds": FOLDS,
        "held-out triplets that choose": ENOUGH,
        "solver": {"tol": SOLVING.tol, "max_iter": SOLVING.max_iter},
        "workers": options.workers,
    }
    sets: dict[str, Callable[[int], Notions]] = dict(SYNTHETIC)
    if options.data:
        sets["faces"] = partial(faces, folder=options.data)
    sets |= {of_share(share): partial(partly_shared, share / 100) for share in options.shares}
    tasks = {f"{name}, seed {seed}": (name, load, seed) for name, load in sets.items() for seed in seeds_of(options)}
    trials = run_trials(options, settings, tasks, run, options.budgets, options.width, progress=progress)
    return {"settings": settings, "rows": rows(trials, settings), "trials": trials}


def run(task: tuple[str, Callable[[int], Notions], int], budgets: Sequence[int], width: int) -> dict[str, Any]:
    """Return the consistency of a set, and the errors of every method by number of triplets."""
    name, load, seed = task
    notions = load(seed)
    methods = [Method(sharing, width, grid, ENOUGH) for sharing, grid in GRIDS.items()]
    curves = tables.curves(notions, methods, budgets, seed)
    return {"set": name, "seed": seed, "consistency": tables.consistency(notions, seed), "curves": curves}


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", type=Path, help="folder with pubfig_relattr.npz; without it there are no faces")
    trial_arguments(parser, trials=5)
    parser.add_argument("--budgets", type=_budgets, default=(1_000, 3_000, 10_000), help="numbers of triplets")
    parser.add_argument("--width", type=positive, default=10, help="dimensions of the embeddings")
    parser.add_argument("--shares", type=_shares, default=SHARES, help="per cent that notions have in common")


def _budgets(text: str) -> tuple[int, ...]:
    budgets = numbers(text)
    if len(budgets) < 2:
        raise argparse.ArgumentTypeError(f"there is no area under the error at {text} alone: name two numbers or more")
    return budgets


def _shares(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(","))


def of_share(share: int) -> str:
    """Return the name of a set whose notions have a share in common, per cent."""
    return f"{share} % shared"


def progress(trial: Mapping[str, Any]) -> str:
    """Return the consistency and the errors of a trial in one line."""
    return f"{trial['consistency']:.2f}, {tables.progress(trial)}"


def rows(trials: Trials, settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return mean and deviation of every consistency, gain and error."""
    summaries: list[dict[str, Any]] = []
    for name in _sets(trials):
        of_set = _of(trials, name)
        consistency = summary([trial["consistency"] for trial in of_set])
        summaries.append({"set": name, "method": "notions", "metric": "consistency", **consistency})
        for sharing, gains in tables.gains(of_set, settings["budgets"], settings["dimensions"]).items():
            summaries.append({"set": name, "method": sharing, "metric": "area gained", **summary(gains)})
        summaries += [{"set": name, **row} for row in tables.rows(of_set)]
    return summaries


def markdown(document: Document) -> str:
    """Return the report: gains in the order of consistency, the paper's beside ours, and all errors."""
    settings, trials = document["settings"], document["trials"]
    budgets = ", ".join(f"{budget:,}" for budget in settings["budgets"])
    about = (
        "Consistency: the share of random triplets that two notions order equally. Gain: by how much the area under "
        f"the triplet error is smaller than that of independent embeddings, at {budgets} triplets. D = "
        f"{settings['dimensions']}, {len(settings['seeds'])} seeds, ± standard error. The paper's faces and aeroplanes "
        "are other data."
    )
    head = ["set", "consistency", "joint gains, %", "pooled, %", "paper, consistency", "paper, joint", "paper, pooled"]
    where = (
        "The paper's uniform and clustered sets are drawn as ours; its other sets are birds (CUB-200), 39 attributes "
        "of faces, and photographs of aeroplanes, instead of which ours are eleven attributes and a model's pictures."
    )
    title = "# Gain of sharing by the consistency of notions, after Zhang, Maji and Tomioka (2015), figure 5"
    gains = table([head, *(_line(trials, name, settings) for name in _sets(trials))])
    parts = [title, about, gains, where, "## Errors"]
    for name in _sets(trials):
        parts += [f"{name.capitalize()}, mean triplet error, %:", tables.errors_table(_of(trials, name))]
    return "\n\n".join(parts)


def plot(path: Path, document: Document) -> None:
    """Draw the gains by consistency, ours and the paper's."""
    settings, trials = document["settings"], document["trials"]
    with panels(path, 1, 1, (7, 4.5)) as figure:
        (axis,) = figure.axes
        for place, sharing in enumerate(SHARINGS, 1):
            points = [_point(trials, name, settings, sharing) for name in _sets(trials)]
            places, gains, errors = zip(*points, strict=True)
            axis.errorbar(places, gains, errors, fmt="o", color=COLORS[sharing], label=sharing)
            paper = sorted((figures[0], figures[place]) for figures in PAPER.values())
            axis.plot(*zip(*paper, strict=True), "x--", color=COLORS[sharing], label=f"{sharing}, the paper's sets")
        axis.axhline(0, color="black", linewidth=0.8)
        axis.set_xlabel("triplet consistency")
        axis.set_ylabel("less area than independent, %")
        axis.legend(frameon=False)


def _line(trials: Trials, name: str, settings: Mapping[str, Any]) -> list[str]:
    of_set = _of(trials, name)
    gains = tables.gains(of_set, settings["budgets"], settings["dimensions"])
    consistency = mean_and_error([trial["consistency"] for trial in of_set], 1, 3)
    paper = [f"{PAPER[name][0]:.2f}", *(f"{gain:g}" for gain in PAPER[name][1:])] if name in PAPER else [""] * 3
    return [name, consistency, *(mean_and_error(gains[sharing]) for sharing in SHARINGS), *paper]


def _point(trials: Trials, name: str, settings: Mapping[str, Any], sharing: str) -> tuple[float, float, float]:
    """Return consistency, gain and its standard error."""
    of_set = _of(trials, name)
    gains = 100 * np.array(tables.gains(of_set, settings["budgets"], settings["dimensions"])[sharing])
    error = float(np.std(gains, ddof=1) / np.sqrt(len(gains))) if len(gains) > 1 else 0.0
    return float(np.mean([trial["consistency"] for trial in of_set])), float(np.mean(gains)), error


def _sets(trials: Trials) -> list[str]:
    """Return the sets by ascending consistency."""
    names = dict.fromkeys(trial["set"] for trial in trials)
    return sorted(names, key=lambda name: float(np.mean([trial["consistency"] for trial in _of(trials, name)])))


def _of(trials: Trials, name: str) -> Trials:
    return [trial for trial in trials if trial["set"] == name]


BENCHMARK = Benchmark(
    "joint-consistency",
    __doc__,
    _arguments,
    measure,
    markdown,
    plot,
    "gain of sharing by consistency",
)
