"""Hashers whose bits are signs of linear projections."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from crossview.engine.learners.base import Rows
from crossview.engine.learners.hashing.stage import StageHasher
from crossview.engine.learners.settings import Bits, Seed


@dataclass(eq=False, repr=False)
class ProjectionHasher(StageHasher):
    """Scores a row x by A (x - m), with A of shape (B, d) and m the mean row.

    A subclass defines ``_projection``.

    Args:
        n_bits: bits of a code (B); None: as many as rows have columns.
        random_state: seed of what is drawn; None draws anew each time.
        view_slices: widths of the views in a 2-D ``X``; None: one view.

    Attributes:
        projections_: list of (B, d) arrays, by view or of one for all, as the offsets.

    Raises:
        ValueError: from ``fit``, for ``n_bits`` that is not positive.
    """

    projections_: list[NDArray[np.float64]] = field(init=False)

    n_bits: Bits | None = None
    random_state: Seed | None = None
    view_slices: Sequence[int] | None = None

    @abstractmethod
    def _projection(self, rows: Rows, n_bits: int, random: np.random.RandomState) -> NDArray[np.float64]:
        """Returns A for rows about their mean, (n, d)."""

    def _fit_view(self, rows: Rows, labels: NDArray[Any] | None, view: int) -> dict[str, Any]:
        fitted = super()._fit_view(rows, labels, view)
        n_bits = rows.shape[1] if self.n_bits is None else self.n_bits
        random = check_random_state(self.random_state)
        return fitted | {"projections_": self._projection(rows - fitted["offsets_"], n_bits, random)}

    def _scores(self, rows: Rows, view: int) -> Rows:
        return np.asarray(super()._scores(rows, view) @ self.projections_[self._hash_of(view)].T)
