"""Where the patches of an image are that forest words are counted over."""

import numpy as np
from numpy.typing import NDArray

GRID = 8
"""Cells a side of a patch; the tests' boxes have their corners on cell corners."""
CELLS = (2, 4)
"""Pixels a side of a cell: patches are 16 and 32 pixels wide."""
STRIDE = 4
"""Cells from one patch to the next of its size: they overlap by half."""


def patches(height: int, width: int) -> NDArray[np.int32]:
    """The patches of an image of that size, (n, 3) int32: left and top edge and pixels a cell, small patches first.

    Those of one size form a grid with equal margins. There are none in an image that is lower or narrower than 16
    pixels.
    """
    parts = [_grid(height, width, cell) for cell in CELLS if min(height, width) >= GRID * cell]
    return np.concatenate(parts) if parts else np.zeros((0, 3), np.int32)


def _grid(height: int, width: int, cell: int) -> NDArray[np.int32]:
    stride = STRIDE * cell
    spare_down, spare_across = height - GRID * cell, width - GRID * cell
    top, left = np.mgrid[
        spare_down % stride // 2 : spare_down + 1 : stride, spare_across % stride // 2 : spare_across + 1 : stride
    ]
    return np.column_stack([left.ravel(), top.ravel(), np.full(left.size, cell)]).astype(np.int32)
