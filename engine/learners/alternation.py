"""Algorithm 1 of Multi-NPP on all pairs: in turn, each view's projection minimises the objective's convex bound."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from .problem import Problem
from .subproblem import Subproblem, loss

_FACTORS = 2.0 ** np.arange(-4, 3)


def rescale(problem: Problem) -> None:
    """Scales all projections by the factor, of several, at which the loss is least: it knows a scale, starts do not."""
    count = len(problem.views)
    pairs = [(v, w) for v in range(count) for w in range(v + 1, count)]
    distance = float(np.mean([problem.distance(v, w) for v, w in pairs]))
    unit = problem.scisd.reach / max(distance, np.finfo(np.float64).tiny)

    def cost(factor: float) -> float:
        total = 0.0
        for view in range(count - 1):
            met, embedded = problem.later(view)
            total += loss(factor * problem.embeddings(view), factor * embedded, met, problem.scisd)
        return total

    factors = unit * _FACTORS
    best = factors[int(np.argmin([cost(factor) for factor in factors]))]
    problem.weights = [best * W for W in problem.weights]


def alternate(
    problem: Problem, max_iter: int, inner_iter: int, tol: float, progress: Callable[[int, int], None] | None
) -> NDArray[np.float64]:
    """Improves the projections of the free views; returns the objective before and after each alternation.

    Args:
        max_iter: alternations at most.
        inner_iter: steps of each convex sub-problem at most.
        tol: stop when an alternation lowers the objective by less than this share of it.
        progress: called with the sub-problems done and in all.
    """
    history = [problem.objective()]
    for done in range(max_iter):
        for place, view in enumerate(problem.free):
            pairs, embedded = problem.others(view)
            sub = Subproblem(
                problem.views[view].rows,
                embedded,
                pairs,
                problem.scisd,
                problem.penalties[view],
                problem.weights[view],
            )
            problem.weights[view] = sub.solve(inner_iter, tol / 10)
            if progress:
                progress(done * len(problem.free) + place + 1, max_iter * len(problem.free))
        history.append(problem.objective())
        if history[-2] - history[-1] <= tol * abs(history[-2]):
            break
    return np.array(history)
