"""Where the patches of an image are that forest words are counted over.

They form grids where the paper takes interest points: at a third of the time, single counts separated classes better.
"""

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
    return np.concatenate([_grid(height, width, cell) for cell in CELLS]).astype(np.int32)


def _grid(height: int, width: int, cell: int) -> NDArray[np.intp]:
    left, top = np.meshgrid(_starts(width, cell), _starts(height, cell))
    return np.column_stack([left.ravel(), top.ravel(), np.full(left.size, cell)])


def _starts(side: int, cell: int) -> NDArray[np.intp]:
    spare, stride = side - GRID * cell, STRIDE * cell
    return np.arange(spare % stride // 2, spare + 1, stride)
