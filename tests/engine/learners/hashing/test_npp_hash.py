"""The supervised cross-view hasher: what it learns from, how its codes rank, and the vectors behind them."""

import numpy as np
import pytest
import scipy.sparse as sp

from crossview.engine.learners.frame.supervision import Supervision
from crossview.engine.learners.hashing.npp_hash import NPPHash
from crossview.engine.learners.registry import from_state, parse_chain
from crossview.engine.runtime.cancellation import reporting
from crossview.engine.training.measures import average_precision, ranking


def classes_in_views(n=90, widths=(7, 9), classes=3, noise=0.5, seed=0):
    """Return rows of one Gaussian per class and view, in the order of the classes' labels 0, 1, 2, 0, 1, ..."""
    generator = np.random.default_rng(seed)
    labels = np.arange(n) % classes
    centres = [generator.normal(size=(classes, width)) for width in widths]
    return [at[labels] + noise * generator.normal(size=(n, at.shape[1])) for at in centres], labels


def between(learner, views, first=0, second=1):
    """Return Hamming distances of the codes of one view's rows, as queries, to those of another's, as items."""
    asked, stored = learner.transform_queries(views[first], first), learner.transform(views[second], view=second)
    return (asked[:, None] != stored[None]).sum(axis=2)


def test_the_objective_never_rises():
    """It falls at every step, up to the limit; progress is reported; the same seed finds the same functions."""
    views, labels = classes_in_views(noise=1.5)
    told = []
    with reporting(lambda *at: told.append(at)):
        one = NPPHash(16, max_iter=12, random_state=3).fit(views, labels)
    assert np.all(np.diff(one.objective_) <= 1e-9)
    assert one.objective_[-1] < 0.9 * one.objective_[0]
    assert len(one.objective_) == one.n_iter_ + 1 <= 13
    assert told[-1] == (12, 12)
    again = NPPHash(16, max_iter=12, random_state=3).fit(views, labels)
    for side in (0, 1):
        np.testing.assert_array_equal(one.weights_[side], again.weights_[side])
        np.testing.assert_array_equal(one.products_[side], again.products_[side])


@pytest.mark.parametrize("bits", [4, 16, 64])
def test_codes_of_unseen_items_meet_across_views(bits):
    """Three planted classes, three views: items differ in few bits within a class, in about half between classes."""
    views, labels = classes_in_views(180, (7, 9, 5))
    learner = NPPHash(bits, instances=0, random_state=0).fit([rows[:90] for rows in views], labels[:90])
    same = labels[90:, None] == labels[None, 90:]
    for first, second in ((0, 1), (1, 2), (2, 2)):
        apart = between(learner, [rows[90:] for rows in views], first, second) / bits
        assert apart[same].mean() < 0.12
        assert apart[~same].mean() > 0.4


def test_items_may_lack_views():
    """The values of an absent row do not count, and items with one view take part."""
    views, labels = classes_in_views()
    mask = np.ones((90, 2), bool)
    mask[::4, 0] = mask[1::4, 1] = False
    filled = [np.where(column[:, None], rows, 1e6) for rows, column in zip(views, mask.T, strict=True)]
    learner, other = (
        NPPHash(16, random_state=0).fit(rows, Supervision(classes=labels, mask=mask)) for rows in (views, filled)
    )
    for side in (0, 1):
        np.testing.assert_array_equal(learner.weights_[side], other.weights_[side])
    apart = between(learner, views)
    same = labels[:, None] == labels[None]
    assert apart[same].mean() < 0.5 * apart[~same].mean()


def test_a_view_added_later():
    """The others' codes stay to the last bit, and new items of the added view meet them, though items lack views."""
    views, labels = classes_in_views(180, (7, 9, 5))
    mask = np.random.default_rng(0).random((90, 3)) > 0.3
    train = [rows[:90] for rows in views]
    learner = NPPHash(32, instances=0, random_state=0).fit(
        train[:2], Supervision(classes=labels[:90], mask=mask[:, :2])
    )
    kept = [learner.transform(views[view], view=view) for view in (0, 1)]
    learner.add_view(train, Supervision(classes=labels[:90], mask=mask))
    for view in (0, 1):
        np.testing.assert_array_equal(learner.transform(views[view], view=view), kept[view])
    same = labels[90:, None] == labels[None, 90:]
    for view in (0, 1):
        apart = between(learner, [rows[90:] for rows in views], 2, view) / 32
        assert apart[same].mean() < 0.12
        assert apart[~same].mean() > 0.4


def test_an_added_view_needs_something_similar():
    """If no row of the new view is similar to a row of the others, the error states so."""
    views, labels = classes_in_views(90, (7, 9, 5))
    learner = NPPHash(8, random_state=0).fit(views[:2], labels)
    told = sp.csr_array((np.ones(2), ([0, 1], [1, 0])), shape=(90, 90))
    mask = np.ones((90, 3), bool)
    mask[:2, 2] = False
    with pytest.raises(ValueError, match="no row of the added view is similar"):
        learner.add_view(views, Supervision(mask=mask, neighbors=told))


