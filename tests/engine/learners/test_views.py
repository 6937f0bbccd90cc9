"""More than two views, items that lack some, and views that are held or added later."""

import numpy as np
import pytest
from brief import brief

from crossview.engine.learners.frame.supervision import Supervision
from crossview.engine.learners.papers.npp.multi_npp import Hybrid, MultiNPP
from crossview.engine.learners.papers.npp.scisd import Scisd
from crossview.engine.learners.registry import LEARNERS, parse_chain
from crossview.engine.learners.subspace.pca import PCA

CLASSES = 4
WIDTHS = (6, 9, 5)
CENTERS = [np.random.default_rng(view).normal(size=(CLASSES, width)) for view, width in enumerate(WIDTHS)]


def items(n=80, seed=0, noise=0.2):
    """Return three views of n items of four classes, and their classes."""
    generator = np.random.default_rng(seed)
    labels = np.arange(n) % CLASSES
    return [centers[labels] + noise * generator.normal(size=(n, centers.shape[1])) for centers in CENTERS], labels


def lacking(n=80, seed=1, share=0.3):
    """Return a mask by which many items lack views, and some have only one."""
    mask = np.random.default_rng(seed).random((n, len(WIDTHS))) > share
    mask[~mask.any(axis=1), 0] = True
    return mask


def accuracy(learner, query, database, training, mask=None):
    """Return the share of new items whose nearest trained item, in another view, is of their class."""
    (views, labels), (new, new_labels) = training, items(40, seed=7)
    there = slice(None) if mask is None else mask[:, database]
    placed = learner.transform(views[database][there], view=database)
    probes = learner.transform(new[query], view=query)
    distances = np.linalg.norm(probes[:, None] - placed[None], axis=2)
    return (labels[there][distances.argmin(axis=1)] == new_labels).mean()


def blind(views, mask):
    """Return the views with NaN for each view that an item lacks."""
    return [np.where(mask[:, view, None], rows, np.nan) for view, rows in enumerate(views)]


@pytest.mark.parametrize("name", ["multi-npp", "hybrid", "cca", "semantic"])
def test_any_view_queries_any_other(name):
    """With three views each of the six crossings finds items of the query's class."""
    views, labels = items()
    learner = LEARNERS[name](**({"random_state": 0} if "npp" in name else {})).fit(views, labels)
    for query in range(3):
        for database in range(3):
            assert accuracy(learner, query, database, (views, labels)) > 0.9


def test_objective_is_the_sum_over_views_that_items_have():
    """The objective equals the sum, over pairs of views and their existing rows, computed one by one."""
    views, labels = items(24)
    mask = lacking(24)
    learner = (
        MultiNPP(4, eta=0.01, gamma=0.03, random_state=0)
        .set_params(max_iter=2)
        .fit(blind(views, mask), Supervision(classes=labels, mask=mask))
    )
    embedded = [learner.transform(rows, view=view) for view, rows in enumerate(views)]
    scisd = Scisd(3.7, 1 / 3.7)
    total = 0.0
    for v, w in ((0, 1), (0, 2), (1, 2)):
        near, far = [], []
        for i in np.flatnonzero(mask[:, v]):
            for j in np.flatnonzero(mask[:, w]):
                distance = np.linalg.norm(embedded[v][i] - embedded[w][j])
                if labels[i] == labels[j]:
                    near.append(distance**2)
                else:
                    far.append(scisd.loss(np.array([distance]), np.ones(1)))
        total += 0.5 * np.mean(near) + 0.5 * np.mean(far)
    for view, weight in enumerate((0.01, 0.03, 0.03)):
        there = views[view][mask[:, view]]
        scale = np.sqrt(((there - there.mean(axis=0)) ** 2).mean())
        total += weight * scale**2 * (learner.weights_[view] ** 2).sum()
    assert learner.objective_[-1] == pytest.approx(total)


@pytest.mark.parametrize("settings", [{}, {"nearest": 5}, {"pairs": "sampled"}, {"penalty": "l1"}, {"init": "cca"}])
def test_objective_never_rises_with_gaps(settings):
    """Three views with gaps: every alternation lowers the objective."""
    views, labels = items()
    mask = lacking()
    learner = MultiNPP(5, eta=1e-3, gamma=1e-3, random_state=0).set_params(max_iter=5, **settings)
    history = learner.fit(blind(views, mask), Supervision(classes=labels, mask=mask)).objective_
    assert (np.diff(history) <= 1e-12).all()
    assert history[-1] < history[0]


@pytest.mark.parametrize("name", LEARNERS)
def test_what_an_item_lacks_is_never_looked_at(name):
    """A learner fits the same for any value in an absent view, NaN too; new rows get finite embeddings."""
    views, labels = items()
    views, mask = [np.abs(rows) for rows in views[:2]], lacking()[:, :2]
    fitted = [brief(name).fit(given, Supervision(classes=labels, mask=mask)) for given in (views, blind(views, mask))]
    for view, rows in enumerate(views):
        embedded = [learner.transform(rows, view=view) for learner in fitted]
        np.testing.assert_array_equal(*embedded)
        assert np.isfinite(embedded[0]).all()


@pytest.mark.parametrize("name", LEARNERS)
def test_an_item_without_any_view_is_no_item(name):
    """Items that lack all views change nothing."""
    views, labels = items()
    views = [np.abs(rows) for rows in views[:2]]
    mask = np.repeat((np.arange(80) < 60)[:, None], 2, axis=1)
    masked = brief(name).fit(views, Supervision(classes=np.where(mask[:, 0], labels, 0), mask=mask))
    without = brief(name).fit([rows[:60] for rows in views], labels[:60])
    for view, rows in enumerate(views):
        np.testing.assert_allclose(masked.transform(rows, view=view), without.transform(rows, view=view), atol=1e-8)


