"""Iterative quantisation to more bits than rows have columns."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossview.engine.learners.frame.supervision import Supervision
from crossview.engine.learners.frame.view_rows import Rows, present_rows
from crossview.engine.learners.hashing.hasher import fitted_projection
from crossview.engine.learners.hashing.itq import ITQ, rotated_components


class WideITQ(ITQ):
    """ITQ of rows with zeros beside them, so that their few columns are turned into any number of bits.

    Class posteriors have a column for each class, which is fewer than codes have bits.
    """

    name = "wide-itq"

    def _fit_view(self, views: list[Rows], supervision: Supervision, view: int) -> dict[str, Any]:
        rows, _ = present_rows(views, supervision, view)
        return fitted_projection(rows, self.n_bits, self.random_state, padded_components)


def padded_components(rows: Rows, n_bits: int | None, random: np.random.RandomState) -> NDArray[np.float64]:
    """Return the rotated components of rows with zeros beside them, (B, d), without the columns of these."""
    count, columns = rows.shape
    padded = np.hstack([rows, np.zeros((count, max(0, (n_bits or columns) - columns)))])
    return rotated_components(padded, n_bits, random)[:, :columns]
