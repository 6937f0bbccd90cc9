"""The positions of an image's patches, over which forest words are counted.

They form grids, where the paper uses interest points: grids take a third of the time, and single counts separate
classes better.
"""

import numpy as np
from numpy.typing import NDArray

GRID = 8
"""Cells of a side of a patch; the tests' boxes have their corners on cell corners."""
CELLS = (2, 4)
"""Pixels of a side of a cell: patches are 16 and 32 pixels wide."""
STRIDE = 4
"""Cells from one patch to the next of its size, so that they overlap by half."""


def patches(height: int, width: int) -> NDArray[np.int32]:
    """Return the patches of an image of this size, (n, 3) int32: left, top, pixels of a cell; small patches first.

    Patches of one size form a grid with equal margins. An image lower or narrower than 16 pixels has no patches.
    """
    return np.concatenate([_grid(height, width, cell) for cell in CELLS]).astype(np.int32)


def _grid(height: int, width: int, cell: int) -> NDArray[np.intp]:
    left, top = np.meshgrid(_starts(width, cell), _starts(height, cell))
    return np.column_stack([left.ravel(), top.ravel(), np.full(left.size, cell)])


def _starts(side: int, cell: int) -> NDArray[np.intp]:
    spare, stride = side - GRID * cell, STRIDE * cell
    return np.arange(spare % stride // 2, spare + 1, stride)
