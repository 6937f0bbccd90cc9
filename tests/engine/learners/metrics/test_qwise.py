"""Quadruplet-wise metrics: every form and loss beside a generic convex solver, and as learners."""

import numpy as np
import pytest
from scipy.optimize import minimize as solve
from sklearn.metrics import roc_auc_score

from crossview.engine.learners.papers.losses.constraints import joined, pairs, quadruplets, triplets
from crossview.engine.learners.papers.losses.differences import Differences
from crossview.engine.learners.papers.losses.parameters import Diagonal, Full
from crossview.engine.learners.papers.losses.ranking import RankingRisk
from crossview.engine.learners.papers.metrics.qwise import QuadrupletWise
from crossview.engine.learners.papers.solvers.cutting_plane import cut

WIDTH = 4


def rows_and_constraints(seed=0, count=60):
    """Return centred rows of unit mean square length, and constraints of all kinds that two of their columns order."""
    generator = np.random.default_rng(seed)
    rows = generator.normal(size=(40, WIDTH)) @ (np.eye(WIDTH) + 0.3)
    rows -= rows.mean(axis=0)
    rows /= np.sqrt(np.square(rows).sum(axis=1).mean())
    items = np.array([generator.choice(40, 4, replace=False) for _ in range(count)])
    near, far = (np.square(rows[a] - rows[b])[:, :2].sum(axis=1) for a, b in (items.T[:2], items.T[2:]))
    items = np.where((near > far)[:, None], items[:, [2, 3, 0, 1]], items)
    near = np.square(rows[items[:, 0]] - rows[items[:, 1]])[:, :2].sum(axis=1)
    third = np.square(rows[items[:, 0]] - rows[items[:, 2]])[:, :2].sum(axis=1)
    ordered = np.where((near > third)[:, None], items[:, [0, 2, 1]], items[:, :3])
    return rows, joined(
        [
            quadruplets(items, weight=generator.uniform(0.5, 2.0, count)),
            triplets(ordered, weight=0.5),
            pairs(items[:20, :2], near[:20] < np.median(near[:20]), weight=2.0),
        ]
    )


def by_a_library(contrasts, margins, costs, place):
    """Return the M with the smallest |M|^2 / 2 + sum of c [m - <M, Z>]_+, and the value, by the dual problem."""

    def matrix(shares):
        return place(np.tensordot(costs * shares, contrasts, 1))

    def negative_dual(shares):
        found = matrix(shares)
        slopes = costs * (margins - np.tensordot(contrasts, found, found.ndim))
        return np.vdot(found, found) / 2 - costs * shares @ margins, -slopes

    options = {"maxiter": 100_000, "maxfun": 100_000, "ftol": 1e-16, "gtol": 1e-10}
    start = np.zeros(len(costs))
    found = solve(negative_dual, start, jac=True, method="L-BFGS-B", bounds=[(0, 1)] * len(costs), options=options)
    return matrix(found.x), -found.fun


def positive(matrix):
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return (vectors * np.maximum(values, 0)) @ vectors.T


def outer(rows, pairs):
    gaps = rows[pairs[:, 0]] - rows[pairs[:, 1]]
    return gaps[:, :, None] * gaps[:, None]


def forms(form, rows, far, near):
    """Return contrasts of a form, and its projection."""
    z = outer(rows, far) - outer(rows, near)
    return (z, positive) if form == "full" else (np.einsum("nii->ni", z), lambda w: np.maximum(w, 0))


@pytest.mark.parametrize("weight", [1.0, 100.0])
@pytest.mark.parametrize("form", ["full", "diagonal"])
def test_pairs_and_quadruplets_together_equal_a_librarys(form, weight):
    """Equation (11): quadruplets, triplets and pairs of their own weights in one problem."""
    rows, constraints = rows_and_constraints()
    z, place = forms(form, rows, constraints.far, constraints.near)
    costs = weight * constraints.weights / constraints.weights.sum()
    expected, value = by_a_library(z, constraints.margins, costs, place)
    learner = QuadrupletWise(C=weight, form=form, loss="hinge", max_iter=1000, tol=1e-6)
    learner.fit_constraints(rows, constraints)
    assert learner.objective_[0] == pytest.approx(value, rel=1e-4)
    matrix = learner.get_mahalanobis_matrix()
    found = matrix if form == "full" else np.diag(matrix)
    np.testing.assert_allclose(found, expected, atol=1e-4 * max(1, np.abs(expected).max()))


