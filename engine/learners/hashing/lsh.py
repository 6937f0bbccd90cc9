"""Locality-sensitive hashing by random directions."""

import faiss
import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from ..base import Rows
from .projection import ProjectionHasher


class LSH(ProjectionHasher):
    """Takes the signs of projections on random directions about the mean row, by FAISS's random rotation.

    A bit of two rows differs with probability angle / pi, the angle being seen from the mean (Charikar, "Similarity
    estimation techniques from rounding algorithms", STOC 2002). Up to d bits the directions are orthogonal, which
    keeps that probability and scatters less around it (Ji et al., "Super-bit locality-sensitive hashing", NIPS 2012);
    more of them are a tight frame.
    """

    name = "lsh"

    def _projection(self, rows: Rows, n_bits: int, random: np.random.RandomState) -> NDArray[np.float64]:
        rotation = faiss.RandomRotationMatrix(rows.shape[1], n_bits)
        with threadpool_limits(limits=1):  # more threads round differently
            rotation.init(random.randint(1 << 30))
        matrix: NDArray[np.float32] = faiss.vector_to_array(rotation.A)
        return matrix.reshape(n_bits, rows.shape[1]).astype(np.float64)
