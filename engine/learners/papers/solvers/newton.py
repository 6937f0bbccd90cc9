"""Newton's method for a vector under constraints, with either sign or without negative entries.

Law, Thome and Cord (IJCV 2017), appendix A. The printed step, Algorithm 2, projects a full Newton step onto w >= 0. Its
fixed points need not be minima when coordinates interact, so the step of :func:`minimize` is that of Bertsekas,
"Projected Newton Methods for Optimization Problems with Simple Constraints" (SIAM Journal on Control and Optimization
1982): the Newton system leaves out coordinates that the gradient holds at zero.
"""

from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, cg

from crossview.engine.learners.frame.settings import Positive, Steps, Tolerance
from crossview.engine.learners.frame.view_rows import Rows
from crossview.engine.learners.papers.losses.constraints import Constraints
from crossview.engine.learners.papers.losses.contrasts import Contrasts, SquaredContrasts
from crossview.engine.learners.papers.losses.differences import Values
from crossview.engine.runtime.cancellation import checkpoint

Step = Literal["two-metric", "printed"]
_ENOUGH = 1e-4  # a step is accepted with this share of the fall that the slope predicts
_SMALLEST = 1e-10  # smaller shares of a step have no effect
_TRUNCATED, _EXACT = 0.1, 1e-10  # the residual at which a step ends, as a share of the gradient
_FIRST = 1 << 14  # constraints in the first subset
_GROWTH = 4
_LOOSE = 1e-3  # tolerance over a subset, whose solution is further from the final one than this
_ROUGH, _SHARPER = 64, 8  # the factor of the loss's width at first, and its divisor after each solution


@dataclass(frozen=True, kw_only=True)
class Newton:
    """Settings of Newton's method.

    Attributes:
        step: "two-metric", Bertsekas's, which ends at the minimum; or "printed", Algorithm 2 with a step size of 1,
            which may end elsewhere, or not converge.
        h: half the width of the Huber loss's quadratic part, in units of w . z.
        max_iter: maximum number of steps.
        tol: stop when the distance from the objective to the minimum is at most this share of the objective; the
            printed step ends when w and b move by less than this share of their length.
    """

    step: Step = "two-metric"
    h: Positive = 0.05
    max_iter: Steps = 200
    tol: Tolerance = 1e-6


@dataclass(frozen=True, eq=False)
class VectorProblem:
    """The problem |w|^2 / 2 + b^2 / 2 + sum of cost L(w . z + side b), over w and a threshold b.

    Equation (28), of which (27) and (14) are other forms. L is the Huber loss, equations (29) and (30): with the
    shortfall v = start - t it is 0 up to v = 0, v^2 / 4h up to 2h, and v - h beyond. The start is margin + h for a
    margin above 0, and otherwise the margin, so that equal dissimilarities cost nothing if it is 0.

    Attributes:
        contrasts: the n contrasts z.
        margins: (n,).
        costs: (n,), the cost of a unit of shortfall: the paper's C_q, or C_p for pairs.
        sides: (n,) factor of b: 0 for triplets and quadruplets, 1 for a similar pair, whose dissimilarity should be
            below b by the margin, and -1 for a dissimilar pair. None: there is no b, which stays 0.
        nonnegative: whether w and b must not be negative, as for a diagonal metric.
    """

    contrasts: Contrasts
    margins: Values
    costs: Values
    sides: Values | None = None
    nonnegative: bool = True

    @property
    def size(self) -> int:
        """The number of unknowns: those of w, and b if there is one."""
        return self.contrasts.width + (self.sides is not None)

    def take(self, which: NDArray[np.intp]) -> "VectorProblem":
        """Return the problem of some of the constraints, with the total cost of all."""
        costs = self.costs[which] * (self.costs.sum() / self.costs[which].sum())
        sides = None if self.sides is None else self.sides[which]
        return replace(
            self, contrasts=self.contrasts.take(which), margins=self.margins[which], costs=costs, sides=sides
        )


@dataclass(frozen=True, kw_only=True)
class VectorSolution:
    """The solution of Newton's method.

    Attributes:
        w: (d,) the vector.
        b: the threshold; None if the problem has none.
        objective: the objective at w and b.
        gap: upper bound of the distance from the objective to the minimum.
        steps: number of steps.
        converged: whether the method converged before ``max_iter``.
        history: the objective at the start and after every step.
    """

    w: Values
    b: float | None
    objective: float
    gap: float
    steps: int
    converged: bool
    history: list[float] = field(default_factory=list)

    @property
    def omega(self) -> Values:
        """w, and b if the problem has one: a start for a further descent."""
        return self.w if self.b is None else np.append(self.w, self.b)


