"""Rows of which each group of classes separates its own by its own columns."""

import numpy as np
from numpy.typing import NDArray


def planted(
    seed: int = 0, groups: int = 3, classes: int = 4, size: int = 10, width: int = 16, flips: float = 0.1
) -> tuple[NDArray[np.float64], NDArray[np.str_], NDArray[np.intp]]:
    """Return (n, groups width) rows, (n,) class names and (C,) groups of the classes in sorted order.

    A class has a code on its group's columns, which its rows keep except some flips; on all other columns its rows
    are noise.
    """
    generator = np.random.default_rng(seed)
    rows, labels = [], []
    for group in range(groups):
        for number in range(classes):
            code = generator.integers(2, size=width)
            block = generator.integers(2, size=(size, groups, width))
            block[:, group] = code ^ (generator.random((size, width)) < flips)
            rows.append(block.reshape(size, -1) + 0.1 * generator.normal(size=(size, groups * width)))
            labels += [f"{'abc'[group]}{number}"] * size
    order = generator.permutation(len(labels))
    return np.concatenate(rows)[order], np.array(labels)[order], np.repeat(np.arange(groups), classes)
