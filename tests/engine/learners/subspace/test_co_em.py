"""Co-EM learns from unlabelled, wrongly labelled and paired items, and finds wrong statements."""

import numpy as np
import pytest
import scipy.sparse as sp

from crossview.engine.learners.frame.supervision import Supervision
from crossview.engine.learners.registry import from_state, parse_chain
from crossview.engine.learners.subspace.co_em import CoEM
from crossview.engine.learners.subspace.posteriors import ClassPosteriors

CLASSES, EACH = 4, 40


def drawn(seed: int = 0, gap: float = 3.0, each: int = EACH):
    """Return rows of two views of items in four classes, and of as many others."""
    random = np.random.default_rng(seed)
    means = random.normal(0, gap, (2, CLASSES, 6))
    classes = np.repeat(np.arange(CLASSES), each)
    views = [[means[view][classes] + random.normal(0, 1, (len(classes), 6)) for view in range(2)] for _ in range(2)]
    return views[0], views[1], classes, random


def few(classes, each: int, named=range(CLASSES)):
    """Return classes of so many items of each class, and which items they are."""
    labelled = np.zeros(len(classes), bool)
    for one in named:
        labelled[np.flatnonzero(classes == one)[:each]] = True
    return Supervision(classes=np.where(labelled, classes, CLASSES + np.arange(len(classes))), labelled=labelled)


def paired(classes, random, count: int, wrong: float = 0.0):
    """Return pairs of items of one class, a share of them of any."""
    first = random.integers(len(classes), size=count)
    second = np.array([random.choice(np.flatnonzero(classes == classes[one])) for one in first])
    chance = random.random(count) < wrong
    second[chance] = random.integers(len(classes), size=int(chance.sum()))
    return sp.csr_array((np.ones(count), (first, second)), shape=(len(classes), len(classes)))


def same_class(learner, views):
    """Return the probabilities that rows of the first view are of the class of rows of the second."""
    return learner.transform(views[0], view=0) @ learner.transform(views[1], view=1).T


def contrast(learner, views, classes) -> float:
    """Return how much likelier the learner calls items of one class so than others."""
    found, same = same_class(learner, views), classes[:, None] == classes
    return float(found[same].mean() - found[~same].mean())


def test_with_all_labels_it_is_class_posteriors():
    views, others, classes, _ = drawn()
    ours = CoEM(label_noise=0.0, random_state=0).fit(views, classes)
    usual = ClassPosteriors(row_kernel="gaussian", scaling="both", random_state=0).fit(views, classes)
    assert ours.new_classes_ == 0
    np.testing.assert_allclose(ours.transform(others[0], view=0), usual.transform(others[0], view=0), atol=1e-3)


def test_unlabelled_items_are_learned_from():
    views, others, classes, _ = drawn(gap=1.2)
    given = few(classes, 2)
    learned = CoEM(random_state=0).fit(views, given)
    assert contrast(learned, others, classes) > contrast(
        ClassPosteriors(random_state=0).fit(views, given), others, classes
    )


def test_one_label_a_class_is_enough():
    views, others, classes, _ = drawn()
    learned = CoEM(new_classes=0, random_state=0).fit(views, few(classes, 1))
    assert (learned.transform(others[0], view=0).argmax(axis=1) == classes).mean() > 0.9


@pytest.mark.parametrize("scaling", ["none", "both"])
def test_regressions_may_be_linear(scaling):
    views, others, classes, _ = drawn()
    learned = CoEM("linear", scaling, new_classes=0, random_state=0).fit(views, few(classes, 1))
    assert learned.kernels_ == ["linear", "linear"]
    assert (learned.transform(others[0], view=0).argmax(axis=1) == classes).mean() > 0.9


@pytest.mark.parametrize(
    ("spec", "kind", "mark"),
    [
        *(("co-em:0", kind, mark) for kind, mark in [(int, -1), (float, np.nan), (object, None), (object, -1)]),
        ("class-instance:co-em,dot", object, np.nan),
    ],
)
def test_unlabelled_items_may_have_the_marks_of_scikit_learn(spec, kind, mark):
    views, others, classes, _ = drawn(each=15)
    given = few(classes, 1)
    names = np.array(["ant", "bee", "cat", "dog"], object)[classes] if kind is object else classes.astype(kind)
    marked = np.where(given.labelled, names, np.array(mark, kind))
    stated = parse_chain(spec).fit(views, Supervision(classes=classes, labelled=given.labelled))
    learned = parse_chain(spec).fit(views, marked)
    np.testing.assert_array_equal(learned.transform(others[0], view=0), stated.transform(others[0], view=0))


def test_only_marks_are_no_labels_and_a_supervised_learner_has_a_class_of_minus_one():
    views, _, classes, _ = drawn(each=15)
    assert len(CoEM(new_classes=4).fit(views, np.full(60, -1)).classes_) == 0
    assert ClassPosteriors().fit(views, np.where(classes == 0, -1, classes)).classes_.tolist() == [-1, 1, 2, 3]
    assert CoEM(new_classes=0).fit(views, classes.astype(str)).classes_.tolist() == ["0", "1", "2", "3"]


