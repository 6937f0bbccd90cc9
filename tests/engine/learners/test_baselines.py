"""PCA, CCA, PLS and the normalisation steps."""

import numpy as np
import pytest
import sklearn.cross_decomposition
import sklearn.decomposition
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from crossview.engine.learners.frame.inner import InnerProduct
from crossview.engine.learners.frame.normalization import L1, L2, Sqrt, Standardize
from crossview.engine.learners.registry import LEARNERS
from crossview.engine.learners.subspace.cca import CanonicalCorrelation
from crossview.engine.learners.subspace.pca import PCA
from crossview.engine.learners.subspace.pls import PartialLeastSquares

ROWS = hnp.arrays(np.float64, (5, 4), elements=st.floats(-1e6, 1e6))


def correlated(n=200, widths=(4, 6), noise=0.5, seed=0):
    generator = np.random.default_rng(seed)
    shared = generator.normal(size=(n, 3))
    return [shared @ generator.normal(size=(3, d)) + noise * generator.normal(size=(n, d)) for d in widths]


def test_pca_is_scikit_learns():
    views = correlated()
    embeddings = PCA(3).fit(views).transform(views)
    for rows, embedded in zip(views, embeddings, strict=True):
        np.testing.assert_allclose(embedded, sklearn.decomposition.PCA(3, svd_solver="full").fit_transform(rows))


def test_pca_keeps_what_there_is():
    """More components than columns are cut to the columns; a share keeps enough to explain it; all is the default."""
    views = correlated()
    assert [rows.shape[1] for rows in PCA(100).fit(views).transform(views)] == [4, 6]
    assert [rows.shape[1] for rows in PCA().fit(views).transform(views)] == [4, 6]
    few = PCA(0.9).fit(views).transform(views)
    for rows, embedded in zip(views, few, strict=True):
        assert embedded.shape[1] <= rows.shape[1]
        assert embedded.var(axis=0).sum() >= 0.9 * rows.var(axis=0).sum()


def test_whitened_pca_has_unit_variance():
    """Whitening gives each component unit variance, and zero if a view has none to give."""
    views = correlated()
    views[0] = np.hstack([views[0], views[0][:, :1]])
    whitened = PCA(whiten=True).fit(views).transform(views)
    np.testing.assert_allclose(whitened[0].var(axis=0, ddof=1), [1, 1, 1, 1, 0], atol=1e-6)


@pytest.mark.parametrize("count", [0, -1, 0.0, 1.5])
def test_pca_refuses_counts(count):
    """A number of components that is neither a count nor a share is a ValueError."""
    with pytest.raises(ValueError, match="n_components"):
        PCA(count).fit(correlated())


def test_cca_is_scikit_learns():
    """Without shrinkage the canonical correlations and directions are those of scikit-learn's CCA."""
    views = correlated()
    ours = CanonicalCorrelation(3, shrinkage=0.0, power=0.0).fit(views)
    first, second = ours.transform(views)
    theirs = sklearn.cross_decomposition.CCA(3, max_iter=10_000, tol=1e-12).fit(*views)
    expected = theirs.transform(*views)
    for i in range(3):
        assert ours.correlations_[i] == pytest.approx(np.corrcoef(expected[0][:, i], expected[1][:, i])[0, 1], abs=1e-6)
        assert np.corrcoef(first[:, i], second[:, i])[0, 1] == pytest.approx(ours.correlations_[i])
        assert abs(np.corrcoef(first[:, i], expected[0][:, i])[0, 1]) == pytest.approx(1, abs=1e-6)
    np.testing.assert_allclose(first.var(axis=0), 1)
    np.testing.assert_allclose(first.T @ first / len(first), np.eye(3), atol=1e-9)


def test_cca_scales_by_correlation():
    """power scales each direction by its canonical correlation to that power."""
    views = correlated()
    plain = CanonicalCorrelation(3, shrinkage=0.1, power=0.0).fit(views)
    scaled = CanonicalCorrelation(3, shrinkage=0.1, power=2.0).fit(views)
    for ours, base in zip(scaled.weights_, plain.weights_, strict=True):
        np.testing.assert_allclose(ours, plain.correlations_[:, None] ** 2 * base)


