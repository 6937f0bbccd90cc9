"""The information of an answer: how much the plausible models disagree on it, beyond the chance within each model."""

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]

_PROBIT = 8 / np.pi  # sigmoid(m) is about Phi(m / sqrt(8 / pi))
_WIDTH = np.pi * np.log(2) / 2  # h(Phi(x)) is about exp(-x^2 / (2 _WIDTH)), in bits


def probability(mean: Values, variance: Values) -> Values:
    """Return the probability of a positive answer, sigmoid(m) averaged over m ~ N(mean, variance).

    MacKay, "The Evidence Framework Applied to Classification Networks" (Neural Computation 1992).
    """
    return np.asarray(1 / (1 + np.exp(np.clip(-mean / np.sqrt(1 + variance / _PROBIT), -500, 500))))


def information_gain(mean: Values, variance: Values) -> Values:
    """Return the information, in bits, of a yes or no with probability sigmoid(m) about m ~ N(mean, variance).

    It is the entropy of the answer minus its expected entropy for a known m: Houlsby, Huszár, Ghahramani and Lengyel,
    "Bayesian Active Learning for Classification and Preference Learning" (2011), equation (3), with a normal
    distribution function instead of the sigmoid. It is 0 without variance, and at most 1.

    Args:
        mean: of any shape.
        variance: of the same shape, not negative.
    """
    at, spread = mean / np.sqrt(_PROBIT), variance / _PROBIT
    total = np.exp(-np.square(at) / (2 * _WIDTH * (1 + spread)))
    known = np.sqrt(_WIDTH / (spread + _WIDTH)) * np.exp(-np.square(at) / (2 * (spread + _WIDTH)))
    return np.asarray(np.maximum(total - known, 0.0))
