"""Semantic matching and LDA, which learn from classes; and these and PLS in chains."""

import numpy as np
import pytest
import sklearn.discriminant_analysis
import sklearn.linear_model

from crossview.engine.learners.frame.normalization import Standardize
from crossview.engine.learners.registry import LEARNERS, from_state, parse_chain
from crossview.engine.learners.subspace.lda import LinearDiscriminants
from crossview.engine.learners.subspace.semantic import SemanticMatching


def planted(n=160, widths=(6, 9, 4), names=("ant", "bee", "cat", "dog"), seed=0):
    """Return views with only the class in common, rows of positive numbers, half for training and half for tests."""
    generator = np.random.default_rng(seed)
    codes = np.arange(n) % len(names)
    views = [
        np.exp(generator.normal(size=(len(names), d)))[codes] * generator.gamma(20, size=(n, d)) / 20 for d in widths
    ]
    half = n // 2
    return [rows[:half] for rows in views], [rows[half:] for rows in views], np.array(names)[codes]


def share_matched(queries, database, labels):
    """Return the share of queries whose nearest row of the database is of their class."""
    distances = np.linalg.norm(queries[:, None] - database[None], axis=2)
    return (labels[distances.argmin(axis=1)] == labels).mean()


@pytest.mark.parametrize("regression", ["ridge", "logistic"])
@pytest.mark.parametrize("names", [("ant", "bee", "cat", "dog"), (7, 3, 5)])
def test_semantic_matches_classes_across_views(regression, names):
    """New rows of one view find those of their class in each other view, far more often than by chance."""
    train, test, labels = planted(names=names)
    learner = SemanticMatching(regression).fit(train, labels[: len(train[0])])
    embeddings = learner.transform(test)
    assert learner.classes_.tolist() == sorted(names)
    for query in range(3):
        for target in range(3):
            assert embeddings[target].shape[1] == len(names)
            assert share_matched(embeddings[query], embeddings[target], labels[len(train[0]) :]) > 0.6
    for rows in embeddings:
        np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1)


def test_semantic_predictions_are_scikit_learns():
    """Uncentred and not normalised, embeddings are scikit-learn's predictions on standardised columns."""
    (rows, *_), _, labels = planted(names=("ant", "bee", "cat"))
    labels = labels[: len(rows)]
    standard = Standardize().fit([rows]).transform([rows])[0]
    plain = {"center": False, "normalize": False}
    ridge = sklearn.linear_model.Ridge(alpha=0.1 * len(rows)).fit(standard, labels[:, None] == np.unique(labels))
    ours = SemanticMatching("ridge", 0.1, **plain).fit([rows], labels).transform(rows, view=0)
    np.testing.assert_allclose(ours, ridge.predict(standard), atol=1e-10)
    for classes in (["ant", "bee", "cat"], ["ant", "bee"]):
        some = np.isin(labels, classes)
        logistic = sklearn.linear_model.LogisticRegression(C=1 / (0.1 * some.sum()), max_iter=1000)
        scaled = Standardize().fit([rows[some]]).transform([rows[some]])[0]
        expected = logistic.fit(scaled, labels[some]).predict_proba(scaled)
        ours = SemanticMatching("logistic", 0.1, **plain).fit([rows[some]], labels[some])
        np.testing.assert_allclose(ours.transform(rows[some], view=0), expected, atol=1e-10)


def test_semantic_centers():
    """The embeddings of the training rows have the mean 0."""
    train, _, labels = planted()
    labels = labels[: len(train[0])]
    for regression in ("ridge", "logistic"):
        embeddings = SemanticMatching(regression, normalize=False).fit(train, labels).transform(train)
        for rows in embeddings:
            np.testing.assert_allclose(rows.mean(axis=0), 0, atol=1e-10)


@pytest.mark.parametrize("regression", ["ridge", "logistic"])
def test_semantic_penalises_views_apart(regression):
    """One alpha for each view is the same as fitting each view by itself with its own."""
    train, test, labels = planted(widths=(6, 9))
    labels = labels[: len(train[0])]
    both = SemanticMatching(regression, [0.3, 0.001]).fit(train, labels)
    assert both.alphas_ == [0.3, 0.001]
    for view, alpha in enumerate(both.alphas_):
        alone = SemanticMatching(regression, alpha).fit([train[view]], labels)
        np.testing.assert_array_equal(both.transform(test[view], view=view), alone.transform(test[view], view=0))
    both.add_view([*train, train[1]], labels)
    assert both.alphas_ == [0.3, 0.001, SemanticMatching(regression).fit([train[1]], labels).alphas_[0]]


