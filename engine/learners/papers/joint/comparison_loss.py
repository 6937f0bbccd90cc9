"""The loss of comparisons in several notions, over the embeddings in each notion."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from crossview.engine.learners.frame.view_rows import Rows, slices
from crossview.engine.learners.papers.joint.losses import Loss, Losses
from crossview.engine.learners.papers.losses.constraints import Constraints

Values = NDArray[np.float64]
Indices = NDArray[np.int64]

_DENSE = 5  # up to so many pairs of rows per named pair, tables of all pairs cost less than lists
_CACHE = 1 << 17  # number of entries that fit into a core's own cache
_MANY = 1 << 14  # number of pairs above which rows are gathered as float32


@dataclass(frozen=True, eq=False)
class Notions:
    """Constraints on the distances of n rows in T notions.

    Attributes:
        constraints: c constraints, whose weights are the costs of violations in the objective.
        codes: (c,) the notion of each constraint, from 0 to T - 1.
        count: T.
        totals: (T,) divisors of the weights of each notion; None: the sums of the weights.
    """

    constraints: Constraints
    codes: Indices
    count: int
    totals: Values | None = None

    @property
    def sums(self) -> Values:
        """(T,) divisors of the weights of each notion."""
        if self.totals is not None:
            return self.totals
        return np.bincount(self.codes, self.constraints.weights, self.count).astype(float)

    def take(self, which: NDArray[np.intp]) -> "Notions":
        """Return the constraints at some positions, in the same notions."""
        return Notions(self.constraints.take(which), self.codes[which], self.count, self.totals)

    def of(self, notion: int) -> "Notions":
        """Return the constraints of one notion, as those of a single notion."""
        which = np.flatnonzero(self.codes == notion)
        totals = None if self.totals is None else self.totals[[notion]]
        return Notions(self.constraints.take(which), np.zeros(len(which), np.int64), 1, totals)

    def pooled(self) -> "Notions":
        """Return all constraints as those of a single notion."""
        totals = None if self.totals is None else self.totals.sum(keepdims=True)
        return Notions(self.constraints, np.zeros_like(self.codes), 1, totals)


class ComparisonLoss:
    """The loss of constraints over embeddings (T, n, r), and its gradient.

    If there are many constraints per pair of rows, the loss looks up distances in tables of all pairs; otherwise it
    computes the distance of each named pair once. The gradient is that of the graph Laplacian of the derivatives with
    respect to the pairs' distances, so neither makes an array of constraints times columns.

    Args:
        notions: the constraints.
        rows: n.
        loss: the loss of a constraint.
    """

    shape: tuple[int, int]

    def __init__(self, notions: Notions, rows: int, loss: Loss) -> None:
        constraints = notions.constraints
        self.shape, self._loss = (notions.count, rows), loss
        self._margins, self._weights = constraints.margins, constraints.weights
        sides = [_keys(notions.codes, side, rows) for side in (constraints.near, constraints.far)]
        keys = np.unique(np.concatenate(sides))
        dense = notions.count * rows**2 < _DENSE * len(keys)
        self._pairs: _Table | _Listed = _Table(*self.shape) if dense else _Listed(keys, *self.shape)
        self._near, self._far = map(self._pairs.places, sides)

    def __call__(self, embedded: Rows, smoothing: float = 0.0) -> tuple[float, Rows]:
        """Return the loss over (T, n, r) embeddings, and its gradient, of the same shape."""
        value, pulls = self.pulls(embedded, smoothing)
        return value, 2 * self.laplacian(pulls, embedded)

    def pulls(self, embedded: Rows, smoothing: float = 0.0) -> tuple[float, Values]:
        """Return the loss over (T, n, r) embeddings, and its derivatives with respect to each squared distance."""
        losses = self.losses(embedded, smoothing)
        slopes = np.concatenate([self._weights * losses.near, self._weights * losses.far])
        places = np.concatenate([self._near, self._far])
        return float(self._weights @ losses.values), np.bincount(places, slopes, self._pairs.count).astype(float)

    def laplacian(self, pulls: Values, rows: Rows) -> Rows:
        """Return the Laplacian of the graph whose edges are the pulls, times (T, n, r) rows."""
        return self._pairs.laplacian(pulls, rows)

    def losses(self, embedded: Rows, smoothing: float = 0.0) -> Losses:
        """Return the cost of each constraint, without its weight."""
        distances = self._pairs.distances(embedded)
        return self._loss(distances[self._near], distances[self._far], self._margins, smoothing)


class _Table:
    """The table of all pairs of rows of every notion."""

    def __init__(self, notions: int, rows: int) -> None:
        self.shape, self.count = (notions, rows, rows), notions * rows**2

    def places(self, keys: Indices) -> Indices:
        return keys

    def distances(self, embedded: Rows) -> Values:
        """Return the squared distances of all pairs."""
        products = embedded @ embedded.swapaxes(1, 2)
        squares = np.einsum("tnr,tnr->tn", embedded, embedded)
        products *= -2.0
        products += squares[:, :, None]
        products += squares[:, None, :]
        return np.maximum(products, 0.0, out=products).ravel()

    def laplacian(self, pulls: Values, rows: Rows) -> Rows:
        """Return the Laplacian of the pulls times rows."""
        edges = pulls.reshape(self.shape)
        edges = edges + edges.swapaxes(1, 2)
        return np.asarray(edges.sum(axis=2)[..., None] * rows - edges @ rows)


class _Listed:
    """The list of the pairs of rows that constraints name, each once, by ascending keys (see ``_keys``)."""

    def __init__(self, keys: Indices, notions: int, rows: int) -> None:
        self._keys = keys
        self.count = len(self._keys)
        notion, pair = np.divmod(self._keys, rows**2)
        first, second = np.divmod(pair, rows)
        self._first, self._second = notion * rows + first, notion * rows + second
        ends = np.concatenate([self._first, self._second])
        self._order = np.argsort(ends, kind="stable")
        self._others = np.concatenate([self._second, self._first])[self._order]
        self._starts = np.concatenate([[0], np.cumsum(np.bincount(ends, minlength=notions * rows))])
        self._dtype: Any = np.float32 if self.count > _MANY else np.float64

    def places(self, keys: Indices) -> Indices:
        return np.searchsorted(self._keys, keys)

    def distances(self, embedded: Rows) -> Values:
        """Return the squared distances of the pairs."""
        rows: NDArray[Any] = embedded.reshape(-1, embedded.shape[2]).astype(self._dtype, copy=False)
        distances = np.empty(self.count)
        for part in slices(self.count, rows.shape[1], _CACHE):
            gaps = rows.take(self._first[part], axis=0)
            gaps -= rows.take(self._second[part], axis=0)
            distances[part] = np.einsum("nr,nr->n", gaps, gaps)
        return distances

    def laplacian(self, pulls: Values, rows: Rows) -> Rows:
        """Return the Laplacian of the pulls times rows."""
        flat: NDArray[Any] = rows.reshape(-1, rows.shape[2]).astype(self._dtype, copy=False)
        count = len(flat)
        degrees = np.bincount(self._first, pulls, count) + np.bincount(self._second, pulls, count)
        values = np.concatenate([pulls, pulls])[self._order].astype(self._dtype)
        edges = sp.csr_array((values, self._others, self._starts), shape=(count, count))
        product = degrees.astype(self._dtype)[:, None] * flat - edges @ flat
        return np.asarray(product.reshape(rows.shape), dtype=np.float64)


def _keys(codes: Indices, pairs: Indices, rows: int) -> Indices:
    """Return a key for each pair in its notion, which does not depend on the order of its rows."""
    least, most = pairs.min(axis=1), pairs.max(axis=1)
    return np.asarray((codes * rows + least) * rows + most)
