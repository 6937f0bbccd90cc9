"""The solver: gradients, projections, Algorithms 1 and 2, and the active constraints."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crossview.engine.learners.papers.losses import differences as differences_module
from crossview.engine.learners.papers.losses.constraints import joined, pairs, quadruplets
from crossview.engine.learners.papers.losses.differences import Differences
from crossview.engine.learners.papers.losses.objective import Objective, satisfied
from crossview.engine.learners.papers.losses.parameters import Diagonal, Full, LowRank, Metric, Spectrum, Symmetric
from crossview.engine.learners.papers.losses.regularizer import Regularizer
from crossview.engine.learners.papers.metrics.fantope import Fantope, Multipliers, alternate, proximal_step
from crossview.engine.learners.papers.metrics.training_constraints import Stopping
from crossview.engine.learners.papers.solvers import growing_subsets as growing_subsets_module
from crossview.engine.learners.papers.solvers.descent import Descent, Validation, descend
from crossview.engine.learners.papers.solvers.growing_subsets import descend_over_growing_subsets, growing_subsets

FORMS = {"full": Full(), "diagonal": Diagonal(), "low-rank": LowRank()}
WIDTH, RANK = 6, 2


def problem(seed=0, count=200, rows=60):
    """Return rows, and quadruplets that a metric on the first two columns has ordered, with some pairs among them."""
    generator = np.random.default_rng(seed)
    points = generator.normal(size=(rows, WIDTH))
    features = Differences(points)
    items = generator.integers(rows, size=(count, 4))
    truth = np.eye(WIDTH)[:RANK]
    near, far = features.distances(truth, items[:, :2]), features.distances(truth, items[:, 2:])
    items = np.where((near > far)[:, None], items[:, [2, 3, 0, 1]], items)
    alike = features.distances(truth, items[:40, :2]) < 1.0
    weights = generator.uniform(0.5, 2.0, count)
    return features, joined([quadruplets(items, weight=weights), pairs(items[:40, :2], alike)])


def symmetric(seed, width=WIDTH):
    matrix = np.random.default_rng(seed).normal(size=(width, width))
    return (matrix + matrix.T) / 2


def differences(function, at, step=1e-6):
    """Return central finite differences of a function of an array."""
    found = np.zeros_like(at)
    for index in np.ndindex(*at.shape):
        move = np.zeros_like(at)
        move[index] = step
        found[index] = (function(at + move) - function(at - move)) / (2 * step)
    return found


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "regularizer",
    [
        Regularizer(),
        Regularizer(fantope=0.3, rank=RANK),
        Regularizer(fantope=0.3, rank=RANK, trace=0.2, frobenius=0.1, linear=symmetric(9)),
    ],
)
def test_gradients_match_finite_differences(form, regularizer):
    """The slope of loss and regularised objective is their derivative, for every parameterisation."""
    features, constraints = problem()
    objective = Objective(features, constraints, regularizer, FORMS[form])
    generator = np.random.default_rng(1)
    factor = generator.normal(size=(3, WIDTH))
    start = {
        "full": factor.T @ factor + np.diag(np.linspace(1, 2, WIDTH)),
        "diagonal": np.linspace(0.5, 2, WIDTH),
        "low-rank": factor,
    }[form]
    metric = FORMS[form].place(start)
    slope = objective.gradient(metric, objective.evaluate(metric))
    numeric = differences(lambda theta: objective.exact(FORMS[form].place(theta)), metric.theta)
    np.testing.assert_allclose(slope, numeric, rtol=1e-4, atol=1e-5)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), count=st.integers(1, 50))
def test_laplacian_form_is_the_explicit_sum(seed, count):
    """The scatter and its diagonal are the sums of outer products, self-pairs, repeats and signs included."""
    generator = np.random.default_rng(seed)
    rows, which = generator.normal(size=(8, 4)), generator.integers(8, size=(count, 2))
    coefficients = generator.normal(size=count)
    gaps = rows[which[:, 0]] - rows[which[:, 1]]
    explicit = sum(c * np.outer(gap, gap) for c, gap in zip(coefficients, gaps, strict=True))
    features = Differences(rows)
    np.testing.assert_allclose(features.scatter(which, coefficients), explicit, atol=1e-10)
    np.testing.assert_allclose(features.squares(which, coefficients), np.diag(explicit), atol=1e-10)
    factor = generator.normal(size=(3, 4))
    np.testing.assert_allclose(features.scattered(factor, which, coefficients), factor @ explicit, atol=1e-10)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), count=st.integers(1, 50))
def test_distances_are_the_forms(seed, count):
    """Distances by a factor equal the quadratic forms of its matrix, and neither depends on the size of blocks."""
    generator = np.random.default_rng(seed)
    features, which = Differences(generator.normal(size=(20, 4))), generator.integers(20, size=(count, 2))
    factor = generator.normal(size=(3, 4))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(differences_module, "_CACHE", 12)
        found = features.distances(factor, which)
    gaps = features.rows[which[:, 0]] - features.rows[which[:, 1]]
    np.testing.assert_allclose(found, np.square(gaps @ factor.T).sum(axis=1), atol=1e-10)
    np.testing.assert_allclose(features.forms(factor.T @ factor, which), found, atol=1e-10)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), count=st.integers(1, 50), offset=st.sampled_from([0.0, 1e6]))
def test_many_pairs_lose_only_digits(seed, count, offset):
    """The sums over many pairs, in float32, are those in float64 to 5 digits, for any origin of the rows."""
    generator = np.random.default_rng(seed)
    features, which = Differences(generator.normal(size=(20, 4))), generator.integers(20, size=(count, 2))
    factor, coefficients = generator.normal(size=(3, 4)), generator.normal(size=count)
    wanted = features.distances(factor, which), features.scatter(which, coefficients)
    moved = Differences(features.rows + offset)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(differences_module, "_MANY", 0)
        found = moved.distances(factor, which), moved.scatter(which, coefficients)
        diagonal = moved.squares(which, coefficients)
    np.testing.assert_allclose(found[0], wanted[0], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(found[1], wanted[1], atol=1e-5 * count)
    np.testing.assert_allclose(diagonal, np.diag(wanted[1]), atol=1e-5 * count)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), rank=st.integers(0, WIDTH))
def test_projections_by_their_definitions(seed, rank):
    """The cone's projection is positive semidefinite and no allowed matrix is nearer; R, W and ranks fit together."""
    matrix = symmetric(seed)
    placed = Full().place(matrix)
    values = np.linalg.eigvalsh(placed.matrix)
    assert values.min() > -1e-12
    # Optimality over a cone: what was cut off is orthogonal to the projection and no direction of the cone regains it.
    rest = matrix - placed.matrix
    assert abs(np.vdot(rest, placed.matrix)) < 1e-10
    assert np.linalg.eigvalsh(rest).max() < 1e-10
    np.testing.assert_allclose(placed.factor.T @ placed.factor, placed.matrix, atol=1e-12)
    spectrum = placed.spectrum
    projector = spectrum.projector(WIDTH - rank)
    np.testing.assert_allclose(projector @ projector, projector, atol=1e-12)
    assert np.trace(projector) == pytest.approx(WIDTH - rank)
    assert np.vdot(projector, placed.matrix) == pytest.approx(spectrum.smallest(WIDTH - rank), abs=1e-10)
    assert spectrum.smallest(WIDTH - rank) == pytest.approx(np.sort(values)[: WIDTH - rank].sum(), abs=1e-10)
    cut = spectrum.largest(rank)
    assert np.linalg.matrix_rank(cut.matrix(), tol=1e-9) == min(rank, spectrum.rank(1e-9))
    assert cut.smallest(WIDTH - rank) == 0


