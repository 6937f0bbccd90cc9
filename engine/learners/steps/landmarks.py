"""Landmarks: the few rows that stand for all in a kernel map."""

from functools import partial

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from crossview.engine.learners.blocks import slices
from crossview.engine.learners.view_rows import Rows
from crossview.engine.runtime.threads import over

_ROUNDS = 3  # after which more change neither the clusters nor the accuracy of what is learned from them
_ROWS = 20_000  # of more, so many are clustered


def cluster_means(rows: Rows, chosen: NDArray[np.intp], random: np.random.RandomState) -> Rows:
    """Return the means of the clusters that form around the chosen rows, (m, d): a few rounds of Lloyd's k-means.

    Zhang, Tsang and Kwok, "Improved Nystroem low-rank approximation and error analysis" (ICML 2008): the error of
    Nystroem's approximation is bounded by that of encoding each row by its nearest landmark, which k-means lowers. A
    row that no other is near stays as it is.
    """
    means = rows[chosen]
    if len(rows) > _ROWS:
        rows = rows[random.permutation(len(rows))[:_ROWS]]
    single = rows.astype(np.float32)
    blocks = list(slices(len(rows), len(means)))
    for _ in range(_ROUNDS):
        nearest = np.concatenate(over(blocks, partial(_nearest, single, means.astype(np.float32))))
        sizes = np.bincount(nearest, minlength=len(means))
        members = sp.csr_array((np.ones(len(rows)), (nearest, np.arange(len(rows)))), (len(means), len(rows)))
        sums = np.asarray(members @ rows)
        means[sizes > 0] = sums[sizes > 0] / sizes[sizes > 0, None]
    return means


def _nearest(rows: NDArray[np.float32], means: NDArray[np.float32], block: slice) -> NDArray[np.intp]:
    products = rows[block] @ means.T
    return np.asarray(np.argmin(np.square(means).sum(axis=1) - 2 * products, axis=1))
