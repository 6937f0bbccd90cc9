"""The Fantope learner: ranks, shapes, determinism and refused input."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

from crossview.engine.learners.papers.losses.constraints import constrained, quadruplets, triplets
from crossview.engine.learners.papers.metrics.fantope import Fantope

QUICK = {"max_iter": 60, "n_constraints": 300}


def classes(seed=0, count=60, width=8):
    """Return rows of three classes that the first two columns separate, under noise in the others."""
    generator = np.random.default_rng(seed)
    labels = np.arange(count) % 3
    rows = generator.normal(size=(count, width)) * 2
    rows[:, :2] = np.array([[0, 0], [3, 0], [0, 3]])[labels] + 0.5 * generator.normal(size=(count, 2))
    return rows + 5, labels


@settings(max_examples=15, deadline=None)
@given(
    rank=st.integers(1, 10),
    mu=st.sampled_from([1e-4, 0.1, 2.0]),
    kind=st.sampled_from(["pairs", "triplets", "quadruplets"]),
    solver=st.sampled_from(["alternate", "admm"]),
    seed=st.integers(0, 99),
)
def test_rank_is_exact_and_metric_semidefinite(rank, mu, kind, solver, seed):
    """For any weight, the metric is positive semidefinite, of at most the requested rank, and as wide as that.

    A weight that leaves a metric of zero makes embeddings one number wide.
    """
    rows, labels = classes(seed)
    settings_ = QUICK | ({"max_iter": 5} if solver == "admm" else {})
    learner = Fantope(rank, mu=mu, solver=solver).set_params(constraints=kind, **settings_).fit(rows, labels)
    matrix = learner.get_mahalanobis_matrix()
    values = np.linalg.eigvalsh(matrix)
    assert values.min() >= -1e-10 * values.max()
    found = (values > 1e-10 * values.max()).sum()
    assert found <= min(rank, 8)
    assert learner.rank_ == [max(1, found)]
    assert learner.transform(rows).shape == (60, max(1, found))


def test_finds_the_directions_that_matter():
    """Two informative columns out of eight: a rank-2 metric lies on them and beats the raw distance."""
    rows, labels = classes(count=150)
    learner = Fantope(2).set_params(n_constraints=3_000).fit(rows, labels)
    assert learner.rank_ == [2]
    assert learner.full_rank_ == [2]  # without a cut, by the Fantope alone
    matrix = learner.get_mahalanobis_matrix()
    assert np.trace(matrix[:2, :2]) > 0.9 * np.trace(matrix)
    fresh, known = classes(seed=1, count=150)
    raw = Fantope().set_params(mu=0.0, max_iter=0, start="identity").fit(rows, labels)
    assert learner.score(fresh, known) > raw.score(fresh, known) + 0.05


def test_forms_and_starts():
    """A diagonal metric is diagonal, a low-rank one has the rank of its start, and every form learns."""
    rows, labels = classes()
    diagonal = (
        Fantope().set_params(form="diagonal", start="identity", **QUICK).fit(rows, labels).get_mahalanobis_matrix()
    )
    np.testing.assert_allclose(diagonal, np.diag(np.diag(diagonal)), atol=1e-12)
    for start in ("identity", "pca"):
        low = Fantope(3, mu=0.0, form="low-rank", start=start).set_params(**QUICK).fit(rows, labels)
        assert low.rank_ == [3]
        assert low.objective_[0] < low.history_[0][0]


def test_factor_form_is_led_to_the_rank():
    """Steps on L as wide as the rows see R too: nearly nothing is left to cut, and without R the rank is full."""
    rows, labels = classes()
    led = Fantope(2, mu=1.0, form="factor").set_params(**QUICK).fit(rows, labels)
    assert led.rank_ == [2]
    spectrum = np.linalg.eigvalsh(led.get_mahalanobis_matrix())
    free = Fantope(2, mu=0.0, form="factor").set_params(**QUICK).fit(rows, labels)
    assert free.rank_ == [rows.shape[1]]
    assert led.objective_[0] < led.history_[0][0]
    assert (spectrum > 1e-9).sum() == 2


def test_trace_and_frobenius_shrink():
    """More of either regulariser makes a smaller metric."""
    rows, labels = classes()
    sizes = {
        name: [
            np.trace(Fantope().set_params(mu=0.0, **{name: v}, **QUICK).fit(rows, labels).get_mahalanobis_matrix())
            for v in (0, 1)
        ]
        for name in ("gamma", "frobenius")
    }
    assert all(strong < weak for weak, strong in sizes.values())


def test_distances_are_the_metrics():
    """pair_distance is the Euclidean distance of embeddings and the square root of the quadratic form."""
    rows, labels = classes()
    learner = Fantope(3).set_params(**QUICK).fit(rows, labels)
    pairs = np.array([[0, 1], [4, 9], [7, 7]])
    gaps = rows[pairs[:, 0]] - rows[pairs[:, 1]]
    expected = np.sqrt(np.einsum("nd,de,ne->n", gaps, learner.get_mahalanobis_matrix(), gaps))
    np.testing.assert_allclose(learner.pair_distance(pairs, rows), expected, atol=1e-8)
    np.testing.assert_allclose(learner.pair_distance(rows[pairs]), expected, atol=1e-8)


def test_tuples_of_every_size():
    """Pairs, triplets and quadruplets of rows or positions fit and score; the two shapes give the same metric."""
    rows, labels = classes()
    generator = np.random.default_rng(0)
    items = generator.integers(60, size=(400, 4))
    alike = labels[items[:, 0]] == labels[items[:, 1]]
    ordered = items[alike & (labels[items[:, 2]] != labels[items[:, 3]])]
    given_ = {2: (items[:, :2], np.where(alike, 1, -1)), 4: (ordered, None)}
    given_[3] = (np.array([[i, i + 3, i + 1] for i in range(50)]), None)
    for found, y in given_.values():
        learner = Fantope(2).set_params(**QUICK).fit_tuples(found, y, preprocessor=rows)
        assert 0.8 < learner.score(found, y, preprocessor=rows) <= 1.0
        again = Fantope(2).set_params(**QUICK).fit_constraints(rows, constrained(found, y, 1.0, 0.5, 1.5))
        np.testing.assert_array_equal(learner.get_mahalanobis_matrix(), again.get_mahalanobis_matrix())
        assert learner.score(rows[found], y) == learner.score(found, y, preprocessor=rows)


def test_deterministic_and_seeded():
    """The same seed gives the same metric to the last bit; another draws other constraints."""
    rows, labels = classes()
    first, second, other = (Fantope().set_params(random_state=seed, **QUICK).fit(rows, labels) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.weights_[0], second.weights_[0])
    assert not np.array_equal(first.get_mahalanobis_matrix(), other.get_mahalanobis_matrix())


def test_units_and_origin_do_not_matter():
    """Rows in other units, moved, get the same distances."""
    rows, labels = classes()
    plain = Fantope(2).set_params(**QUICK).fit(rows, labels).transform(rows)
    moved = Fantope(2).set_params(**QUICK).fit(1024 * rows, labels).transform(1024 * rows)
    np.testing.assert_allclose(plain, moved, rtol=1e-6, atol=1e-6)


def test_early_stopping():
    """With patience a fit stops by held-out constraints, drawn or given, and not later than without."""
    rows, labels = classes()
    slow = {"n_constraints": 100, "mu": 0.0, "max_iter": 400, "tol": 0.0}
    assert Fantope().set_params(patience=2, check_every=5, **slow).fit(rows, labels).n_iter_ < 400
    train, held = triplets([[0, 3, 1], [3, 6, 2]]), triplets([[6, 9, 1]], margin=0.0)
    stopped = Fantope().set_params(patience=1, max_iter=400).fit_constraints(rows, train, held)
    assert stopped.n_iter_ < 400


def test_views_are_fitted_apart():
    """A view added later gets the metric that it has when fitted with the others."""
    rows, labels = classes()
    views = [rows[:, :5], rows]
    together = Fantope(2).set_params(**QUICK).fit(views, labels)
    later = Fantope(2).set_params(**QUICK).fit(views[:1], labels).add_view(views, labels)
    for view in (0, 1):
        np.testing.assert_array_equal(together.get_mahalanobis_matrix(view), later.get_mahalanobis_matrix(view))


@pytest.mark.parametrize(
    ("settings_", "message"),
    [
        ({"n_components": 0}, "n_components must be"),
        ({"mu": -1.0}, "mu must be"),
        ({"form": "round"}, "full, diagonal, factor, low-rank"),
        ({"start": "zero"}, "pca, identity"),
        ({"solver": "newton"}, "alternate, admm"),
        ({"similar": "luck"}, "labels, knn"),
        ({"solver": "admm", "form": "diagonal"}, "needs form="),
        ({"constraints": "sextuplets"}, "triplets, quadruplets, pairs"),
        ({"validation_fraction": 1.0}, "validation_fraction must be"),
        ({"neighbors": 0}, "neighbors must be"),
        ({"upper": 2.0, "constraints": "pairs"}, "upper <= lower"),
    ],
)
def test_bad_settings_are_named(settings_, message):
    """Parameters out of range are ValueErrors from fit that name them."""
    rows, labels = classes()
    with pytest.raises(ValueError, match=message):
        Fantope().set_params(**settings_).fit(rows, labels)


def test_bad_input_is_named():
    """Rows that do not exist, NaN, patience without held-out constraints, and an unfitted learner are errors."""
    rows, _ = classes()
    with pytest.raises(ValueError, match="names row 99"):
        Fantope().fit_constraints(rows, quadruplets([[0, 1, 2, 99]]))
    with pytest.raises(ValueError, match="NaN"):
        Fantope().fit_constraints(np.full((4, 2), np.nan), quadruplets([[0, 1, 2, 3]]))
    with pytest.raises(ValueError, match="validation constraints"):
        Fantope().set_params(patience=1).fit_constraints(rows, quadruplets([[0, 1, 2, 3]]))
    with pytest.raises(ValueError, match="one view"):
        Fantope(view_slices=[4, 4]).fit_constraints(rows, quadruplets([[0, 1, 2, 3]]))
    with pytest.raises(NotFittedError):
        Fantope().get_mahalanobis_matrix()
