"""Objectives of notions, their gradients, Proposition 1, and the two solvers."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import sqrtm
from scipy.optimize import minimize

from crossview.engine.learners.papers.joint.comparison_loss import ComparisonLoss, Notions
from crossview.engine.learners.papers.joint.joint_fit import JointSettings, learn, weighted
from crossview.engine.learners.papers.joint.losses import loss_of
from crossview.engine.learners.papers.joint.objectives import (
    FactorProblem,
    Features,
    JointProblem,
    Losses,
    Objects,
    balanced,
    penalty,
)
from crossview.engine.learners.papers.joint.solver import Alternation, roots
from crossview.engine.learners.papers.losses.constraints import triplets

LOSSES = ("hinge", "logistic", "tste", "crowd")


def drawn(count=60, rows=20, notions=3, seed=0):
    """Return triplets of rows in notions, with weights of their own, in any order."""
    generator = np.random.default_rng(seed)
    items = np.array([generator.choice(rows, 3, replace=False) for _ in range(count)])
    constraints = triplets(items, weight=generator.uniform(0.5, 2, count))
    return weighted(Notions(constraints, generator.integers(notions, size=count), notions))


def slope_along(function, at, direction, step=1e-6):
    """Return a central finite difference of the value."""
    return (function(at + step * direction)[0] - function(at - step * direction)[0]) / (2 * step)


def plain(notions, embedded, name):
    """Return the loss comparison by comparison, without any shortcut."""
    loss, constraints, total = loss_of(name, embedded.shape[2]), notions.constraints, 0.0
    for code, near, far, margin, weight in zip(
        notions.codes, constraints.near, constraints.far, constraints.margins, constraints.weights, strict=True
    ):
        gaps = [np.square(embedded[code, pair[0]] - embedded[code, pair[1]]).sum() for pair in (near, far)]
        total += weight * loss(*map(np.atleast_1d, (*gaps, margin)), 0.0).values[0]
    return total


def test_the_crowd_kernel_is_that_of_the_paper():
    """With mu = 1, a is more like b than c with probability (mu + D(a, c)) / (2 mu + D(a, b) + D(a, c))."""
    near, far = np.random.default_rng(0).uniform(0, 5, (2, 50))
    values = loss_of("crowd", 10)(near, far, np.zeros(50), 0.0).values
    assert_allclose(np.exp(-values), (1 + far) / (2 + near + far))


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("rows", [20, 300])
def test_the_loss_is_that_of_the_comparisons(name, rows):
    """It is, both by tables of all pairs and by distances one by one."""
    notions = drawn(400 if rows == 20 else 40, rows)
    embedded = np.random.default_rng(1).normal(size=(3, rows, 4))
    assert_allclose(ComparisonLoss(notions, rows, loss_of(name, 4))(embedded)[0], plain(notions, embedded, name))


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("smoothing", [0.5, 2.0])
@pytest.mark.parametrize("inputs", [Objects(20), Features(np.random.default_rng(5).normal(size=(20, 6)))])
def test_gradients_are_those_of_finite_differences(name, smoothing, inputs):
    """This holds for maps with metrics and for single factors, with features and without."""
    generator, notions = np.random.default_rng(2), drawn()
    losses = Losses(notions, 20, loss_of(name, 3), 3)
    joint = JointProblem(inputs, losses, 0.01, (inputs.width, 3, 3))
    alone = FactorProblem(inputs, Losses(notions.pooled(), 20, loss_of(name, 3), 3), 0.01)
    for problem, size in ((joint, inputs.width * 3 + 27), (alone, inputs.width * 3)):
        at, direction = generator.normal(size=(2, size))
        found = problem.value(at, smoothing)[1] @ direction
        wanted = slope_along(lambda theta, problem=problem: problem.value(theta, smoothing), at, direction)
        assert_allclose(found, wanted, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", LOSSES)
def test_algorithm_1_has_the_gradients_of_the_same_objective(name):
    """The gradients are those with respect to L and to the M_t themselves."""
    generator, notions = np.random.default_rng(3), drawn()
    run = Alternation(Objects(20), ComparisonLoss(notions, 20, loss_of(name, 3)), 0.01)
    common, factors = generator.normal(size=(20, 3)), generator.normal(size=(3, 3, 3))
    metrics = factors @ factors.swapaxes(1, 2) + np.eye(3)
    of_map, of_metrics = generator.normal(size=(20, 3)), generator.normal(size=(3, 3, 3))
    of_metrics = of_metrics + of_metrics.swapaxes(1, 2)
    step = 1e-6
    for slope, direction, at in (
        (run.slope_of_map(common, metrics), of_map, lambda share: (common + share * of_map, metrics)),
        (run.slope_of_metrics(common, metrics), of_metrics, lambda share: (common, metrics + share * of_metrics)),
    ):
        wanted = (run.objective(*at(step)) - run.objective(*at(-step))) / (2 * step)
        assert_allclose(np.vdot(slope, direction), wanted, rtol=1e-4, atol=1e-6)


def test_proposition_1():
    """The least gamma sum tr M_t + beta |L|^2 with L M_t L^T = K_t is 2 (beta gamma)^1/2 tr (sum K_t)^1/2."""
    generator = np.random.default_rng(4)
    common, local = generator.normal(size=(9, 3)), generator.normal(size=(4, 3, 3))
    total = sum(common @ factor @ factor.T @ common.T for factor in local)
    least = penalty([common @ factor for factor in local])
    assert_allclose(least, 2 * np.trace(sqrtm(total + 1e-13 * np.eye(9))).real, rtol=1e-4)
    best = balanced(common, local)
    for factor, other in zip(local, best[1], strict=True):
        assert_allclose(best[0] @ other @ other.T @ best[0].T, common @ factor @ factor.T @ common.T, atol=1e-9)
    assert_allclose(np.square(best[0]).sum() + np.square(best[1]).sum(), least)

    def value(flat, beta=2.0, gamma=0.3):
        """Return the penalty after an invertible change of the common space, which leaves the K_t."""
        change = flat.reshape(3, 3)
        changed = common @ change, np.linalg.inv(change) @ local
        return beta * np.square(changed[0]).sum() + gamma * np.square(changed[1]).sum()

    found = minimize(value, np.eye(3).ravel(), method="Nelder-Mead", options={"maxiter": 20_000, "xatol": 1e-8})
    assert_allclose(found.fun, np.sqrt(2.0 * 0.3) * least, rtol=1e-4)


def test_rescaling_never_raises_the_penalty():
    """The corollary: with the same K_t, both terms are equal then, so that only the product of the weights matters."""
    generator = np.random.default_rng(5)
    common, local, beta, gamma = generator.normal(size=(9, 3)), generator.normal(size=(4, 3, 3)), 5.0, 0.01
    scale = (gamma * np.square(local).sum() / (beta * np.square(common).sum())) ** 0.25
    scaled = common * scale, local / scale
    assert_allclose(scaled[0] @ scaled[1], common @ local)
    terms = beta * np.square(scaled[0]).sum(), gamma * np.square(scaled[1]).sum()
    assert_allclose(terms[0], terms[1])
    assert sum(terms) <= beta * np.square(common).sum() + gamma * np.square(local).sum()


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_both_solvers_come_to_the_same_objective(loss):
    """Algorithm 1 on a small problem, within half a per cent of the quasi-Newton solver."""
    generator = np.random.default_rng(6)
    places = generator.normal(size=(25, 3))
    items = np.array([generator.choice(25, 3, replace=False) for _ in range(600)])
    codes = np.repeat([0, 1], 300)
    near, far = (np.square(places[items[:, 0]] - places[items[:, at]]) for at in (1, 2))
    order = np.where(codes == 0, (near - far)[:, :2].sum(axis=1), (near - far)[:, 1:].sum(axis=1))
    items = np.where((order > 0)[:, None], items[:, [0, 2, 1]], items)
    notions = Notions(triplets(items), codes, 2)
    exact, alternating = (
        learn(Features(places), notions, JointSettings(n_components=3, alpha=0.02, solver=solver, tol=tol, loss=loss))
        for solver, tol in (("quasi-newton", 1e-7), ("alternating", 1e-5))
    )
    assert exact.converged
    assert_allclose(alternating.objective, exact.objective, rtol=5e-3)


def test_the_descent_finds_the_best_scale_of_one_column():
    """The whole problem is one number: the squared scale of a single column."""
    rows = np.array([[0.0], [1.0], [3.0], [4.5]])
    notions = weighted(Notions(triplets([[0, 1, 2], [3, 2, 1], [0, 2, 1]]), np.zeros(3, np.int64), 1))
    how = JointSettings(n_components=1, alpha=0.05, sharing="independent", loss="logistic", tol=1e-10)
    found = learn(Features(rows), notions, how)
    losses = Losses(notions, 4, loss_of("logistic", 1), 1)
    scales = np.linspace(0, 3, 3001)
    values = [losses(scale * rows[None], 0.0)[0] + 0.05 * scale**2 for scale in scales]
    assert_allclose(found.objective, min(values), rtol=1e-5)


def test_many_triplets_are_looked_at_notion_by_notion():
    """The value and the gradient are the same."""
    notions = drawn(200, 300)
    embedded = np.random.default_rng(7).normal(size=(3, 300, 4))
    together, apart = (Losses(notions, 300, loss_of("hinge", 4), width) for width in (4, 1 << 21))
    assert_allclose(together(embedded, 0.1)[0], apart(embedded, 0.1)[0])
    assert_allclose(together(embedded, 0.1)[1], apart(embedded, 0.1)[1], atol=1e-12)
    np.testing.assert_array_equal(roots(np.zeros((1, 2, 2))), np.zeros((1, 2, 2)))
