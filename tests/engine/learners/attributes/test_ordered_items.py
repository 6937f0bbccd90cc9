"""Pairs of items in the order of an attribute: their loss beside that of classes, and scores learned from both."""

import numpy as np
import pytest
from scipy.optimize import minimize

from crossview.engine.learners.frame.comparisons import Comparisons, MixedComparisons
from crossview.engine.learners.frame.supervision import Supervision
from crossview.engine.learners.papers.attributes.class_relations import Relations
from crossview.engine.learners.papers.attributes.ordered_items import ItemPairs, loss_of
from crossview.engine.learners.papers.attributes.relative import RelativeAttributes

AMOUNTS = np.repeat([0.0, 1.0, 1.0, 2.0], 3)
"""Levels of the first rows, whose classes are ordered; two of the classes are equal."""
COUNT = 16
PAIRS = np.array([[0, 13], [14, 2], [15, 12], [5, 7], [12, 13], [3, 3 + 8]])
EQUAL = np.array([False, False, True, True, False, False])
WEIGHTS = np.array([1.0, 2.0, 0.5, 3.0, 1.0, 4.0])


def slow_loss(scores, amounts=AMOUNTS):
    """Return the losses of the rows of classes and of the pairs, one by one."""
    total = 0.0
    for i in range(len(amounts)):
        for j in range(i):
            low, high = (i, j) if amounts[i] < amounts[j] else (j, i)
            gap = scores[high] - scores[low]
            total += gap**2 if amounts[i] == amounts[j] else max(0.0, 1 - gap) ** 2
    for (low, high), equal, weight in zip(PAIRS, EQUAL, WEIGHTS, strict=True):
        gap = scores[high] - scores[low]
        total += weight * (gap**2 if equal else max(0.0, 1 - gap) ** 2)
    return total


def rows(seed=0, count=COUNT, width=5):
    return np.random.default_rng(seed).normal(size=(count, width))


def supervision(weights=WEIGHTS, notions="size"):
    """Return three rows of each of four classes, others alone in theirs, and pairs of all."""
    classes = [*np.repeat(["ann", "bob", "cy", "dee"], 3), "own 1", "own 2", "own 3", "own 4"]
    named = None if notions is None else np.full(len(PAIRS), notions)
    return Supervision(classes=np.array(classes), comparisons=Comparisons(PAIRS, EQUAL, weights, notions=named))


ORDERINGS = {"ann": [0], "bob": [1], "cy": [1], "dee": [2]}


def learner(**settings):
    return RelativeAttributes(**{"orderings": ORDERINGS, "names": ["size"], "tol": 1e-8} | settings)


@pytest.mark.parametrize("of_classes", [True, False])
@pytest.mark.parametrize("spread", [0.1, 1.0, 10.0])
def test_loss_is_the_sum_over_pairs_of_classes_and_of_items(of_classes, spread):
    """Value, gradient and Hessian are those of the pairs, one by one."""
    amounts = AMOUNTS if of_classes else np.empty(0)
    loss = loss_of(AMOUNTS if of_classes else None, ItemPairs(PAIRS, EQUAL, WEIGHTS))
    assert loss.count == pytest.approx(WEIGHTS.sum() + len(amounts) * (len(amounts) - 1) / 2)
    scores = spread * rows(1)[:, 0]
    local = loss.around(scores)
    assert local.value == pytest.approx(slow_loss(scores, amounts), rel=1e-9)
    steps = 1e-6 * np.eye(COUNT)
    slope = [(slow_loss(scores + e, amounts) - slow_loss(scores - e, amounts)) / 2e-6 for e in steps]
    np.testing.assert_allclose(local.slope, slope, rtol=1e-5, atol=1e-4 * (1 + spread))
    along = rows(2)[:, 0]
    curved = (loss.around(scores + 1e-7 * along).slope - loss.around(scores - 1e-7 * along).slope) / 2e-7
    np.testing.assert_allclose(2 * local.laplacian(along), curved, atol=1e-4 * (1 + spread))


@pytest.mark.parametrize("item_weight", [1.0, 20.0])
@pytest.mark.parametrize("orderings", [ORDERINGS, None])
def test_scores_minimise_the_loss_of_classes_and_items(item_weight, orderings):
    """A general solver finds the same; rows alone in their class count in pairs that people ordered, and only there."""
    found = learner(orderings=orderings, item_weight=item_weight).fit(rows(), supervision())
    amounts = AMOUNTS if orderings else np.empty(0)
    x = rows() - rows().mean(axis=0)
    scale = np.sqrt(np.square(x).sum(axis=1).mean())
    count = item_weight * WEIGHTS.sum() + len(amounts) * (len(amounts) - 1) / 2

    def objective(w):
        items = slow_loss(x @ w, np.empty(0))
        classes = slow_loss(x @ w, amounts) - items
        return scale**2 * (w @ w) / 2 + 10.0 * (classes + item_weight * items) / count

    slow = minimize(objective, np.zeros(5), method="BFGS", options={"gtol": 1e-8})
    np.testing.assert_allclose(found.weights_[0][0], slow.x, atol=1e-4)


