"""Distances of pairs: from one item as a query to another item in a target."""

import numpy as np
from numpy.typing import NDArray

from crossview.engine.runtime.cancellation import checkpoint
from crossview.engine.spaces.space import Space, Vectors
from crossview.engine.spaces.target import Target

_VALUES_AT_ONCE = 1 << 21
"""Bytes of the float64 vectors whose distances are computed at a time."""


def pair_distances(
    space: Space,
    target: Target,
    first: tuple[str, NDArray[np.float32]],
    second: NDArray[np.float32],
    pairs: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Return the distance of every pair, (n,), the same as a search in the target returns.

    ``first`` is a view and its rows, (m, d), as queries; ``second`` has rows of the target's view, (l, e), as items.
    ``pairs``, (n, 2), has positions in both. Distances are Euclidean, not squared, or numbers of differing bits.

    Raises the errors of ``Space.probe``.
    """
    asking = space.probe(*first, [str(target)])[target]
    found = space.probe(target.view, second, [str(target)], items=True)[target]
    distances, at_once = np.empty(len(pairs)), max(1, _VALUES_AT_ONCE // max(1, asking.shape[1]))
    for start in range(0, len(pairs), at_once):
        checkpoint()
        ones, others = pairs[start : start + at_once].T
        distances[start : start + at_once] = _between(target, asking[ones], found[others])
    return distances


def _between(target: Target, ones: Vectors, others: Vectors) -> NDArray[np.float64]:
    """Return the distances of vectors of a target, (n, w) each, row by row."""
    if target.codes and not target.floats:
        differing: NDArray[np.float64] = np.bitwise_count(np.bitwise_xor(ones, others)).sum(axis=1, dtype=np.float64)
        return differing
    if target.floats:  # the float vectors follow the code
        ones, others = (
            np.ascontiguousarray(vectors[:, target.code_bytes :]).view(np.float32) for vectors in (ones, others)
        )
    return np.asarray(np.linalg.norm(ones.astype(np.float64) - others, axis=1))
