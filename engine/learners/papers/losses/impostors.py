"""The loss of large margin nearest neighbours, evaluated on the impostors among all pairs of rows."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors

from crossview.engine.learners.frame.supervision import comparable_classes
from crossview.engine.learners.frame.view_rows import Rows, slices
from crossview.engine.learners.papers.losses.differences import Differences, Values
from crossview.engine.learners.papers.losses.objective import Evaluation, merged
from crossview.engine.learners.papers.losses.parameters import Metric, Parameters
from crossview.engine.learners.papers.losses.regularizer import Regularizer
from crossview.engine.runtime.cancellation import checkpoint

Items = NDArray[np.int64]

_SPARE = 0.2  # share of the margin beyond which hardly any pair becomes an impostor before the next check
_CACHE = 1 << 19  # number of squared distances in a block
_ROUNDING = 16 * float(np.finfo(np.float32).eps)  # as a share of the largest squared length


@dataclass(frozen=True)
class Targets:
    """The target neighbours of rows, and the classes whose other rows should be further off.

    Attributes:
        neighbors: (n, k) int64 positions of the target neighbours of each row, -1 if there are fewer.
        classes: (n,) int64.
    """

    neighbors: Items
    classes: Items

    @classmethod
    def nearest(cls, rows: Rows, labels: NDArray[np.generic], count: int) -> "Targets":
        """Return the nearest rows of the same class as target neighbours; a row alone in its class has none.

        Raises:
            ValueError: if no class has two rows or there is only one class, or for fewer than one neighbour.
        """
        codes, sizes = comparable_classes(labels)
        if count < 1:
            raise ValueError(f"n_neighbors={count} must be at least 1")
        neighbors = np.full((len(rows), min(count, sizes.max() - 1)), -1, dtype=np.int64)
        for code in np.flatnonzero(sizes > 1):
            checkpoint()
            members = np.flatnonzero(codes == code)
            k = min(count, len(members) - 1)
            search = NearestNeighbors(n_neighbors=k).fit(rows[members])
            neighbors[members, :k] = members[search.kneighbors(return_distance=False)]
        return cls(neighbors, codes.astype(np.int64))

    @property
    def pairs(self) -> Items:
        """(m, 2) rows and their target neighbours."""
        anchors, places = np.nonzero(self.neighbors >= 0)
        return np.column_stack([anchors, self.neighbors[anchors, places]])


@dataclass(eq=False)
class Impostors:
    """The sum of [margin + D(i, j) - D(i, l)]_+ over target neighbours j of i and rows l of other classes, plus the
    pull times the sum of D(i, j), both divided by the number of (i, j), plus a regulariser.

    Weinberger and Saul (JMLR 2009), equation (12). The loss only evaluates active pairs (i, l): those that at the last
    check were impostors, nearer to i than the margin beyond its furthest target neighbour, or almost so. A check goes
    through the rows in blocks, so the n^2 k triplets are never listed. A pair represents its k triplets, which share
    their distances, so a step computes one distance per pair instead of two per triplet.

    Args:
        features: differences of the rows.
        targets: target neighbours.
        margin: how much further off rows of other classes should be, in squared distance.
        regularizer: term to add to the loss.
        parameters: parameters of the metric, which gradients are with respect to.
        pull: weight of the target neighbours' distances.
    """

    features: Differences
    targets: Targets
    margin: float
    regularizer: Regularizer
    parameters: Parameters
    pull: float = 0.0
    smoothing: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        self._near = self.targets.pairs
        self._keys = np.empty(0, dtype=np.int64)  # i n + l of the active pairs
        self._active = np.empty((0, 2), dtype=np.int64)

    def evaluate(self, metric: Metric) -> Evaluation:
        """Return the objective over the active pairs, with positions among their (m, k) triplets."""
        near = metric.distances(self.features, self._near)
        missing = self._missing(metric, self._reach(near), self._active).ravel()
        violated = np.flatnonzero(missing > 0)
        missing = missing[violated]
        slopes = np.minimum(missing / self.smoothing, 1.0) if self.smoothing else np.ones(len(missing))
        push = float(slopes @ (missing - slopes * self.smoothing / 2))
        return Evaluation(self._value(metric, near, push), violated, slopes / len(near))

    def recheck(self, metric: Metric) -> int:
        """Check all pairs, make those near enough active, and return the number of impostors that were not active."""
        before, reach = self._keys, self._reach(metric.distances(self.features, self._near))
        self._keys = np.concatenate(list(self._search(metric, reach + _SPARE * self.margin)))
        self._active = self._pairs(self._keys)
        keys = self._keys[self._missing(metric, reach, self._active).max(axis=1) > 0]
        return len(merged(before, keys)) - len(before)

    def gradient(self, metric: Metric, evaluation: Evaluation) -> Rows:
        """Return a subgradient with respect to the parameters.

        The gradient first sums the triplets by pair: the costs of an impostor's k triplets push the impostor, and the
        costs of a target's triplets pull the target, so the Laplacian has one edge per pair. Incremental updates of the
        Laplacian between steps would save only this sum, because its product with the rows costs the same.
        """
        neighbors = self.targets.neighbors
        pair, place = np.divmod(evaluation.violated, neighbors.shape[1])
        anchors = self._active[:, 0]
        pushes = np.bincount(pair, evaluation.costs, len(self._keys))
        pulls = np.bincount(anchors[pair] * neighbors.shape[1] + place, evaluation.costs, neighbors.size)
        pushing = pushes > 0
        pairs = np.concatenate([self._near, self._active[pushing]])
        pulled = pulls[neighbors.ravel() >= 0] + self.pull / len(self._near)
        coefficients = np.concatenate([pulled, -pushes[pushing]])
        added = self.regularizer.gradient(metric)
        return self.parameters.slope(metric, self.features, pairs, coefficients, added)

    def exact(self, metric: Metric) -> float:
        """Return the objective over all triplets, with the hinge itself."""
        near = metric.distances(self.features, self._near)
        reach = self._reach(near)
        blocks = [self._missing(metric, reach, self._pairs(keys)) for keys in self._search(metric, reach)]
        return self._value(metric, near, sum(float(np.maximum(missing, 0.0).sum()) for missing in blocks))

    def _value(self, metric: Metric, near: Values, push: float) -> float:
        return (push + self.pull * float(near.sum())) / len(near) + self.regularizer.value(metric)

    def _reach(self, near: Values) -> Rows:
        """Return the (n, k) squared distances within which other rows violate the margin; minus infinity without a
        target."""
        reach = np.full(self.targets.neighbors.shape, -np.inf)
        reach[self.targets.neighbors >= 0] = self.margin + near
        return reach

    def _missing(self, metric: Metric, reach: Rows, pairs: Items) -> Rows:
        """Return by how much pairs violate each reach, (m, k), in the order of their first rows."""
        missing: Rows = np.repeat(reach, np.bincount(pairs[:, 0], minlength=len(reach)), axis=0)
        missing -= metric.distances(self.features, pairs)[:, None]
        return missing

    def _search(self, metric: Metric, reach: Rows) -> Iterator[Items]:
        """Yield the keys of all impostors, block by block, and of a few pairs within rounding of being impostors.

        One product of float32 matrices computes how far inside its reach each row is, with a tolerance for its
        rounding.
        """
        factor = metric.factor
        if factor is None:
            raise ValueError("impostors need a positive semidefinite metric")
        embedded = self.features.embedded(factor)
        lengths, furthest = np.square(embedded).sum(axis=1), reach.max(axis=1)
        rounding = _ROUNDING * lengths.max()
        ones, classes, count = np.ones(len(embedded)), self.targets.classes, len(embedded)
        left = np.column_stack([-2 * embedded, lengths - furthest - rounding, ones]).astype(np.float32)
        right = np.column_stack([embedded, ones, lengths]).astype(np.float32)
        for part in slices(count, count, _CACHE):
            with np.errstate(invalid="ignore"):  # infinite reaches times the zeros with which BLAS pads rows
                inside = left[part] @ right.T < 0
            keys = part.start * count + np.flatnonzero(inside)
            anchors, rows = np.divmod(keys, count)
            yield keys[classes[anchors] != classes[rows]]

    def _pairs(self, keys: Items) -> Items:
        return np.column_stack(np.divmod(keys, len(self.features.rows)))
