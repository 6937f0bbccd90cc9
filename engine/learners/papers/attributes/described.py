"""Classes that only orderings describe: their expected places among the scores of classes with items."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

Values = NDArray[np.float64]
_RIDGE = 1e-3  # share of the mean variance added to a covariance, which equally ordered attributes make singular


def place_between(amounts: ArrayLike, seen: Values, means: Values) -> Values:
    """Return the expected mean scores of a described class, (m,).

    Parikh and Grauman (ICCV 2011), section 3.2: if some seen classes have the same amount of an attribute, their mean;
    between two seen classes, the middle; beyond all, as far from the last as seen classes are from each other on
    average.

    Args:
        amounts: (m,) amounts of each attribute of the class; only the order among the classes matters.
        seen: (K, m) amounts of the seen classes.
        means: (K, m) mean scores of the seen classes.
    """
    return _by_attribute(_place, amounts, seen, means)


def spread_between(amounts: ArrayLike, seen: Values, means: Values) -> Values:
    """Return the variance, (m,), of the place from :func:`place_between`.

    It is that of a uniform distribution: over a mean step between levels for the amount of a seen class, and over the
    gap and such a step between two seen classes. Beyond all classes it is the step squared, the variance of an
    exponential distribution.

    Args:
        amounts, seen, means: as in ``place_between``.
    """
    return _by_attribute(_spread, amounts, seen, means)


def log_densities(scores: Values, mean: Values, covariance: Values) -> Values:
    """Return the (n,) logarithms of a normal density at (n, m) scores, up to a constant, with a ridge on the
    covariance."""
    width = len(mean)
    wide = covariance + _RIDGE * np.trace(covariance) / width * np.eye(width)
    gaps = scores - mean
    lengths = np.einsum("ij,ij->i", gaps, np.linalg.solve(wide, gaps.T).T)
    return np.asarray(-(lengths + np.linalg.slogdet(wide)[1]) / 2)


def _by_attribute(of_one: Callable[..., float], amounts: ArrayLike, seen: Values, means: Values) -> Values:
    columns = zip(np.asarray(amounts, dtype=np.float64), seen.T, means.T, strict=True)
    return np.array([of_one(amount, *_levels(of_seen, of_means)) for amount, of_seen, of_means in columns])


def _levels(seen: Values, means: Values) -> tuple[Values, Values]:
    """Return the levels of an attribute in the seen classes, and the mean score at each level."""
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
