"""Benchmarks of objects with given notions: aeroplanes by subsets of their landmarks, faces by groups of attributes."""

import argparse
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.frame.benchmark import Benchmark, Document, numbers, seeds_of, trial_arguments
from benchmarks.frame.journal import by_seed, run_trials
from benchmarks.joint import tables
from benchmarks.joint.methods import ENOUGH, FOLDS, SOLVING, Method
from benchmarks.joint.sets import ATTRIBUTES, PICTURES, Notions, aeroplanes, faces
from crossview.engine.learners.papers.joint.joint_fit import Sharing

GRIDS: Mapping[Sharing, Sequence[float]] = {
    "joint": (3e-2, 1e-2, 3e-3),
    "independent": (1e-1, 1e-2, 1e-3),
    "pooled": (1e-1, 1e-2, 1e-3),
}
POSES = """Figures 3 (c) and 9 of Zhang, Maji and Tomioka (2015): embeddings of pictures of aeroplanes from triplets.

200 pictures show a 3-D model with 16 landmarks, whose shape varies, from anywhere. A notion is a subset of the
landmarks, as in the paper: b is nearer to a than c is where less is left of a when b is moved and scaled to fit it.
"""
FACES = f"""Figure 12 of Zhang, Maji and Tomioka (2015) on other attributes: embeddings of faces from triplets.

    python -m benchmarks joint-attributes --data DIR [--json OUT] [--trials N] [--report DIR]

DIR holds ``pubfig_relattr.npz``. {PICTURES} pictures of each of eight people, on which the predictor of their eleven
attributes was not trained. A notion is a group of attributes ({", ".join(ATTRIBUTES)}), distances are Euclidean between
standardised scores. The paper has 39 attributes in five groups, and dot products. The error of the three nearest
neighbours is that of the person.
"""


def measure(options: argparse.Namespace, load: Callable[..., Notions]) -> dict[str, Any]:
    """Return settings, rows and trials of all seeds."""
    settings = {
        "seeds": list(seeds_of(options)),
        "budgets": options.budgets,
        "widths": options.widths,
        "grids": GRIDS,
        "test triplets of a notion": tables.TEST,
        "folds": FOLDS,
        "held-out triplets that choose": ENOUGH,
        "solver": {"tol": SOLVING.tol, "max_iter": SOLVING.max_iter},
        "workers": options.workers,
    }
    if "data" in options:
        load = partial(load, folder=options.data)
    arguments = load, options.budgets, options.widths
    trials = run_trials(options, settings, by_seed(seeds_of(options)), run, *arguments, progress=tables.progress)
    return {"settings": settings, "rows": tables.rows(trials), "trials": trials}


def run(seed: int, load: Callable[[int], Notions], budgets: Sequence[int], widths: Sequence[int]) -> dict[str, Any]:
    """Return the errors of every method by number of triplets, of the objects of one seed."""
    notions = load(seed)
    methods = [Method(sharing, width, grid) for width in widths for sharing, grid in GRIDS.items()]
    curves = tables.curves(notions, methods, budgets, seed)
    return {"seed": seed, "consistency": tables.consistency(notions, seed), "curves": curves}


def markdown(document: Document, title: str, about: str) -> str:
    """Return the report: errors by number of triplets, and the gains of sharing."""
    settings, trials = document["settings"], document["trials"]
    protocol = (
        f"{about} Mean error of {settings['test triplets of a notion']:,} test triplets of each notion in per cent, by "
        f"the number of triplets of all notions, ± standard error over {len(trials)} seeds."
    )
    summed = tables.gains_line(trials, settings["budgets"], settings["widths"])
    parts = [f"# {title}", protocol, tables.errors_table(trials), summed]
    if trials[0]["curves"][0]["neighbor errors"]:
        parts += [
            "Leave-one-out error of the three nearest neighbours:",
            tables.errors_table(trials, "neighbor errors"),
        ]
    return "\n\n".join(parts)


def _arguments(parser: argparse.ArgumentParser, data: bool) -> None:
    if data:
        parser.add_argument("--data", type=Path, required=True, help="folder with pubfig_relattr.npz")
    trial_arguments(parser, trials=5)
    parser.add_argument("--budgets", type=numbers, default=(1_000, 3_000, 10_000, 30_000), help="numbers of triplets")
    parser.add_argument("--widths", type=numbers, default=(10,), help="dimensions of the embeddings")


BENCHMARKS = {
    "joint-poses": Benchmark(
        "joint-poses",
        POSES,
        partial(_arguments, data=False),
        partial(measure, load=aeroplanes),
        partial(
            markdown,
            title="Aeroplanes by subsets of landmarks, after Zhang, Maji and Tomioka (2015), figure 3 (c)",
            about="200 pictures of a 3-D model, five subsets of its 16 landmarks.",
        ),
    ),
    "joint-attributes": Benchmark(
        "joint-attributes",
        FACES,
        partial(_arguments, data=True),
        partial(measure, load=faces),
        partial(
            markdown,
            title="Faces by groups of attributes, after Zhang, Maji and Tomioka (2015), figure 12",
            about=f"{8 * PICTURES} pictures, {len(ATTRIBUTES)} groups of PubFig's eleven attributes.",
        ),
    ),
}