@dataclass(frozen=True)
class _Point:
    at: Values
    value: float
    slopes: Values
    """(n,) the cost of a unit more of each shortfall."""
    quadratic: NDArray[np.intp]
    """The constraints in the quadratic part of their loss."""


def minimize(problem: VectorProblem, how: Newton | None = None, start: Values | None = None) -> VectorSolution:
    """Return the w and b with the smallest objective.

    The objective is strongly convex, so every point gives an upper bound of its distance to the minimum
    (:attr:`VectorSolution.gap`), by which the method stops. The time of a step is O(n d) for its point, and for each
    product of conjugate gradients with the contrasts in the quadratic part of the loss, which are few when h is small.

    To order rows along one direction, such as by an attribute::

        contrasts = SignedContrasts(rows, near, far)  # w . (x_k - x_l) >= w . (x_i - x_j) + margin
        w = minimize(VectorProblem(contrasts, margins, costs, nonnegative=False)).w

    A pair "k has more than l" is the constraint whose near is (l, l), with a difference of zero. For a diagonal
    metric use ``SquaredContrasts``, ``nonnegative=True``, and ``sides`` if there are pairs;
    :func:`~engine.learners.papers.solvers.diagonal.diagonal_problem` makes the problem from ``Constraints``.

    Args:
        problem: the problem to minimise.
        how: the settings; None: ``Newton()``.
        start: (size,) w, and b if there is one; None: zero.

    Raises:
        ValueError: for margins or costs that are not finite, or a negative cost.
    """
    if not (np.isfinite(problem.margins).all() and np.isfinite(problem.costs).all()):
        raise ValueError("margins and costs must be finite, without NaN")
    if problem.costs.min(initial=0.0) < 0:
        raise ValueError("costs must not be negative")
    run = _Run(problem, Newton() if how is None else how, start)
    while not run.over():
        checkpoint()
        run.step()
    return run.solution()