@pytest.mark.parametrize("told", ["classes", "labels", "neighbors"])
def test_kinds_of_similarity(told):
    """Classes, sets of labels and listed pairs with the same meaning give the same codes."""
    views, labels = classes_in_views()
    indicator = np.eye(3)[labels]
    same = labels[:, None] == labels[None]
    given_as = {
        "classes": labels,
        "labels": sp.csr_array(indicator),
        "neighbors": Supervision(neighbors=sp.csr_array(same.astype(float))),
    }
    learner = NPPHash(16, instances=0, random_state=0).fit(views, given_as[told])
    apart = between(learner, views)
    assert apart[same].mean() < 0.15 * 16
    assert apart[~same].mean() > 0.4 * 16


def split_of_noisy_classes():
    """Return training rows and labels, and others, of six classes that two views of much noise hardly separate."""
    views, labels = classes_in_views(900, (8, 8), classes=6, noise=2.0)
    return [rows[:300] for rows in views], labels[:300], [rows[300:] for rows in views], labels[300:]


def mean_average_precision(learner, views, labels):
    """Return the mean over one view's rows among another's, both ways."""
    ranked = [labels[ranking(between(learner, views, *crossing))] == labels[:, None] for crossing in ((0, 1), (1, 0))]
    return np.mean([average_precision(one).mean() for one in ranked])


def test_tells_unsure_items_from_sure_ones():
    """In noisy views, unseen items are found better than by the signs of turned probabilities."""
    train, labels, test, test_labels = split_of_noisy_classes()
    learner = NPPHash(64, random_state=0).fit(train, labels)
    others = parse_chain("posteriors,lsh:64", {"random_state": 0, "lsh__random_state": 0}).fit(train, labels)
    assert mean_average_precision(learner, test, test_labels) > 1.02 * mean_average_precision(others, test, test_labels)


def test_vectors_behind_the_codes_rank_as_probabilities_do():
    """The nearest item is the most probable one of the query's class, and codes keep nearly all of that."""
    train, labels, test, test_labels = split_of_noisy_classes()
    chain = parse_chain("npp-hash:128", {"random_state": 0}).fit(train, labels)
    asked = chain.codes_and_vectors(test[0], 0, queries=True)[1]
    stored = chain.codes_and_vectors(test[1], 1)[1]
    squared = np.square(asked[:, None] - stored[None]).sum(axis=2)
    found = average_precision(test_labels[ranking(squared)] == test_labels[:, None]).mean()
    assert 0.95 * found < mean_average_precision(chain.steps[0], test, test_labels) < 1.03 * found


def test_many_classes_have_different_codes_of_few_bits():
    """Unseen items of 40 classes that the views separate find those of their class by 16 bits, in both directions."""
    views, labels = classes_in_views(240, (16, 20), 40)
    train, test = slice(160), slice(160, None)
    learner = NPPHash(16, random_state=0).fit([rows[train] for rows in views], labels[train])
    assert len(np.unique(learner.codes_of_classes(np.arange(40)), axis=0)) == 40
    new = [rows[test] for rows in views]
    for crossing in ((0, 1), (1, 0)):
        found = labels[test][ranking(between(learner, new, *crossing))] == labels[test][:, None]
        assert average_precision(found).mean() > 0.96


def test_uncertain_predictions_of_many_classes_take_the_larger_contrast():
    """Held-out items choose it, and codes of unseen items rank better; fewer items than measure it keep 1."""
    views, labels = classes_in_views(480, (16, 20), 60, noise=1.3)
    train, new = [rows[:300] for rows in views], [rows[300:] for rows in views]
    chosen, usual = (
        NPPHash(24, instances=0, contrast=contrast, random_state=0).fit(train, labels[:300]) for contrast in (None, 1.0)
    )
    assert chosen.contrast_ == 2 * usual.contrast_
    measured = [mean_average_precision(learner, new, labels[300:]) for learner in (chosen, usual)]
    assert measured[0] > 1.05 * measured[1]
    few = NPPHash(24, instances=0, random_state=0).fit([rows[:90] for rows in views], labels[:90])
    assert few.contrast_ == usual.contrast_