def test_projector_gives_the_least_trace():
    """No other projection of its rank gives less than R: Ky Fan's theorem."""
    matrix = symmetric(3)
    spectrum = Spectrum.of(matrix)
    for seed in range(50):
        basis = np.linalg.qr(np.random.default_rng(seed).normal(size=(WIDTH, 4)))[0]
        assert np.vdot(basis @ basis.T, matrix) >= spectrum.smallest(4) - 1e-12


@pytest.mark.parametrize("form", FORMS)
def test_adaptive_objective_never_rises(form):
    """Algorithm 1 with adaptive steps lowers the objective, W moving with M, and says when it stopped."""
    features, constraints = problem()
    regularizer = Regularizer(fantope=0.05, rank=RANK, trace=1e-3)
    objective = Objective(features, constraints, regularizer, FORMS[form])
    start = np.eye(RANK, WIDTH) + 0.1 if form == "low-rank" else FORMS[form].start(np.eye(WIDTH))
    solution = descend(objective, start, Descent(max_iter=300, check_every=1))
    assert len(solution.history) > 1
    exact = objective.exact(FORMS[form].place(start))
    assert solution.objective < exact
    # Constraints that a check adds may raise the objective; without any it only falls.
    everything = Objective(features, constraints, regularizer, FORMS[form])
    everything.recheck = lambda metric: 0
    history = descend(everything, start, Descent(max_iter=300)).history
    assert (np.diff(history) <= 0).all()


