"""Iterative quantisation."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossview.engine.learners.frame.settings import Bits, Seed
from crossview.engine.learners.frame.supervision import Supervision
from crossview.engine.learners.frame.view_rows import Rows, present_rows
from crossview.engine.learners.hashing.hasher import Hasher, StageHasher, fitted_projection
from crossview.engine.learners.subspace.pca import principal_components
from crossview.engine.runtime.cancellation import checkpoint

_ITERATIONS = 50  # as in the paper
_ROWS = 32_768  # the maximum number of rows to learn from, drawn at random


@dataclass(eq=False, repr=False)
class ITQ(StageHasher, Hasher):
    """Codes of the corners of a cube, to which a rotation brings the leading principal components of the rows nearest.

    With more bits than components, zeros beside the components are rotated with them, so that each bit is the sign of
    another direction among the components.

    Gong and Lazebnik, "Iterative quantization: a Procrustean approach to learning binary codes" (CVPR 2011), section
    2.2, on rows of unit length about their mean, because bits depend on directions only. The learner does not use
    FAISS's ITQ (1.15), whose update multiplies by V although the Procrustes solution has V^T, so that it never
    converges and its codes retrieve worse.

    Args:
        n_bits: bits of a code (B), any number; None: the number of columns, or of rows if it is smaller.
        random_state: seed of the draws; None draws differently each time.
        view_slices: widths of the views in a 2-D ``X``; None: one view.

    Attributes:
        projections_: list of (B, d) arrays, one per view or one for all views, like ``offsets_``.
    """

    name = "itq"

    projections_: list[NDArray[np.float64]] = field(init=False)

    n_bits: Bits | None = None
    random_state: Seed = None
    view_slices: Sequence[int] | None = None

    @property
    def least_columns(self) -> int:
        """The number of columns that suits the bits: one for each."""
        return self.n_bits or 1

    def _fit_view(self, views: list[Rows], supervision: Supervision, view: int) -> dict[str, Any]:
        rows, _ = present_rows(views, supervision, view)
        return fitted_projection(rows, self.n_bits, self.random_state, rotated_components)

    def _scores(self, rows: Rows, view: int) -> Rows:
        return np.asarray(super()._scores(rows, view) @ self.projections_[self._hash_of(view)].T)


def rotated_components(rows: Rows, n_bits: int | None, random: np.random.RandomState) -> NDArray[np.float64]:
    """Return the rotated principal components of rows about their mean, (B, d); ``n_bits`` of None: min(n, d).

    With more bits than min(n, d), zeros beside the components are rotated with them.
    """
    count, columns = rows.shape
    if n_bits is None:
        n_bits = min(columns, count)
    if count > _ROWS:
        rows = rows[random.permutation(count)[:_ROWS]]
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    rows = rows / np.where(lengths > 0, lengths, 1.0)
    components, _ = principal_components(rows, n_bits)
    padded = np.zeros((len(rows), n_bits))
    padded[:, : len(components)] = rows @ components.T
    return np.asarray(rotation(padded, random)[: len(components)].T @ components)


def rotation(rows: Rows, random: np.random.RandomState) -> NDArray[np.float64]:
    """Return the (B, B) rotation R that brings rows R near their signs, found by iterations from a random rotation."""
    turned = np.linalg.qr(random.standard_normal((rows.shape[1], rows.shape[1])))[0]
    for _ in range(_ITERATIONS):
        checkpoint()
        turned = turned_to(rows, np.where(rows @ turned > 0, 1.0, -1.0))
    return turned


def turned_to(rows: Rows, targets: Rows) -> NDArray[np.float64]:
    """Return the (B, B) rotation R that brings (n, B) rows R nearest to the targets: the Procrustes solution."""
    left, _, right = np.linalg.svd(rows.T @ targets)
    return np.asarray(left @ right)
