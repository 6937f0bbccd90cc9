"""Metrics of several tasks, by a part that they share and over a map that they share."""

import numpy as np
import pytest
from scipy.optimize import check_grad

from crossview.engine.learners.frame.supervision import Supervision
from crossview.engine.learners.papers.joint.classes import SharedMap, learn_over_map
from crossview.engine.learners.papers.joint.joint import JointMetrics
from crossview.engine.learners.papers.joint.joint_fit import JointSettings
from crossview.engine.learners.papers.joint.mt_lmnn import MultiTaskLMNN
from crossview.engine.learners.papers.joint.objectives import Features
from crossview.engine.learners.papers.joint.shared_metric import SharedMetric
from crossview.engine.learners.papers.losses.differences import Differences
from crossview.engine.learners.papers.losses.impostors import Impostors, Targets
from crossview.engine.learners.papers.losses.parameters import LowRank
from crossview.engine.learners.papers.losses.regularizer import Regularizer


def tasks(n=90, width=6, seed=0):
    """Return rows of which two columns show the class in one notion, two others in the other, and the rest nothing."""
    generator = np.random.default_rng(seed)
    classes = {"head": np.arange(n) % 3, "tail": np.arange(n) // 3 % 3}
    rows = 2.0 * generator.normal(size=(n, width))
    for place, labels in enumerate(classes.values()):
        angle = 2 * np.pi * labels / 3
        rows[:, 2 * place : 2 * place + 2] = np.column_stack([np.cos(angle), np.sin(angle)])
        rows[:, 2 * place : 2 * place + 2] += 0.2 * generator.normal(size=(n, 2))
    return rows, {name: np.array(["a", "b", "c"])[labels] for name, labels in classes.items()}


def losses(rows, classes):
    return [
        Impostors(Differences(rows), Targets.nearest(rows, labels, 2), 1.0, Regularizer(), LowRank(), 1.0)
        for labels in classes.values()
    ]


def objectives():
    rows, classes = tasks(30, 4)
    two = losses(rows, classes)
    return {"part": SharedMetric(two, 4, 0.3, 0.2), "map": SharedMap(two, np.array([0.4, 0.6]), 3, 0.1)}


@pytest.mark.parametrize("name", ["part", "map"])
def test_gradients_are_those_of_the_objective(name):
    """Finite differences agree, at parameters like those that a descent passes."""
    objective = objectives()[name]
    shape = (12, 4) if name == "part" else (9, 4)
    theta = np.random.default_rng(1).normal(size=shape)
    if name == "map":
        theta = objective.packed(*objective.unpacked(theta))  # the padding is not a parameter
    objective.smoothing = 0.5
    at = objective.parameters.place(theta)
    objective.recheck(at)
    inside = np.flatnonzero(theta.ravel())

    def placed(values):
        whole = np.zeros(theta.size)
        whole[inside] = values
        return objective.parameters.place(whole.reshape(shape))

    def value(values):
        return objective.evaluate(placed(values)).value

    def slope(values):
        metric = placed(values)
        return objective.gradient(metric, objective.evaluate(metric)).ravel()[inside]

    start = theta.ravel()[inside]
    assert check_grad(value, slope, start) < 1e-3 * np.linalg.norm(slope(start))


@pytest.mark.parametrize("learner", [MultiTaskLMNN(own=1e-4), JointMetrics(n_components=6, alpha=1e-4)])
def test_every_notion_has_the_metric_of_its_classes(learner):
    """The columns that separate a notion's classes count in its metric more than any others."""
    rows, classes = tasks()
    learner.fit([rows], Supervision(notion_classes=classes))
    assert list(learner.metric_names_) == ["head", "tail"]
    widths = learner.metric_widths_[0]
    for place, factor in enumerate(np.split(learner.weights_[0], np.cumsum(widths)[:-1])):
        counts = np.square(factor).sum(axis=0)
        own = counts[2 * place : 2 * place + 2].min()
        assert own > 2 * np.delete(counts, [2 * place, 2 * place + 1]).max()


def test_a_large_weight_of_own_metrics_leaves_one_for_all():
    """A large weight of the common metric leaves the Euclidean one."""
    rows, classes = tasks()
    given = Supervision(notion_classes=classes)
    alike = MultiTaskLMNN(own=1e6).fit([rows], given)
    first, second = np.split(alike.weights_[0], np.cumsum(alike.metric_widths_[0])[:-1])
    np.testing.assert_allclose(first.T @ first, second.T @ second, rtol=1e-2, atol=1e-2 * np.abs(first.T @ first).max())
    round_one = MultiTaskLMNN(own=1e6, shared=1e6).fit([rows], given)
    matrix = round_one.weights_[0][:6].T @ round_one.weights_[0][:6]
    np.testing.assert_allclose(matrix / matrix[0, 0], np.eye(6), atol=1e-2)


def test_rows_without_a_class_are_of_no_task():
    """The values of rows without a class in a notion change nothing of its loss; classes alone are one task."""
    rows, classes = tasks()
    one = MultiTaskLMNN().fit([rows], classes["head"])
    assert list(one.metric_names_) == []
    assert one.n_metrics_ == 1
    some = {"head": np.where(np.arange(90) < 45, classes["head"], "")}
    found = MultiTaskLMNN().fit([rows], Supervision(notion_classes=some))
    again = MultiTaskLMNN().fit([rows[:45]], Supervision(notion_classes={"head": classes["head"][:45]}))
    assert found.objective_[0] == pytest.approx(again.objective_[0], rel=0.2)


def test_a_notion_without_two_classes_is_named():
    rows, classes = tasks()
    with pytest.raises(ValueError, match="notion 'tail': "):
        MultiTaskLMNN().fit([rows], Supervision(notion_classes={**classes, "tail": np.full(90, "a")}))


def test_a_descent_over_a_map_lowers_the_objective():
    """Longer descents end lower, and the result has the map's width."""
    rows, classes = tasks()
    centred = rows - rows.mean(axis=0)
    notions = [(centred, Targets.nearest(centred, labels, 3)) for labels in classes.values()]
    found = [
        learn_over_map(
            Features(centred), notions, np.full(2, 0.5), 1.0, 1.0, JointSettings(n_components=4, max_iter=steps)
        )
        for steps in (0, 5, 60)
    ]
    assert found[0].objective > found[1].objective > found[2].objective
    assert found[2].common.shape == (6, 4)
    assert found[2].local.shape == (2, 4, 4)