def test_a_step_with_w_fixed_lowers_the_objective():
    """With W fixed, the objective of Algorithm 1 is convex and touches the true one at the metric that gave W."""
    features, constraints = problem()
    regularizer = Regularizer(fantope=0.2, rank=RANK)
    metric = Full().place(np.eye(WIDTH) + 0.1 * symmetric(1))
    fixed = regularizer.tangent(metric)
    assert fixed.value(metric) == pytest.approx(regularizer.value(metric))
    np.testing.assert_allclose(fixed.gradient(metric), regularizer.gradient(metric))
    solution = descend(Objective(features, constraints, fixed, Full()), metric.matrix, Descent(max_iter=50))
    alternating = Objective(features, constraints, regularizer, Full())
    assert solution.objective < alternating.exact(metric)
    # The new W can only lower it further: M's smallest eigenvalues sum to no more than any <M, W>.
    assert alternating.exact(solution.metric) <= solution.objective + 1e-12


@pytest.mark.parametrize("rule", ["constant", "sqrt"])
def test_other_rules_return_their_best(rule):
    """Rules that take every step return a metric that is better than the start."""
    features, constraints = problem()
    objective = Objective(features, constraints, Regularizer(), Full())
    start = objective.exact(Full().place(np.eye(WIDTH)))
    assert descend(objective, np.eye(WIDTH), Descent(step=0.02, rule=rule)).objective < start


@pytest.mark.long
def test_active_set_ends_where_full_evaluation_does():
    """A descent that looks only at active constraints between checks ends at the objective of one that looks at all."""
    features, constraints = problem(count=2_000)
    regularizer = Regularizer(frobenius=0.01)  # one minimum
    found = {}
    for every in (1, 25):
        objective = Objective(features, constraints, regularizer, Full())
        solution = descend(
            objective, np.eye(WIDTH), Descent(max_iter=5_000, tol=1e-6, check_every=every, smoothing=1.0)
        )
        assert solution.converged
        assert objective.evaluate(solution.metric).value == pytest.approx(solution.objective)
        found[every] = solution.objective
    assert found[25] == pytest.approx(found[1], rel=1e-4)


@pytest.mark.long
def test_subsets_end_where_all_constraints_do(monkeypatch):
    """Subsets are disjoint and the same every time; they change only the way to the minimum over all constraints."""
    features, constraints = problem(count=4_000)
    monkeypatch.setattr(growing_subsets_module, "_FIRST", 200)

    def objective():
        return Objective(features, constraints, Regularizer(frobenius=0.01), Full())  # one minimum

    found = growing_subsets(objective())
    assert [len(part.constraints) for part in found] == [200, 800]
    assert sum(part.constraints.weights.sum() for part in found) < constraints.weights.sum()
    rows = [tuple(row) for part in found for row in np.hstack([part.constraints.near, part.constraints.far])]
    assert len(set(rows)) == len(rows)
    how = Descent(max_iter=5_000, tol=1e-6, smoothing=1.0)
    grown, again = (descend_over_growing_subsets(objective(), np.eye(WIDTH), how) for _ in range(2))
    alone = descend(objective(), np.eye(WIDTH), how)
    assert grown.converged
    np.testing.assert_array_equal(grown.metric.matrix, again.metric.matrix)
    assert grown.objective == pytest.approx(alone.objective, rel=1e-4)
    assert descend_over_growing_subsets(objective(), np.eye(WIDTH), Descent(max_iter=7)).steps == 7


def test_subsets_start_at_the_margins_scale(monkeypatch):
    """A start far too small costs no steps: the first subset begins from its best multiple."""
    features, constraints = problem(count=1_000)
    monkeypatch.setattr(growing_subsets_module, "_FIRST", 200)
    found = descend_over_growing_subsets(
        Objective(features, constraints, Regularizer(), Full()), 2.0**-10 * np.eye(WIDTH), Descent(max_iter=0)
    )
    assert np.allclose(found.metric.matrix / found.metric.matrix[0, 0], np.eye(WIDTH))
    assert found.metric.matrix[0, 0] >= 0.1


def test_subsets_leave_out_what_costs_nothing(monkeypatch):
    """Constraints of weight 0 are in no subset, and few constraints have none."""
    features, constraints = problem(count=4_000)
    monkeypatch.setattr(growing_subsets_module, "_FIRST", 10)
    free = replace(constraints, weights=np.where(np.arange(len(constraints)) < 60, 1.0, 0.0))
    found = growing_subsets(Objective(features, free, Regularizer(), Full()))
    assert [part.constraints.weights.tolist() for part in found] == [[1.0] * 10]
    monkeypatch.setattr(growing_subsets_module, "_FIRST", len(constraints))
    assert growing_subsets(Objective(features, constraints, Regularizer(), Full())) == []