class _Run:
    def __init__(self, problem: VectorProblem, how: Newton, start: Values | None) -> None:
        self.problem, self.how, self.taken = problem, how, 0
        self.begins = problem.margins + np.where(problem.margins > 0, how.h, 0.0)
        self.here = self._point(self._placed(np.zeros(problem.size) if start is None else start))
        self.slope = self._slope(self.here)
        self.history = [self.here.value]
        self.still = False

    def over(self) -> bool:
        return self._converged() or self.still or self.taken >= self.how.max_iter

    def step(self) -> None:
        self.taken += 1
        before = self.here
        if self.how.step == "printed":
            everything = np.arange(self.problem.size)
            self.here = self._point(self._placed(before.at - self._solved(everything)))
            moved = float(np.linalg.norm(self.here.at - before.at))
            self.still = moved <= self.how.tol * float(np.linalg.norm(self.here.at))
        else:
            self.here = self._searched(self._direction())
            self.still = self.here is before
        self.slope = self._slope(self.here)
        self.history.append(self.here.value)

    def solution(self) -> VectorSolution:
        width, at = self.problem.contrasts.width, self.here.at
        return VectorSolution(
            w=at[:width],
            b=float(at[width]) if len(at) > width else None,
            objective=self.here.value,
            gap=self._gap(),
            steps=self.taken,
            converged=self._converged() or (self.still and self.how.step == "printed"),
            history=self.history,
        )

    def _converged(self) -> bool:
        return self.how.step != "printed" and self._gap() <= self.how.tol * abs(self.here.value)

    def _gap(self) -> float:
        """Return the objective minus its lower bound by strong convexity, the minimum of g . (x - at) + |x - at|^2 /
        2."""
        move = self._placed(self.here.at - self.slope) - self.here.at
        return max(0.0, -float(self.slope @ move + move @ move / 2))

    def _direction(self) -> Values:
        """Return the Newton step of the free coordinates, and minus the gradient of those held at zero.

        A projected Newton step of all coordinates need not lower the objective, because the Hessian mixes free
        coordinates with held ones (Bertsekas, "Projected Newton methods for optimization problems with simple
        constraints", SIAM Journal on Control and Optimization 1982).
        """
        free = np.arange(self.problem.size)
        if self.problem.nonnegative:
            move = self.here.at - self._placed(self.here.at - self.slope)
            # Coordinates nearly at zero count as held, or steps could become arbitrarily short on the way to zero.
            near = min(1e-3 * float(np.abs(self.here.at).max()), float(np.linalg.norm(move)))
            free = np.flatnonzero((self.here.at > near) | (self.slope <= 0))
        direction = -self.slope
        direction[free] = -self._solved(free)
        return direction

    def _searched(self, direction: Values) -> _Point:
        """Return the first point of the projected ray, whose step is halved each time, with an objective that fell
        enough."""
        size, here = 1.0, self.here
        while size > _SMALLEST:
            checkpoint()
            trial = self._point(self._placed(here.at + size * direction))
            if trial.value <= here.value + _ENOUGH * min(float(self.slope @ (trial.at - here.at)), 0.0):
                return trial if trial.value < here.value else here
            size /= 2
        return here

    def _placed(self, at: Values) -> Values:
        return np.maximum(at, 0.0) if self.problem.nonnegative else np.asarray(at)

    def _point(self, at: Values) -> _Point:
        problem, h, width = self.problem, self.how.h, self.problem.contrasts.width
        scores = problem.contrasts.along(at[:width])
        if problem.sides is not None:
            scores = scores + problem.sides * at[width]
        missing = np.maximum(self.begins - scores, 0.0)
        slopes = np.minimum(missing / (2 * h), 1.0)
        # v^2 / 4h and v - h are both s (v - s h) with the slope s.
        loss = float(problem.costs @ (slopes * (missing - slopes * h)))
        quadratic = np.flatnonzero((slopes > 0) & (slopes < 1) & (problem.costs > 0))
        return _Point(at, float(at @ at) / 2 + loss, problem.costs * slopes, quadratic)

    def _slope(self, point: _Point) -> Values:
        violated = np.flatnonzero(point.slopes)
        pulled = self.problem.contrasts.take(violated).total(point.slopes[violated])
        if self.problem.sides is not None:
            pulled = np.append(pulled, point.slopes @ self.problem.sides)
        return np.asarray(point.at - pulled)

    def _solved(self, free: NDArray[np.intp]) -> Values:
        """Return the inverse Hessian of the free coordinates, equation (32), times their gradient.

        Conjugate gradients need only products with the Hessian (a truncated Newton method, appendix A.3): O(n d) each,
        where the Hessian itself costs O(n d^2) and its factors O(d^3).
        """
        problem, quadratic, along = self.problem, self.here.quadratic, np.zeros(self.problem.size)
        width, curvature = problem.contrasts.width, problem.costs[quadratic] / (2 * self.how.h)
        contrasts = problem.contrasts.take(quadratic)
        sides = np.zeros(len(quadratic)) if problem.sides is None else problem.sides[quadratic]

        def hessian_product(direction: Values) -> Values:
            checkpoint()
            along[free] = direction
            pulled = curvature * (contrasts.along(along[:width]) + sides * along[width:].sum())
            product = np.append(contrasts.total(pulled), pulled @ sides)
            return np.asarray(direction + product[free])

        if not len(quadratic):
            return self.slope[free]
        hessian = LinearOperator((len(free),) * 2, matvec=hessian_product, dtype=np.float64)
        exact = _EXACT if self.how.step == "printed" else _TRUNCATED
        return np.asarray(cg(hessian, self.slope[free], rtol=exact)[0])


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
        solution = minimize(subsets[0], replace(how, h=how.h * factor, tol=max(how.tol, _LOOSE)), start)
        start, steps, history = solution.omega, steps + solution.steps, history + solution.history
        factor /= _SHARPER
    for subset in subsets:
        tol = how.tol if subset is problem else max(how.tol, _LOOSE)
        solution = minimize(subset, replace(how, tol=tol), start)
        start, steps, history = solution.omega, steps + solution.steps, history + solution.history
    return replace(solution, steps=steps, history=history)


def growing(problem: VectorProblem) -> list[VectorProblem]:
    """Return the problem over random subsets of its constraints, each four times as large as the last, and itself."""
    order = np.random.default_rng(0).permutation(np.flatnonzero(problem.costs))
    sizes = [_FIRST]
    while _GROWTH * sizes[-1] <= len(order) // 2:
        sizes.append(_GROWTH * sizes[-1])
    return [problem.take(np.sort(order[:size])) for size in sizes if size <= len(order) // 2] + [problem]
