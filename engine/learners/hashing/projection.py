"""Bits that are signs of linear projections A (x - m) of a row x, with A of shape (B, d) and m the mean row."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from crossview.engine.learners.view_rows import Rows

Projection = Callable[[Rows, int | None, np.random.RandomState], NDArray[np.float64]]
"""A function that returns A for rows about their mean, (n, d), and a number of bits; None: its own default."""


def fitted_projection(rows: Rows, n_bits: int | None, seed: int | None, projection: Projection) -> dict[str, Any]:
    """Return the fitted attributes of one hash: the mean row and A."""
    center = rows.mean(axis=0)
    return {"offsets_": center, "projections_": projection(rows - center, n_bits, check_random_state(seed))}
