"""Learning in the span of the rows gives the solution that learning in all their columns gives."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.covariance import ledoit_wolf_shrinkage

from crossview.engine.learners.frame.supervision import Supervision
from crossview.engine.learners.registry import parse_chain
from crossview.engine.learners.selection import distances
from crossview.engine.learners.subspace.cca import ledoit_wolf
from crossview.engine.learners.subspace.span import Span

SPECS = {
    "cca:30": {},
    "cca:3": {"shrinkage": 0.3},
    "pls": {},
    "lda": {},
    "semantic": {},
    "attributes": {},
    "multi-npp:5": {"random_state": 0},
    "multi-npp:6": {"random_state": 0, "init": "labels", "nearest": 3},
    "multi-npp:7": {"random_state": 0, "init": "random", "eta": 1e-2},
    "multi-npp:9": {"random_state": 0, "init": "random", "frozen": 1},
    "multi-npp:8": {"random_state": 0, "init": "pca"},
    "multi-npp:4": {"random_state": 0, "penalty": "l1", "max_iter": 1},
    "hybrid:5": {"random_state": 0},
    "npp-hash:16": {"random_state": 0, "max_iter": 5},
    "fantope:5": {"n_constraints": 200, "gamma": 0.01, "max_iter": 30},
    "fantope:4": {"n_constraints": 200, "frobenius": 0.1, "mu": 0, "max_iter": 30},
    "fantope:6": {"n_constraints": 200, "form": "low-rank", "max_iter": 30},
    "fantope:7": {"n_constraints": 100, "form": "diagonal", "max_iter": 15},
    "fantope:8": {"n_constraints": 100, "start": "identity", "mu": 0, "max_iter": 15},
    "fantope:3": {"n_constraints": 100, "solver": "admm", "max_iter": 3},
    "lmnn": {"max_iter": 20},
    "lmnn:5": {"mu": 0.01, "form": "full", "max_iter": 3},
}
"""Few steps, because a last digit may decide whether a step is taken: after many, solutions part."""
LATER = [spec for spec in SPECS if spec.split(":")[0] not in ("cca", "pls")]


def two_views(n=40, widths=(90, 60), classes=4, seed=0):
    """Return views and labels of items to learn from, and the views of others."""
    generator = np.random.default_rng(seed)
    labels = np.arange(n + 20) % classes
    views = [
        (generator.normal(size=(classes, d))[labels] + generator.normal(size=(n + 20, d))) * np.linspace(0.5, 2, d)
        for d in widths
    ]
    return [rows[:n] for rows in views], labels[:n], [rows[n:] for rows in views]


def all_columns(monkeypatch):
    """Let learners take rows as they are."""
    monkeypatch.setattr(Span, "of", classmethod(lambda cls, rows, also=None: cls(rows)))
    monkeypatch.setattr(
        "crossview.engine.learners.papers.metrics.regularized.spanned", lambda rows, settings: Span(rows)
    )


def assert_same(found, expected, views):
    """Check that embeddings are at the same distances, within views and, if comparable, across them."""
    for v, first in enumerate(views):
        for w, second in enumerate(views):
            if v != w and not expected.capabilities.cross_view:
                continue
            wanted = distances(expected.transform(first, view=v), expected.transform(second, view=w))
            squared = distances(found.transform(first, view=v), found.transform(second, view=w))
            np.testing.assert_allclose(squared, wanted, atol=1e-5 * wanted.max())


@pytest.mark.parametrize(
    "widths", [(90, 12), pytest.param((90, 60), marks=pytest.mark.long), pytest.param((7, 12), marks=pytest.mark.long)]
)
@pytest.mark.parametrize("spec", SPECS)
def test_the_span_has_the_solution(spec, widths, monkeypatch):
    """Rows learned from, and new ones, are embedded as by a learner of all columns."""
    views, labels, unseen = two_views(widths=widths)
    found = parse_chain(spec, SPECS[spec]).fit(views, labels)
    all_columns(monkeypatch)
    expected = parse_chain(spec, SPECS[spec]).fit(views, labels)
    assert [W.shape for W in found.steps[-1].weights_] == [W.shape for W in expected.steps[-1].weights_]
    assert_same(found, expected, [np.vstack(pair) for pair in zip(views, unseen, strict=True)])


@pytest.mark.parametrize("spec", LATER)
def test_missing_and_added_views(spec, monkeypatch):
    """This holds with items that lack a view, and for a view that is added."""
    views, labels, unseen = two_views(widths=(90, 60, 70))
    mask = np.ones((len(labels), 3), bool)
    mask[:4, 0] = mask[4:7, 1] = mask[8:12, 2] = False
    learned = []
    for _ in range(2):
        chain = parse_chain(spec, SPECS[spec]).fit(views[:2], Supervision(classes=labels, mask=mask[:, :2]))
        learned.append(chain.add_view(views, Supervision(classes=labels, mask=mask)))
        all_columns(monkeypatch)
    assert_same(*learned, unseen)


@given(st.integers(2, 12), st.integers(1, 20), st.integers(0, 3), st.booleans())
def test_coordinates_keep_inner_products(n, width, more, centred):
    """Coordinates have the inner products of rows and further vectors, and lifted projections the embeddings."""
    generator = np.random.default_rng([n, width, more])
    rows, also = generator.normal(size=(n, width)), generator.normal(size=(more, width))
    rows = rows - rows.mean(axis=0) if centred else rows
    span = Span.of(rows, also)
    inside = span.coordinates(also)
    assert span.width == width
    assert span.rows.shape[1] == min(width, n + more)
    np.testing.assert_allclose(span.rows @ span.rows.T, rows @ rows.T, atol=1e-9)
    np.testing.assert_allclose(inside @ inside.T, also @ also.T, atol=1e-9)
    np.testing.assert_allclose(rows @ span.lifted(inside).T, span.rows @ inside.T, atol=1e-9)
    np.testing.assert_array_equal(span.take(np.array([1])).rows, span.rows[[1]])


@pytest.mark.parametrize(("n", "width"), [(30, 80), (80, 30), (2, 5), (5, 1)])
def test_shrinkage_is_ledoit_and_wolfs(n, width):
    """The shrinkage of rows and of their coordinates is scikit-learn's; rows of zeros are not shrunk."""
    rows = np.random.default_rng(0).normal(size=(n, width)) * np.linspace(1, 3, width)
    rows -= rows.mean(axis=0)
    expected = ledoit_wolf_shrinkage(rows, assume_centered=True)
    assert ledoit_wolf(Span(rows)) == pytest.approx(expected, abs=1e-12)
    assert ledoit_wolf(Span.of(rows)) == pytest.approx(expected, abs=1e-12)
    assert ledoit_wolf(Span(np.zeros((n, width)))) == 0