def test_proximal_step_is_the_minimum():
    """The dual's matrix has no lower neighbour, and descent on all symmetric matrices finds nothing lower."""
    features, constraints = problem()
    regularizer = Regularizer(trace=0.01, linear=0.05 * symmetric(4)).near(symmetric(5), 0.1)
    matrix, duals = proximal_step(features, constraints, regularizer, np.zeros(len(constraints)), max_iter=1_000)
    assert ((duals >= 0) & (duals <= 1)).all()
    objective = Objective(features, constraints, regularizer, Symmetric())
    value = objective.exact(Symmetric().place(matrix))
    descended = descend(objective, symmetric(5), Descent(max_iter=5_000, tol=1e-7, smoothing=1.0))
    assert value <= descended.objective + 1e-6
    assert descended.objective == pytest.approx(value, rel=1e-3)


@pytest.mark.long
def test_admm_agrees_with_descent_where_the_problem_is_convex():
    """With the trace instead of the Fantope both algorithms have one minimum to find."""
    features, constraints = problem()
    regularizer = Regularizer(trace=0.05, frobenius=0.05)
    objective = Objective(features, constraints, regularizer, Full())
    descended = descend(objective, np.eye(WIDTH), Descent(max_iter=5_000, tol=1e-7, smoothing=1.0))
    found = alternate(features, constraints, regularizer, np.eye(WIDTH), Multipliers(0.1, 300, 1e-4))
    assert found.converged
    assert found.objective == pytest.approx(descended.objective, rel=2e-3)


def test_many_numbers_lose_only_digits(monkeypatch):
    """Embeddings and slopes of large rows, in float32, are those in float64 to 5 digits."""
    features, constraints = problem()
    factor, coefficients = np.random.default_rng(1).normal(size=(3, WIDTH)), np.linspace(-1, 1, len(constraints))
    wanted = features.embedded(factor), features.scattered(factor, constraints.near, coefficients)
    monkeypatch.setattr(differences_module, "_LARGE", 0)
    large = Differences(features.rows + 1e6)
    np.testing.assert_allclose(large.embedded(factor), wanted[0], atol=1e-5)
    np.testing.assert_allclose(large.scattered(factor, constraints.near, coefficients), wanted[1], atol=1e-3)


def test_what_is_as_good_as_zero_ends_the_descent():
    """If all constraints can be fulfilled and no term is added, few steps end it, all hinges included."""
    generator = np.random.default_rng(0)
    features = Differences(generator.normal(size=(20, 40)))
    constraints = quadruplets(generator.integers(20, size=(30, 4)))
    constraints = constraints.take(np.flatnonzero(constraints.far[:, 0] != constraints.far[:, 1]))
    objective = Objective(features, constraints, Regularizer(), LowRank())
    solution = descend(objective, np.eye(40), Descent(smoothing=1.0))
    assert solution.converged
    assert solution.steps < 100
    assert solution.objective < 1e-6


def test_patience_returns_the_best_of_the_checks():
    """The metric of the best check is returned, and the fit ends soon after it."""
    features, constraints = problem()
    scores = iter([0.1, 0.5, 0.4, 0.3, 0.2, 0.9])
    solution = descend(
        Objective(features, constraints, Regularizer(), Full()),
        np.eye(WIDTH),
        Descent(check_every=2, tol=0.0),
        Validation(lambda metric: next(scores), patience=3),
    )
    assert solution.scores == [0.1, 0.5, 0.4, 0.3, 0.2]
    again = descend(
        Objective(features, constraints, Regularizer(), Full()), np.eye(WIDTH), Descent(max_iter=2, check_every=2)
    )
    np.testing.assert_array_equal(solution.metric.matrix, again.metric.matrix)


def test_zero_metric_satisfies_nothing():
    """A metric of zero puts nothing in order, so it cannot win a comparison."""
    features, constraints = problem()
    assert satisfied(Metric(np.zeros((WIDTH, WIDTH)), np.zeros((0, WIDTH))), features,
                     quadruplets(np.hstack([constraints.near, constraints.far]), margin=0.0)) == 0  # fmt: skip


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Objective(Differences(np.eye(3)), quadruplets([[0, 1, 2, 3]]), Regularizer(), Full()), "names row 3"),
        (lambda: Regularizer(trace=-1.0), "trace=-1.0"),
        (lambda: Regularizer(fantope=np.nan, rank=1), "fantope=nan"),
        (lambda: Regularizer(fantope=1.0), "needs the rank"),
        (lambda: Fantope(descent=Descent(step=0.0)).fit(np.eye(4), [0, 0, 1, 1]), "step must be a number above 0"),
        (lambda: Fantope(stopping=Stopping(patience=0)).fit(np.eye(4), [0, 0, 1, 1]), "patience must be .* from 1"),
        (lambda: Fantope(descent=3).fit(np.eye(4), [0, 0, 1, 1]), "descent must be None or a value of Descent, not 3"),
        (lambda: Multipliers(rho=0.0), "rho must be positive"),
    ],
)
def test_bad_settings_are_named(make, message):
    """Settings out of range and rows that do not exist are ValueErrors that name them."""
    with pytest.raises(ValueError, match=message):
        make()
