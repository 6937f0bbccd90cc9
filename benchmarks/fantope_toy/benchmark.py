"""Table 1 of Law, Thome and Cord (CVPR 2014): learning a metric of rank 10 in 50 dimensions from comparisons.

8,000 rows are uniform in [0, 1)^50. The target T is a random positive definite 10 x 10 matrix, G G^T with G standard
normal, and zeros elsewhere. Quadruplets of rows are drawn at random and ordered by T: 10^4 to train on, 10^6 to choose
mu and gamma by, 10^6 to test. Every seed draws all again. The grids are the same for all seeds, and the Fantope's gamma
is sought at the mu that was best without it.
"""

import argparse
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from benchmarks.fantope_toy import report
from benchmarks.frame.benchmark import Benchmark, positive, seeds_of, trial_arguments
from benchmarks.frame.journal import by_seed, run_trials
from crossview.engine.learners.frame.view_rows import Rows
from crossview.engine.learners.papers.losses.constraints import Constraints, quadruplets
from crossview.engine.learners.papers.losses.differences import Differences
from crossview.engine.learners.papers.losses.parameters import Spectrum
from crossview.engine.learners.papers.metrics.fantope import Fantope

WIDTH, RANK = 50, 10
SIZES = {"rows": 8_000, "train": 10_000, "validation": 1_000_000, "test": 1_000_000}
MUS = (0.01, 0.03, 0.1, 0.3, 1.0)
GAMMAS = (1e-5, 1e-4, 3e-4, 1e-3)
SMALL_GAMMAS = (1e-6, 1e-5, 1e-4)  # beside a Fantope: gamma << mu, as in the paper
COMMON = {"n_components": RANK, "margin": 1.0, "start": "identity", "max_iter": 600}
ADMM = {"solver": "admm", "max_iter": 150}
ADMM_GRID = ({"mu": 0.1, "rho": 0.1}, {"mu": 0.1, "rho": 1.0}, {"mu": 1.0, "rho": 1.0})


@dataclass(frozen=True)
class Toy:
    """The data of one seed: (n, 50) rows, the target's (10, 50) factor, and the three sets of constraints."""

    rows: Rows
    factor: Rows
    train: Constraints
    validation: Constraints
    test: Constraints


@dataclass(frozen=True)
class Tried:
    """A fitted learner, its settings and its accuracy on the validation set."""

    learner: Fantope
    settings: Mapping[str, Any]
    accuracy: float
    seconds: float


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Return settings, rows and trials of all seeds."""
    sizes = {name: getattr(options, name) for name in SIZES}
    seeds = seeds_of(options)
    settings = {
        "seeds": list(seeds),
        "width": WIDTH,
        "rank": RANK,
        **sizes,
        "mu": MUS,
        "gamma": GAMMAS,
        "gamma beside mu": SMALL_GAMMAS,
        "ADMM grid": ADMM_GRID,
        "learner": COMMON,
        "ADMM": ADMM,
        "workers": options.workers,
    }
    trials = run_trials(options, settings, by_seed(seeds), run, sizes, progress=report.progress)
    return {"settings": settings, "rows": report.rows(trials), "trials": trials}


def draw(seed: int, sizes: Mapping[str, int]) -> Toy:
    """Return the data of one seed; training constraints have margin 1, the others only an order."""
    generator = np.random.default_rng(seed)
    factor = np.zeros((RANK, WIDTH))
    factor[:, :RANK] = generator.normal(size=(RANK, RANK))
    rows = generator.uniform(size=(sizes["rows"], WIDTH))
    features = Differences(rows)
    sets = {}
    for name, margin in (("train", 1.0), ("validation", 0.0), ("test", 0.0)):
        items = generator.integers(len(rows), size=(sizes[name], 4))
        near, far = (features.distances(factor, items[:, part]) for part in (slice(0, 2), slice(2, 4)))
        items = np.where((near > far)[:, None], items[:, [2, 3, 0, 1]], items)
        sets[name] = quadruplets(items[near != far], margin)
    return Toy(rows, factor, **sets)


def accuracy(learner: Fantope, toy: Toy, constraints: Constraints) -> float:
    """Return the share of constraints that the learner's metric orders as the target does."""
    embedded = Differences(learner.transform(toy.rows))
    unit = np.eye(embedded.width)
    return float(np.mean(embedded.distances(unit, constraints.far) > embedded.distances(unit, constraints.near)))


