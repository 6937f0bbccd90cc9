"""Newton's method for vectors that keep constraints: its sums, its end, and the bound of its error."""

import numpy as np
import pytest
from scipy.optimize import minimize as solve

from crossview.engine.learners.papers.losses.constraints import joined, pairs, quadruplets
from crossview.engine.learners.papers.losses.contrasts import SignedContrasts, SquaredContrasts
from crossview.engine.learners.papers.solvers import newton
from crossview.engine.learners.papers.solvers.newton import (
    Newton,
    VectorProblem,
    diagonal_problem,
    minimize,
    minimize_over_growing_subsets,
)

WIDTH, H, EXACT = 6, 0.05, Newton(tol=1e-10)


def rows_and_constraints(seed=0, count=200):
    """Return correlated columns, and quadruplets of margins 0 and 1 and pairs that two of the columns order."""
    generator = np.random.default_rng(seed)
    rows = generator.normal(size=(60, WIDTH)) @ (np.eye(WIDTH) + 0.4)
    items = np.array([generator.choice(60, 4, replace=False) for _ in range(count)])
    near, far = (np.square(rows[a] - rows[b])[:, :2].sum(axis=1) for a, b in (items.T[:2], items.T[2:]))
    items = np.where((near > far)[:, None], items[:, [2, 3, 0, 1]], items)
    margins = (np.arange(count) % 2).astype(float)
    return rows, joined(
        [
            quadruplets(items, margins, generator.uniform(0.5, 2.0, count)),
            pairs(items[:50, :2], near[:50] < np.median(near), weight=2.0),
        ]
    )


def listed(rows, constraints, squared):
    """Return the (n, d) contrasts, one by one."""

    def psi(pairs):
        gaps = rows[pairs[:, 0]] - rows[pairs[:, 1]]
        return np.square(gaps) if squared else gaps

    return psi(constraints.far) - psi(constraints.near)


def by_a_library(z, problem):
    """Return the minimum by scipy's L-BFGS-B, of the loss as equations (29) and (30) print it."""

    def objective(omega):
        t = z @ omega
        one = problem.margins > 0
        y = t + (1 - problem.margins)  # a margin m on t is a margin 1 on t + 1 - m
        huber_1 = np.where(y > 1 + H, 0, np.where(np.abs(1 - y) <= H, (1 + H - y) ** 2 / (4 * H), 1 - y))
        huber_0 = np.where(t > 0, 0, np.where(np.abs(-H - t) <= H, t**2 / (4 * H), -H - t))
        slope_1 = np.where(y > 1 + H, 0, np.where(np.abs(1 - y) <= H, -(1 + H - y) / (2 * H), -1))
        slope_0 = np.where(t > 0, 0, np.where(np.abs(-H - t) <= H, t / (2 * H), -1))
        loss, slope = np.where(one, huber_1, huber_0), np.where(one, slope_1, slope_0)
        return omega @ omega / 2 + problem.costs @ loss, omega + z.T @ (problem.costs * slope)

    bounds = [(0 if problem.nonnegative else None, None)] * problem.size
    options = {"maxiter": 100_000, "maxfun": 100_000, "ftol": 1e-16, "gtol": 1e-9}
    return solve(objective, np.zeros(problem.size), jac=True, method="L-BFGS-B", bounds=bounds, options=options)


@pytest.mark.parametrize("kind", [SignedContrasts, SquaredContrasts])
def test_sums_over_contrasts_are_those_of_the_listed_ones(kind):
    """Products with vectors of either sign, and totals, are those of the matrix that is never made."""
    rows, constraints = rows_and_constraints()
    z = listed(rows, constraints, kind is SquaredContrasts)
    contrasts = kind(rows, constraints.near, constraints.far)
    generator = np.random.default_rng(1)
    w, coefficients = generator.normal(size=WIDTH) * (np.arange(WIDTH) > 1), generator.normal(size=len(z))
    np.testing.assert_allclose(contrasts.along(w), z @ w, atol=1e-10)
    np.testing.assert_allclose(contrasts.along(0 * w), 0)
    np.testing.assert_allclose(contrasts.total(coefficients), coefficients @ z, atol=1e-9)
    some = np.array([3, 1, 8])
    np.testing.assert_allclose(contrasts.take(some).along(w), z[some] @ w, atol=1e-10)


@pytest.mark.parametrize("weight", [1.0, 100.0, 10_000.0])
def test_a_diagonal_and_its_threshold_equal_a_librarys(weight):
    """Over coordinates that interact Newton's method ends at the minimum of equation (28), from either start."""
    rows, constraints = rows_and_constraints()
    problem = diagonal_problem(rows, constraints, weight, 1.0)
    expected = by_a_library(np.column_stack([listed(rows, constraints, True), problem.sides]), problem)
    for found in (minimize(problem, EXACT), minimize(problem, EXACT, np.full(problem.size, 5.0))):
        assert found.converged
        assert found.w.min() >= 0
        assert found.b > 0
        np.testing.assert_allclose(np.append(found.w, found.b), expected.x, atol=1e-4 * max(1, expected.x.max()))
        assert found.objective <= expected.fun * (1 + 1e-6)


