"""Haar-like tests on patches: the difference of the sums of two boxes (Viola & Jones, IJCV 57(2), 2004)."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crossview.features.patches import GRID

Integers = NDArray[np.int32]

_SIGNS = (1, -1, -1, 1, -1, 1, 1, -1)
"""Signs of the corners of both boxes: the first sum minus the second, each from four running sums."""


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
