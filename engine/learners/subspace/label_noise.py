"""How many labels contradict the rows of their items."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossview.engine.learners.frame.view_rows import Mask

_LEAST_CLASSES, _LEAST_ITEMS = 5, 5
"""Minimum number of classes, and of labelled items of a class that counts."""
_LEAST_FOUND = 5
"""Minimum number of labels in the last ranks; fewer can be chance."""
_TAIL = 0.75
"""The ranks beyond this share of all are the last ones."""


def wrong_share(left_out: Sequence[NDArray[np.floating[Any]]], mask: Mask, classes: NDArray[np.intp]) -> float:
    """Return the estimated share of labels that were drawn by chance.

    The items' views rank the classes of each item by the product of their probabilities. A wrong label has every rank
    but the first equally often; a right one is hardly ever among the last quarter. So the share of labels in the last
    quarter, divided by its share of the ranks, is an estimate. Labels that people confuse with similar ones are not
    found, nor any with fewer than five classes.

    Args:
        left_out: (n_v, K) class probabilities of the items that have each view, by models without the item.
        mask: (n, V), whether an item has a view.
        classes: (n,) the column of each item's label; -1 for an item that does not count.
    """
    count = left_out[0].shape[1]
    sizes = np.bincount(classes[classes >= 0], minlength=count)
    able = np.flatnonzero((classes >= 0) & mask.any(axis=1) & (sizes[classes] >= _LEAST_ITEMS))
    if count < _LEAST_CLASSES or not len(able):
        return 0.0
    scores = np.zeros((len(mask), count))
    for rows, present in zip(left_out, mask.T, strict=True):
        scores[present] += np.log(np.maximum(rows, np.finfo(np.float32).tiny))
    own = scores[able, classes[able]]
    ranks = (scores[able] > own[:, None]).sum(axis=1)
    last = np.arange(1, count) > _TAIL * (count - 1)
    found = int((ranks > _TAIL * (count - 1)).sum())
    return 0.0 if found < _LEAST_FOUND else found / len(able) / float(last.mean())
