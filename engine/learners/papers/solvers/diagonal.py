"""Diagonal metrics, and the distance up to which pairs count as similar, by Newton's method."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from crossview.engine.learners.frame.view_rows import Rows
from crossview.engine.learners.papers.losses.constraints import Constraints
from crossview.engine.learners.papers.losses.contrasts import SquaredContrasts
from crossview.engine.learners.papers.solvers.newton import Newton, VectorProblem, VectorSolution, minimize

_FIRST = 1 << 14  # constraints in the first subset
_GROWTH = 4
_LOOSE = 1e-3  # tolerance over a subset, whose solution is further from the final one than this
_ROUGH, _SHARPER = 64, 8  # the factor of the loss's width at first, and its divisor after each solution


def diagonal_problem(rows: Rows, constraints: Constraints, weight: float, pair_margin: float) -> VectorProblem:
    """Return equation (28) for the diagonal w of a metric, with the mean instead of the sums.

    Pairs should be a margin below or above a threshold b that is learned with w; their given bounds are ignored.

    Args:
        rows: (m, d) float64.
        constraints: n constraints on squared distances; pairs are those that bound a distance.
        weight: C, divided among the constraints in proportion to their weights.
        pair_margin: how far pairs should be below or above b, in squared distance.
    """
    sides = pair_sides(constraints)
    margins = np.where(sides != 0, pair_margin, constraints.margins)
    costs = weight * constraints.weights / constraints.weights.sum()
    contrasts = SquaredContrasts(rows, constraints.near, constraints.far)
    return VectorProblem(contrasts, margins, costs, sides if sides.any() else None)


def pair_sides(constraints: Constraints) -> NDArray[np.float64]:
    """Return the side of each constraint, (n,): 1 for an upper bound of a distance, -1 for a lower bound, otherwise
    0."""
    nothing_far, nothing_near = (pairs[:, 0] == pairs[:, 1] for pairs in (constraints.far, constraints.near))
    return np.asarray(nothing_far.astype(np.float64) - nothing_near.astype(np.float64))


def minimize_over_growing_subsets(problem: VectorProblem, how: Newton) -> VectorSolution:
    """Return the solution of ``minimize`` after ever larger subsets of the constraints and ever narrower losses.

    Far from the minimum, a subset gives as good a direction as all constraints, and a wide loss has a constant
    curvature, so that Newton's steps are long. The printed step uses neither: it starts at ones, as in the paper.
    """
    if how.step == "printed":
        return minimize(problem, how, np.ones(problem.size))
    subsets = growing(problem)
    start, steps, history = np.zeros(problem.size), 0, list[float]()
    factor = float(_ROUGH)
    while factor > 1:
        found = minimize(subsets[0], replace(how, h=how.h * factor, tol=max(how.tol, _LOOSE)), start)
        start, steps, history = found.omega, steps + found.steps, history + found.history
        factor /= _SHARPER
    for subset in subsets:
        tol = how.tol if subset is problem else max(how.tol, _LOOSE)
        found = minimize(subset, replace(how, tol=tol), start)
        start, steps, history = found.omega, steps + found.steps, history + found.history
    return replace(found, steps=steps, history=history)


def growing(problem: VectorProblem) -> list[VectorProblem]:
    """Return the problem over random subsets of its constraints, each four times as large as the last, and itself."""
    order = np.random.default_rng(0).permutation(np.flatnonzero(problem.costs))
    sizes = [_FIRST]
    while _GROWTH * sizes[-1] <= len(order) // 2:
        sizes.append(_GROWTH * sizes[-1])
    return [problem.take(np.sort(order[:size])) for size in sizes if size <= len(order) // 2] + [problem]
