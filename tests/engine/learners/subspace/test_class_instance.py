"""Classes and instances: the probability of one class and the likeness of items add up in one inner product."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import average_precision_score

from crossview.engine.learners.frame.supervision import Supervision
from crossview.engine.learners.registry import from_state, parse_chain
from crossview.engine.learners.subspace.class_instance import WEIGHTS, ClassInstance, average_precision, chosen_weight
from crossview.engine.learners.subspace.instances import Instances
from crossview.engine.learners.subspace.kernel_features import unit_length
from crossview.engine.learners.subspace.posteriors import ClassPosteriors

CLASSES, EACH = 4, 60
ITEMS = CLASSES * EACH


def drawn(views: int = 2, seed: int = 0):
    """Return rows of views that show the class of an item and three further numbers of its own."""
    random = np.random.default_rng(seed)
    classes = np.repeat(np.arange(CLASSES), EACH)
    shown = np.hstack([2.0 * np.eye(CLASSES)[classes], random.normal(size=(ITEMS, 3))])
    rows = [shown @ random.normal(size=(7, 9)) + 0.3 * random.normal(size=(ITEMS, 9)) for _ in range(views)]
    return rows, classes


def own(learner, views) -> float:
    """Return the share of items that find themselves among the first ten in the other view."""
    query, target = (learner.transform(views[view], view=view) for view in (0, 1))
    similar = query @ target.T
    return float(((similar > similar.diagonal()[:, None]).sum(axis=1) < 10).mean())


@pytest.fixture(scope="module")
def learned():
    views, classes = drawn()
    return ClassInstance(random_state=0, weight=0.3).fit(views, classes), views, classes


def test_products_are_those_of_classes_and_instances(learned):
    learner, views, classes = learned
    probabilities = ClassPosteriors(random_state=0).fit(views, classes)
    instances = Instances(random_state=0).fit(views)
    for query, target in ((0, 1), (1, 1)):
        expected = sum(
            weight * model.transform(views[query], view=query) @ model.transform(views[target], view=target).T
            for weight, model in ((1.0, probabilities), (0.3, instances))
        )
        found = learner.transform(views[query], view=query) @ learner.transform(views[target], view=target).T
        np.testing.assert_allclose(found, expected, atol=1e-9)


def test_items_find_themselves_and_their_class():
    """New items find their class nearly as well as by posteriors, and themselves far better."""
    views, classes = drawn()
    learned_from = np.arange(ITEMS) % 2 == 0
    known, new = [rows[learned_from] for rows in views], [rows[~learned_from] for rows in views]
    ours = ClassInstance(random_state=0).fit(known, classes[learned_from])
    usual = ClassPosteriors(random_state=0).fit(known, classes[learned_from])

    def precision(learner) -> float:
        similar = learner.transform(new[0], view=0) @ learner.transform(new[1], view=1).T
        return float(average_precision(similar, classes[~learned_from][:, None] == classes[~learned_from]).mean())

    assert ours.weight_ > 0
    assert precision(ours) > precision(usual) - 0.02
    assert own(ours, new) > own(usual, new) + 0.2


def test_training_rows_leave_themselves_out(learned):
    learner, views, classes = learned
    usual = ClassPosteriors(random_state=0).fit(views, classes)
    np.testing.assert_allclose(learner.left_out_[0][:, :CLASSES], usual.left_out_[0], atol=1e-6)
    np.testing.assert_allclose(
        learner.left_out_[0][:, CLASSES:], learner.transform(views[0], view=0)[:, CLASSES:], atol=1e-6
    )


def test_a_state_embeds_the_same(learned):
    learner, views, _ = learned
    again = from_state(learner.to_state())
    np.testing.assert_array_equal(again.transform(views[1], view=1), learner.transform(views[1], view=1))


def test_a_second_fit_forgets_the_first(learned):
    _, views, classes = learned
    chain = parse_chain("class-instance,dot", {"random_state": 0, "weight": 0.1})
    once = chain.fit(views, classes).transform(views[0], view=0)
    others, _ = drawn(seed=1)
    again = chain.fit(others, classes[::-1]).fit(views, classes).transform(views[0], view=0)
    np.testing.assert_array_equal(once, again)


def test_the_weight_is_of_the_most_instance_recall_that_the_classes_allow():
    """Uninformative probabilities allow any weight; noise beside perfect ones may cost little."""
    random = np.random.default_rng(0)
    classes = np.repeat(np.arange(CLASSES), 50)
    same = unit_length(random.normal(size=(200, 20)))
    folds = [(np.arange(200), [same, same])]
    flat = [np.full((200, CLASSES), 1 / CLASSES)] * 2
    sure = [np.eye(CLASSES)[classes]] * 2
    noise = [(np.arange(200), [unit_length(random.normal(size=(200, 2))) for _ in range(2)])]
    assert chosen_weight(folds, flat, classes) > 0
    assert chosen_weight(folds, sure, classes) > 0
    assert chosen_weight(noise, sure, classes) < WEIGHTS[-1]


def test_in_one_view_the_weight_is_the_greatest_that_the_classes_allow():
    """Beside perfect probabilities, the class itself allows any weight, and noise only a small one."""
    random = np.random.default_rng(0)
    classes = np.repeat(np.arange(CLASSES), 50)
    sure = [np.eye(CLASSES)[classes]]
    noise = unit_length(random.normal(size=(200, 2)))
    assert chosen_weight([(np.arange(200), sure)], sure, classes) == WEIGHTS[-1]
    assert chosen_weight([(np.arange(200), [noise])], sure, classes) in WEIGHTS[1:-1]


def test_a_single_view_measures_its_weight():
    """Rows whose neighbours are of their class keep more of themselves than rows with a column of noise."""
    random, classes = np.random.default_rng(0), np.repeat(np.arange(CLASSES), EACH)
    shown = np.eye(CLASSES)[classes] + 0.3 * random.normal(size=(ITEMS, CLASSES))
    noisy = np.column_stack([shown, 3 * random.normal(size=ITEMS)])
    weights = [ClassInstance(random_state=0).fit([view], classes).weight_ for view in (shown, noisy)]
    assert weights[0] > weights[1]


@pytest.mark.parametrize(
    ("given", "weight"),
    [
        (None, 1.0),
        (Supervision(classes=np.full(ITEMS, -1)), 1.0),
        (Supervision(classes=np.zeros(ITEMS, int), labelled=np.zeros(ITEMS, bool)), 1.0),
        (Supervision(neighbors=sp.eye_array(ITEMS, format="csr")), 0.1),
    ],
)
def test_without_labels_and_pairs_the_instance_counts_as_much_as_the_classes_that_are_found(given, weight):
    views, _ = drawn()
    assert ClassInstance(classes="co-em", random_state=0).fit(views, given).weight_ == weight


def test_another_fit_keeps_the_weight_and_the_penalty():
    views, classes = drawn()
    learner = parse_chain("class-instance,dot", {"random_state": 0}).fit(views, classes)
    again = learner.again().fit([rows[::2] for rows in views], classes[::2])
    one, other = learner.steps[0], again.steps[0]
    assert other.weight_ == one.weight_
    assert other.instance_state_["fitted"]["penalty_"] == one.instance_state_["fitted"]["penalty_"]
    assert other.class_state_["fitted"]["alphas_"] == one.class_state_["fitted"]["alphas_"]


def test_few_measured_items_leave_the_usual_weight():
    views, classes = drawn()
    some = np.arange(ITEMS) % 6 == 0
    assert ClassInstance(random_state=0).fit([rows[some] for rows in views], classes[some]).weight_ == 0.1


def test_average_precision_is_the_usual_one():
    random = np.random.default_rng(0)
    similar, relevant = random.normal(size=(9, 9)), random.random((9, 9)) < 0.4
    np.fill_diagonal(relevant, False)
    relevant[0] = False
    found = average_precision(similar, relevant)
    assert found[0] == 0
    for row in range(1, 9):
        others = np.arange(9) != row
        assert found[row] == pytest.approx(average_precision_score(relevant[row, others], similar[row, others]))


def test_label_sets_are_learned():
    views, classes = drawn()
    labels = sp.csr_array(np.eye(CLASSES)[classes] + np.eye(CLASSES)[(classes + (np.arange(ITEMS) % 2)) % CLASSES] > 0)
    learner = ClassInstance(random_state=0).fit(views, labels)
    assert own(learner, views) > 0.5


def test_co_em_learns_from_pairs_alone():
    views, classes = drawn()
    random = np.random.default_rng(0)
    first = random.integers(ITEMS, size=2 * ITEMS)
    second = np.array([random.choice(np.flatnonzero(classes == classes[one])) for one in first])
    pairs = sp.csr_array((np.ones(len(first)), (first, second)), shape=(ITEMS, ITEMS))
    learner = ClassInstance(classes="co-em", random_state=0).fit(views, Supervision(neighbors=pairs))
    similar = learner.transform(views[0], view=0) @ learner.transform(views[1], view=1).T
    same = classes[:, None] == classes
    assert similar[same].mean() > similar[~same].mean() + 0.3
    assert own(learner, views) > 0.5


def test_posteriors_need_labels():
    views, _ = drawn()
    with pytest.raises(ValueError, match="requires y"):
        ClassInstance().fit(views)


def test_views_that_share_no_items_are_compared_by_class():
    views, classes = drawn()
    mask = np.arange(ITEMS)[:, None] % 2 == [[0, 1]]
    learner = ClassInstance(random_state=0).fit(views, Supervision(classes=classes, mask=mask))
    assert learner.transform(views[0], view=0).shape == (ITEMS, CLASSES)


@pytest.mark.parametrize("shared", [True, False])
def test_an_added_view_learns_both_parts(shared):
    """It learns its classes alone if no item has it and another view."""
    views, classes = drawn(views=3)
    learner = ClassInstance(random_state=0).fit(views[:2], classes)
    before = learner.transform(views[0], view=0)
    rows, mask = views, np.ones((ITEMS, 3), bool)
    if not shared:
        rows = [np.vstack([one, one]) for one in views]
        mask = np.repeat([[True, True, False], [False, False, True]], ITEMS, axis=0)
    learner.add_view(rows, Supervision(classes=np.resize(classes, len(mask)), mask=mask))
    np.testing.assert_array_equal(learner.transform(views[0], view=0), before)
    added = learner.transform(views[2], view=2)
    assert added[:, CLASSES:].any() == shared
    similar = added @ before.T
    same = classes[:, None] == classes
    assert similar[same].mean() > similar[~same].mean() + 0.3
    assert len(learner.left_out_) == 3


def test_an_error_while_a_view_is_added_changes_nothing(learned, monkeypatch):
    learner, views, classes = learned
    before = learner.transform(views[0], view=0)

    def refuse(*_):
        raise ValueError("refused")

    monkeypatch.setattr(Instances, "_add_view", refuse)
    with pytest.raises(ValueError, match="refused"):
        learner.add_view([*views, views[0]], classes)
    np.testing.assert_array_equal(learner.transform(views[0], view=0), before)
    with pytest.raises(ValueError, match="unknown"):
        learner.transform(views[0], view=2)


def test_one_label_an_item_and_several_views_are_left_to_co_em():
    """Posteriors learn wrong labels; they learn a single view, items of several labels, and what names them."""
    random = np.random.default_rng(0)
    true = np.repeat(np.arange(8), 30)
    shown = np.hstack([2.0 * np.eye(8)[true], random.normal(size=(len(true), 3))])
    views = [shown @ random.normal(size=(11, 12)) + 0.3 * random.normal(size=(len(true), 12)) for _ in range(2)]
    labels = np.where(random.random(len(true)) < 0.4, random.integers(8, size=len(true)), true)
    several = sp.csr_array(np.eye(8)[labels])
    found = {
        name: ClassInstance(classes, random_state=0).fit(rows, given)
        for name, classes, rows, given in (
            ("usual", "auto", views, labels),
            ("one view", "auto", views[:1], labels),
            ("several labels", "auto", views, Supervision(classes=several, mask=np.ones((len(true), 2), bool))),
            ("stated", "posteriors", views, labels),
        )
    }
    learners = {name: one.class_state_["learner"] for name, one in found.items()}
    rest = dict.fromkeys(("one view", "several labels", "stated"), "posteriors")
    assert learners == {"usual": "co-em", **rest}
    assert found["usual"].again().fit(views, labels).class_state_["learner"] == "co-em"
    usual, stated = (found[name]._models()[0].embedded(views[0], 0) for name in ("usual", "stated"))
    assert usual[np.arange(len(true)), true].mean() > stated[np.arange(len(true)), true].mean() + 0.1
    np.testing.assert_array_equal(
        from_state(found["usual"].to_state()).transform(views[0], view=0), found["usual"].transform(views[0], view=0)
    )


SHARED = (1, 2)


def in_one_space(seed: int = 0):
    """Return two views, and a third whose rows are noisy copies of those of the second."""
    views, classes = drawn(seed=seed)
    noise = np.random.default_rng(seed + 100).normal(size=views[1].shape)
    return [*views, views[1] + 2 * noise], classes


def centred(rows, like):
    return unit_length(rows - like.mean(axis=0))


@pytest.mark.parametrize("supervised", [False, True])
def test_views_of_one_space_keep_their_cosines(supervised):
    """The product of two of them is their cosine, and with labels also the probability of one class."""
    views, classes = in_one_space()
    learner = ClassInstance(random_state=0, weight=0.5, classes="co-em", shared=SHARED)
    learner.fit(views, classes if supervised else None)
    query, target = (learner.transform(views[view], view=view) for view in SHARED)
    cosines = 0.5 * centred(views[1], views[1]) @ centred(views[2], views[2]).T
    found = query @ target.T
    if supervised:
        found = found - query[:, :CLASSES] @ target[:, :CLASSES].T
    np.testing.assert_allclose(found, cosines, atol=1e-9)


def test_another_view_in_that_space_changes_nothing_for_the_rest():
    """The others are learned as without it."""
    views, classes = in_one_space()
    plain = ClassInstance(random_state=0, weight=0.5).fit(views[:2], classes)
    with_shared = ClassInstance(random_state=0, weight=0.5, shared=SHARED).fit(views, classes)
    found, expected = (
        learner.transform(views[0], view=0) @ learner.transform(views[1], view=1).T for learner in (with_shared, plain)
    )
    parts = [
        learner.transform(views[view], view=view)[:, :CLASSES] for learner in (with_shared, plain) for view in (0, 1)
    ]
    without_classes = found - parts[0] @ parts[1].T, expected - parts[2] @ parts[3].T
    np.testing.assert_allclose(*without_classes, atol=1e-9)


def test_a_state_keeps_the_shared_views():
    views, classes = in_one_space()
    learner = ClassInstance(random_state=0, weight=0.5, shared=SHARED).fit(views, classes)
    again = from_state(learner.to_state())
    for view in range(3):
        np.testing.assert_array_equal(
            again.transform(views[view], view=view), learner.transform(views[view], view=view)
        )


@pytest.mark.parametrize("shared", [(1,), (1, 1), (1, 3), (0, 1)])
def test_shared_names_two_views_of_one_width(shared):
    """It names each once, and each is a view."""
    views, classes = in_one_space()
    views[0] = views[0][:, :5]
    with pytest.raises(ValueError, match=r"shared names|share a space"):
        ClassInstance(shared=shared).fit(views, classes)
