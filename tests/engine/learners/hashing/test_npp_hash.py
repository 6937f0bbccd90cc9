"""The supervised cross-view hasher: its objective, what it learns from, and what its codes are good for."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.learners.cancellation import reporting
from engine.learners.hashing.npp_hash import NPPHash
from engine.learners.hashing.relaxed import PairLoss, RelaxedCodes
from engine.learners.npp.neighborhoods import pair_relations
from engine.learners.npp.relations import SameClass, listed, shared_labels
from engine.learners.registry import parse_chain
from engine.learners.supervision import Supervision


def classes_in_views(n=90, widths=(7, 9), classes=3, noise=0.5, seed=0):
    """Rows of one Gaussian per class and view, in the order of the classes' labels 0, 1, 2, 0, 1, ..."""
    generator = np.random.default_rng(seed)
    labels = np.arange(n) % classes
    centres = [generator.normal(size=(classes, width)) for width in widths]
    return [at[labels] + noise * generator.normal(size=(n, at.shape[1])) for at in centres], labels


def between(learner, views, first=0, second=1):
    """Hamming distances of the codes of one view's rows to those of another's."""
    codes = [learner.transform(views[view], view=view) for view in (first, second)]
    return (codes[0][:, None] != codes[1][None]).sum(axis=2)


def slope(function, at, step=1e-6):
    """The gradient by central differences."""
    found = np.zeros_like(at)
    for place in np.ndindex(at.shape):
        moved = [at.copy(), at.copy()]
        moved[0][place] += step
        moved[1][place] -= step
        found[place] = (function(moved[0]) - function(moved[1])) / (2 * step)
    return found


def similarities(n=7):
    """Classes, shared labels and listed pairs of n items."""
    tags = np.random.default_rng(1).random((n, 4)) < 0.3
    return [SameClass(np.arange(n) % 3), shared_labels(tags), listed([[i, (i + 2) % n] for i in range(n)], n)]


@pytest.mark.parametrize("similar", similarities())
def test_loss_is_its_definition(similar, monkeypatch):
    """Half the mean of d^2 over similar pairs and of what lacks to 1, squared, over others; however blocks are cut."""
    generator = np.random.default_rng(0)
    items = [np.array([0, 2, 3, 4, 6]), np.arange(7)]
    pairs = pair_relations(similar, items)[0, 1]
    first, second = generator.uniform(-1, 1, (5, 6)), generator.uniform(-1, 1, (7, 6))
    distance = ((first[:, None] - second[None]) ** 2).sum(axis=2) / 12
    near = similar.cut(*items).block(slice(0, 5))
    expected = 0.5 * (distance[near] ** 2).mean() + 0.5 * (np.maximum(1 - distance[~near], 0) ** 2).mean()
    assert PairLoss(pairs)(first, second)[0] == pytest.approx(expected)
    monkeypatch.setattr("engine.learners.hashing.relaxed._PAIRS_AT_ONCE", 14)
    assert PairLoss(pairs)(first, second)[0] == pytest.approx(expected)


def test_of_codes_the_distance_is_hammings():
    """Of bits, -1 and 1, the loss sees the number of differing ones in units of half of them."""
    generator = np.random.default_rng(0)
    bits = generator.choice([-1.0, 1.0], (6, 8))
    pairs = pair_relations(SameClass(np.arange(6) % 2), [np.arange(6)] * 2)[0, 1]
    differing = (bits[:, None] != bits[None]).sum(axis=2) / 4
    near = np.equal.outer(np.arange(6) % 2, np.arange(6) % 2)
    expected = 0.5 * (differing[near] ** 2).mean() + 0.5 * (np.maximum(1 - differing[~near], 0) ** 2).mean()
    assert PairLoss(pairs)(bits, bits)[0] == pytest.approx(expected)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 5))
def test_gradients_of_the_loss(seed, bits):
    """Gradients with respect to both views' codes are those of finite differences."""
    generator = np.random.default_rng(seed)
    pairs = pair_relations(SameClass(np.arange(6) % 3), [np.arange(4), np.arange(6)])[0, 1]
    first, second = generator.uniform(-1, 1, (4, bits)), generator.uniform(-1, 1, (6, bits))
    loss = PairLoss(pairs)
    _, of_first, of_second = loss(first, second)
    np.testing.assert_allclose(of_first, slope(lambda at: loss(at, second)[0], first), atol=1e-6)
    np.testing.assert_allclose(of_second, slope(lambda at: loss(first, at)[0], second), atol=1e-6)


