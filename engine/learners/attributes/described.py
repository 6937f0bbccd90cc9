"""Classes that orderings alone describe: where one without an item lies among the scores of those that have some."""

import numpy as np
from numpy.typing import ArrayLike, NDArray


def place_between(amounts: ArrayLike, seen: NDArray[np.float64], means: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns the mean scores, (m,), that a described class is expected to have.

    Parikh and Grauman (ICCV 2011), section 3.2: on an attribute of which the class has as much as some seen classes,
    the mean of these; between two, the middle of theirs; beyond all, as far from the last as seen ones are from each
    other on average.

    Args:
        amounts: (m,) how much of each attribute the class has; only the order among the classes matters.
        seen: (K, m) how much the seen classes have.
        means: (K, m) their mean scores.
    """
    columns = zip(np.asarray(amounts, dtype=np.float64), seen.T, means.T, strict=True)
    return np.array([_place(amount, of_seen, of_means) for amount, of_seen, of_means in columns])


def _place(amount: float, seen: NDArray[np.float64], means: NDArray[np.float64]) -> float:
    levels = np.unique(seen)
    at_level = np.array([means[seen == level].mean() for level in levels])
    above = int(np.searchsorted(levels, amount))
    if above < len(levels) and levels[above] == amount:
        return float(at_level[above])
    if 0 < above < len(levels):
        return float(at_level[above - 1 : above + 1].mean())
    step = np.diff(at_level).mean() if len(levels) > 1 else 0.0
    return float(at_level[-1] + step if above else at_level[0] - step)
