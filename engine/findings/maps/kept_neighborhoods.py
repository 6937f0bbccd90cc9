"""How well a map keeps neighbourhoods: recall of nearest neighbours and trustworthiness, over a sample of items."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crossview.engine.runtime.cancellation import checkpoint
from crossview.engine.runtime.threads import one_blas_thread

NEIGHBORS, SAMPLE = 10, 1_000
_DISTANCES = 1 << 22
"""Maximum number of distances in memory at once."""


class KeptNeighborhoods(NamedTuple):
    """The figures of a map; see ``engine.values.map.MapInfo``."""

    recall: float | None
    trustworthiness: float | None
    neighbors: int
    measured: int


def kept_neighborhoods(vectors: NDArray[np.float32], points: NDArray[np.float32], seed: int) -> KeptNeighborhoods:
    """Compare the nearest neighbours of vectors, (n, d), with those of their points, (n, 2), for a sample of items.

    For all items, the trustworthiness is that of ``sklearn.manifold.trustworthiness``.
    """
    count = len(vectors)
    k = min(NEIGHBORS, (count - 1) // 2)
    if k < 1:
        return KeptNeighborhoods(None, None, 0, 0)
    sample = np.random.default_rng(seed).permutation(count)[:SAMPLE]
    shared, excess, block = 0, 0, max(1, _DISTANCES // count)
    with one_blas_thread():
        for first in range(0, len(sample), block):
            checkpoint()
            some = sample[first : first + block]
            in_space, in_plane = (_distances(rows.astype(np.float64), some) for rows in (vectors, points))
            near = np.argpartition(in_plane, k - 1, axis=1)[:, :k]
            for place, own in enumerate(near):
                ranks = 1 + (in_space[place] < in_space[place, own, None]).sum(axis=1)
                shared += int((ranks <= k).sum())
                excess += int(np.maximum(ranks - k, 0).sum())
    trust = 1 - 2 * excess / (len(sample) * k * (2 * count - 3 * k - 1))
    return KeptNeighborhoods(shared / (len(sample) * k), trust, k, len(sample))


def _distances(rows: NDArray[np.float64], some: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the squared distances of some rows, (m,), to all rows, (m, n); infinite to themselves."""
    lengths = np.einsum("nd,nd->n", rows, rows)
    found: NDArray[np.float64] = lengths[some, None] + lengths - 2 * rows[some] @ rows.T
    found[np.arange(len(some)), some] = np.inf
    return found