@pytest.mark.parametrize("weight", [1.0, 1000.0])
def test_a_direction_of_either_sign_equals_a_librarys(weight):
    """Without bounds and without a threshold the vector form is solved as well."""
    rows, constraints = rows_and_constraints()
    constraints = constraints.take(np.arange(200))
    contrasts = SignedContrasts(rows, constraints.near, constraints.far)
    costs = weight * constraints.weights / constraints.weights.sum()
    problem = VectorProblem(contrasts, constraints.margins, costs, nonnegative=False)
    found, expected = minimize(problem, EXACT), by_a_library(listed(rows, constraints, False), problem)
    assert found.converged
    assert found.b is None
    np.testing.assert_allclose(found.w, expected.x, atol=1e-4 * max(1, np.abs(expected.x).max()))
    assert found.w.min() < 0


def test_the_slope_and_the_step_are_those_of_finite_differences():
    """The Hessian times the printed step is the slope, and a truncated step leaves at most a tenth of the slope."""
    rows, constraints = rows_and_constraints()
    problem, near = diagonal_problem(rows, constraints, 10.0, 1.0), 1e-6 * np.eye(WIDTH + 1)
    at, every = np.random.default_rng(2).uniform(0.1, 0.3, WIDTH + 1), np.arange(WIDTH + 1)
    exact, truncated = (newton._Run(problem, Newton(step=step, h=0.5), at) for step in ("printed", "two-metric"))
    before, after = ([exact._point(at + sign * move) for move in near] for sign in (-1, 1))
    slope = np.array([b.value - a.value for a, b in zip(before, after, strict=True)]) / 2e-6
    np.testing.assert_allclose(exact.slope, slope, rtol=1e-5)
    hessian = np.array([exact._slope(b) - exact._slope(a) for a, b in zip(before, after, strict=True)]) / 2e-6
    np.testing.assert_allclose(hessian @ exact._solved(every), slope, rtol=1e-5)
    left = hessian @ truncated._solved(every) - slope
    assert 1e-9 < np.linalg.norm(left) <= 0.11 * np.linalg.norm(slope)


def test_the_gap_bounds_what_more_steps_could_gain():
    """At any step at which a descent stops, the minimum is at most the gap below."""
    rows, constraints = rows_and_constraints()
    problem = diagonal_problem(rows, constraints, 100.0, 1.0)
    least = minimize(problem, EXACT).objective
    gaps = []
    for steps in range(8):
        found = minimize(problem, Newton(tol=1e-10, max_iter=steps))
        assert found.steps <= steps
        assert found.objective - found.gap <= least + 1e-9
        gaps.append(found.gap)
    assert gaps[-1] < gaps[0]
    assert minimize(problem, Newton(tol=0.01)).objective <= 1.01 * least / (1 - 0.01)


def test_the_printed_step_is_kept_and_need_not_end_at_the_minimum():
    """Algorithm 2 projects a full Newton step, which ends at another point if coordinates interact."""
    rows, constraints = rows_and_constraints()
    problem = diagonal_problem(rows, constraints, 100.0, 1.0)
    right, printed = minimize(problem, EXACT), minimize(problem, Newton(step="printed"), np.ones(problem.size))
    assert printed.w.min() >= 0
    assert printed.objective > 1.01 * right.objective
    alone = diagonal_problem(rows, constraints, 1e-3, 1.0)  # so little of the loss that no coordinate meets another
    assert minimize(alone, Newton(step="printed"), np.ones(alone.size)).converged


def test_growing_subsets_end_where_all_constraints_do(monkeypatch):
    """Subsets and wider losses change only the way there."""
    monkeypatch.setattr(newton, "_FIRST", 20)
    rows, constraints = rows_and_constraints(count=400)
    problem = diagonal_problem(rows, constraints, 1000.0, 1.0)
    assert [len(one.costs) for one in newton.growing(problem)] == [20, 80, 450]
    assert all(np.isclose(one.costs.sum(), 1000.0) for one in newton.growing(problem))
    direct, grown = minimize(problem, EXACT), minimize_over_growing_subsets(problem, EXACT)
    np.testing.assert_allclose(grown.w, direct.w, atol=1e-4 * direct.w.max())
    assert grown.steps > direct.steps or grown.history[-1] <= direct.history[-1] * (1 + 1e-9)


@pytest.mark.parametrize(
    ("change", "words"), [({"margins": np.array([np.nan])}, "finite"), ({"costs": np.array([-1.0])}, "negative")]
)
def test_what_makes_no_sense_is_refused(change, words):
    """Margins and costs must be finite, and costs not negative."""
    given = {"margins": np.ones(1), "costs": np.ones(1)} | change
    contrasts = SignedContrasts(np.eye(4), np.array([[0, 1]]), np.array([[2, 3]]))
    with pytest.raises(ValueError, match=words):
        minimize(VectorProblem(contrasts, **given))