def test_gradient_of_the_objective():
    """The gradient of three views' functions, regularisation included, is that of finite differences."""
    generator = np.random.default_rng(0)
    items = [np.arange(8), np.arange(6), np.array([1, 2, 5, 7])]
    losses = {
        both: PairLoss(one)
        for both, one in pair_relations(SameClass(np.arange(8) % 3), items).items()
        if both[0] < both[1]
    }
    views = [generator.normal(size=(len(these), width)) for these, width in zip(items, (3, 2, 4), strict=True)]
    objective = RelaxedCodes(views, losses, 0.1, [generator.normal(size=(5, rows.shape[1] + 1)) for rows in views])
    one = RelaxedCodes(
        views[2:],
        {both: loss for both, loss in losses.items() if both[1] == 2},
        0.1,
        [generator.normal(size=(5, 5))],
        [np.sign(generator.normal(size=(n, 5))) for n in (8, 6)],
    )
    np.testing.assert_allclose(one(one.start)[1], slope(lambda at: one(at)[0], one.start), atol=1e-6)
    at = objective.start + 0.3 * generator.normal(size=objective.start.shape)
    np.testing.assert_allclose(objective(at)[1], slope(lambda one: objective(one)[0], at), atol=1e-6)


def test_the_objective_never_rises():
    """It falls, step by step, as often as said; progress is told; the same seed finds the same functions."""
    views, labels = classes_in_views(noise=1.5)
    told = []
    with reporting(lambda *at: told.append(at)):
        one = NPPHash(16, max_iter=12, random_state=3).fit(views, labels)
    assert np.all(np.diff(one.objective_) <= 0)
    assert one.objective_[-1] < 0.9 * one.objective_[0]
    assert len(one.objective_) == one.n_iter_ + 1 <= 13
    assert told[-1] == (12, 12)
    again = NPPHash(16, max_iter=12, random_state=3).fit(views, labels)
    for view in (0, 1):
        np.testing.assert_array_equal(one.weights_[view], again.weights_[view])
        np.testing.assert_array_equal(one.offsets_[view], again.offsets_[view])


@pytest.mark.parametrize("bits", [4, 16, 64])
def test_codes_of_unseen_items_meet_across_views(bits):
    """Three planted classes, three views: items differ in few bits within a class, in about half between classes."""
    views, labels = classes_in_views(180, (7, 9, 5))
    learner = NPPHash(bits, random_state=0).fit([rows[:90] for rows in views], labels[:90])
    same = labels[90:, None] == labels[None, 90:]
    for first, second in ((0, 1), (1, 2), (2, 2)):
        apart = between(learner, [rows[90:] for rows in views], first, second) / bits
        assert apart[same].mean() < 0.12
        assert apart[~same].mean() > 0.4


def test_beats_its_start():
    """Where a class is several clusters, which a regression averages, the objective tells unseen items better apart."""
    views, clusters = classes_in_views(600, (8, 8), classes=12, noise=0.3)
    labels = clusters % 4
    train, test = [rows[:300] for rows in views], [rows[300:] for rows in views]
    same = labels[300:, None] == labels[None, 300:]

    def ratio(max_iter):
        learner = NPPHash(32, eta=1e-3, max_iter=max_iter, random_state=0).fit(train, labels[:300])
        apart = between(learner, test)
        return apart[~same].mean() / apart[same].mean()

    assert ratio(50) > 1.2 * ratio(0)


def test_a_heavy_eta_keeps_the_start():
    """With a great eta the codes are those of no step at all, with none they are others."""
    views, labels = classes_in_views(noise=1.5)
    start, held, free = (
        NPPHash(32, eta, steps, random_state=0).fit(views, labels).transform(views[0], view=0)
        for eta, steps in ((1.0, 0), (1e9, 20), (0.0, 20))
    )
    assert (start != held).mean() < 0.05
    assert (start != free).mean() > (start != held).mean()


def test_items_may_lack_views():
    """What stands in an absent row's place is never looked at, and items with one view take part."""
    views, labels = classes_in_views()
    mask = np.ones((90, 2), bool)
    mask[::4, 0] = mask[1::4, 1] = False
    filled = [np.where(column[:, None], rows, 1e6) for rows, column in zip(views, mask.T, strict=True)]
    learner, other = (
        NPPHash(16, random_state=0).fit(rows, Supervision(classes=labels, mask=mask)) for rows in (views, filled)
    )
    for view in (0, 1):
        np.testing.assert_array_equal(learner.weights_[view], other.weights_[view])
    apart = between(learner, views)
    same = labels[:, None] == labels[None]
    assert apart[same].mean() < 0.5 * apart[~same].mean()


