"""Pipelines: views by name, a seed for everything that draws."""

import numpy as np
import pytest

from engine.errors import InvalidInputError
from engine.spaces.pipeline import build, distances

VIEWS = ("color", "text")


def test_everything_that_draws_has_the_seed():
    """Landmarks of kernels too, whatever comes after them; a seed that is set stays."""
    pipeline = build("kernel:rbf,multi-npp,l2", VIEWS, [(), ()], seed=7)
    assert [step.get_params().get("random_state") for step in pipeline.steps] == [7, 7, None]
    assert build("multi-npp", VIEWS, [(), ()], {"random_state": 3}, seed=7).steps[0].random_state == 3


@pytest.mark.parametrize(
    ("given", "position"),
    [("text", 1), ("color", 0), (["color", "text"], [0, 1]), ("color, text", [0, 1]), (1, 1)],
)
def test_views_go_by_name_where_a_setting_is_about_views(given, position):
    assert build("hybrid", VIEWS, [(), ()], {"frozen": given}).steps[0].frozen == position


def test_other_settings_may_be_spelled_like_a_view():
    """A view may have the name of a value."""
    assert build("multi-npp", ("pca", "text"), [(), ()], {"init": "pca"}).steps[0].init == "pca"


def test_a_setting_about_views_names_those_that_exist():
    with pytest.raises(InvalidInputError, match="neighbor_view='smell' is none of the views color, text"):
        build("multi-npp", VIEWS, [(), ()], {"similar": "knn", "neighbor_view": "smell"})


def test_distances_are_the_least_over_the_metrics_of_an_item():
    """Of more items than are compared at a time; those without a metric are infinitely far."""
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
    np.testing.assert_allclose(distances(probes, placed, metrics), expected)
    whole = np.linalg.norm(probes[:, None] - placed[None].astype(np.float64), axis=2)
    np.testing.assert_allclose(distances(probes, placed, np.ones((5_000, 1), bool)), whole)
