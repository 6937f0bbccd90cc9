"""Kernel maps give vectors whose inner products are the kernel, in and out of sample."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import chi2_kernel, rbf_kernel

from crossview.engine.learners.frame.kernels import KernelMap
from crossview.engine.learners.registry import parse_chain


def histograms(count, width, seed):
    return np.random.default_rng(seed).dirichlet(np.ones(width), size=count)


@pytest.mark.parametrize("kernel", ["rbf", "chi2", "linear"])
def test_inner_products_of_the_empirical_map_are_the_kernel(kernel):
    """They are exact on the training rows; a new row keeps its kernel values with all of them."""
    train, new = histograms(30, 6, 0), histograms(5, 6, 1)
    fitted = KernelMap(kernel).fit([train])
    (scale,) = fitted.scales_
    if kernel == "rbf":
        matrix, across = rbf_kernel(train, gamma=1 / scale), rbf_kernel(new, train, gamma=1 / scale)
    elif kernel == "chi2":
        matrix, across = chi2_kernel(train, gamma=1 / scale), chi2_kernel(new, train, gamma=1 / scale)
    else:
        matrix, across = train @ train.T, new @ train.T
    mapped, mapped_new = fitted.transform(train, view=0), fitted.transform(new, view=0)
    np.testing.assert_allclose(mapped @ mapped.T, matrix, atol=1e-6)
    np.testing.assert_allclose(mapped_new @ mapped.T, across, atol=1e-4)


def test_the_bandwidth_follows_the_mean_distance():
    """Scaling the data changes nothing."""
    train = histograms(20, 4, 0)
    one, other = KernelMap().fit([train]), KernelMap().fit([10 * train])
    np.testing.assert_allclose(one.transform(train, view=0), other.transform(10 * train, view=0), atol=1e-6)


def test_few_landmarks_approximate_the_kernel():
    """Nystroem's map has at most that many columns and comes close if the kernel is smooth."""
    train = histograms(200, 3, 0)
    fitted = KernelMap(n_landmarks=40, bandwidth=4.0, random_state=0).fit([train])
    mapped = fitted.transform(train, view=0)
    assert mapped.shape[1] <= 40
    np.testing.assert_allclose(mapped @ mapped.T, rbf_kernel(train, gamma=1 / fitted.scales_[0]), atol=1e-2)


@pytest.mark.parametrize("kernel", ["rbf", "chi2"])
def test_means_of_clusters_stand_for_rows_better_than_drawn_ones(kernel):
    """Few landmarks that are means of clusters approximate the kernel of all rows with less error, in the mean."""
    train = histograms(300, 5, 0)
    exact = KernelMap(kernel).fit([train])
    (scale,) = exact.scales_
    expected = rbf_kernel(train, gamma=1 / scale) if kernel == "rbf" else chi2_kernel(train, gamma=1 / scale)
    errors = {}
    for landmarks in ("kmeans", "random"):
        found = []
        for seed in range(5):
            fitted = KernelMap(kernel, n_landmarks=20, landmarks=landmarks, random_state=seed)
            mapped = fitted.set_params(bandwidth=1.0).fit([train]).transform(train, view=0)
            found.append(np.linalg.norm(mapped @ mapped.T - expected ** (scale / fitted.scales_[0])))
        errors[landmarks] = np.mean(found)
    assert errors["kmeans"] < 0.9 * errors["random"]


def test_means_of_histograms_are_histograms():
    """Rounding took some means of sparse rows below 0, and the training ended."""
    train = histograms(400, 40, 0) * (np.random.default_rng(1).uniform(size=(400, 40)) < 0.1)
    fitted = KernelMap("chi2", n_landmarks=50).fit([train])
    assert fitted.landmarks_[0].min() >= 0


def test_landmarks_of_equal_rows(monkeypatch):
    """Duplicates change no landmark's quality; of very many rows only some are clustered."""
    train = np.repeat(histograms(10, 4, 0), 20, axis=0)
    monkeypatch.setattr("crossview.engine.learners.frame.kernels._ROWS", 120)
    fitted = KernelMap(n_landmarks=30, random_state=0).fit([train])
    assert fitted.landmarks_[0].shape == (30, 4)
    mapped = fitted.transform(train, view=0)
    np.testing.assert_allclose(np.square(mapped).sum(axis=1), 1, atol=0.2)


