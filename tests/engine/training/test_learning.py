"""Places of items by comparisons alone."""

import numpy as np

from crossview.engine.learners.frame.comparisons import Comparisons
from crossview.engine.training.learning import places_of
from crossview.engine.values.comparisons import ItemComparisons


def test_places_of_one_notion_are_its_embedding():
    """They have the columns that were asked for, also where the metric needs fewer."""
    points, generator = np.random.default_rng(0).normal(size=(40, 1)), np.random.default_rng(1)
    items = np.array([generator.choice(40, 3, replace=False) for _ in range(600)])
    near, far = (np.abs(points[items[:, 0]] - points[items[:, at]])[:, 0] for at in (1, 2))
    items[near > far] = items[near > far][:, [0, 2, 1]]
    compared = ItemComparisons(tuple(map(str, range(40))), Comparisons(items[:400]))
    rows = places_of(compared, dim=4)
    assert rows.shape == (40, 4)
    assert rows.dtype == np.float32
    assert Comparisons(items[400:]).agreement(rows) > 0.9
