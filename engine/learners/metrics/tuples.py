"""metric-learn's shapes: tuples of rows, or of what stands for rows."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array

from crossview.engine.learners.view_rows import Rows

Preprocessor = ArrayLike | Callable[[NDArray[Any]], ArrayLike]
"""(m, d) rows that tuples name by position, or a function from (n,) names to (n, d) rows."""


def unpack(tuples: ArrayLike, preprocessor: Preprocessor | None = None) -> tuple[Rows, NDArray[np.int64]]:
    """Return rows, and tuples of positions in them.

    Args:
        tuples: (n, t, d) tuples of rows; or (n, t) of names, for a preprocessor.
        preprocessor: what makes rows of names; None: the tuples are of rows.

    Returns:
        (m, d) float64 rows and (n, t) positions.

    Raises:
        ValueError: for another shape, no tuples, NaN, or names that the preprocessor does not know.
    """
    if preprocessor is None:
        array: NDArray[Any] = check_array(tuples, dtype=np.float64, allow_nd=True)
        if array.ndim != 3:
            raise ValueError(
                f"tuples have shape (n, t, d), not {array.shape}; with positions of rows, give the rows as preprocessor"
            )
        return array.reshape(-1, array.shape[2]), np.arange(array.shape[0] * array.shape[1]).reshape(array.shape[:2])
    named = np.asarray(tuples)
    if named.ndim != 2 or not named.size:
        raise ValueError(f"with a preprocessor, tuples have shape (n, t) and are not empty; got {named.shape}")
    if callable(preprocessor):
        names, places = np.unique(named, return_inverse=True)
        rows = check_array(preprocessor(names), dtype=np.float64)
        if len(rows) != len(names):
            raise ValueError(f"the preprocessor made {len(rows)} rows of {len(names)} names")
        return rows, places.reshape(named.shape).astype(np.int64)
    rows = check_array(preprocessor, dtype=np.float64)
    if not np.issubdtype(named.dtype, np.integer) or named.min() < 0 or named.max() >= len(rows):
        raise ValueError(f"tuples name rows by position, which must be whole numbers from 0 to {len(rows) - 1}")
    return rows, named.astype(np.int64)