def test_a_precomputed_kernel_has_landmarks_of_its_own():
    """Their values are known only between rows, so landmarks are rows for any setting."""
    train = histograms(40, 4, 0)
    fitted = KernelMap("precomputed", n_landmarks=10, random_state=0).fit([train @ train.T])
    assert fitted.landmarks_[0].shape == (10,)


def test_the_same_landmarks_are_drawn_again():
    """The same seed draws them, in a chain too: a choice of cross-validation holds for the chain fitted afterwards."""
    train = histograms(50, 3, 0)
    settings = {"kernel__n_landmarks": 10, "kernel__random_state": 0}
    one, other = (parse_chain("kernel:rbf,pca", settings).fit([train]) for _ in range(2))
    np.testing.assert_array_equal(one.steps[0].landmarks_[0], other.steps[0].landmarks_[0])
    assert len(one.steps[0].landmarks_[0]) == 10


def test_a_kernel_makes_multi_npp_follow_curved_classes():
    """No line separates rings inside each other; a query across views nevertheless finds its ring."""
    generator = np.random.default_rng(0)
    labels = np.repeat(["in", "out"], 60)
    radii = np.repeat([1.0, 3.0], 60)

    def rings():
        angles = generator.uniform(0, 2 * np.pi, 120)
        return radii[:, None] * np.column_stack([np.cos(angles), np.sin(angles)]) + generator.normal(0, 0.1, (120, 2))

    def accuracy(spec):
        views, queries = [rings(), rings()], rings()
        chain = parse_chain(spec, {"random_state": 0}).fit(views, labels)
        asked, there = chain.transform(queries, view=0), chain.transform(views[1], view=1)
        nearest = np.linalg.norm(asked[:, None] - there[None], axis=2).argmin(axis=1)
        return (labels[nearest] == labels).mean()

    assert accuracy("multi-npp:2") < 0.9
    assert accuracy("kernel:rbf,multi-npp:2") > 0.97


@pytest.mark.parametrize("params", [{"kernel": "magic"}, {"n_landmarks": 0}, {"bandwidth": 0.0}])
def test_parameters_out_of_range_are_refused(params):
    with pytest.raises(ValueError, match="must be"):
        KernelMap(**params).fit([histograms(5, 3, 0)])


def test_chi2_refuses_negative_values():
    with pytest.raises(ValueError, match="negative"):
        KernelMap("chi2").fit([-histograms(5, 3, 0)])


@pytest.mark.parametrize("n_landmarks", [1000, 15])
def test_a_kernel_that_was_computed_elsewhere(n_landmarks):
    """Rows of kernel values with the training rows are mapped as the kernel itself maps; queries out of sample too."""
    train, queries = histograms(30, 4, 0), histograms(5, 4, 1)
    own = KernelMap("linear", n_landmarks, random_state=0).fit([train])
    given = KernelMap("precomputed", n_landmarks, random_state=0).fit([train @ train.T])
    mapped, expected = given.transform(queries @ train.T, view=0), own.transform(queries, view=0)
    np.testing.assert_allclose(mapped @ mapped.T, expected @ expected.T, atol=1e-8)
    with pytest.raises(ValueError, match="precomputed kernel of 30 rows must be square"):
        KernelMap("precomputed").fit([train])


def test_a_kernel_for_some_views():
    """Each view may have a kernel of its own, or none."""
    views = [histograms(40, 3, 0), histograms(40, 5, 1)]
    chain = parse_chain("kernel:chi2@0,kernel:rbf@1").fit(views)
    for view, kernel in enumerate(("chi2", "rbf")):
        alone = KernelMap(kernel).fit([views[view]]).transform(views[view], view=0)
        np.testing.assert_allclose(chain.transform(views[view], view=view), alone, atol=1e-8)
    partly = parse_chain("kernel:chi2@0").fit(views)
    np.testing.assert_array_equal(partly.transform(views[1], view=1), views[1])