@pytest.mark.parametrize("weight", [1.0, 100.0])
@pytest.mark.parametrize("form", ["full", "diagonal"])
def test_cutting_planes_equal_a_librarys(form, weight):
    """Equations (16) and (17): the worst ranking turns round the pairs that lack their margin, query by query."""
    rows, constraints = rows_and_constraints()
    risk = RankingRisk.of(constraints)
    near, far, margins, costs = listed(constraints)
    z, place = forms(form, rows, far, near)
    expected, value = by_a_library(z, margins, weight * costs, place)
    parameters = Full() if form == "full" else Diagonal()
    found = cut(Differences(rows), risk, parameters, weight, tol=1e-6, max_iter=1000)
    assert found.converged
    assert found.objective - found.gap <= value <= found.objective + 1e-9
    np.testing.assert_allclose(found.metric.theta, expected, atol=1e-4 * max(1, np.abs(expected).max()))


def listed(constraints):
    """Return pairs of near and far, margins and costs of the structural loss, comparison by comparison."""
    near, far, margins, weights = (getattr(constraints, name) for name in ("near", "far", "margins", "weights"))
    kinds = [np.flatnonzero(kind) for kind in (far[:, 0] == far[:, 1], near[:, 0] == near[:, 1])]
    ordered = np.setdiff1d(np.arange(len(near)), np.concatenate(kinds))
    queries = {}
    for one in ordered:
        name = (near[one, 0],) if near[one, 0] == far[one, 0] else tuple(near[one])
        queries.setdefault(name, []).append(one)
    of_query = {one: len(members) for members in queries.values() for one in members}
    shares = np.array([weights[one] / of_query[one] for one in ordered])
    both = weights[np.concatenate(kinds)].sum()
    total = weights[ordered].sum() + both
    shares *= weights[ordered].sum() / shares.sum() / total
    similar, dissimilar = (kind.repeat(1) for kind in kinds)
    crossed = np.array([(s, d) for s in similar for d in dissimilar])
    between = weights[crossed[:, 0]] * weights[crossed[:, 1]] / weights[similar].sum() / weights[dissimilar].sum()
    return (
        np.concatenate([near[ordered], near[crossed[:, 0]]]),
        np.concatenate([far[ordered], far[crossed[:, 1]]]),
        np.concatenate([margins[ordered], margins[crossed[:, 0]] + margins[crossed[:, 1]]]),
        2 * np.concatenate([shares, between * both / total]),
    )


def test_the_ranking_risk_has_its_slope_and_bounds_the_share_out_of_order():
    """A subgradient is the derivative if there is one; with margins of 1/2 the risk is at least 1 - AUC."""
    _, constraints = rows_and_constraints()
    risk, generator = RankingRisk.of(constraints), np.random.default_rng(3)
    distances = generator.uniform(0, 3, len(risk.pairs))
    value, slopes = risk.at(distances)
    step = 1e-6 * generator.normal(size=len(distances))
    assert risk.at(distances + step)[0] == pytest.approx(value + slopes @ step, abs=1e-9)
    items, alike = np.column_stack([np.arange(30), np.arange(1, 31)]), np.arange(30) % 3 == 0
    ranking = RankingRisk.of(pairs(items, alike, upper=0.5, lower=1.0))
    lengths = generator.uniform(0, 2, 30)
    of_pairs = np.concatenate([lengths[alike], lengths[~alike]])
    assert ranking.at(of_pairs)[0] >= 1 - roc_auc_score(alike, -lengths) - 1e-9
    apart = np.where(alike, 0.0, 0.5 + 1e-6)
    assert ranking.at(np.concatenate([apart[alike], apart[~alike]]))[0] == 0


FORMS_AND_LOSSES = [("full", None), ("full", "structural"), ("diagonal", None), ("diagonal", "structural")]


