"""Embeddings of several notions by one method, its weight tuned on the triplets that it learns from."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.joint.data import of
from benchmarks.joint.notion_measures import triplet_error
from benchmarks.joint.people import Triplets
from crossview.engine.learners.frame.comparisons import Comparisons
from crossview.engine.learners.frame.view_rows import Rows
from crossview.engine.learners.papers.joint.joint_fit import JointSettings, Sharing
from crossview.engine.learners.papers.joint.joint_objects import JointObjects

FOLDS, ENOUGH = 5, 2_000
"""Folds of the triplets, and how many held-out ones choose: of many triplets not all folds are looked at."""
SOLVING = JointSettings(tol=1e-4, max_iter=300)
"""Errors are as good as after longer descents, and a third of the time is needed."""


@dataclass(frozen=True)
class Method:
    """How notions are shared, the number of dimensions, and the weights to try.

    ``enough`` is how many held-out triplets choose a weight; None: ``ENOUGH``.
    """

    sharing: Sharing
    width: int
    grid: Sequence[float]
    enough: int | None = None

    @property
    def name(self) -> str:
        """The name in tables."""
        return f"{self.sharing}, D = {self.width}"


@dataclass(frozen=True)
class Embedded:
    """Embeddings, (N, w_t), of T notions, and the weight chosen of each."""

    rows: Sequence[Rows]
    alphas: Sequence[float]

    def errors(self, test: Comparisons) -> list[float]:
        """Return the triplet error of each notion."""
        return [triplet_error(rows, of(test, notion)).value for notion, rows in enumerate(self.rows)]


def tuned(method: Method, train: Comparisons, count: int, notions: int, seed: int) -> Embedded:
    """Return what a method makes of triplets, with the weights that are best for it."""
    best = weights(method, train, count, notions, seed)
    fitted = {alpha: fit(method, alpha, train, count, notions) for alpha in set(best)}
    return Embedded([fitted[alpha][notion] for notion, alpha in enumerate(best)], best)


def weights(method: Method, train: Comparisons, count: int, notions: int, seed: int) -> list[float]:
    """Return the weight of the least error in folds of the triplets, of each notion.

    Independent metrics have the best weight of each notion, others the best of all.
    """
    tried = {alpha: _validated(method, alpha, train, count, notions, seed) for alpha in method.grid}
    if method.sharing == "independent":
        return [min(tried, key=lambda alpha: tried[alpha][notion]) for notion in range(notions)]
    return [min(tried, key=lambda alpha: float(np.mean(tried[alpha])))] * notions


def fit(method: Method, alpha: float, train: Comparisons, count: int, notions: int) -> list[Rows]:
    """Return the embeddings of all notions for one weight."""
    settings: dict[str, Any] = {
        "n_components": method.width,
        "alpha": alpha,
        "sharing": method.sharing,
    }
    embeddings = JointObjects(replace(SOLVING, **settings)).fit(train, count).embeddings_
    return [embeddings[""] if method.sharing == "pooled" else embeddings[str(notion)] for notion in range(notions)]


def _validated(
    method: Method, alpha: float, train: Comparisons, count: int, notions: int, seed: int
) -> NDArray[np.float64]:
    """Return the mean error of each notion over the folds that are looked at, (T,)."""
    folds = _folds(train, seed)
    errors = []
    for fold in range(min(FOLDS, -(-(method.enough or ENOUGH) * FOLDS // len(train)))):
        rows = fit(method, alpha, train.take(folds != fold), count, notions)
        errors.append(Embedded(rows, ()).errors(train.take(folds == fold)))
    return np.asarray(np.mean(errors, axis=0))


def _folds(train: Comparisons, seed: int) -> NDArray[np.intp]:
    """Return the fold of each triplet, (n,); every notion is spread evenly."""
    folds = np.empty(len(train), np.intp)
    order = np.lexsort((np.random.default_rng(seed).random(len(train)), np.asarray(train.notions)))
    folds[order] = np.arange(len(train)) % FOLDS
    return folds


def best_of(
    fit: Callable[[Triplets, float], Rows], grid: Sequence[float], triplets: Triplets, seed: int, enough: int = ENOUGH
) -> tuple[Rows, float]:
    """Return what ``fit`` makes of (n, 3) triplets of one notion, with the best weight of a grid, and this weight.

    It is that of the least error in folds of them, of which so many are looked at as have ``enough`` triplets.
    """
    folds = np.random.default_rng(seed).permutation(len(triplets)) % FOLDS

    def error(alpha: float) -> float:
        looked_at = range(min(FOLDS, -(-enough * FOLDS // len(triplets))))
        held_out = [triplets[folds == fold] for fold in looked_at]
        fitted = [fit(triplets[folds != fold], alpha) for fold in looked_at]
        return float(np.mean([triplet_error(*pair).value for pair in zip(fitted, held_out, strict=True)]))

    best = min(grid, key=error)
    return fit(triplets, best), best


def area(budgets: Sequence[int], errors: Sequence[float]) -> float:
    """Return the area under errors over the decimal logarithm of budgets, by trapezoids."""
    return float(np.trapezoid(errors, np.log10(budgets)))
