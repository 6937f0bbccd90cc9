"""Methods of the verification benchmark: our settings, metric-learn's ITML and two logistic baselines."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from benchmarks import peers
from benchmarks.verification.data import Split
from crossview.engine.learners.papers.losses import constraints
from crossview.engine.learners.papers.losses.differences import Differences
from crossview.engine.learners.papers.losses.parameters import Spectrum
from crossview.engine.learners.papers.metrics.fantope import Fantope
from crossview.engine.learners.subspace.pca import principal_components

Factor = NDArray[np.float64]
Settings = Mapping[str, Any]
Chosen = Mapping[str, Settings]
Grid = Callable[[Chosen], Sequence[Settings]]
"""From what was chosen for the methods before, by name, to the settings to choose from, twelve fits at most."""

EUCLID, PCA = "Euclidean", "PCA"
NONE, TRACE, FANTOPE, BOTH = "no regularisation", "trace", "Fantope", "Fantope and trace"
LOW_RANK, ITML, LOGISTIC, PCCA = "descent over L", "ITML", "logistic (as LDML)", "PCCA"
EARLY = ", early stopping"

UPPER, LOWER = 0.5, 1.5
THRESHOLD = (UPPER + LOWER) / 2  # on squared distances
RANKS = (10, 20, 40)
MUS = (0.3, 1.0, 3.0, 10.0)
GAMMAS = (3e-4, 1e-3, 3e-3, 1e-2)
SMALL_GAMMAS = (1e-5, 1e-4, 1e-3)  # beside a Fantope: gamma << mu, as in the paper
BETAS = (3.0, 10.0, 30.0, 100.0)
SLACKS = (0.1, 1.0, 10.0)  # ITML's gamma
ROUNDS = 30  # over all pairs, of ITML
STEPS = (10, 30, 100, 300)
LONG = STEPS[-1:]
SMALLEST = 1e-9  # share of the first step's size below which nothing moves any more


@dataclass(frozen=True)
class Fitted:
    """A metric L^T L, the steps taken to it, and its rank before it was cut to the chosen one."""

    factor: Factor
    taken: int | None = None
    full_rank: int | None = None


def reference(split: Split, rank: int | None = None) -> Fitted:
    """Return the identity, or the leading principal directions of the rows that are learned from."""
    return Fitted(np.eye(split.rows.shape[1]) if rank is None else principal_components(split.known, rank)[0])


def hinge(split: Split, rank: int, steps: int, **settings: Any) -> Fitted:
    """Return the metric of our learner, which sees the known rows only; other settings are its own."""
    learner = Fantope().set_params(**{"n_components": rank, "mu": 0.0, "max_iter": steps, **settings})
    items = np.searchsorted(split.known_items, split.fit.items)
    learner.fit_constraints(split.known, constraints.pairs(items, split.fit.alike, UPPER, LOWER))
    return Fitted(learner.weights_[0], learner.steps_[0], learner.full_rank_[0])


def logistic(split: Split, rank: int, beta: float, steps: int, full: bool = False) -> Fitted:
    """Minimise the mean of log(1 + exp(beta y (D^2 - 1))) / beta over the pairs, y = 1 if similar, otherwise -1.

    Over L of a rank this is PCCA (Mignon and Jurie, CVPR 2012), and over all positive semidefinite
    matrices the logistic discriminant of LDML (Guillaumin, Verbeek and Schmid, ICCV 2009) with their bias b = beta, for
    its metric is beta times ours. From the leading principal directions, by (projected) gradient steps that are
    taken if they lower the loss, then the next is longer, otherwise shorter; our learner does the same.
    """
    features, signs = Differences(split.rows), np.where(split.fit.alike, 1.0, -1.0)

    def placed(theta: Factor) -> tuple[Factor, Factor, float, NDArray[np.float64]]:
        if full:
            spectrum = Spectrum.of(theta).positive()
            theta, factor = spectrum.matrix(), spectrum.factor()
        else:
            factor = theta
        slack = beta * signs * (features.distances(factor, split.fit.items) - 1.0)
        return theta, factor, float(np.logaddexp(0.0, slack).mean()), slack

    def slope(theta: Factor, slack: NDArray[np.float64]) -> Factor:
        scatter = features.scatter(split.fit.items, signs * expit(slack) / len(signs))
        return scatter if full else 2 * theta @ scatter

    start = reference(split, rank).factor
    theta, factor, loss, slack = placed(start.T @ start if full else start)
    gradient = slope(theta, slack)
    first = size = 0.1 * float(np.linalg.norm(theta) / (np.linalg.norm(gradient) or 1.0))
    taken = 0
    while taken < steps and size > SMALLEST * first:
        taken += 1
        trial = placed(theta - size * gradient)
        if trial[2] < loss:
            theta, factor, loss, slack = trial
            gradient, size = slope(theta, slack), 1.2 * size
        else:
            size /= 2
    return Fitted(factor, taken)


def itml(split: Split, gamma: float) -> Fitted:
    """Return the metric of metric-learn's ITML, its bounds the 5th and 95th percentiles of the distances."""
    signs = np.where(split.fit.alike, 1, -1)
    settings = {"gamma": gamma, "max_iter": ROUNDS}
    peer = peers.fit("ITML", split.rows, settings, tuples=split.fit.items, similar=signs)
    return Fitted(peer.components, peer.iterations)


@dataclass(frozen=True)
class Method:
    """A row of the report: its fit makes a metric of a split and settings of the grid."""

    name: str
    fit: Callable[..., Fitted]
    grid: Grid
    bounded: bool = True
    """Whether it learns that the squared distances of similar pairs are below 1."""


def _grid(**values: Sequence[Any]) -> list[dict[str, Any]]:
    """Return all combinations."""
    return [dict(zip(values, combination, strict=True)) for combination in product(*values.values())]


def _and_early(name: str, fit: Callable[..., Fitted], grid: Grid) -> tuple[Method, Method]:
    """Return a method, and the same stopped at any of the steps with each setting of its grid."""

    def early(by_method: Chosen) -> list[dict[str, Any]]:
        return [{**point, "steps": steps} for point in grid(by_method) for steps in STEPS]

    return Method(name, fit, grid), Method(name + EARLY, fit, early)


METHODS = (
    Method(EUCLID, reference, lambda _: [{}], bounded=False),
    Method(PCA, reference, lambda _: _grid(rank=RANKS), bounded=False),
    *_and_early(NONE, hinge, lambda _: _grid(rank=RANKS, steps=LONG)),
    *_and_early(TRACE, hinge, lambda _: _grid(rank=RANKS, steps=LONG, gamma=GAMMAS)),
    *_and_early(FANTOPE, hinge, lambda _: _grid(rank=RANKS, steps=LONG, mu=MUS)),
    *_and_early(BOTH, hinge, lambda by_method: [{**by_method[FANTOPE], "gamma": gamma} for gamma in SMALL_GAMMAS]),
    *_and_early(LOW_RANK, hinge, lambda _: _grid(rank=RANKS, steps=LONG, form=("low-rank",))),
    Method(ITML, itml, lambda _: _grid(gamma=SLACKS), bounded=False),
    *_and_early(LOGISTIC, logistic, lambda _: _grid(rank=RANKS[-1:], steps=LONG, beta=BETAS, full=(True,))),
    *_and_early(PCCA, logistic, lambda _: _grid(rank=RANKS, steps=LONG, beta=BETAS)),
)
