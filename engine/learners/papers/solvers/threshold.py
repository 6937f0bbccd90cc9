"""The distance up to which a pair of rows counts as similar."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_consistent_length, column_or_1d

from crossview.engine.learners.papers.losses.constraints import Constraints

STRATEGIES = ("accuracy", "balanced_accuracy", "f_beta", "max_tpr", "max_tnr")


def calibrate(
    distances: ArrayLike, y: ArrayLike, strategy: str = "accuracy", beta: float = 1.0, min_rate: float = 0.0
) -> float:
    """Return the threshold that separates known pairs best; a pair at or below it counts as similar.

    The result is exact: the function tries every cut of the sorted distances. A cut is halfway between two distances,
    so pairs of equal distance are on the same side. Among equally good cuts, the function returns the one at the
    smallest distance. Cuts outside all distances are at the largest, or just below the smallest.

    Args:
        distances: (n,), larger is less similar.
        y: (n,), positive or True for similar pairs.
        strategy: the measure to maximise: "accuracy"; "balanced_accuracy", in which all similar pairs together have the
            weight of all others; "f_beta"; "max_tpr", the share of similar pairs that count as similar, with a share of
            at least ``min_rate`` of the others that do not; "max_tnr", the reverse.
        beta: weight of recall relative to precision in "f_beta".
        min_rate: minimum, from 0 to 1, of the last two strategies.

    Raises:
        ValueError: for sizes that disagree, NaN, pairs that are all similar or all not, or a parameter out of range.
    """
    values, similar = np.asarray(distances, dtype=np.float64), column_or_1d(y) > 0
    check_consistent_length(values, similar)
    if not np.isfinite(values).all():
        raise ValueError("distances must be finite, without NaN")
    if similar.all() or not similar.any():
        raise ValueError("a threshold needs similar and dissimilar pairs; y has one kind only")
    if beta <= 0 or not 0.0 <= min_rate <= 1.0:
        raise ValueError(f"beta={beta} must be positive and min_rate={min_rate} between 0 and 1")
    steps, places = np.unique(values, return_inverse=True)
    accepted = np.cumsum([np.bincount(places[kind], minlength=len(steps)) for kind in (similar, ~similar)], axis=1)
    true, false = np.column_stack([[0, 0], accepted])
    cuts = np.concatenate([[np.nextafter(steps[0], -np.inf)], (steps[1:] + steps[:-1]) / 2, steps[-1:]])
    return float(cuts[np.argmax(_worth(true, false, strategy, beta, min_rate))])


def between(constraints: Constraints) -> float | None:
    """Return the distance whose square is halfway between the bounds on similar and on dissimilar pairs, (u + l) / 2.

    Constraints that compare two pairs, such as triplets, bound neither. Return None unless some constraints bound
    similar pairs and others dissimilar pairs.
    """
    nothing_far, nothing_near = (pairs[:, 0] == pairs[:, 1] for pairs in (constraints.far, constraints.near))
    # A row paired with itself has distance 0 under every metric, so it sets no bound on either kind.
    similar, dissimilar = nothing_far & ~nothing_near, nothing_near & ~nothing_far
    if not similar.any() or not dissimilar.any():
        return None
    # With squared distances D, a similar pair is bounded by 0 >= D + margin, and a dissimilar one by D >= margin.
    upper, lower = -constraints.margins[similar].mean(), constraints.margins[dissimilar].mean()
    return float(np.sqrt((upper + lower) / 2))


def _worth(
    true: NDArray[np.int64], false: NDArray[np.int64], strategy: str, beta: float, min_rate: float
) -> NDArray[np.float64]:
    """Return the quality of each cut, from the numbers of similar and of other pairs below it."""
    tpr, tnr = true / true[-1], 1 - false / false[-1]
    if strategy == "accuracy":
        return (true - false).astype(np.float64)  # same order as the accuracy, (true + negatives - false) / n
    if strategy == "balanced_accuracy":
        return np.asarray(tpr + tnr)
    if strategy == "f_beta":
        return np.asarray((1 + beta**2) * true / (beta**2 * true[-1] + true + false))
    if strategy == "max_tpr":
        return np.where(tnr >= min_rate, tpr, -1.0)
    if strategy == "max_tnr":
        return np.where(tpr >= min_rate, tnr, -1.0)
    raise ValueError(f"strategy={strategy!r} is unknown; there are: {', '.join(STRATEGIES)}")
