"""Metrics of notions: what each learns, how wide it is, and what is added later."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from crossview.engine.learners.frame.comparisons import Comparisons
from crossview.engine.learners.frame.supervision import Supervision
from crossview.engine.learners.papers.joint.joint import JointMetrics
from crossview.engine.learners.papers.joint.joint_fit import JointSettings, shares_of
from crossview.engine.learners.papers.joint.joint_objects import FEWEST, JointObjects, tuned

NOTIONS = {"head": slice(0, 2), "wing": slice(1, 3)}
"""The columns that decide nearness in each notion, of rows of eight."""


def rows_of(count=150, seed=0):
    return np.random.default_rng(seed).normal(size=(count, 8))


def triplets(rows, each, seed=1, notions=NOTIONS):
    """Return so many triplets in each notion, ordered by its columns."""
    generator, items, names = np.random.default_rng(seed), [], []
    for (name, columns), count in zip(notions.items(), each, strict=True):
        drawn = np.array([generator.choice(len(rows), 3, replace=False) for _ in range(count)])
        near, far = (np.square(rows[drawn[:, 0], columns] - rows[drawn[:, at], columns]).sum(axis=1) for at in (1, 2))
        items.append(np.where((near > far)[:, None], drawn[:, [0, 2, 1]], drawn))
        names += [name] * count
    return Comparisons(np.concatenate(items), notions=np.array(names))


def parts(learner, rows, view=0):
    """Return the embeddings of rows by notion."""
    found = learner.transform(rows, view=view)
    ends = np.cumsum(learner.widths_of_metrics(view, found.shape[1]))[:-1]
    return dict(zip(learner.metric_names_ or [""], np.split(found, ends, axis=1), strict=True))


def error(embedded, comparisons):
    return 1 - comparisons.agreement(embedded)


def of(comparisons, name):
    return comparisons.take(comparisons.notions == name)


@pytest.fixture(scope="module")
def learned():
    rows = rows_of()
    comparisons = triplets(rows, (400, 400))
    return rows, comparisons, JointMetrics(n_components=4, alpha=1e-2).fit([rows], Supervision(comparisons=comparisons))


def test_each_notion_has_its_metric(learned):
    """It orders unseen rows by the columns of its notion, and has its own width; names are in order."""
    _, _, learner = learned
    assert (learner.metric_names_, learner.n_metrics_) == (["head", "wing"], 2)
    unseen = rows_of(seed=5)
    test, found = triplets(unseen, (2000, 2000), seed=6), parts(learner, unseen)
    for name, other in (("head", "wing"), ("wing", "head")):
        assert error(found[name], of(test, name)) < 0.1
        assert error(found[other], of(test, name)) > 0.15
        assert found[name].shape[1] < 4
    assert_allclose(found["head"], (unseen - learner.means_[0]) @ learner.weights_[0][: found["head"].shape[1]].T)


def test_metrics_are_of_the_common_map(learned):
    """K_t = L M_t L^T with M_t = R_t R_t^T, except for the directions that are cut."""
    _, _, learner = learned
    ends = np.cumsum(learner.metric_widths_[0])[:-1]
    for weights, local in zip(np.split(learner.weights_[0], ends), learner.local_[0], strict=True):
        whole = learner.common_[0] @ local
        assert_allclose(weights.T @ weights, whole @ whole.T, atol=1e-3 * np.abs(weights.T @ weights).max())


@pytest.mark.parametrize("loss", ["hinge", "logistic", "tste", "crowd"])
@pytest.mark.parametrize("sharing", ["joint", "independent", "pooled"])
def test_every_loss_and_sharing_learns_what_it_can(loss, sharing):
    """Pooled triplets contradict each other, and one metric serves both notions worse."""
    rows = rows_of()
    comparisons = triplets(rows, (300, 300))
    learner = JointMetrics(n_components=4, loss=loss, sharing=sharing).fit([rows], Supervision(comparisons=comparisons))
    found = parts(learner, rows)
    errors = [error(found.get(name, found.get("")), of(comparisons, name)) for name in NOTIONS]
    assert len(found) == (1 if sharing == "pooled" else 2)
    assert max(errors) < (0.35 if sharing == "pooled" else 0.1)


def test_weights_of_comparisons_count():
    """A comparison of weight 0 is not learned from, and one of weight 2 counts as two."""
    rows = rows_of()
    comparisons = triplets(rows, (150, 150))
    wrong = Comparisons(comparisons.items[:, [0, 2, 1]], notions=comparisons.notions)
    both = Comparisons(
        np.concatenate([comparisons.items, wrong.items]),
        weights=np.repeat([2.0, 0.0], len(wrong)),
        notions=np.tile(comparisons.notions, 2),
    )
    twice = Comparisons(np.tile(comparisons.items, (2, 1)), notions=np.tile(comparisons.notions, 2))
    found = [JointMetrics(n_components=3).fit([rows], Supervision(comparisons=one)) for one in (both, twice)]
    assert_allclose(found[0].objective_, found[1].objective_, rtol=1e-2)
    assert error(parts(found[0], rows)["head"], of(comparisons, "head")) < 0.1


def test_a_notion_without_comparisons_is_named():
    """The error names it if no item of its comparisons has the view."""
    rows = rows_of(40)
    comparisons = triplets(rows, (30, 30))
    comparisons.items[30:] %= 20
    comparisons.items[:30] = 20 + comparisons.items[:30] % 20
    comparisons = comparisons.take(np.array([len(set(one)) == 3 for one in comparisons.items.tolist()]))
    mask = np.ones((40, 2), bool)
    mask[20:, 1] = False
    with pytest.raises(ValueError, match="notion 'head' has no comparison of items that have view 1: give some"):
        JointMetrics().fit([rows, rows], Supervision(comparisons=comparisons, mask=mask))


def test_comparisons_without_notions_are_of_one():
    """The notion has no name, and comes with pairs and quadruplets, too."""
    rows = rows_of()
    comparisons = Comparisons(of(triplets(rows, (300, 300)), "head").items)
    learner = JointMetrics(n_components=3).fit([rows], Supervision(comparisons=comparisons))
    assert (list(learner.metric_names_), learner.n_metrics_) == ([], 1)
    assert error(learner.transform(rows), comparisons) < 0.1


def test_unbalanced_notions_may_weigh_alike():
    """With balance 1 a notion of few comparisons has half of the loss, with 0 its share of them."""
    rows = rows_of()
    comparisons = triplets(rows, (1000, 20))
    for balance, share in ((0.0, 20 / 1020), (1.0, 0.5)):
        learner = JointMetrics(n_components=3, balance=balance).set_params(max_iter=5)
        learner.fit([rows], Supervision(comparisons=comparisons))
        assert_array_equal(learner.totals_[0], [1000, 20])
        assert_allclose(shares_of(learner.totals_[0], balance)[1], share)


def test_a_notion_is_added_and_the_others_stay():
    """It learns from few triplets over the existing map; the others stay to the last bit; the state has all."""
    rows = rows_of()
    notions = {**NOTIONS, "tail": slice(0, 1)}
    comparisons = triplets(rows, (600, 600, 40), notions=notions)
    known = comparisons.take(comparisons.notions != "tail")
    learner = JointMetrics(n_components=4, balance=0.5).fit([rows], Supervision(comparisons=known))
    before = parts(learner, rows)
    learner.add_notions([rows], Supervision(comparisons=comparisons))
    after = parts(JointMetrics.from_state(learner.to_state()), rows)
    assert list(after) == ["head", "wing", "tail"]
    assert_array_equal(after["head"], before["head"])
    assert_array_equal(after["wing"], before["wing"])
    test = triplets(rows, (2000,), seed=9, notions={"tail": notions["tail"]})
    alone = JointMetrics(n_components=4, sharing="independent")
    alone.fit([rows], Supervision(comparisons=of(comparisons, "tail")))
    assert error(after["tail"], test) < error(alone.transform(rows), test)
    with pytest.raises(ValueError, match="no new notion among head, tail, wing"):
        learner.add_notions([rows], Supervision(comparisons=comparisons))
    with pytest.raises(ValueError, match="only notions with a common map"):
        alone.add_notions([rows], Supervision(comparisons=comparisons))


def test_classes_by_notion_are_learned_from():
    """Each notion's metric brings its own classes together; an empty label does not count."""
    generator = np.random.default_rng(0)
    colors, shapes = generator.integers(3, size=(2, 150))
    rows = np.column_stack([np.eye(3)[colors], np.eye(3)[shapes], np.zeros((150, 2))])
    rows = rows + 0.4 * generator.normal(size=rows.shape)
    given = {"color": colors.astype(str), "shape": shapes.astype(str)}
    given["shape"][:20] = ""
    learner = JointMetrics(n_components=4, alpha=1e-2).fit([rows], Supervision(notion_classes=given))
    found = parts(learner, rows)
    for name, labels in (("color", colors), ("shape", shapes)):
        drawn = generator.integers(150, size=(4000, 3))
        alike, other = (labels[drawn[:, 0]] == labels[drawn[:, at]] for at in (1, 2))
        chosen = Comparisons(drawn[alike & ~other & (drawn[:, 0] != drawn[:, 1])])
        assert error(found[name], chosen) < min(error(rows, chosen), 0.25)


