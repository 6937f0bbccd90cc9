"""metric-learn's shapes: tuples of rows, or of what stands for rows."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array

from crossview.engine.learners.base import Rows
from crossview.engine.learners.comparisons import AnyComparisons, Comparisons, MixedComparisons
from crossview.engine.learners.metrics import constraints
from crossview.engine.learners.metrics.constraints import Constraints

Preprocessor = ArrayLike | Callable[[NDArray[Any]], ArrayLike]
"""(m, d) rows that tuples name by position, or a function from (n,) names to (n, d) rows."""


def unpack(tuples: ArrayLike, preprocessor: Preprocessor | None = None) -> tuple[Rows, NDArray[np.int64]]:
    """Returns rows, and tuples of positions in them.

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


def constrained(
    items: NDArray[np.int64],
    similar: ArrayLike | None,
    margin: ArrayLike,
    upper: float,
    lower: float,
    weight: ArrayLike = 1.0,
) -> Constraints:
    """Returns the constraints of tuples of positions: pairs, triplets or quadruplets, by how many there are in each.

    Args:
        items: (n, t) positions.
        similar: (n,) for pairs, 1 where they are similar and -1 where not; unused for others.
        margin: of triplets and quadruplets, one for all or (n,).
        upper: largest squared distance of similar pairs.
        lower: smallest squared distance of dissimilar pairs.
        weight: what a violation costs, one for all or (n,).

    Raises:
        ValueError: for another t, or pairs without ``similar``.
    """
    size = items.shape[1]
    if size == 2:
        if similar is None:
            raise ValueError("pairs need y: 1 where they are similar, -1 where they are not")
        return constraints.pairs(items, similar, upper, lower, weight)
    if size == 3:
        return constraints.triplets(items, margin, weight)
    if size == 4:
        return constraints.quadruplets(items, margin, weight)
    raise ValueError(f"tuples are pairs, triplets or quadruplets, not of {size} rows")


def constraints_of(comparisons: AnyComparisons, margin: float, upper: float, lower: float) -> Constraints:
    """Returns the constraints that comparisons are reduced to, of all kinds; else as ``constrained``."""
    given = [one for one in comparisons.sets if len(one)]
    return constraints.joined([_of_one_kind(one, margin, upper, lower) for one in given])


def ordered_only(comparisons: AnyComparisons) -> AnyComparisons:
    """Returns comparisons without margins of their own."""
    sets = tuple(replace(one, margins=None) for one in comparisons.sets)
    return sets[0] if len(sets) == 1 else MixedComparisons(sets)


def _of_one_kind(comparisons: Comparisons, margin: float, upper: float, lower: float) -> Constraints:
    margins = margin if comparisons.margins is None else comparisons.margins
    weights = 1.0 if comparisons.weights is None else comparisons.weights
    return constrained(comparisons.items, comparisons.similar, margins, upper, lower, weights)
