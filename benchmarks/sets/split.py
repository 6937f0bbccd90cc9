"""A split of a set: rows of views, labels, and which items are held out."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupShuffleSplit

from benchmarks.photographs import TEST_SIZE, train_and_test
from crossview.features.base import FeatureRows


@dataclass(frozen=True, kw_only=True)
class Split:
    """Views of all items, and which of these are held out."""

    rows: Mapping[str, FeatureRows]
    """(n, d_v) by view, normalised as the product normalises them."""
    labels: NDArray[Any]
    """(n,)."""
    train: NDArray[np.int64]
    held_out: NDArray[np.int64]
    groups: NDArray[Any] | None = None
    """(n,) what stays on one side, such as speakers; None: nothing."""


Data = Callable[[int], Split]
"""Returns the split of a seed."""


def split_of_rows(rows: Mapping[str, Any], labels: NDArray[Any], groups: NDArray[Any] | None, seed: int) -> Split:
    """Hold out a fifth of every class, or of the groups."""
    if groups is None:
        train, held_out = train_and_test(labels, seed)
    else:
        splitter = GroupShuffleSplit(1, test_size=TEST_SIZE, random_state=seed)
        train, held_out = next(splitter.split(labels, groups=groups))
    views = {name: np.asarray(view, np.float32) for name, view in rows.items()}
    return Split(rows=views, labels=labels, train=train, held_out=held_out, groups=groups)
