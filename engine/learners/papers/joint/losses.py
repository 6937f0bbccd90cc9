"""Losses of a comparison, given its near and its far squared distance, and their derivatives."""

from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

Values = NDArray[np.float64]
LossName = Literal["hinge", "logistic", "tste", "crowd"]


class Losses(NamedTuple):
    """(n,) costs, and their derivatives with respect to the near and to the far squared distances, (n,) each."""

    values: Values
    near: Values
    far: Values


Loss = Callable[[Values, Values, Values, float], Losses]
"""A loss of (n,) near and far squared distances, (n,) margins, and the violation up to which a kink is smooth (0:
none)."""


def hinge(near: Values, far: Values, margins: Values, smoothing: float) -> Losses:
    """Return [margin + near - far]_+; with smoothing h, v^2 / 2h for a violation v up to h, and v - h / 2 beyond."""
    missing = np.maximum(near - far + margins, 0.0)
    slopes = np.minimum(missing / smoothing, 1.0) if smoothing else (missing > 0).astype(float)
    return Losses(slopes * (missing - slopes * smoothing / 2), slopes, -slopes)


def logistic(near: Values, far: Values, margins: Values, smoothing: float) -> Losses:
    """Return log(1 + exp(margin + near - far)), as in Cox, Ng and others (2000)."""
    missing = near - far + margins
    slopes = expit(missing)
    return Losses(np.logaddexp(0.0, missing), slopes, -slopes)


def student(freedom: float) -> Loss:
    """Return the negative logarithm of t-STE's probability, with a number of degrees of freedom a.

    The probability is k(near) / (k(near) + k(far)) with k(d) = (1 + d / a)^(-(a + 1) / 2): van der Maaten and
    Weinberger, "Stochastic triplet embedding" (MLSP 2012), equation (4). A positive margin is added to the near
    distance, and a negative one is subtracted from the far distance, so that the margin of a pair replaces the missing
    distance.
    """

    def loss(near: Values, far: Values, margins: Values, smoothing: float) -> Losses:
        near, far = near + np.maximum(margins, 0.0), far + np.maximum(-margins, 0.0)
        power = (freedom + 1) / 2
        missing = power * (np.log1p(near / freedom) - np.log1p(far / freedom))
        slopes = power * expit(missing)
        return Losses(np.logaddexp(0.0, missing), slopes / (freedom + near), -slopes / (freedom + far))

    return loss


def loss_of(name: LossName, width: int) -> Loss:
    """Return a loss by name, for embeddings of ``width`` columns: t-STE has one degree of freedom fewer, at least 1.

    The crowd kernel's probability is (mu + far) / (2 mu + near + far): Tamuz, Liu, Belongie, Shamir and Kalai,
    "Adaptively learning the crowd kernel" (ICML 2011). With mu = 1 it is that of t-STE with one degree of freedom.
    Another mu would be another unit of distances, and so another weight of the penalty.
    """
    losses: Mapping[str, Loss] = {
        "hinge": hinge,
        "logistic": logistic,
        "tste": student(max(width - 1.0, 1.0)),
        "crowd": student(1.0),
    }
    return losses[name]
