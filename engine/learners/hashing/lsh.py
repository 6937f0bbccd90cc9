"""Locality-sensitive hashing by random directions."""

import faiss
import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from crossview.engine.learners.base import Rows
from crossview.engine.learners.hashing.projection import ProjectionHasher


class LSH(ProjectionHasher):
    """Takes the signs of projections on random directions about the mean row, by FAISS's random rotations.

    A bit of two rows differs with probability angle / pi, the angle being seen from the mean (Charikar, "Similarity
    estimation techniques from rounding algorithms", STOC 2002). Each d directions are orthogonal, which keeps that
    probability and scatters less around it (Ji et al., "Super-bit locality-sensitive hashing", NIPS 2012).
    """

    name = "lsh"

    def _projection(self, rows: Rows, n_bits: int, random: np.random.RandomState) -> NDArray[np.float64]:
        columns = rows.shape[1]
        sizes = [min(columns, n_bits - start) for start in range(0, n_bits, columns)]
        with threadpool_limits(limits=1):  # more threads round differently
            return np.vstack([_directions(columns, size, random.randint(1 << 30)) for size in sizes])


def _directions(columns: int, count: int, seed: int) -> NDArray[np.float64]:
    """Returns orthonormal rows, (count, columns)."""
    rotation = faiss.RandomRotationMatrix(columns, count)
    rotation.init(seed)
    matrix: NDArray[np.float32] = faiss.vector_to_array(rotation.A)
    return matrix.reshape(count, columns).astype(np.float64)
