"""Numbers that callers give: counts, seeds and rows of real numbers. Every path into the engine uses these checks."""

import operator
from numbers import Real
from typing import TYPE_CHECKING, Any, SupportsIndex

from crossview.engine.values.errors import InvalidInputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_SEED = 2**31 - 1


def check_count(name: str, value: object, least: int = 1) -> int:
    """Return a count; InvalidInputError for a value that is not a whole number of at least ``least``."""
    if (count := _whole(name, value)) < least:
        raise InvalidInputError(f"{name} must be at least {least}, not {count}")
    return count


def check_seed(seed: int) -> None:
    """Raise InvalidInputError for a seed that some generator of NumPy or scikit-learn does not accept."""
    if not 0 <= _whole("a seed", seed) <= MAX_SEED:
        raise InvalidInputError(f"a seed must be between 0 and {MAX_SEED}, not {seed}")


def _whole(name: str, value: object) -> int:
    if type(value) is int:  # the check of a protocol takes ten times as long
        return value
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        raise InvalidInputError(f"{name} must be a whole number, not {value!r:.40}")
    return operator.index(value)


def real_numbers(values: object, what: str) -> "NDArray[Any]":
    """Return a row of real numbers, given as a list, array, series, or as a frame or sparse matrix of one row, (d,).

    InvalidInputError, about ``what``, for other values: nothing is cast in silence, such as complex numbers, dates and
    masked values.
    """
    import numpy as np  # the command line checks counts without it

    if type(values) is np.ndarray and values.dtype == np.float32:
        return values
    if np.ma.is_masked(values):
        raise InvalidInputError(f"{what} has masked values: fill them, or leave the row out")
    try:
        row = np.asarray(values.toarray() if hasattr(values, "toarray") else values)
    except (ValueError, TypeError) as error:
        raise InvalidInputError(f"{what} must consist of real numbers: {error}") from error
    if row.ndim == 2 and len(row) == 1 and not isinstance(values, np.ndarray | list | tuple):
        row = row[0]
    if row.dtype.kind == "O" and all(isinstance(value, Real) for value in row.flat):
        row = row.astype(np.float64)
    if row.dtype.kind not in "fiub":
        raise InvalidInputError(f"{what} must consist of real numbers, not of {row.dtype}")
    return row if row.dtype.kind != "b" else row.astype(np.float32)