def own(learner, views) -> float:
    """Return the share of items that find themselves by the other view among the first tenth."""
    apart = between(learner, views)
    return float(((apart <= apart.diagonal()[:, None]).sum(axis=1) <= len(apart) // 10).mean())  # last among equals


def shared_numbers(n=300):
    """Return rows of two views that show three classes, and four numbers of each item."""
    random = np.random.default_rng(0)
    labels = np.arange(n) % 3
    shown = np.hstack([4.0 * np.eye(3)[labels], random.normal(size=(n, 4))])
    return [shown @ random.normal(size=(7, 9)) + 0.1 * random.normal(size=(n, 9)) for _ in range(2)], labels


def test_instance_bits_find_the_item_and_bits_of_classes_stay():
    """The first bits are those of a learner with as many bits for classes alone."""
    views, labels = shared_numbers()
    both = NPPHash(64, random_state=0).fit([rows[:200] for rows in views], labels[:200])
    classes = NPPHash(40, instances=0, random_state=0).fit([rows[:200] for rows in views], labels[:200])
    new = [rows[200:] for rows in views]
    np.testing.assert_array_equal(both.transform(new[0], view=0)[:, :40], classes.transform(new[0], view=0))
    assert own(both, new) > own(classes, new) + 0.2
    assert mean_average_precision(both, new, labels[200:]) > 0.9


def test_views_that_share_no_items_have_bits_of_classes_alone():
    views, labels = shared_numbers()
    mask = np.arange(300)[:, None] % 2 == [[0, 1]]
    learner = NPPHash(16, random_state=0).fit(views, Supervision(classes=labels // 2 % 3, mask=mask))
    assert learner.transform(views[0], view=0).shape == (300, 16)
    assert not learner.instance_state_


def test_a_state_of_an_earlier_version_has_bits_of_classes_alone():
    views, labels = shared_numbers()
    learner = NPPHash(16, instances=0, random_state=0).fit(views, labels)
    state = learner.to_state()
    del state["params"]["instances"], state["fitted"]["instance_state_"], state["fitted"]["instance_codes_"]
    again = from_state(state)
    np.testing.assert_array_equal(again.transform(views[0], view=0), learner.transform(views[0], view=0))


@pytest.mark.parametrize("shared", [True, False])
def test_instance_bits_of_a_view_added_later(shared):
    """Items with it and another view teach it; without such items, its codes have the same length."""
    views, labels = shared_numbers()
    learner = NPPHash(32, random_state=0).fit(views, labels)
    before = learner.transform(views[0], view=0)
    rows, mask = [*views, views[1] + 1.0], np.ones((300, 3), bool)
    if not shared:
        rows, mask = (
            [np.vstack([one, one]) for one in rows],
            np.repeat([[True, True, False], [False, False, True]], 300, 0),
        )
    learner.add_view(rows, Supervision(classes=np.resize(labels, len(mask)), mask=mask))
    np.testing.assert_array_equal(learner.transform(views[0], view=0), before)
    added = learner.transform_queries(rows[2][:300], 2)
    assert added.shape == (300, 32)
    if shared:
        assert (added[:, 20:] == before[:, 20:]).mean() > 0.7


@pytest.mark.parametrize("told", ["classes", "neighbors"])
def test_as_it_was_when_stored(told):
    """A learner that is loaded from the state makes the same codes of queries and of items."""
    views, labels = classes_in_views()
    same = sp.csr_array((labels[:, None] == labels[None]).astype(float))
    learner = NPPHash(16, random_state=0).fit(views, labels if told == "classes" else Supervision(neighbors=same))
    again = from_state(learner.to_state())
    for first, second in ((0, 1), (1, 0)):
        np.testing.assert_array_equal(between(learner, views, first, second), between(again, views, first, second))


def test_codes_of_known_classes():
    """A class without a row has one code for all its items, near to its queries; other classes are refused."""
    views, labels = classes_in_views(180)
    names = np.array(["ant", "bee", "cat"])[labels]
    learner = NPPHash(32, instances=0, random_state=0).fit([rows[:90] for rows in views], names[:90])
    stored = learner.codes_of_classes(names[:90])
    asked = learner.transform_queries(views[0][90:], 0)
    apart = (asked[:, None] != stored[None]).mean(axis=2)
    same = names[90:, None] == names[None, :90]
    assert apart[same].mean() < 0.12
    assert apart[~same].mean() > 0.4
    assert len(np.unique(stored, axis=0)) == 3
    with pytest.raises(ValueError, match="only learned classes have codes"):
        learner.codes_of_classes(["dog"])


def test_pairs_of_some_rows():
    """With more rows than max_rows the codes are learned from max_rows, and still separate classes."""
    views, labels = classes_in_views(600)
    learner = NPPHash(16, max_rows=60, random_state=0).fit(views, labels)
    apart = between(learner, views)
    same = labels[:, None] == labels[None]
    assert apart[same].mean() < 0.3 * apart[~same].mean()


def test_follows_a_kernel():
    """As the last step of a chain the hasher makes its codes comparable across views, with n_bits in the spec."""
    views, labels = classes_in_views()
    chain = parse_chain("kernel:rbf,npp-hash:24", {"random_state": 0, "kernel__random_state": 0}).fit(views, labels)
    assert chain.capabilities.cross_view
    assert chain.capabilities.binary
    codes, vectors = chain.codes_and_vectors(views[0], 0)
    assert codes.shape == (90, 24)
    assert vectors.shape == (90, 3 + 50 + 2)  # classes, instances, and the columns of queries and items


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_bits": 0}, "n_bits must be a whole number from 1 to 4,096, not 0"),
        ({"n_bits": 2.5}, "n_bits must be a whole number, not 2.5"),
        ({"contrast": 0}, "contrast must be a number from 0.01 to 100 or null, not 0"),
        ({"contrast": float("nan")}, "contrast must be a number or null, not nan"),
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
    with pytest.raises(ValueError, match="at least 2 classes"):
        NPPHash().fit(views, np.zeros(90))
    with pytest.raises(ValueError, match="no dissimilar pairs"):
        NPPHash().fit(views, Supervision(neighbors=sp.csr_array(np.ones((90, 90)))))
