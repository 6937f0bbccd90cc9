"""The loss of Multi-NPP on dissimilar pairs: the smoothly clipped inverted squared deviation (SCISD).

Quadrianto and Lampert, "Learning Multi-View Neighborhood Preserving Projections", ICML 2011, equations
(7) and (9)-(11).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Scisd:
    """SCISD of a distance: falls from a lam^2 / 2 at 0 like an inverted parabola and is 0 from a lam on.

    It is the difference of two concave functions, ``loss = concave - subtracted``, of which minus the second is convex
    and grows with the distance, hence convex in the projections. The paper prints a lam / 2 as the constant of both
    (10) and (11); equation (7) needs a lam^2 / 2.

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
        """The distance a lam from which on a dissimilar pair costs nothing."""
        return self.a * self.lam

    def loss(self, distance: Values) -> Values:
        """Equation (7), elementwise on distances >= 0."""
        missing = np.maximum(self.reach - distance, 0.0)
        return np.where(distance < self.lam, self.concave(distance), missing**2 / (2 * (self.a - 1)))

    def concave(self, distance: Values) -> Values:
        """Equation (10), L1_cv: the part that is bounded by its tangent."""
        return 0.5 * (self.a * self.lam**2 - distance**2)

    def convex(self, distance: Values) -> Values:
        """Minus equation (11), -L2_cv: 0 up to lam, then a parabola, then distance^2 / 2 less a constant."""
        middle = self.a / (2 * (self.a - 1)) * np.maximum(distance - self.lam, 0.0) ** 2
        return np.where(distance > self.reach, -self.concave(distance), middle)

    def convex_weight(self, distance: Values) -> Values:
        """Derivative of ``convex`` divided by the distance: between 0 and 1, so that it weighs pairs like springs."""
        middle = self.a / (self.a - 1) * (1 - self.lam / np.maximum(distance, self.lam))
        return np.minimum(middle, 1.0)
