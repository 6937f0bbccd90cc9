"""What an item is similar to, predicted from its row of one view: vectors whose inner products tell how surely two are.

A predictor is a dict of plain values and arrays, so that it can be stored.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from crossview.engine.learners.subspace.posteriors import ClassPosteriors
from crossview.engine.learners.subspace.ridge_path import RidgePath
from crossview.engine.learners.supervision import Supervision
from crossview.engine.learners.view_rows import Rows

Predictor = dict[str, Any]
_PENALTIES = np.logspace(-6, 1, 15)
"""Of a row, in units of a row's mean squared length."""


def by_classes(
    views: Sequence[Rows], given: Supervision, alpha: float | None, random_state: int
) -> tuple[list[Predictor], list[Rows]]:
    """Return for each view what predicts the classes' probabilities, and those of its rows, each left out of it.

    Args:
        views: (n, d_v) arrays.
        given: classes or label sets, and which items have which view.
        alpha, random_state: of :class:`ClassPosteriors`.

    Raises:
        ValueError: as ``ClassPosteriors.fit``.
    """
    model = ClassPosteriors(alpha=alpha, random_state=random_state).fit(list(views), replace(given, neighbors=None))
    state = model.to_state()
    left_out = state["fitted"].pop("left_out_")
    predictors = []
    for view, width in enumerate(model.view_widths_):
        own = {name: [value[view]] if isinstance(value, list) else value for name, value in state["fitted"].items()}
        predictors.append({**state, "fitted": own | {"n_features_in_": width}})
    return predictors, [rows.astype(np.float64) for rows in left_out]


def by_targets(rows: Rows, targets: Rows) -> tuple[Predictor, Rows]:
    """Return a ridge regression of (n, K) targets on (n, d) rows, and its predictions that leave each row out."""
    path = RidgePath.of_rows(rows, targets)
    unit = float(path.values.sum()) or 1.0
    penalty = path.best_penalty(_PENALTIES * unit)
    mean = rows.mean(axis=0)
    weights = (rows - mean).T @ path.coefficients(penalty)
    return {"weights": weights.T, "offsets": path.means - mean @ weights}, path.left_out(penalty)


def predicted(predictor: Predictor, rows: Rows) -> Rows:
    """Return the predictions for (n, d) rows, (n, K)."""
    if "weights" in predictor:
        return np.asarray(rows @ predictor["weights"].T + predictor["offsets"])
    return np.asarray(ClassPosteriors.from_state(predictor).embedded(rows, 0))
