"""Levels: samples of pictures of other ranges as 0 to 255."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

_BLOCK_PIXELS = 1 << 18


def levels(values: NDArray[Any]) -> NDArray[np.uint8]:
    """Return integers or floats of pictures, (height, ...), as 0..255.

    Unsigned integers have the range of their type. Files of other numbers do not state it: floats within 0..1, and
    values within 0..255 or 0..65535, are read as such; other values are stretched between the least and greatest
    finite value. Colours of a high dynamic range are cut at 1. Infinite values and NaN become black.
    """
    is_whole = values.dtype.kind == "u"
    low, high = (0.0, float(np.iinfo(values.dtype).max)) if is_whole else _finite_range(values)
    if not is_whole and low >= 0 and high <= 65535:
        low = 0.0
        is_unit = values.dtype.kind == "f" and (high <= 1 or _is_high_range(values))
        high = 1.0 if is_unit else 255.0 if high <= 255 else 65535.0
    factor = 255.0 / max(high - low, np.finfo(np.float64).tiny)
    return np.concatenate([_scaled(block, low, factor) for block in _blocks(values)])


def _is_high_range(values: NDArray[Any]) -> bool:
    """Return whether floats are colours of a high dynamic range, of which most are up to 1, which is white."""
    return values.ndim == 3 and values.shape[2] == 3 and float(np.nanmedian(values)) <= 1


def _finite_range(values: NDArray[Any]) -> tuple[float, float]:
    """Return the least and the greatest finite value; 0 and 0 if there is none."""
    ranges = [(block.min(), block.max()) for rows in _blocks(values) if len(block := rows[np.isfinite(rows)])]
    return (float(min(low for low, _ in ranges)), float(max(high for _, high in ranges))) if ranges else (0.0, 0.0)


def _scaled(values: NDArray[Any], low: float, factor: float) -> NDArray[np.uint8]:
    finite = np.isfinite(values)
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = (np.where(finite, values, 0).astype(np.float64) - low) * factor
    return np.where(finite, np.clip(np.nan_to_num(np.rint(scaled)), 0, 255), 0).astype(np.uint8)


def _blocks(values: NDArray[Any]) -> list[NDArray[Any]]:
    """Return blocks of rows, some hundred thousand pixels each, because computing takes eight bytes for each pixel."""
    return np.array_split(values, 1 + values.size // _BLOCK_PIXELS)
