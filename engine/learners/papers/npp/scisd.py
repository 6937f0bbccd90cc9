"""The loss of Multi-NPP on dissimilar pairs: the smoothly clipped inverted squared deviation (SCISD).

Quadrianto and Lampert, "Learning Multi-View Neighborhood Preserving Projections", ICML 2011, equations
(7) and (9)-(11).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Scisd:
    """SCISD of a distance: it falls like an inverted parabola from a lam^2 / 2 at 0, and is 0 from a lam on.

    It is the difference of two concave functions, ``loss = concave - subtracted``. Minus the second function is convex
    and grows with the distance, so it is convex in the projections. The paper prints a lam / 2 as the constant of (10);
    equations (7) and (11) need a lam^2 / 2.

    Args:
        a: shape, > 1.
        lam: lambda, > 0, in units of distance.

    Raises:
        ValueError: for other values.
    """

    a: float
    lam: float

    def __post_init__(self) -> None:
        if not self.a > 1 or not self.lam > 0:
            raise ValueError(f"a={self.a} must exceed 1 and lam={self.lam} must be positive")

    @property
    def reach(self) -> float:
        """The distance a lam, from which on a dissimilar pair has no loss."""
        return self.a * self.lam

    def loss(self, distance: Values, weights: Values, factor: float = 1.0) -> float:
        """Return the weighted sum of equation (7) over distances >= 0, each multiplied by a factor.

        The loss of a distance is (max(a lam - d, 0)^2 - a max(lam - d, 0)^2) / (2 (a - 1)).
        """
        missing = np.empty_like(distance)
        total = 0.0
        for reach, weight in ((self.reach, 1.0), (self.lam, -self.a)):
            np.maximum(np.subtract(reach / factor, distance, out=missing), 0.0, out=missing)
            np.square(missing, out=missing)
            total += weight * float(np.vdot(weights, missing))
        return factor**2 * total / (2 * (self.a - 1))

    def concave(self, weight: float, squared: float) -> float:
        """Return the weighted sum of equation (10), L1_cv, the part that its tangent bounds.

        Args:
            weight: the sum of the weights.
            squared: the weighted sum of the squared distances.
        """
        return 0.5 * (self.a * self.lam**2 * weight - squared)

    def convex(self, squared: Values, weights: Values) -> tuple[float, Values]:
        """Return the weighted sum of minus equation (11), -L2_cv, and the weights of the equivalent springs.

        The function is 0 up to lam, then a parabola, then distance^2 / 2 less a constant: s (d^2 - lam min(d, a lam)) /
        2, where s, from 0 to 1, is its slope divided by the distance. The weight of a spring is s times the weight of
        its pair.

        Args:
            squared: squared distances, which the function overwrites, because further memory for so many numbers takes
                most of the time.
            weights: weights of the pairs, of the same shape.
        """
        least = float(np.finfo(squared.dtype).tiny)  # lambda may be below the smallest float32
        distance = np.sqrt(np.maximum(squared, 0.0, out=squared))
        np.clip(distance, max(self.lam, least), max(self.reach, least), out=distance)
        springs: Values = np.divide(self.reach / (self.a - 1), distance)
        np.subtract(self.a / (self.a - 1), springs, out=springs)
        springs *= weights
        distance *= self.lam
        squared -= distance
        return 0.5 * float(np.vdot(springs, squared)), springs
