"""Batches: right on average, the same for the same seed, about as accurate as all pairs."""

import numpy as np
import pytest

from crossview.engine.learners.papers.npp.multi_npp import Alternation, MultiNPP, Optimization
from crossview.engine.learners.papers.npp.neighborhoods import pair_relations
from crossview.engine.learners.papers.npp.problem import Problem, View
from crossview.engine.learners.papers.npp.scisd import Scisd
from crossview.engine.learners.papers.npp.similarity import SameClass
from crossview.engine.learners.papers.npp.subproblem import Regularizer
from crossview.engine.learners.subspace.span import Span
from crossview.engine.runtime.cancellation import reporting


def two_views(n, seed, classes=6, widths=(12, 16), noise=1.0):
    centers = [np.random.default_rng(view).normal(size=(classes, width)) for view, width in enumerate(widths)]
    generator = np.random.default_rng(seed)
    labels = generator.integers(classes, size=n)
    return [one[labels] + noise * generator.normal(size=(n, one.shape[1])) for one in centers], labels


def problem(n=60, size=4):
    views, labels = two_views(n, 0)
    generator = np.random.default_rng(1)
    items = np.arange(n)
    return Problem(
        views=[View(Span(rows - rows.mean(axis=0)), items, 1.0) for rows in views],
        relations=pair_relations(SameClass(labels), [items, items]),
        scisd=Scisd(3.7, 0.5),
        penalties=[Regularizer("l2", 0.01)] * 2,
        weights=[generator.normal(size=(size, rows.shape[1])) / 8 for rows in views],
        free=[0, 1],
    )


def test_batches_estimate_the_bound():
    """Bounds of batches, and their gradients, are on average those over all pairs."""
    whole = problem()
    generator = np.random.RandomState(0)
    W = whole.weights[1] + 0.1 * np.random.default_rng(2).normal(size=whole.weights[1].shape)
    exact, slope = whole.bound(1).bound(W)
    drawn = [whole.sampled_bound(1, 40, 30, generator).bound(W) for _ in range(300)]
    values, slopes = np.array([value for value, _ in drawn]), np.array([one for _, one in drawn])
    assert values.mean() == pytest.approx(exact, abs=4 * values.std() / np.sqrt(300) + 0.01 * abs(exact))
    assert np.linalg.norm(slopes.mean(axis=0) - slope) < 0.1 * np.linalg.norm(slope)


def test_a_batch_of_everything_is_the_whole():
    """With all rows, the bound of a batch is the bound."""
    whole = problem()
    W = whole.weights[0] + 0.1
    value, slope = whole.sampled_bound(0, 60, 60, np.random.RandomState(0)).bound(W)
    exact, exact_slope = whole.bound(0).bound(W)
    assert value == pytest.approx(exact)
    np.testing.assert_allclose(slope, exact_slope, atol=1e-12)


def test_batches_lower_the_objective():
    """Sub-problems on batches lower the true objective, and frozen views stay."""
    whole = problem(200)
    whole.free = [1]
    before, frozen = whole.objective(), whole.weights[0].copy()
    Alternation(whole, 64, np.random.RandomState(0)).run(Optimization(max_iter=2, inner_iter=10))
    assert whole.objective() < before
    np.testing.assert_array_equal(whole.weights[0], frozen)


def test_same_seed_same_projections():
    """Draws depend on the seed alone, and progress reports go from the first step to the last."""
    views, labels = two_views(300, 2)
    fitted, reports = [], []
    for seed in (0, 0, 1):
        reports.append([])
        learner = MultiNPP(5, random_state=seed).set_params(batch_size=100)
        with reporting(lambda *at: reports[-1].append(at)):
            fitted.append(learner.fit(views, labels))
    np.testing.assert_array_equal(fitted[0].weights_[0], fitted[1].weights_[0])
    assert not np.array_equal(fitted[0].weights_[0], fitted[2].weights_[0])
    assert reports[0] == sorted(reports[0])
    assert {total for _, total in reports[0]} == {60}
    assert (reports[0][0], reports[0][-1]) == ((1, 60), (60, 60))


@pytest.mark.long
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"similar": "knn", "n_neighbors": 30},
        {"frozen": 0},
        {"nearest": 10},
        {"penalty": "l1"},
        {"weighting": "sum"},
    ],
)
def test_about_as_accurate_as_all_pairs(settings):
    """Items of the query's class are found about as well as after training on all pairs."""
    (views, labels), (new, new_labels) = two_views(900, 3), two_views(300, 4)
    scores = []
    for batch_size in (None, 300):
        learner = MultiNPP(8, random_state=0).set_params(batch_size=batch_size, **settings).fit(views, labels)
        placed, probes = learner.transform(views[1], view=1), learner.transform(new[0], view=0)
        nearest = np.argsort(np.linalg.norm(probes[:, None] - placed[None], axis=2), axis=1)[:, :5]
        scores.append((labels[nearest] == new_labels[:, None]).mean())
    assert scores[1] > scores[0] - 0.03


def test_large_sets_are_drawn_from(monkeypatch):
    """All pairs are used by default until they are too many; then two fits on one seed still agree."""
    views, labels = two_views(100, 5)
    whole = MultiNPP(4, random_state=0).fit(views, labels).weights_[0]
    np.testing.assert_array_equal(
        MultiNPP(4, random_state=0).set_params(batch_size=None).fit(views, labels).weights_[0], whole
    )
    monkeypatch.setattr("crossview.engine.learners.papers.npp.multi_npp.FULL_PAIRS", 99)
    monkeypatch.setattr("crossview.engine.learners.papers.npp.multi_npp._BATCH", 50)
    learner = MultiNPP(4, random_state=0).fit(views, labels)
    assert len(learner.objective_) == learner.n_iter_ + 1
    assert not np.array_equal(learner.weights_[0], whole)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"batch_size": 0}, "batch_size must be"),
        ({"batch_size": "all"}, "batch_size must be a whole number, 'auto' or null, not 'all'"),
        ({"n_neighbors": 0}, "n_neighbors"),
        ({"similar": "near"}, "similar must be one of labels, knn"),
    ],
)
def test_bad_parameters_are_named(params, message):
    """A parameter out of range is a ValueError that names it."""
    views, labels = two_views(30, 0)
    with pytest.raises(ValueError, match=message):
        MultiNPP().set_params(**params).fit(views, labels)
