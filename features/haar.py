"""Patches of an image, and Haar-like tests on them, for forest words.

A test is the difference of the sums of two boxes (Viola & Jones, IJCV 57(2), 2004). Patches form grids, where the
paper on forest words uses interest points: grids take a third of the time, and single counts separate classes better.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int32]

GRID = 8
"""Cells of a side of a patch; the tests' boxes have their corners on cell corners."""
CELLS = (2, 4)
"""Pixels of a side of a cell: patches are 16 and 32 pixels wide."""
STRIDE = 4
"""Cells from one patch to the next of its size, so that they overlap by half."""
_SIGNS = (1, -1, -1, 1, -1, 1, 1, -1)
"""Signs of the corners of both boxes: the first sum minus the second, each from four running sums."""


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


class HaarTests(NamedTuple):
    """n tests, each the sum of one channel over a first box less its sum over a second."""

    channels: Integers
    """(n,) the channels."""
    boxes: Integers
    """(n, 2, 4) left, top, right and bottom edges of the boxes, in cells of the patch; an empty box sums to 0."""

    def sound(self, channels: int) -> bool:
        """Return whether the tests are within a patch of so many channels."""
        within = (self.boxes >= 0).all() and (self.boxes <= GRID).all()
        return bool(within and (self.channels >= 0).all() and (self.channels < channels).all())


def draw_tests(count: int, channels: Sequence[int], generator: np.random.Generator) -> HaarTests:
    """Return random tests on the channels: every other test has one box, the others two boxes of equal size."""
    boxes = np.zeros((count, 2, 4), np.int32)
    for number in range(count):
        size = generator.integers(1, GRID + 1, 2)
        first, second = generator.integers(0, GRID - size + 1, (2, 2))
        boxes[number, 0] = *first, *(first + size)
        if number % 2 and (first != second).any():
            boxes[number, 1] = *second, *(second + size)
    return HaarTests(generator.choice(np.array(channels, np.int32), count), boxes)


class Responses:
    """Responses of tests in the patches of one image, in whole numbers, so that no sum depends on its order."""

    def __init__(self, integral: Integers, patches: Integers, tests: HaarTests) -> None:
        width, channels = integral.shape[1:]
        left, top, right, bottom = np.moveaxis(tests.boxes, 2, 0)
        corners = [y * width + x for y in (top, bottom) for x in (left, right)]
        self._sums = integral.ravel()
        self._corners = np.concatenate(np.moveaxis(np.array(corners), 2, 0)) * channels
        self._channels = tests.channels
        self._origins = (patches[:, 1] * width + patches[:, 0]) * channels
        self._cells = patches[:, 2]

    def at(self, patch: NDArray[np.intp], test: NDArray[np.integer[Any]]) -> Integers:
        """Return the responses of the patches to the tests with these numbers, broadcast together, int32.

        They are divided by the area of a cell and rounded down, so that they are comparable at every scale.
        """
        cells, start = self._cells[patch], self._origins[patch] + self._channels[test]
        total = np.zeros(start.shape, np.int32)
        for sign, corner in zip(_SIGNS, self._corners, strict=True):
            total += np.int32(sign) * self._sums[start + cells * corner[test]]
        return np.asarray(total // cells**2, dtype=np.int32)