def test_gaps_cost_little():
    """A collection of texts and pictures that lacks a third of its views still learns every crossing."""
    views, labels = items()
    mask = lacking()
    learner = MultiNPP(random_state=0).fit(blind(views, mask), Supervision(classes=labels, mask=mask))
    scores = [accuracy(learner, q, d, (views, labels), mask) for q in range(3) for d in range(3) if q != d]
    assert min(scores) > 0.85


@pytest.mark.parametrize("frozen", [1, [0, 2]])
def test_held_views_keep_their_geometry(frozen):
    """A frozen view's distances are its principal components', up to one factor, for any frozen views."""
    views, labels = items()
    learner = Hybrid(5, frozen=frozen).fit(views, labels)
    expected = PCA(5).fit(views)
    for view in [frozen] if isinstance(frozen, int) else frozen:
        embedded, pca = learner.transform(views[view], view=view), expected.transform(views[view], view=view)
        np.testing.assert_allclose(embedded, np.linalg.norm(embedded) / np.linalg.norm(pca) * pca, atol=1e-9)
    assert accuracy(learner, 1, 0, (views, labels)) > 0.6


@pytest.mark.parametrize("spec", ["multi-npp", "sqrt,kernel:rbf,multi-npp", "standardize,semantic", "hybrid", "pca,l2"])
def test_a_view_added_later(spec):
    """A new view joins the space as it is: the other views' embeddings stay to the last bit."""
    views, labels = items()
    chain = parse_chain(spec).fit(views[:2], labels)
    before = [chain.transform(views[view], view=view) for view in (0, 1)]
    mask = lacking()
    mask[:, :2] = True
    chain.add_view([*views[:2], blind(views, mask)[2]], Supervision(classes=labels, mask=mask))
    for view in (0, 1):
        np.testing.assert_array_equal(chain.transform(views[view], view=view), before[view])
    if chain.capabilities.cross_view:
        assert accuracy(chain, 2, 0, (views, labels)) > 0.8
        assert accuracy(chain, 1, 2, (views, labels), mask) > 0.8


def test_a_view_that_cannot_be_added():
    """Learners that fit their views together say so, and a refusal leaves everything as it was."""
    views, labels = items()
    for spec in ("cca", "sqrt,pls"):
        chain = parse_chain(spec).fit(views[:2], labels)
        before = chain.transform(views[0], view=0)
        with pytest.raises(ValueError, match="fits its views together"):
            chain.add_view(views, labels)
        np.testing.assert_array_equal(chain.transform(views[0], view=0), before)
        assert chain.view_widths_ == list(WIDTHS[:2])
    learner = MultiNPP(random_state=0).fit(views[:2], labels)
    with pytest.raises(ValueError, match=r"views of widths \[6, 9\] were fitted"):
        learner.add_view(views[:2], labels)
    assert learner.view_widths_ == [6, 9]


def test_labels_in_several_forms():
    """One label each as classes or as an indicator matrix is the same; a shared label makes items similar."""
    views, labels = items(40)
    indicator = np.eye(CLASSES)[labels]
    first = MultiNPP(random_state=0).fit(views, labels).weights_[0]
    np.testing.assert_allclose(MultiNPP(random_state=0).fit(views, indicator).weights_[0], first, atol=1e-8)
    both = indicator.copy()
    both[labels == 1, 0] = 1  # classes 0 and 1 share a label now
    learner = MultiNPP(random_state=0).fit(views, both)
    embedded = learner.transform(views[0], view=0), learner.transform(views[1], view=1)
    means = [np.array([rows[labels == label].mean(axis=0) for label in range(CLASSES)]) for rows in embedded]
    distances = np.linalg.norm(means[0][:, None] - means[1][None], axis=2)
    assert distances[0, 1] < 0.7 * distances[0, 2]


def test_neighbors_in_a_view_need_no_labels():
    """Neighbours in one view become near across views."""
    views, labels = items()
    learner = MultiNPP().set_params(similar="knn", neighbor_view=2, n_neighbors=6, random_state=0)
    assert not learner.needs_labels
    learner.fit(views)
    assert accuracy(learner, 0, 1, (views, labels)) > 0.8
    with pytest.raises(ValueError, match="neighbor_view=3 but there are 3 views"):
        MultiNPP().set_params(similar="knn", neighbor_view=3).fit(views)


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        (np.ones((80, 2)), "mask has shape"),
        (np.arange(80)[:, None] < np.array([80, 80, 1]), "1 items have view 2; at least 2"),
    ],
)
def test_bad_masks_are_named(mask, message):
    """A mask of another shape, and a view that hardly any item has, are ValueErrors."""
    views, labels = items()
    with pytest.raises(ValueError, match=message):
        MultiNPP().fit(views, Supervision(classes=labels, mask=mask))


def test_cca_needs_items_with_all_views():
    """If no items have both views, learners that compare item by item say so."""
    views, labels = items()
    mask = np.stack([np.arange(80) < 40, np.arange(80) >= 40], axis=1)
    with pytest.raises(ValueError, match="0 items have all 2 views"):
        LEARNERS["cca"]().fit(views[:2], Supervision(classes=labels, mask=mask))
    learner = MultiNPP(random_state=0).fit(views[:2], Supervision(classes=labels, mask=mask))
    assert accuracy(learner, 0, 1, (views, labels), mask) > 0.9