def test_objects_are_placed_without_features():
    """Rows of the identity would give the same places; an unknown object is refused."""
    rows = rows_of(40)
    comparisons = triplets(rows, (1500, 1500))
    how = JointSettings(n_components=3)
    placed = JointObjects(how).fit(comparisons, 40)
    assert placed.names_ == ["head", "wing"]
    for name in NOTIONS:
        assert error(placed.embeddings_[name], of(comparisons, name)) < 0.1
    with pytest.raises(ValueError, match="from 0 to 38"):
        JointObjects(how).fit(comparisons, 39)


def test_held_out_comparisons_choose_the_settings():
    """They beat the given ones; several notions stay joint, and weights of 0 and few comparisons choose nothing."""
    rows, how = rows_of(60), JointSettings(n_components=5)
    train, test = (triplets(rows, (800,), seed=seed, notions={"head": NOTIONS["head"]}) for seed in (1, 2))
    chosen = tuned(how, train, 60)
    before, after = (JointObjects(settings).fit(train, 60).agreement(test) for settings in (how, chosen))
    assert after > before
    assert tuned(how, triplets(rows, (100, 100)), 60).sharing == "joint"
    weights = np.where(np.arange(800) < FEWEST - 1, 1.0, 0.0)
    first = tuned(how, train.take(np.arange(FEWEST - 1)), 60)
    assert tuned(how, replace(train, weights=weights), 60) == first != how
