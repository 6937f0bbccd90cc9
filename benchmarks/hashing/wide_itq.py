"""Iterative quantisation to more bits than rows have columns."""

import numpy as np
from numpy.typing import NDArray

from crossview.engine.learners.base import Rows
from crossview.engine.learners.hashing.itq import ITQ


class WideITQ(ITQ):
    """ITQ of rows with zeros beside them, so that their few columns are turned into any number of bits.

    Class posteriors have a column for each class, which is fewer than codes have bits.
    """

    name = "wide-itq"

    def _projection(self, rows: Rows, n_bits: int, random: np.random.RandomState) -> NDArray[np.float64]:
        count, columns = rows.shape
        padded = np.hstack([rows, np.zeros((count, max(0, n_bits - columns)))])
        return super()._projection(padded, n_bits, random)[:, :columns]