def run(seed: int, sizes: Mapping[str, int]) -> dict[str, Any]:
    """Return the figures of all methods on one seed."""
    toy = draw(seed, sizes)
    target = toy.factor.T @ toy.factor
    fits = choose(toy)
    return {
        "seed": seed,
        "target": (Spectrum.of(target).values[:RANK] / Spectrum.of(target).values[0]).tolist(),
        "methods": {name: _figures(fitted, toy, target) for name, fitted in fits.items()},
    }


def choose(toy: Toy) -> dict[str, Tried]:
    """Return what every method learns with the settings that are best on the validation set."""

    none = _tried(toy, {"mu": 0.0})

    def best(grid: Sequence[Mapping[str, Any]], **fixed: Any) -> Tried:
        return max((_tried(toy, {**fixed, **point}) for point in grid), key=lambda tried: tried.accuracy)

    fantope = best([{"mu": mu} for mu in MUS])
    return {
        report.NONE: none,
        report.CUT: replace(none, learner=_cut(none.learner)),
        report.LOW_RANK: _tried(toy, {"mu": 0.0, "form": "low-rank", "start": "pca"}),
        report.TRACE: best([{"gamma": gamma} for gamma in GAMMAS], mu=0.0),
        report.ADMM: best(ADMM_GRID, **ADMM),
        report.FANTOPE: fantope,
        report.BOTH: best([{"gamma": gamma} for gamma in SMALL_GAMMAS], mu=fantope.settings["mu"]),
    }


def _cut(learner: Fantope) -> Fantope:
    """Return the learner with the ten largest eigenvalues of its metric: the least that knowing the rank can do."""
    cut = Fantope.from_state(learner.to_state())
    cut.weights_ = [learner.weights_[0][:RANK]]
    return cut


def _tried(toy: Toy, settings: Mapping[str, Any]) -> Tried:
    began = time.perf_counter()
    learner = Fantope().set_params(**{**COMMON, **settings}).fit_constraints(toy.rows, toy.train)
    seconds = time.perf_counter() - began
    return Tried(learner, settings, accuracy(learner, toy, toy.validation), seconds)


def _figures(tried: Tried, toy: Toy, target: Rows) -> dict[str, Any]:
    matrix = tried.learner.get_mahalanobis_matrix()
    spectrum = Spectrum.of(matrix)
    return {
        "accuracy": accuracy(tried.learner, toy, toy.test),
        "rank": spectrum.rank(),
        "rank before the cut": tried.learner.full_rank_[0],
        "distance": float(np.square(matrix / matrix.max() - target / target.max()).sum()),
        "seconds": tried.seconds,
        "steps": tried.learner.n_iter_,
        "converged": tried.learner.converged_[0],
        "settings": dict(tried.settings),
        "eigenvalues": (np.maximum(spectrum.values, 0.0) / spectrum.values[0]).tolist(),
    }


def _arguments(parser: argparse.ArgumentParser) -> None:
    trial_arguments(parser, trials=10)
    for name, size in SIZES.items():
        parser.add_argument(f"--{name}", type=positive, default=size, help=f"number of {_COUNTED[name]}")


_COUNTED = {"rows": "rows", **{name: f"quadruplets to {name} with" for name in ("train", "validation", "test")}}
BENCHMARK = Benchmark(
    "fantope-toy",
    __doc__,
    _arguments,
    measure,
    report.markdown,
    report.plot,
    "accuracy and eigenvalues",
    report.headline,
)
