"""Locality-sensitive hashing by random directions."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import faiss
import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from crossview.engine.learners.frame.settings import Bits, Seed
from crossview.engine.learners.frame.supervision import Supervision
from crossview.engine.learners.frame.view_rows import Rows, present_rows
from crossview.engine.learners.hashing.hasher import Hasher, StageHasher, fitted_projection


@dataclass(eq=False, repr=False)
class LSH(StageHasher, Hasher):
    """Codes of the signs of projections on random directions about the mean row, from FAISS's random rotations.

    A bit of two rows differs with probability angle / pi, where the angle is seen from the mean (Charikar, "Similarity
    estimation techniques from rounding algorithms", STOC 2002). Each d directions are orthogonal, which keeps that
    probability and reduces its variance (Ji et al., "Super-bit locality-sensitive hashing", NIPS 2012).

    Args:
        n_bits: bits of a code (B); None: the number of columns.
        random_state: seed of the draws; None draws differently each time.
        view_slices: widths of the views in a 2-D ``X``; None: one view.

    Attributes:
        projections_: list of (B, d) arrays, one per view or one for all views, like ``offsets_``.
    """

    name = "lsh"

    projections_: list[NDArray[np.float64]] = field(init=False)

    n_bits: Bits | None = None
    random_state: Seed = None
    view_slices: Sequence[int] | None = None

    def _fit_view(self, views: list[Rows], supervision: Supervision, view: int) -> dict[str, Any]:
        rows, _ = present_rows(views, supervision, view)
        return fitted_projection(rows, self.n_bits, self.random_state, random_directions)

    def _scores(self, rows: Rows, view: int) -> Rows:
        return np.asarray(super()._scores(rows, view) @ self.projections_[self._hash_of(view)].T)


def random_directions(rows: Rows, n_bits: int | None, random: np.random.RandomState) -> NDArray[np.float64]:
    """Return random directions, (B, d); each d of them are orthogonal. ``n_bits`` of None: d."""
    columns = rows.shape[1]
    n_bits = columns if n_bits is None else n_bits
    sizes = [min(columns, n_bits - start) for start in range(0, n_bits, columns)]
    with threadpool_limits(limits=1):  # several threads would round differently
        return np.vstack([_directions(columns, size, random.randint(1 << 30)) for size in sizes])


def _directions(columns: int, count: int, seed: int) -> NDArray[np.float64]:
    """Return orthonormal rows, (count, columns)."""
    rotation = faiss.RandomRotationMatrix(columns, count)
    rotation.init(seed)
    matrix: NDArray[np.float32] = faiss.vector_to_array(rotation.A)
    return matrix.reshape(count, columns).astype(np.float64)
