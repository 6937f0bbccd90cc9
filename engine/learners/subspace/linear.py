"""Learners whose embedding is linear in the centred row."""

import numpy as np
from numpy.typing import NDArray

from engine.learners.base import MultiViewLearner, Rows


class LinearLearner(MultiViewLearner):
    """Embeds a row x of view v as W_v (x - m_v).

    Attributes:
        weights_: list of (D, d_v) arrays, one per view.
        means_: list of (d_v,) arrays, one per view.
    """

    weights_: list[NDArray[np.float64]]
    means_: list[NDArray[np.float64]]

    def _project(self, rows: Rows, view: int) -> Rows:
        embeddings: Rows = (rows - self.means_[view]) @ self.weights_[view].T
        return embeddings