@pytest.mark.parametrize("relations", [Relations(), Relations("both", "quadruplets"), Relations("pairs", "none")])
def test_a_pair_of_weight_two_is_a_pair_that_is_given_twice(relations):
    """This holds for any order of classes; a pair of weight 0 does not count."""
    weighed = supervision(np.array([2.0, 1.0, 0.0, 1.0, 1.0, 0.0]))
    listed = weighed.comparisons.take(np.array([0, 0, 1, 3, 4]))
    twice = Supervision(classes=weighed.classes, comparisons=Comparisons(listed.items, listed.similar))
    first, second = (learner(relations=relations).fit(rows(), one) for one in (weighed, twice))
    # No pair of positive weight names row 11, which has a class, or row 15, which has none.
    np.testing.assert_allclose(first.weights_[0], second.weights_[0], rtol=1e-3, atol=1e-4)


def test_quadruplets_of_classes_and_pairs_of_items_have_the_exact_minimum():
    """Pairs of equal items ask for equal scores beside the quadruplets of classes; the loss is Huber's."""
    relations = Relations("both", "none")
    found = learner(relations=relations).fit(rows(), supervision())
    without = RelativeAttributes(orderings=ORDERINGS, relations=relations).fit(rows(), supervision().classes)

    def gap(fitted):
        scores = fitted.transform(rows())[:, 0]
        return np.where(
            EQUAL, np.abs(scores[PAIRS[:, 1]] - scores[PAIRS[:, 0]]), scores[PAIRS[:, 0]] - scores[PAIRS[:, 1]]
        )

    assert WEIGHTS @ gap(found) < WEIGHTS @ gap(without)


def test_items_alone_order_new_rows_without_classes():
    """Two attributes learn from their own pairs; each row is alone in its class."""
    x = rows(3, 80, 6)
    pairs = np.random.default_rng(4).integers(80, size=(300, 2))
    notions = np.array(["long", "tall"])[np.arange(300) % 2]
    amounts = x[pairs, (np.arange(300) % 2)[:, None]]
    ordered = np.take_along_axis(pairs, np.argsort(amounts, axis=1), axis=1)
    keep = pairs[:, 0] != pairs[:, 1]
    said = Comparisons(ordered[keep], np.zeros(keep.sum(), bool), notions=notions[keep])
    sets = MixedComparisons((said.take(np.arange(100)), said.take(np.arange(100, len(said)))))
    found = RelativeAttributes().fit(x, Supervision(classes=np.arange(80), comparisons=sets))
    assert found.names_ == ("long", "tall")
    fresh = rows(5, 200, 6)
    scores = found.transform(fresh)
    assert all(np.corrcoef(scores[:, of], fresh[:, of])[0, 1] > 0.9 for of in (0, 1))


def test_a_view_learns_from_the_pairs_of_the_items_that_it_has():
    """Other items move neither its mean nor its scores."""
    mask = np.ones((COUNT, 2), bool)
    mask[[5, 14], 1] = False
    given = supervision()
    both = Supervision(classes=given.classes, comparisons=given.comparisons, mask=mask)
    joined = learner().fit([rows(), rows(1)], both)
    own = mask[:, 1]
    alone = Supervision(classes=given.classes[own], comparisons=given.comparisons.among(own, COUNT))
    np.testing.assert_allclose(joined.weights_[1], learner().fit(rows(1)[own], alone).weights_[0])


def test_described_classes_are_told_by_attributes_that_classes_differ_in():
    """An attribute that items alone order says nothing of them."""
    said = supervision(notions="age").comparisons
    settings = {
        "orderings": {name: [of[0], 0] for name, of in ORDERINGS.items()} | {"eve": [3, 0]},
        "names": ["size", "age"],
    }
    found = learner(**settings).fit(rows(), Supervision(classes=supervision().classes, comparisons=said))
    plain = learner(orderings=ORDERINGS | {"eve": [3]}).fit(rows(), supervision().classes)
    assert set(found.class_densities(rows())) == set(plain.class_densities(rows())) == {*ORDERINGS, "eve"}
    moved = found.transform(rows()).copy()
    found.weights_[0][1] *= -3
    np.testing.assert_allclose(found.transform(rows())[:, 0], moved[:, 0])
    other = found.class_densities(rows())
    found.weights_[0][1] /= -3
    again = found.class_densities(rows())
    assert all(np.array_equal(other[name], again[name]) for name in other)


@pytest.mark.parametrize(
    ("settings", "change", "message"),
    [
        ({}, {"notions": np.full(len(PAIRS), "age")}, "ordered by 'age'; the names of the attributes are: size"),
        ({"names": None}, {}, "ordered by 'size'"),
        ({"item_weight": 0.0}, {}, "item_weight must be"),
        ({}, {"items": np.hstack([PAIRS, PAIRS]), "similar": None}, "attributes need pairs of items"),
        (
            {"orderings": {one: [*of, 0] for one, of in ORDERINGS.items()}, "names": ["size", "age"]},
            {},
            "attribute 'age' has nothing to learn from",
        ),
        (
            {"orderings": {one: [*of, 0] for one, of in ORDERINGS.items()}, "names": ["size", "age"]},
            {"notions": None},
            "name the attribute of each pair",
        ),
    ],
)
def test_what_cannot_be_learned_from_is_named(settings, change, message):
    given = supervision()
    said = Comparisons(**{**vars(given.comparisons), **change})
    with pytest.raises(ValueError, match=message):
        learner(**settings).fit(rows(), Supervision(classes=given.classes, comparisons=said))
