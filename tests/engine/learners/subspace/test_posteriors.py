"""Class posteriors: left-out rows equal those of a fit without them, and known rows are placed like new ones."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.linear_model import Ridge

from crossview.engine.learners.frame.chain import KnownViews, fingerprints
from crossview.engine.learners.frame.supervision import Supervision
from crossview.engine.learners.registry import from_state, parse_chain
from crossview.engine.learners.subspace.posteriors import ClassPosteriors
from crossview.engine.learners.subspace.ridge_path import RidgeGram, RidgePath, downhill
from crossview.engine.learners.subspace.row_kernel import FittedKernel, RowKernel, candidates
from crossview.engine.learners.subspace.temperature import best_factor, log_losses, posteriors


@pytest.fixture
def random() -> np.random.Generator:
    return np.random.default_rng(0)


def blobs(random: np.random.Generator, count: int = 60, width: int = 5, gap: float = 2.0):
    """Return rows of two views in three classes."""
    labels = np.arange(count) % 3
    means = random.normal(0, gap, (2, 3, width))
    return [means[view][labels] + random.normal(0, 1, (count, width)) for view in range(2)], labels


@pytest.mark.parametrize("width", [3, 40])
@pytest.mark.parametrize("penalty", [1e-3, 1.0, 50.0])
def test_left_out_predictions_are_those_of_fits_without_the_row(random, width, penalty):
    """This holds for fewer and for more columns than rows, by rows and by their inner products."""
    rows, targets = random.normal(size=(20, width)), random.normal(size=(20, 2))
    paths = RidgePath.of_rows(rows, targets), RidgePath.of_gram(rows @ rows.T, targets)
    for row in range(0, 20, 7):
        others = np.arange(20) != row
        expected = Ridge(alpha=penalty).fit(rows[others], targets[others]).predict(rows[[row]])[0]
        for path in paths:
            np.testing.assert_allclose(path.left_out(penalty)[row], expected, atol=1e-7)


@pytest.mark.parametrize("penalty", [1e-3, 50.0])
def test_left_out_groups_are_those_of_fits_without_the_group(random, penalty):
    """Groups have several rows or one, in any order."""
    rows, targets, groups = random.normal(size=(20, 6)), random.normal(size=(20, 2)), random.integers(0, 7, 20)
    found = RidgePath.of_rows(rows, targets).left_out(penalty, groups)
    for group in np.unique(groups):
        others = groups != group
        expected = Ridge(alpha=penalty).fit(rows[others], targets[others]).predict(rows[~others])
        np.testing.assert_allclose(found[~others], expected, atol=1e-7)


@pytest.mark.parametrize("grouped", [False, True])
def test_an_inverse_finds_what_eigenvectors_find(random, grouped):
    """Left-out predictions and weights agree for every penalty, and so does the best penalty."""
    rows, targets = random.normal(size=(40, 60)), random.normal(size=(40, 2))
    groups = random.integers(0, 12, 40) if grouped else None
    path, gram = RidgePath.of_gram(rows @ rows.T, targets), RidgeGram.of(rows @ rows.T, targets)
    assert gram.variance == pytest.approx(path.variance)
    penalties = np.logspace(-4, 1, 11) * path.variance
    for penalty in penalties:
        np.testing.assert_allclose(gram.left_out(penalty, groups), path.left_out(penalty, groups), atol=1e-9)
        np.testing.assert_allclose(gram.coefficients(penalty), path.coefficients(penalty), atol=1e-9)
    best = path.best_penalty(penalties, groups)
    for near in penalties:
        assert gram.best_penalty(penalties, groups, near) == path.best_penalty(penalties, groups, near) == best


@pytest.mark.parametrize("start", range(6))
def test_a_descent_ends_at_the_lowest_of_errors_with_one_minimum(start):
    assert downhill([5.0, 3.0, 2.0, 4.0, 6.0, 7.0].__getitem__, 6, start) == 2


def test_another_fit_keeps_kernels_and_penalties(random):
    """A copy for fewer items chooses nothing again; the learner itself stays as it is."""
    views, labels = blobs(random)
    learner = ClassPosteriors(random_state=0).fit(views, labels)
    again = learner.again()
    assert not hasattr(again, "weights_")
    again.fit([rows[:40] for rows in views], labels[:40])
    for name in ("kernels_", "scalings_", "alphas_"):
        assert getattr(again, name) == getattr(learner, name)
    assert again.get_params() == learner.get_params()


def test_what_only_groups_share_is_not_learned(random):
    """Rows show their speaker, and each speaker has one class: left out together they are uninformative."""
    speakers = np.repeat(np.arange(30), 4)
    rows = random.normal(size=(30, 8))[speakers] + random.normal(0, 0.05, (120, 8))
    labels = (np.arange(30) % 2)[speakers]
    settings = {"row_kernel": "gaussian", "scaling": "none"}
    alone = ClassPosteriors(**settings).fit([rows], labels)
    together = ClassPosteriors(**settings).fit([rows], Supervision(classes=labels, groups=speakers))
    assert alone.losses_[0] < 0.3  # the twins are found
    assert together.losses_[0] > 0.6  # chance is log 2


def test_coefficients_are_those_of_the_linear_regression(random):
    """Weights of rows give the weights of columns."""
    rows, targets = random.normal(size=(20, 4)), random.normal(size=(20, 2))
    weights = (rows - rows.mean(axis=0)).T @ RidgePath.of_rows(rows, targets).coefficients(0.5)
    np.testing.assert_allclose(weights.T, Ridge(alpha=0.5).fit(rows, targets).coef_, atol=1e-8)


def test_equal_rows_leave_a_path_without_directions():
    """Rows that are all equal predict the mean."""
    path = RidgePath.of_rows(np.ones((6, 3)), np.arange(6.0)[:, None])
    assert np.isfinite(path.left_out(1.0)).all()


@pytest.mark.parametrize("exclusive", [True, False])
def test_the_factor_has_the_least_log_loss(random, exclusive):
    """No other factor of a fine grid is better, and overconfident scores are tempered."""
    targets = np.eye(3)[random.integers(0, 3, 400)]
    scores = targets * 0.3 + random.normal(0, 0.4, targets.shape)
    best = best_factor(scores, targets, exclusive)
    losses = [log_losses(scores, targets, factor, exclusive).mean() for factor in np.geomspace(0.1, 1000, 200)]
    assert log_losses(scores, targets, best, exclusive).mean() <= min(losses) + 1e-6


def test_exclusive_posteriors_add_up_to_one(random):
    """Those of several labels are each between 0 and 1."""
    scores = random.normal(size=(10, 4)) * 5
    np.testing.assert_allclose(posteriors(scores, 30.0, True).sum(axis=1), 1)
    found = posteriors(scores, 30.0, False)
    assert ((found >= 0) & (found <= 1)).all()


def test_candidates_come_in_the_stated_order():
    """Linear comes before Gaussian, unscaled rows before scaled ones, one scaling before two; a set value is fixed."""
    tried = candidates(None, None)
    assert [one.kernel for one in tried] == ["linear"] * 5 + ["gaussian"] * 5
    assert [one.scaling for one in tried[:5]] == ["none", "sqrt", "unit", "standardize", "both"]
    assert [(one.kernel, one.scaling) for one in candidates("linear", "sqrt")] == [("linear", "sqrt")]


@pytest.mark.parametrize("scaling", ["none", "sqrt", "standardize", "both"])
def test_the_gaussian_kernel_is_the_mean_of_five(random, scaling):
    """Their widths go from twice the mean squared distance to an eighth, for both scalings."""
    rows, new = random.normal(size=(12, 3)), random.normal(size=(4, 3))
    fitted = FittedKernel.of(RowKernel("gaussian", scaling), rows, np.arange(8))
    kernels = []
    for own, others in zip(fitted.scaled(new), fitted.scaled(rows[:8]), strict=True):
        mean = (cdist(others, others) ** 2).mean()
        kernels += [np.exp(-(cdist(own, others) ** 2) / (width * mean)) for width in (2, 1, 0.5, 0.25, 0.125)]
    np.testing.assert_allclose(fitted.features(new), np.mean(kernels, axis=0), atol=1e-9)


def test_posteriors_know_the_classes_of_new_rows(random):
    """Classes are separate, in either view; an inner product shows them across views."""
    views, labels = blobs(random, 120, gap=4.0)
    learner = ClassPosteriors(random_state=0).fit([rows[:80] for rows in views], labels[:80])
    found = [learner.transform(rows[80:], view=view) for view, rows in enumerate(views)]
    for one in found:
        assert (one.argmax(axis=1) == labels[80:]).mean() > 0.9
    same = labels[80:, None] == labels[None, 80:]
    agreement = found[0] @ found[1].T
    assert agreement[same].mean() > 2 * agreement[~same].mean()


def test_landmarks_approximate_all_rows(random):
    """With half of the rows as landmarks the probabilities are nearly those of all."""
    views, labels = blobs(random, 200)
    every, half = (
        ClassPosteriors(row_kernel="gaussian", scaling="none", n_landmarks=count, random_state=0).fit(views, labels)
        for count in (200, 100)
    )
    assert half.landmarks_[0].shape == (100, 5)
    gap = np.abs(every.transform(views[0], view=0) - half.transform(views[0], view=0))
    assert gap.mean() < 0.05


def test_labels_that_mean_nothing_are_not_learned_by_heart(random):
    """In a pipeline the training rows are as uncertain of random labels as new rows are."""
    rows, labels = random.normal(size=(90, 30)), np.arange(90) % 3
    chain = parse_chain("posteriors:gaussian,dot", {"random_state": 0}).fit([rows], labels)
    own = chain.transform(rows, view=0)[np.arange(90), labels]
    others = chain.transform(rows, view=0)[np.arange(90), (labels + 1) % 3]
    assert own.mean() < others.mean() * 1.1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_training_rows_are_embedded_as_if_left_out_and_others_as_ever(random, dtype):
    """This holds in any batch, alone, beside others, and from a stored state."""
    views, labels = blobs(random)
    views = [rows.astype(np.float32) for rows in views]
    chain = parse_chain("sqrt,posteriors", {"random_state": 0}).fit(views, labels)
    learner = chain.steps[-1]
    again = from_state(chain.to_state())
    for fitted in (chain, again):
        for view, rows in enumerate(views):
            np.testing.assert_allclose(fitted.transform(rows.astype(dtype), view=view), learner.left_out_[view])
            np.testing.assert_allclose(
                fitted.transform(rows[7:8].astype(dtype), view=view)[0], learner.left_out_[view][7]
            )
            new = (rows + 0.01).astype(dtype)
            expected = learner.transform(chain.steps[0].transform(new, view=view), view=view)
            np.testing.assert_allclose(fitted.transform(new, view=view), expected, atol=1e-5)


def test_a_chain_that_is_fitted_again_knows_only_its_last_training_rows(random):
    """Rows of an earlier fit are new rows, and those of the last one are placed as if the earlier had not been."""
    views, labels = blobs(random)
    once = parse_chain("posteriors,dot", {"random_state": 0}).fit(views, labels)
    others = [rows + 1.0 for rows in views]
    again = parse_chain("posteriors,dot", {"random_state": 0}).fit(others, labels[::-1]).fit(views, labels)
    assert [len(one) for one in again.known_rows_] == [60, 60]
    for view, rows in enumerate(views):
        np.testing.assert_array_equal(again.transform(rows, view=view), once.transform(rows, view=view))
        np.testing.assert_array_equal(again.transform(others[view], view=view), once.transform(others[view], view=view))


def test_a_row_of_another_view_is_not_known(random):
    """Rows are compared with the training rows of their own view."""
    views, labels = blobs(random)
    chain = parse_chain("posteriors", {"random_state": 0}).fit(views, labels)
    found = chain.transform(views[1], view=0)
    np.testing.assert_allclose(found, chain.steps[0].transform(views[1], view=0))


def test_items_that_lack_a_view_and_a_view_that_comes_later(random):
    """Left-out rows are those that exist, and an added view has its own."""
    views, labels = blobs(random)
    mask = np.ones((60, 2), bool)
    mask[5:9, 1] = False
    chain = parse_chain("posteriors,dot", {"random_state": 0}).fit(views, Supervision(classes=labels, mask=mask))
    assert [len(one) for one in chain.steps[0].left_out_] == [60, 56]
    assert [len(one) for one in chain.known_rows_] == [60, 56]
    before = chain.transform(views[0], view=0)
    third = random.normal(0, 1, (60, 4)) + labels[:, None]
    chain.add_view([*views, third], Supervision(classes=labels, mask=np.column_stack([mask, np.ones(60, bool)])))
    np.testing.assert_allclose(chain.transform(views[0], view=0)[:, :3], before[:, :3])
    assert len(chain.steps[0].left_out_) == 3


def test_items_of_several_labels_have_the_probability_of_each(random):
    """An indicator of labels is learned label by label; rows without any are left out."""
    labels = random.integers(0, 2, (120, 3))
    labels[0] = 0
    rows = labels @ random.normal(0, 3, (3, 6)) + random.normal(0, 0.3, (120, 6))
    learner = ClassPosteriors(random_state=0).fit([rows[:80]], Supervision(classes=sp.csr_array(labels[:80])))
    found = learner.transform(rows[80:], view=0)
    assert ((found > 0.5) == labels[80:]).mean() > 0.9
    assert not learner.exclusive_


def test_one_class_is_refused(random):
    """It leaves no classes to separate."""
    with pytest.raises(ValueError, match="at least 2 classes"):
        ClassPosteriors().fit([random.normal(size=(6, 2))], np.zeros(6))


def test_fingerprints_tell_rows_apart(random):
    """Every number and its place counts; zeros of either sign, and numbers beyond single precision, are equal."""
    rows = random.normal(size=(50, 7)).astype(np.float32)
    rows[3, 2] = 0.0
    changed = rows.copy()
    changed[3, 2] = -0.0
    assert (fingerprints(rows) == fingerprints(changed.astype(np.float64) * (1 + 1e-12))).all()
    assert len(np.unique(fingerprints(np.vstack([rows, rows[:, ::-1], rows + 1e-3])))) == 150


def test_of_equal_training_rows_the_first_counts(random):
    """A row that occurs twice has one place."""
    rows = random.normal(size=(4, 3))
    known = KnownViews([fingerprints(rows[[0, 1, 0, 2]])])
    which, positions = known.among(rows, 0)
    assert (which.tolist(), positions.tolist()) == ([0, 1, 2], [0, 1, 3, -1])
    assert [len(one) for one in known.among(rows, 1)] == [0, 0]


def test_landmarks_are_placed_like_other_rows(random):
    """A landmark is not surer of its class than another row, or a mixed database would favour it."""
    rows, labels = random.normal(size=(600, 200)), np.arange(600) % 6
    rows[:, :6] += random.normal(0, 1.5, (6, 6))[labels]
    learner = ClassPosteriors(row_kernel="gaussian", scaling="none", n_landmarks=300, random_state=0)
    learner.fit([rows], labels)
    chosen = {row.tobytes() for row in learner.landmarks_[0]}
    landmark = np.array([row.tobytes() in chosen for row in rows])
    sure = learner.left_out_[0].max(axis=1)
    assert landmark.sum() == 300
    assert sure[landmark].mean() < sure[~landmark].mean() + 0.03


def test_threads_share_the_inverses_of_few_penalties(random):
    """They forget some while others are used."""
    rows, targets = random.normal(size=(40, 60)), random.normal(size=(40, 2))
    shared, path = RidgeGram.of(rows @ rows.T, targets), RidgePath.of_gram(rows @ rows.T, targets)
    penalties = np.logspace(-3, 3, 3_000)  # more than are kept

    def differs(start: int) -> bool:
        own = shared.with_targets(targets * (1 + start))
        return not all(
            np.allclose(own.left_out(penalty), (1 + start) * path.left_out(penalty)) for penalty in penalties[start::4]
        )

    with ThreadPoolExecutor(4) as threads:
        assert not any(threads.map(differs, range(4)))
