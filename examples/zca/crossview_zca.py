"""A learner that makes the columns of each view uncorrelated and changes the rows as little as possible."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from crossview.learners import (
    Capabilities,
    LinearLearner,
    MultiViewLearner,
    Rows,
    SeparateLearner,
    Share,
    Supervision,
    present_rows,
)


@dataclass(eq=False, repr=False)
class ZCA(LinearLearner, SeparateLearner, MultiViewLearner):
    """ZCA whitening, view by view (Bell and Sejnowski, Vision Research 37(23), 1997).

    Args:
        shrinkage: the share of the mean variance that replaces that of each direction; 0 is full whitening.
        view_slices: widths of the views in a 2-D ``X``; None: one view.
    """

    name = "zca"
    max_items = None  # one matrix is all that it keeps of the rows
    capabilities = Capabilities(adds_views=True, main_parameter="shrinkage")

    shrinkage: Share = 0.1
    view_slices: Sequence[int] | None = None

    def _fit_view(self, views: list[Rows], supervision: Supervision, view: int) -> dict[str, Any]:
        rows, _ = present_rows(views, supervision, view)
        mean = rows.mean(axis=0)
        variances, directions = np.linalg.eigh(np.cov(rows - mean, rowvar=False).reshape(len(mean), len(mean)))
        variances = (1 - self.shrinkage) * variances.clip(0) + self.shrinkage * variances.clip(0).mean()
        used = variances > 1e-10 * variances.max()  # rounding errors are not directions
        directions, variances = directions[:, used], variances[used]
        return {"weights_": directions / np.sqrt(variances) @ directions.T, "means_": mean}
