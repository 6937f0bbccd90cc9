"""Ridge regression that leaves rows out: to choose its penalty, and to predict rows that it has not seen."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from sklearn.linear_model import RidgeCV

from engine.learners.base import Rows

_PENALTIES = np.logspace(-5, 1, 13)  # a row


@dataclass(frozen=True)
class Regression:
    """Predicts targets, scaled so that predictions without their constants have unit mean square.

    Attributes:
        weights: (K, d).
        constants: (K,).
        penalty: on the squares of the unscaled weights.
        size: what weights and constants were divided by.
    """

    weights: NDArray[np.float64]
    constants: NDArray[np.float64]
    penalty: float
    size: float

    @classmethod
    def of(cls, rows: Rows, targets: Rows) -> Self:
        """Returns the regression of (n, K) targets on (n, d) rows."""
        model = RidgeCV(alphas=_PENALTIES * len(rows)).fit(rows, targets)
        weights = np.atleast_2d(model.coef_)
        size = float(np.sqrt(((rows @ weights.T) ** 2).mean())) or 1.0
        return cls(weights / size, np.atleast_1d(model.intercept_) / size, float(model.alpha_), size)

    def left_out(self, rows: Rows, targets: Rows, which: NDArray[np.intp]) -> Rows:
        """Returns the predictions of regressions on all rows but one for that one, without the constants.

        Args:
            rows: (n, d), centred, as given to ``of``.
            targets: (n, K), likewise.
            which: (m,) positions of the rows.

        Returns:
            (m, K), by the rows' leverages, with the penalty of them all.
        """
        leverage = 1 / len(rows) + _leverages(rows, which, self.penalty)
        wanted = targets[which] / self.size - self.constants
        return np.asarray(wanted - (wanted - rows[which] @ self.weights.T) / (1 - leverage)[:, None])


def _leverages(rows: Rows, which: NDArray[np.intp], penalty: float) -> NDArray[np.float64]:
    """Returns entries of the diagonal of X (X^T X + p I)^-1 X^T; of wide rows without that matrix."""
    count, width = rows.shape
    if width > count:
        left, values, _ = np.linalg.svd(rows, full_matrices=False)
        return np.asarray(left[which] ** 2 @ (values**2 / (values**2 + penalty)))
    gram = rows.T @ rows + penalty * np.eye(width)
    chosen = rows[which]
    return np.asarray(np.einsum("md,dm->m", chosen, scipy.linalg.solve(gram, chosen.T, assume_a="pos")))
