"""Embeddings of several notions by one method, its weight tuned on the triplets that it learns from."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.joint.data import of
from engine.learners.comparisons import Comparisons
from engine.learners.joint.fitting import How, Sharing
from engine.learners.joint.objects import JointObjects
from engine.training.notion_measures import triplet_error

Rows = NDArray[np.float64]

FOLDS, ENOUGH = 5, 2_000
"""Folds of the triplets, and how many held-out ones choose: of many triplets not all folds are looked at."""
SOLVING = How(tol=1e-4, max_iter=300)
"""Errors are as good as after longer descents, and a third of the time is needed."""


@dataclass(frozen=True)
class Method:
    """How notions are shared, in how many dimensions, and the weights that are tried."""

    sharing: Sharing
    width: int
    grid: Sequence[float]

    @property
    def name(self) -> str:
        """What tables call it."""
        return f"{self.sharing}, D = {self.width}"


@dataclass(frozen=True)
class Embedded:
    """Embeddings, (N, w_t), of T notions, and the weight chosen of each."""

    rows: Sequence[Rows]
    alphas: Sequence[float]

    def errors(self, test: Comparisons) -> list[float]:
        """Returns the triplet error of each notion."""
        return [triplet_error(rows, of(test, notion)).value for notion, rows in enumerate(self.rows)]


def tuned(method: Method, train: Comparisons, count: int, notions: int, seed: int) -> Embedded:
    """Returns what a method makes of triplets, with the weight of the least error in folds of them.

    Independent metrics have the best weight of each notion, others the best of all.
    """
    tried = {alpha: _validated(method, alpha, train, count, notions, seed) for alpha in method.grid}
    if method.sharing == "independent":
        best = [min(tried, key=lambda alpha: tried[alpha][notion]) for notion in range(notions)]
    else:
        best = [min(tried, key=lambda alpha: float(np.mean(tried[alpha])))] * notions
    fitted = {alpha: fit(method, alpha, train, count, notions) for alpha in set(best)}
    return Embedded([fitted[alpha][notion] for notion, alpha in enumerate(best)], best)


def fit(method: Method, alpha: float, train: Comparisons, count: int, notions: int) -> list[Rows]:
    """Returns the embeddings of all notions for one weight."""
    chosen: dict[str, Any] = {
        "n_components": method.width,
        "alpha": alpha,
        "sharing": method.sharing,
    }
    found = JointObjects(replace(SOLVING, **chosen)).fit(train, count).embeddings_
    return [found[""] if method.sharing == "pooled" else found[str(notion)] for notion in range(notions)]


def _validated(
    method: Method, alpha: float, train: Comparisons, count: int, notions: int, seed: int
) -> NDArray[np.float64]:
    """Returns the mean error of each notion over the folds that are looked at, (T,)."""
    folds = _folds(train, seed)
    errors = []
    for fold in range(min(FOLDS, -(-ENOUGH * FOLDS // len(train)))):
        rows = fit(method, alpha, train.take(folds != fold), count, notions)
        errors.append(Embedded(rows, ()).errors(train.take(folds == fold)))
    return np.asarray(np.mean(errors, axis=0))


def _folds(train: Comparisons, seed: int) -> NDArray[np.intp]:
    """Returns the fold of each triplet, (n,); every notion is spread evenly."""
    found = np.empty(len(train), np.intp)
    order = np.lexsort((np.random.default_rng(seed).random(len(train)), np.asarray(train.notions)))
    found[order] = np.arange(len(train)) % FOLDS
    return found


def area(budgets: Sequence[int], errors: Sequence[float]) -> float:
    """Returns the area under errors over the decimal logarithm of budgets, by trapezoids."""
    return float(np.trapezoid(errors, np.log10(budgets)))