def test_cca_survives_dependent_columns():
    """Views with dependent columns, more columns than rows, or constant columns give finite embeddings."""
    views = correlated(n=20, widths=(30, 6))
    views[1] = np.hstack([views[1], views[1], np.ones((20, 1))])
    for shrinkage in (0.0, "auto", (0.1, 0.5)):
        learner = CanonicalCorrelation(50, shrinkage=shrinkage).fit(views)
        assert all(np.isfinite(rows).all() for rows in learner.transform(views))
        assert (np.diff(learner.correlations_) <= 1e-12).all()
        assert 0 <= learner.correlations_.min() <= learner.correlations_.max() <= 1


@pytest.mark.parametrize("params", [{"shrinkage": 2.0}, {"shrinkage": "some"}, {"n_components": 0}])
def test_cca_refuses_parameters(params):
    """A parameter out of range is a ValueError that names it."""
    with pytest.raises(ValueError, match=next(iter(params))):
        CanonicalCorrelation(**params).fit(correlated())


@given(ROWS)
def test_rows_get_unit_size(rows):
    """l1 and l2 give each row size 1 or leave it 0, and do not turn it."""
    for step, size in ((L1(), lambda x: np.abs(x).sum(axis=1)), (L2(), lambda x: np.linalg.norm(x, axis=1))):
        normal = step.fit([rows]).transform(rows, view=0)
        whole = np.abs(rows).max(axis=1) > 1e-150
        np.testing.assert_allclose(size(normal)[whole], 1)
        np.testing.assert_allclose(normal * size(rows)[:, None], rows, rtol=1e-9, atol=1e-150)


@given(ROWS)
def test_sqrt_keeps_signs(rows):
    """A signed square of the result gives the row back."""
    rooted = Sqrt().fit([rows]).transform(rows, view=0)
    np.testing.assert_allclose(rooted * np.abs(rooted), rows, rtol=1e-12, atol=1e-300)


def test_standardize():
    """Columns get mean 0 and deviation 1; constant ones become 0, even if the mean is not exact."""
    rows = np.random.default_rng(0).normal(3, 5, size=(50, 3))
    rows[:, 1] = 0.1
    standard = Standardize().fit([rows]).transform(rows, view=0)
    np.testing.assert_allclose(standard.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(standard.std(axis=0), [1, 0, 1], atol=1e-12)


def test_dot_ranks_by_inner_product():
    """Lifted rows have unit length; across views the nearest has the greatest inner product, within a view itself."""
    generator = np.random.default_rng(0)
    views = [generator.gamma(1, size=(30, 4)) * generator.gamma(1, size=(30, 1)) for _ in range(2)]
    lifted = InnerProduct().fit(views).transform(views)
    for rows in lifted:
        np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1)
    squared = ((lifted[0][:, None] - lifted[1][None]) ** 2).sum(axis=2)
    radii = [np.sqrt(2) * np.linalg.norm(rows, axis=1).max() for rows in views]
    np.testing.assert_allclose(squared, 2 - 2 * views[0] @ views[1].T / np.prod(radii), atol=1e-12)
    within = np.linalg.norm(lifted[0][:, None] - lifted[0][None], axis=2)
    assert (within + 1e-12 >= np.linalg.norm(views[0][:, None] - views[0][None], axis=2) / radii[0]).all()


def test_dot_keeps_distances_when_a_view_is_added():
    """A further view adds a column of zeros to the others' rows, and nothing else."""
    views = [np.random.default_rng(0).normal(size=(20, 3)) for _ in range(3)]
    fitted = InnerProduct().fit(views[:2])
    before = fitted.transform(views[:2])
    after = fitted.add_view(views).transform(views)
    for rows, wider in zip(before, after, strict=False):
        np.testing.assert_array_equal(np.hstack([rows, np.zeros((20, 1))]), wider)


