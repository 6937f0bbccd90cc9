"""Relations of items that lie near each other."""

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import kneighbors_graph

from crossview.engine.learners.blocks import slices
from crossview.engine.learners.npp.relations import Listed, Relation
from crossview.engine.learners.view_rows import Mask, Rows


def nearest_items(rows: Rows, present: Mask, k: int) -> Listed:
    """Return, for each item, itself and its k nearest; an item without a row has only itself.

    Args:
        rows: (n, d) rows, Euclidean.
        present: (n,) which items have a row.
        k: at least 1; at most all others are taken.
    """
    items = np.flatnonzero(present)
    near = kneighbors_graph(rows[items], min(k, max(len(items) - 1, 0)), include_self=False).tocoo()
    everyone = np.arange(len(present))
    first, second = np.append(items[near.row], everyone), np.append(items[near.col], everyone)
    return Listed(sp.csr_array((np.ones(len(first)), (first, second)), shape=(len(present),) * 2))


def nearest(relation: Relation, rows: Rows, present: Mask, k: int) -> Listed:
    """Return, for each item i, the pairs (i, j) of a relation with the k nearest j.

    Args:
        relation: pairs of items (i, j).
        rows: (n, d) rows that measure the distance of i and j.
        present: (n,) which items have a row; the others' pairs are left out.
        k: at least 1.
    """
    near = [sp.csr_array((0, len(rows)), dtype=bool)]
    squares = (rows * rows).sum(axis=1)
    for block in slices(len(rows), len(rows)):
        squared = squares[block, None] + squares[None, :] - 2 * rows[block] @ rows.T
        mask = relation.block(block) & present[block, None] & present[None, :]
        squared[~mask] = np.inf
        order = np.argsort(squared, axis=1, kind="stable")[:, :k]
        chosen = np.zeros_like(mask)
        np.put_along_axis(chosen, order, True, axis=1)
        near.append(sp.csr_array(chosen & mask))
    return Listed(sp.csr_array(sp.vstack(near)))