@pytest.mark.parametrize(("form", "loss"), FORMS_AND_LOSSES)
def test_every_form_finds_the_columns_that_order_the_rows(form, loss):
    """With quadruplets of classes, unseen rows of one class come nearer to each other than under Euclid."""
    generator = np.random.default_rng(1)
    labels = np.repeat(np.arange(4), 100)
    rows = generator.normal(size=(400, 8))
    rows[:, :2] += 2.0 * np.array([[0, 0], [0, 1], [1, 0], [1, 1]])[labels]
    train = np.arange(400) % 2 == 0
    learner = QuadrupletWise(form=form, loss=loss).set_params(n_constraints=5000).fit(rows[train], labels[train])
    items = np.flatnonzero(~train)[generator.integers(200, size=(4000, 4))]
    right = (labels[items[:, 0]] == labels[items[:, 1]]) & (labels[items[:, 2]] != labels[items[:, 3]])
    items = items[right & (items[:, 0] != items[:, 1])]

    def ordered(embedded):
        near, far = (np.square(embedded[a] - embedded[b]).sum(axis=1) for a, b in (items.T[:2], items.T[2:]))
        return np.mean(near < far)

    assert ordered(learner.transform(rows)) > ordered(rows) + 0.03
    assert learner.converged_ == [True]
    matrix = learner.get_mahalanobis_matrix()
    if form == "diagonal":
        np.testing.assert_allclose(matrix, np.diag(np.diag(matrix)), atol=1e-12)
    assert np.linalg.eigvalsh(matrix).min() > -1e-9


@pytest.mark.parametrize("form", ["full", "diagonal"])
def test_the_default_weight_finds_columns_that_noise_hides(form):
    """Three columns show the class, and nine columns of noise have most of the rows' length."""
    generator, labels = np.random.default_rng(0), np.arange(300) % 3
    rows = np.hstack([np.eye(3)[labels] + 0.3 * generator.normal(size=(300, 3)), 2 * generator.normal(size=(300, 9))])
    learner = QuadrupletWise(form=form, n_constraints=1000).fit(rows[::2], labels[::2])
    assert learner.converged_ == [True]
    assert learner.score(rows[1::2], labels[1::2]) > 0.9


def test_a_diagonal_metric_knows_the_threshold_that_it_learned():
    """Training pairs fall on their side of the threshold, for any stated bounds; quadruplets alone teach none."""
    rows, _ = rows_and_constraints(count=200)
    items = np.random.default_rng(2).integers(40, size=(400, 2))
    items = items[items[:, 0] != items[:, 1]]
    alike = np.square(rows[items[:, 0]] - rows[items[:, 1]])[:, 0] < 0.3
    learner = QuadrupletWise(C=1000.0, form="diagonal").fit_tuples(items, alike * 2 - 1, preprocessor=rows)
    told = learner.predict_pairs(items, preprocessor=rows)
    assert np.mean((told > 0) == alike) > 0.9
    alone = QuadrupletWise(form="diagonal").fit_tuples(np.hstack([items[:99], items[99:198]]), preprocessor=rows)
    assert alone.threshold_ == [None]
    ranked = QuadrupletWise(loss="structural").fit_tuples(items, alike * 2 - 1, preprocessor=rows)
    assert ranked.threshold_ == [None]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"form": "full", "loss": "huber"}, 'loss="huber" needs form="diagonal"'),
        ({"form": "diagonal", "loss": "hinge", "step": "printed"}, "Newton's method"),
    ],
)
def test_what_does_not_go_together_is_refused(settings, words):
    """Messages name the settings."""
    rows, constraints = rows_and_constraints()
    with pytest.raises(ValueError, match=words):
        QuadrupletWise(**settings).fit_constraints(rows, constraints)


def test_pairs_of_one_kind_rank_nothing():
    """The structural loss compares similar pairs with dissimilar ones."""
    rows, _ = rows_and_constraints()
    with pytest.raises(ValueError, match="pairs of both kinds"):
        QuadrupletWise(loss="structural").fit_tuples([[0, 1], [2, 3]], [1, 1], preprocessor=rows)