def test_dot_shortens_rows_longer_than_it_was_fitted_on():
    """A long query ranks as its direction does; rows of zeros are as far from everything."""
    views = [np.random.default_rng(0).normal(size=(20, 3)) for _ in range(2)]
    fitted = InnerProduct().fit(views)
    longest = max(views[0], key=np.linalg.norm)
    near, far = fitted.transform(np.array([2 * longest, 5 * longest]), view=0)
    np.testing.assert_allclose(near, far, atol=1e-7)
    nothing = fitted.transform(np.zeros((1, 3)), view=0)
    np.testing.assert_allclose(np.linalg.norm(fitted.transform(views[1], view=1) - nothing, axis=1), np.sqrt(2))
    np.testing.assert_array_equal(InnerProduct().fit([np.zeros((2, 3))]).transform(np.zeros((1, 3)), view=0)[0, 4], 1)


def test_dot_ranks_the_items_of_every_view_for_a_query():
    """It does so for its own view, too, and for added views: squared distances are 2 less twice the inner products."""
    generator = np.random.default_rng(0)
    views = [generator.gamma(1, size=(30, 4)) for _ in range(3)]
    fitted = InnerProduct().fit(views[:2])
    radii = [np.sqrt(2) * np.linalg.norm(rows, axis=1).max() for rows in views]
    for known in (2, 3):
        queries = fitted.transform_queries(views[0], 0)
        for view in range(known):
            squared = ((queries[:, None] - fitted.transform(views[view], view=view)[None]) ** 2).sum(axis=2)
            expected = 2 - 2 * views[0] @ views[view].T / (radii[0] * radii[view])
            np.testing.assert_allclose(squared, expected, atol=1e-12)
        if known == 2:
            fitted.add_view(views)


def test_dot_that_was_fitted_before_it_had_a_column_for_queries():
    """It embeds queries as items, as it did."""
    views = [np.random.default_rng(0).normal(size=(20, 3)) for _ in range(2)]
    state = InnerProduct().fit(views).to_state()
    del state["fitted"]["query_column_"]
    former = InnerProduct.from_state(state)
    assert former.transform(views[0], view=0).shape == (20, 5)
    np.testing.assert_array_equal(former.transform_queries(views[0], 0), former.transform(views[0], view=0))


@pytest.mark.parametrize("name", ["l1", "l2", "sqrt", "standardize"])
def test_steps_leave_other_views_alone(name):
    """A step for some views passes the rows of the others through; an unknown view is refused."""
    views = correlated()
    step = LEARNERS[name](views=[1]).fit(views)
    np.testing.assert_array_equal(step.transform(views[0], view=0), views[0])
    assert not np.allclose(step.transform(views[1], view=1), views[1])
    with pytest.raises(ValueError, match="2 views, counted from 0"):
        LEARNERS[name](views=[2]).fit(views)


def test_pls_is_scikit_learns():
    """Directions are scikit-learn's PLSSVD up to sign, whose deviations divide by n - 1 and ours by n."""
    views = correlated()
    views[1][:, 2] = 5.0
    ours = PartialLeastSquares(3).fit(views).transform(views)
    theirs = sklearn.cross_decomposition.PLSSVD(3).fit_transform(*views)
    scale = np.sqrt(len(views[0]) / (len(views[0]) - 1))
    for embedded, expected in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(np.abs(embedded), scale * np.abs(expected), atol=1e-9)


def test_pls_keeps_what_covaries():
    """Directions end at the rank of the cross-covariance, and their covariances descend."""
    views = correlated(noise=0.0)
    learner = PartialLeastSquares().fit(views)
    first, second = learner.transform(views)
    assert first.shape[1] == second.shape[1] == 3
    np.testing.assert_allclose((first * second).mean(axis=0), learner.covariances_)
    assert (np.diff(learner.covariances_) <= 0).all()
    with pytest.raises(ValueError, match="pls learns from exactly 2 views; you named 3"):
        PartialLeastSquares().fit([*views, views[0]])
