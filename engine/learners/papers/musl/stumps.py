"""Decision stumps: the weak learners, each a threshold on one column."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from crossview.engine.learners.frame.view_rows import Rows

Bits = NDArray[np.float32]  # 0 or 1


@dataclass(frozen=True)
class Stumps:
    """Decision stumps; the bit of a row under a stump is 1 if the value in the stump's column reaches its threshold.

    Attributes:
        columns: (m,) column of each stump.
        thresholds: (m,) float.
    """

    columns: NDArray[np.intp]
    thresholds: NDArray[np.float64]

    @classmethod
    def candidates(cls, rows: Rows, count: int) -> Self:
        """Return up to ``count`` stumps for every column of (n, d) rows, at its quantiles.

        A threshold is midway between neighbouring values, so that rounding does not flip a bit. The lowest threshold of
        a column is above its smallest value, so that rows with a rare word differ from rows without it. A constant
        column has no stump.
        """
        shares = np.arange(1, count + 1) / (count + 1)
        second = np.where(rows > rows.min(axis=0), rows, np.inf).min(axis=0)
        found = []
        for values in np.maximum(np.quantile(rows, shares, axis=0, method="higher"), second):
            below = np.where(rows < values, rows, -np.inf).max(axis=0)
            columns = np.flatnonzero(np.isfinite(values))
            low, high = below[columns], values[columns]
            middle = low / 2 + high / 2
            found.append(np.column_stack([columns, np.where(middle > low, middle, high)]))
        table = np.unique(np.concatenate(found), axis=0)
        return cls(table[:, 0].astype(np.intp), table[:, 1])

    def bits(self, rows: Rows) -> Bits:
        """Return the (n, m) bits of rows."""
        return (rows[:, self.columns] >= self.thresholds).astype(np.float32)

    def take(self, which: NDArray[np.intp]) -> Self:
        """Return the stumps at the given positions."""
        return type(self)(self.columns[which], self.thresholds[which])
