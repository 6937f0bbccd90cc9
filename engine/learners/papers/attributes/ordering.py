"""The loss of scores that should keep an order of rows: a squared hinge over all pairs of rows, in linear memory."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
Places = NDArray[np.intp]


@dataclass(frozen=True, kw_only=True)
class LocalLoss:
    """The loss near given scores, where it is a quadratic form.

    Attributes:
        value: the loss.
        slope: (n,) its gradient with respect to the scores.
        order: rows, level by level and sorted by score, to which the spans refer.
        spans: (2, 2, n) first and last place in ``order`` of the lower rows, and of the higher rows, from which each
            row is not far enough.
        groups: (n,) level of each row.
    """

    value: float
    slope: Values
    order: Places
    spans: Places
    groups: Places

    def laplacian(self, values: Values) -> Values:
        """Return the (n,) product with the Laplacian of the graph of the pairs with a loss."""
        return _laplacian(values, self.order, self.spans, self.groups)


class Ordering:
    """The sum of [1 - (s_i - s_j)]_+^2 over pairs with a_i > a_j and of (s_i - s_j)^2 over pairs with a_i = a_j.

    Sorting the scores turns the pairs of a row into spans of rows, so that sums over them are differences of running
    sums (Airola, Pahikkala and Salakoski, "Training linear ranking SVMs in linearithmic time", 2011). Time and memory
    grow with rows times levels.

    Args:
        amounts: (n,), a.

    Attributes:
        count: the number of pairs of rows.
    """

    def __init__(self, amounts: Values) -> None:
        _, self._groups = np.unique(amounts, return_inverse=True)
        self.count: float = len(amounts) * (len(amounts) - 1) / 2

    def around(self, scores: Values) -> LocalLoss:
        """Return the loss near (n,) scores."""
        order, spans = _spans(scores, self._groups)
        (below, above) = spans[:, 1] - spans[:, 0]
        product = _laplacian(scores, order, spans, self._groups)
        return LocalLoss(
            value=float(scores @ product - 2 * (below - above) @ scores + below.sum()),
            slope=2 * (product - (below - above)),
            order=order,
            spans=spans,
            groups=self._groups,
        )


def _spans(scores: Values, groups: Places) -> tuple[Places, Places]:
    """Return the rows below and above each level, sorted, and for each row of the level the span of them less than 1
    away."""
    ranked = np.argsort(scores)
    levels = groups[ranked]
    spans = np.empty((2, 2, len(scores)), dtype=np.intp)
    order: list[Places] = []
    offset = 0
    for level in range(groups.max() + 1):
        rows = groups == level
        lower, higher = ranked[levels < level], ranked[levels > level]
        first = np.searchsorted(scores[lower], scores[rows] - 1, "right")
        last = np.searchsorted(scores[higher], scores[rows] + 1, "left")
        middle = offset + len(lower)
        spans[0][:, rows] = [offset + first, np.full_like(first, middle)]
        spans[1][:, rows] = [np.full_like(last, middle), middle + last]
        order += [lower, higher]
        offset = middle + len(higher)
    return np.concatenate(order), spans


def _laplacian(values: Values, order: Places, spans: Places, groups: Places) -> Values:
    running = np.concatenate([[0.0], np.cumsum(values[order])])
    sizes, sums = np.bincount(groups), np.bincount(groups, values)
    degrees = (spans[:, 1] - spans[:, 0]).sum(axis=0) + sizes[groups]
    return np.asarray(degrees * values - (running[spans[:, 1]] - running[spans[:, 0]]).sum(axis=0) - sums[groups])