def test_a_view_added_later():
    """The others' codes stay to the last bit, and new items of the added view meet them, though items lack views."""
    views, labels = classes_in_views(180, (7, 9, 5))
    mask = np.random.default_rng(0).random((90, 3)) > 0.3
    train = [rows[:90] for rows in views]
    learner = NPPHash(32, random_state=0).fit(train[:2], Supervision(classes=labels[:90], mask=mask[:, :2]))
    kept = [learner.transform(views[view], view=view) for view in (0, 1)]
    learner.add_view(train, Supervision(classes=labels[:90], mask=mask))
    for view in (0, 1):
        np.testing.assert_array_equal(learner.transform(views[view], view=view), kept[view])
    assert np.all(np.diff(learner.objective_) <= 0)
    same = labels[90:, None] == labels[None, 90:]
    for view in (0, 1):
        apart = between(learner, [rows[90:] for rows in views], 2, view) / 32
        assert apart[same].mean() < 0.12
        assert apart[~same].mean() > 0.4


def test_an_added_view_needs_something_similar():
    """Where no row of the new view is similar to a row of the others, that is said."""
    views, labels = classes_in_views(90, (7, 9, 5))
    learner = NPPHash(8, random_state=0).fit(views[:2], labels)
    told = sp.csr_array((np.ones(2), ([0, 1], [1, 0])), shape=(90, 90))
    mask = np.ones((90, 3), bool)
    mask[:2, 2] = False
    with pytest.raises(ValueError, match="no row of the added view is similar"):
        learner.add_view(views, Supervision(mask=mask, neighbors=told))


@pytest.mark.parametrize("told", ["classes", "labels", "neighbors"])
def test_kinds_of_similarity(told):
    """Classes, sets of labels and listed pairs that say the same teach the same."""
    views, labels = classes_in_views()
    indicator = np.eye(3)[labels]
    same = labels[:, None] == labels[None]
    given_as = {
        "classes": labels,
        "labels": sp.csr_array(indicator),
        "neighbors": Supervision(neighbors=sp.csr_array(same.astype(float))),
    }
    learner = NPPHash(16, random_state=0).fit(views, given_as[told])
    apart = between(learner, views)
    assert apart[same].mean() < 0.1 * 16
    assert apart[~same].mean() > 0.4 * 16


def test_pairs_of_some_rows():
    """With more rows than max_rows the pairs are of as many, and the codes still tell classes apart."""
    views, labels = classes_in_views(600)
    learner = NPPHash(16, max_rows=60, random_state=0).fit(views, labels)
    apart = between(learner, views)
    same = labels[:, None] == labels[None]
    assert apart[same].mean() < 0.3 * apart[~same].mean()


def test_follows_a_kernel():
    """As the last step of a chain it makes the chain's codes comparable across views, with n_bits in the spec."""
    views, labels = classes_in_views()
    chain = parse_chain("kernel:rbf,npp-hash:24", {"random_state": 0, "kernel__random_state": 0}).fit(views, labels)
    assert chain.capabilities.cross_view
    assert chain.capabilities.binary
    codes, scores = chain.codes_and_vectors(views[0], 0)
    assert codes.shape == scores.shape == (90, 24)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_bits": 0}, "n_bits must be a whole number from 1 to 4,096, not 0"),
        ({"n_bits": 2.5}, "n_bits must be a whole number, not 2.5"),
        ({"eta": -1}, "eta must be a number from 0 to 1,000,000,000, not -1"),
        ({"eta": float("nan")}, "eta must be a number, not nan"),
        ({"max_iter": -1}, "max_iter must be a whole number from 0"),
        ({"max_rows": 1}, "max_rows must be a whole number from 2"),
    ],
)
def test_parameters_out_of_range(params, message):
    """Each is refused by name."""
    views, labels = classes_in_views()
    with pytest.raises(ValueError, match=message):
        NPPHash(**params).fit(views, labels)


def test_nothing_to_learn_from():
    """One view, no labels, or one class only: each is a ValueError that says so."""
    views, labels = classes_in_views()
    with pytest.raises(ValueError, match="at least 2 views"):
        NPPHash().fit(views[:1], labels)
    with pytest.raises(ValueError, match="requires y"):
        NPPHash().fit(views)
    with pytest.raises(ValueError, match="no dissimilar pairs"):
        NPPHash().fit(views, np.zeros(90))