def test_wrong_labels_are_found_out():
    views, others, classes, random = drawn()
    wrong = random.random(len(classes)) < 0.3
    given = np.where(wrong, (classes + 1) % CLASSES, classes)
    learned = CoEM(random_state=0).fit(views, given)
    assert learned.label_noise_ == pytest.approx(wrong.mean(), abs=0.05)
    assert (learned.transform(others[0], view=0).argmax(axis=1) == classes).mean() > 0.95


def test_classes_that_nobody_labelled_are_found():
    views, others, classes, _ = drawn(gap=4.0)
    learned = CoEM(random_state=0).fit(views, few(classes, EACH, named=(0, 1)))
    assert learned.new_classes_ == 2
    assert list(learned.classes_) == [0, 1]
    found = learned.transform(others[0], view=0).argmax(axis=1)
    assert (found[classes > 1] > 1).mean() > 0.9
    assert contrast(learned, others, classes) > 0.8


@pytest.mark.parametrize("wrong", [0.0, 0.2])
def test_pairs_alone_tell_the_classes_and_how_many(wrong):
    views, others, classes, random = drawn()
    links = paired(classes, random, 2 * len(classes), wrong)
    learned = CoEM(random_state=0).fit(views, Supervision(neighbors=links))
    assert learned.new_classes_ == CLASSES
    assert learned.pair_noise_ < wrong + 0.1
    assert contrast(learned, others, classes) > 0.8


def test_labels_and_pairs_are_learned_from_together():
    """If views say little, pairs carry the few labels to other items."""
    views, others, classes, random = drawn(gap=0.8)
    given = few(classes, 1)
    links = paired(classes, random, 3 * len(classes))
    both = Supervision(classes=given.classes, labelled=given.labelled, neighbors=links)
    learned, by_labels = (CoEM(new_classes=0, random_state=0).fit(views, known) for known in (both, given))
    hits = [(one.transform(others[0], view=0).argmax(axis=1) == classes).mean() for one in (learned, by_labels)]
    assert hits[0] > hits[1]


def test_views_alone_tell_groups():
    views, others, classes, _ = drawn(gap=4.0)
    learned = CoEM(random_state=0).fit(views)
    assert len(learned.classes_) == 0
    assert contrast(learned, others, classes) > 0.5


def test_an_item_of_one_view_without_label_or_pair_tells_nothing():
    views, others, classes, _ = drawn()
    given = few(classes, 10)
    mask = np.ones((len(classes), 2), bool)
    silent = np.flatnonzero(~given.labelled)[::3]
    mask[silent, 1] = False
    kept = np.setdiff1d(np.arange(len(classes)), silent)
    learned = CoEM(new_classes=0, random_state=0).fit(
        views, Supervision(classes=given.classes, labelled=given.labelled, mask=mask)
    )
    without = CoEM(new_classes=0, random_state=0).fit(
        [rows[kept] for rows in views], Supervision(classes=given.classes[kept], labelled=given.labelled[kept])
    )
    np.testing.assert_allclose(learned.transform(others[1], view=1), without.transform(others[1], view=1), atol=1e-9)
    assert [len(rows) for rows in learned.left_out_] == mask.sum(axis=0).tolist()


def test_more_items_than_are_learned_from():
    """Those with labels are among them, and every row has its embedding."""
    views, others, classes, _ = drawn()
    learned = CoEM(max_items=100, random_state=0).fit(views, few(classes, 5))
    assert [len(rows) for rows in learned.left_out_] == [len(classes)] * 2
    assert (learned.transform(others[0], view=0).argmax(axis=1) == classes).mean() > 0.8


def test_a_view_that_comes_later_has_the_same_classes():
    views, others, classes, _ = drawn()
    given = few(classes, 5)
    learned = CoEM(random_state=0).fit(views[:1], given)
    learned.add_view(views, given)
    assert contrast(learned, others, classes) > 0.6


def test_it_is_stored_and_read():
    views, others, classes, _ = drawn()
    chain = parse_chain("co-em,dot").fit(views, few(classes, 5))
    again = from_state(chain.to_state())
    np.testing.assert_array_equal(again.transform(others[0], view=0), chain.transform(others[0], view=0))
    np.testing.assert_array_equal(again.transform(views[0], view=0), chain.transform(views[0], view=0))


def test_what_tells_nothing_is_refused():
    views, _, _, _ = drawn()
    with pytest.raises(ValueError, match="one view does not determine the number of classes"):
        CoEM().fit(views[:1])
    with pytest.raises(ValueError, match="2 are needed"):
        CoEM(new_classes=1).fit(views)
    mask = np.array([[True, False], [False, True]])[np.repeat([0, 1], [120, 40])]
    with pytest.raises(ValueError, match="0 items of view 1 have a label, a pair or another view"):
        CoEM().fit(views, Supervision(classes=np.arange(160) % 2, labelled=np.arange(160) < 120, mask=mask))
