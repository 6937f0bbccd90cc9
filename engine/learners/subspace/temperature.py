"""The temperature that converts scores of classes into probabilities, fitted to predictions of unseen rows."""

import numpy as np
import scipy.optimize
from numpy.typing import NDArray
from scipy.special import expit, log_softmax, logsumexp

from crossview.engine.learners.frame.view_rows import Rows

_TEMPERATURES = (1e-1, 1e3)
"""The range of the search for the factor (the inverse temperature), for scores between about 0 and 1."""
_LOG_TOLERANCE = 1e-3


def posteriors(scores: Rows, factor: float, exclusive: bool) -> Rows:
    """Return probabilities of classes, (n, K), from their scores, about 1 for the classes of a row and 0 for others.

    Args:
        scores: (n, K).
        factor: the inverse temperature.
        exclusive: whether each row has one class, so that probabilities add up to 1; otherwise classes are independent,
            with even odds at a score of one half.
    """
    chances: Rows = np.exp(log_softmax(factor * scores, axis=1)) if exclusive else expit(factor * (scores - 0.5))
    return chances


def log_losses(scores: Rows, targets: Rows, factor: float, exclusive: bool) -> NDArray[np.float64]:
    """Return, for each row, minus the log probability of its (n, K) targets of 0 and 1, (n,)."""
    if exclusive:
        scaled = factor * scores
        return np.asarray(logsumexp(scaled, axis=1) - (scaled * targets).sum(axis=1))
    margins = factor * (scores - 0.5) * np.where(targets > 0, 1.0, -1.0)
    return np.asarray(np.logaddexp(0.0, -margins).sum(axis=1))


def best_factor(scores: Rows, targets: Rows, exclusive: bool) -> float:
    """Return the factor with the smallest mean log loss (Guo et al., "On calibration of modern neural networks", 2017).

    The scores must be of rows that were not learned from; otherwise the probabilities are overconfident.
    """

    largest = scores.max(axis=1, keepdims=True)
    below, own = scores - largest, float((largest.sum() - np.vdot(scores, targets)) / len(scores))

    def loss(log_factor: float) -> float:
        factor = float(np.exp(log_factor))
        if not exclusive:
            return float(log_losses(scores, targets, factor, exclusive).mean())
        return float(np.log(np.exp(factor * below).sum(axis=1)).mean()) + factor * own

    bounds = tuple(np.log(_TEMPERATURES))
    best = scipy.optimize.minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": _LOG_TOLERANCE})
    return float(np.exp(best.x))
