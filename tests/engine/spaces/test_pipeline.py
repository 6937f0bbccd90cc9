"""Pipelines take views by name, and give a seed to every stage that draws."""

import numpy as np
import pytest

from crossview.engine.learners.frame.base import MultiViewLearner
from crossview.engine.learners.frame.chain import Chain
from crossview.engine.learners.frame.comparisons import Comparisons
from crossview.engine.learners.frame.normalization import Scale
from crossview.engine.learners.frame.stage import parse_stages
from crossview.engine.learners.frame.supervision import Supervision
from crossview.engine.learners.papers.metrics.fantope import Fantope
from crossview.engine.learners.papers.metrics.lmnn import LMNN
from crossview.engine.spaces.pipeline import build, distances, targets_of_view
from crossview.engine.spaces.target import on_common_scale
from crossview.engine.values.errors import InvalidInputError

VIEWS = ("color", "text")


def test_everything_that_draws_has_the_seed():
    """Landmarks of kernels have it, too, before any stage; a seed that is set stays."""
    pipeline = build(parse_stages("kernel:rbf,multi-npp,l2"), VIEWS, [(), ()], seed=7)
    assert [step.get_params().get("random_state") for step in pipeline.steps] == [7, 7, None]
    assert build(parse_stages("multi-npp"), VIEWS, [(), ()], {"random_state": 3}, seed=7).steps[0].random_state == 3


@pytest.mark.parametrize(
    ("given", "position"),
    [("text", 1), ("color", 0), (["color", "text"], [0, 1]), ("color, text", [0, 1]), (1, 1)],
)
def test_views_go_by_name_where_a_setting_is_about_views(given, position):
    assert build(parse_stages("hybrid"), VIEWS, [(), ()], {"frozen": given}).steps[0].frozen == position


def test_other_settings_may_be_spelled_like_a_view():
    """A view may have the name of a value."""
    assert build(parse_stages("multi-npp"), ("pca", "text"), [(), ()], {"init": "pca"}).steps[0].init == "pca"


def test_a_setting_about_views_names_those_that_exist():
    with pytest.raises(InvalidInputError, match="neighbor_view='smell' is not one of the views color, text"):
        build(parse_stages("multi-npp"), VIEWS, [(), ()], {"similar": "knn", "neighbor_view": "smell"})


def test_distances_are_the_least_over_the_metrics_of_an_item():
    """More items are compared than at a time; those without a metric are infinitely far."""
    random = np.random.default_rng(0)
    probes, placed = random.normal(size=(3, 6)).astype(np.float32), random.normal(size=(5_000, 6)).astype(np.float32)
    metrics = random.random((5_000, 2)) < 0.5
    by_metric = [
        np.linalg.norm(probes[:, None, columns] - placed[None, :, columns].astype(np.float64), axis=2)
        for columns in (slice(0, 3), slice(3, 6))
    ]
    expected = np.min(
        [np.where(chosen, gaps, np.inf) for gaps, chosen in zip(by_metric, metrics.T, strict=True)], axis=0
    )
    np.testing.assert_allclose(distances(probes, placed, metrics, [3, 3]), expected)
    whole = np.linalg.norm(probes[:, None] - placed[None].astype(np.float64), axis=2)
    np.testing.assert_allclose(distances(probes, placed, np.ones((5_000, 1), bool), [6]), whole)


class Named(MultiViewLearner):
    """Two metrics with names, of 1 and 2 columns."""

    name = "named"
    view_slices = None

    def _fit(self, views, given):
        self.n_metrics_, self.metric_names_, self.metric_widths_ = 2, ["head", "wing"], [[1, 2]]

    def _project(self, rows, view):
        return rows[:, :3]


def test_metrics_with_names_are_targets_of_these_names():
    """Each has its own width, on a scale of its own; a chain has the metrics of its last step."""
    chain = Chain([Named()]).fit([np.random.default_rng(0).normal(size=(4, 3))])
    head, wing = targets_of_view(chain, "color", 0, rerank=False)
    assert [(str(head), head.dim, head.metric), (str(wing), wing.dim, wing.metric)] == [
        ("color:head", 1, 0),
        ("color:wing", 2, 1),
    ]
    assert not on_common_scale([head, wing])


def test_learners_of_one_notion_refuse_several():
    """They refuse by name, with the remedy; also within a chain."""
    rows, notions = np.random.default_rng(0).normal(size=(6, 3)), np.array(["head", "wing"])
    triplets = Comparisons(np.array([[0, 1, 2], [3, 4, 5]]), notions=notions)
    for learner in (Fantope(), Chain([Scale(), Fantope()])):
        with pytest.raises(ValueError, match="fantope learns one notion: use joint, or leave out the notions"):
            learner.fit([rows], Supervision(comparisons=triplets))
    with pytest.raises(ValueError, match=r"there are labels in several \(head, wing\): use joint"):
        LMNN().fit([rows], Supervision(notion_classes={"head": [0, 0, 0, 1, 1, 1], "wing": [0, 1, 0, 1, 0, 1]}))


def test_distances_of_many_items_come_from_products(monkeypatch):
    """They are as near to the others as float64 allows, exactly 0 for copies, and the least over an item's metrics."""
    random = np.random.default_rng(0)
    placed = random.normal(size=(40, 12)).astype(np.float32)
    probes = np.vstack([placed[:5], random.normal(size=(4, 12)).astype(np.float32)])
    for widths, indexed in (([12], np.ones((40, 1), bool)), ([7, 5], random.random((40, 2)) < 0.7)):
        expected = distances(probes, placed, indexed, widths)
        monkeypatch.setattr("crossview.engine.spaces.pipeline._MANY", 40)
        found = distances(probes, placed, indexed, widths)
        monkeypatch.undo()
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
        np.testing.assert_array_equal(found == 0, expected == 0)
