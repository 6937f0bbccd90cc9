"""Classes that orderings alone describe: where one without an item lies among the scores of those that have some."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

Values = NDArray[np.float64]
_RIDGE = 1e-3  # of a covariance's mean variance: attributes that order the seen classes alike have the same scores


def place_between(amounts: ArrayLike, seen: Values, means: Values) -> Values:
    """Return the mean scores, (m,), that a described class is expected to have.

    Parikh and Grauman (ICCV 2011), section 3.2: on an attribute of which the class has as much as some seen classes,
    the mean of these; between two, the middle of theirs; beyond all, as far from the last as seen ones are from each
    other on average.

    Args:
        amounts: (m,) how much of each attribute the class has; only the order among the classes matters.
        seen: (K, m) how much the seen classes have.
        means: (K, m) their mean scores.
    """
    return _by_attribute(_place, amounts, seen, means)


def spread_between(amounts: ArrayLike, seen: Values, means: Values) -> Values:
    """Return the variance, (m,), of where :func:`place_between` says that a class is.

    That of an even spread over a mean step between levels where the class has as much as a seen one, and over the gap
    and such a step where it lies between two; beyond all, the step squared, that of an exponential one.

    Args:
        amounts, seen, means: as of ``place_between``.
    """
    return _by_attribute(_spread, amounts, seen, means)


def log_densities(scores: Values, mean: Values, covariance: Values) -> Values:
    """Return the (n,) logarithms of a normal density at (n, m) scores, up to a constant; singular ones are widened."""
    width = len(mean)
    wide = covariance + _RIDGE * np.trace(covariance) / width * np.eye(width)
    gaps = scores - mean
    lengths = np.einsum("ij,ij->i", gaps, np.linalg.solve(wide, gaps.T).T)
    return np.asarray(-(lengths + np.linalg.slogdet(wide)[1]) / 2)


def _by_attribute(of_one: Callable[..., float], amounts: ArrayLike, seen: Values, means: Values) -> Values:
    columns = zip(np.asarray(amounts, dtype=np.float64), seen.T, means.T, strict=True)
    return np.array([of_one(amount, *_levels(of_seen, of_means)) for amount, of_seen, of_means in columns])


def _levels(seen: Values, means: Values) -> tuple[Values, Values]:
    """Return the levels of the seen classes of an attribute, and the mean score of each."""
    levels = np.unique(seen)
    return levels, np.array([means[seen == level].mean() for level in levels])


def _place(amount: float, levels: Values, at_level: Values) -> float:
    above = int(np.searchsorted(levels, amount))
    if above < len(levels) and levels[above] == amount:
        return float(at_level[above])
    if 0 < above < len(levels):
        return float(at_level[above - 1 : above + 1].mean())
    step = np.diff(at_level).mean() if len(levels) > 1 else 0.0
    return float(at_level[-1] + step if above else at_level[0] - step)


def _spread(amount: float, levels: Values, at_level: Values) -> float:
    step = float(np.square(np.abs(np.diff(at_level)).mean())) if len(levels) > 1 else 0.0
    above = int(np.searchsorted(levels, amount))
    if above < len(levels) and levels[above] == amount:
        return step / 12
    if 0 < above < len(levels):
        return float(np.square(at_level[above] - at_level[above - 1]) + step) / 12
    return step
