"""Values of feature rows: the limits within which float32 distances can be computed."""

import math
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from crossview.engine.values.errors import InvalidInputError
from crossview.engine.values.numbers import real_numbers
from crossview.features.vectors import MAX_VALUE, MIN_VALUE

REMOTE = 1e5
"""Distance of rows from 0, in their distances from each other, above which float32 rounds too much."""


class RowForm(Protocol):
    """The name and row length of a view or a joined view."""

    @property
    def name(self) -> str:
        """The name of the view."""

    @property
    def dim(self) -> int:
        """Length of the rows."""


def to_rows(rows: NDArray[Any], name: Callable[[int], str]) -> NDArray[np.float32]:
    """Return rows, (n, d) real numbers, as float32; InvalidInputError unless distances can be computed from all.

    The message gives the first wrong value, its column counted from 1, and its row by ``name``, a function of the
    row's position from 0.
    """
    checked = _float32(rows)
    if len(checked) == 1 and _surely_usable(checked):
        return checked
    wrong = np.flatnonzero(~usable(checked))
    if not len(wrong):
        return checked
    row = int(wrong[0])
    columns = np.flatnonzero(~(np.abs(checked[row]) < MAX_VALUE))
    if not len(columns):
        raise InvalidInputError(
            f"{name(row)} has only values below {MIN_VALUE:g} in size, whose squares are 0 in float32: scale the rows"
        )
    column = int(columns[0])
    value = "NaN" if np.isnan(rows[row, column]) else f"{rows[row, column]:g}"
    raise InvalidInputError(
        f"{name(row)} has {value} in column {column + 1}; values must be finite and less than {MAX_VALUE:g} in "
        "size, because distances are computed in float32: correct or scale the rows"
    )


def usable(rows: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Return which of the rows, (n, d), have only values that distances can be computed from, (n,)."""
    # NaN is neither the greatest nor the smallest, and is not less than anything.
    largest = np.abs(rows).max(axis=1, initial=0.0)
    mask: NDArray[np.bool_] = (largest < MAX_VALUE) & ((largest >= MIN_VALUE) | (largest == 0))
    return mask


def check_row(values: NDArray[np.float32] | Sequence[float], view: RowForm) -> NDArray[np.float32]:
    """Return a feature row as (d,) float32; InvalidInputError for another dimension, or as ``to_rows`` does."""
    what = f"a row of view {view.name!r}"
    row = real_numbers(values, what)
    if row.shape != (view.dim,):
        shape = f"{row.size}" if row.ndim == 1 else f"an array of shape {row.shape}"
        raise InvalidInputError(f"{what} must have {view.dim} values, not {shape}")
    checked: NDArray[np.float32] = to_rows(row[None], lambda _: what)[0]
    return checked


def _surely_usable(row: NDArray[np.float32]) -> bool:
    """Return True only if distances can be computed from one row, (1, d); False can also mean zeros or a large sum."""
    return bool(MIN_VALUE**2 * row.shape[1] < np.vdot(row, row) < MAX_VALUE**2 / 2)


def _surely_small(rows: NDArray[Any]) -> bool:
    """Return True only if all absolute values are below ``MAX_VALUE``; False can also mean a large sum.

    One product is quicker than the several calls that look at every value, which matters for a single row.
    """
    return bool(np.vdot(rows, rows) < MAX_VALUE**2 / 2)


def remoteness(rows: NDArray[np.float32]) -> float:
    """Return how many times as far (n, d) rows are from 0 as from each other; 0 for equal rows.

    float32 has 7 digits: above ``REMOTE``, it rounds the differences of the rows by more than a hundredth.
    """
    double = rows.astype(np.float64)
    spread = math.sqrt(double.var(axis=0).sum()) if len(rows) else 0.0
    return float(np.linalg.norm(double.mean(axis=0))) / spread if spread else 0.0


def within_reach(vectors: NDArray[Any]) -> NDArray[np.float32]:
    """Return vectors, (n, D), as contiguous float32 with components clipped to ``MAX_VALUE``.

    A learner can stretch a row beyond the limit of distances. A clipped vector is still far from the others.
    """
    rows = _float32(vectors)
    if not _surely_small(rows) and not (np.abs(rows) < MAX_VALUE).all():
        rows = np.clip(np.nan_to_num(rows, nan=MAX_VALUE), -MAX_VALUE, MAX_VALUE)
    return rows


def out_of_reach(vectors: NDArray[Any]) -> bool:
    """Return whether ``within_reach`` has clipped a component of the vectors, (n, D)."""
    return not _surely_small(vectors) and bool((np.abs(vectors) >= MAX_VALUE).any())


def _float32(values: NDArray[Any]) -> NDArray[np.float32]:
    if values.dtype == np.float32:
        return np.ascontiguousarray(values)
    with np.errstate(over="ignore"):  # values beyond float32 become infinite, and are refused or clipped afterwards
        return np.ascontiguousarray(values, np.float32)