def test_semantic_may_keep_the_sizes_of_columns():
    """Unstandardised, a view may turn and grow as a whole and predictions stay; standardised, they change."""
    (rows, *_), _, labels = planted()
    labels = labels[: len(rows)]
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(6, 6)))[0]
    turned = 7 * rows @ turn

    def predicted(rows, standardize):
        learner = SemanticMatching("ridge", 0.1, standardize=standardize)
        return learner.fit([rows], labels).transform(rows, view=0)

    np.testing.assert_allclose(predicted(rows, False), predicted(turned, False), atol=1e-10)
    assert not np.allclose(predicted(rows, True), predicted(turned, True), atol=1e-2)


@pytest.mark.parametrize("name", ["semantic", "lda"])
def test_rows_alone_in_their_class_teach_nothing(name):
    """Rows of a class of one, such as unlabelled items, change nothing."""
    train, _, labels = planted()
    labels = labels[: len(train[0])].astype(object)
    whole = LEARNERS[name]().fit([rows[3:] for rows in train], labels[3:])
    labels[:3] = ["\x1f1", "\x1f2", "\x1f3"]
    again = LEARNERS[name]().fit(train, labels)
    assert again.classes_.tolist() == ["ant", "bee", "cat", "dog"]
    np.testing.assert_allclose(again.transform(train)[0], whole.transform(train)[0])


@pytest.mark.parametrize("name", ["semantic", "lda"])
def test_labels_are_checked(name):
    """Missing labels, a single class, and classes of one row only are ValueErrors that say so."""
    train, _, _ = planted()
    with pytest.raises(ValueError, match="requires y to be passed"):
        LEARNERS[name]().fit(train)
    for useless in (np.repeat("ant", len(train[0])), np.arange(len(train[0]))):
        with pytest.raises(ValueError, match="at least 2 classes are needed"):
            LEARNERS[name]().fit(train, useless)


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("semantic", {"regression": "svm"}),
        ("semantic", {"alpha": 0.0}),
        ("semantic", {"alpha": np.inf}),
        ("semantic", {"alpha": [0.1, -0.1]}),
        ("semantic", {"alpha": [0.1, 0.1, 0.1]}),
        ("pls", {"n_components": 0}),
        ("lda", {"n_components": 0}),
        ("lda", {"shrinkage": 2.0}),
    ],
)
def test_baselines_refuse_parameters(name, params):
    """A parameter out of range is a ValueError that names it."""
    train, _, labels = planted(widths=(6, 9))
    with pytest.raises(ValueError, match=next(iter(params))):
        LEARNERS[name](**params).fit(train, labels[: len(train[0])])


def test_lda_is_scikit_learns():
    """Without shrinkage directions are scikit-learn's up to sign and the mean, and no more than classes less one."""
    train, _, labels = planted()
    labels = labels[: len(train[0])]
    embeddings = LinearDiscriminants(shrinkage=0.0).fit(train, labels).transform(train)
    for rows, embedded in zip(train, embeddings, strict=True):
        theirs = sklearn.discriminant_analysis.LinearDiscriminantAnalysis(solver="eigen").fit_transform(rows, labels)
        np.testing.assert_allclose(np.abs(embedded), np.abs(theirs - theirs.mean(axis=0)), atol=1e-8)
    capped = LinearDiscriminants(2).fit(train, labels).transform(train)
    assert [rows.shape[1] for rows in capped] == [2, 2, 2]


def test_lda_survives_hard_views():
    """Constant and dependent columns and more columns than rows give finite embeddings; no scatter is an error."""
    train, _, labels = planted(n=40, widths=(30, 4))
    labels = labels[: len(train[0])]
    train[1] = np.hstack([train[1], train[1], np.ones((len(labels), 1))])
    for shrinkage in (0.0, "auto", (0.1, 0.5)):
        learner = LinearDiscriminants(shrinkage=shrinkage).fit(train, labels)
        assert all(np.isfinite(rows).all() for rows in learner.transform(train))
    with pytest.raises(ValueError, match="are equal"):
        LinearDiscriminants().fit([np.unique(labels, return_inverse=True)[1][:, None]], labels)


@pytest.mark.parametrize(
    ("spec", "crosses"),
    [
        ("l1,semantic", True),
        ("l1,semantic,dot", True),
        ("l1,dot", False),
        ("sqrt,semantic:0.1,l2", True),
        ("l1,pls:3", True),
        ("l1,lda:2", False),
    ],
)
def test_baselines_in_a_chain(spec, crosses):
    """Baselines work in a spec, their chains come back from their state, and only shared spaces cross views."""
    train, test, labels = planted(widths=(6, 9))
    chain = parse_chain(spec).fit(train, labels[: len(train[0])])
    assert chain.capabilities.cross_view is crosses
    again = from_state(chain.to_state())
    for view in (0, 1):
        np.testing.assert_array_equal(again.transform(test[view], view=view), chain.transform(test[view], view=view))
