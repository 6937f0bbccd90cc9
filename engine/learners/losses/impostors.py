"""The loss of large margin nearest neighbours, evaluated on the impostors among all pairs of rows."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors

from crossview.engine.learners.losses.differences import Differences, Values
from crossview.engine.learners.losses.objective import Evaluation, merged
from crossview.engine.learners.losses.parameters import Metric, Parameters
from crossview.engine.learners.losses.regularizer import Regularizer
from crossview.engine.learners.supervision import comparable_classes
from crossview.engine.learners.view_rows import Rows, slices
from crossview.engine.runtime.cancellation import checkpoint

Items = NDArray[np.int64]

_SPARE = 0.2  # of the margin, beyond which no pair becomes an impostor before the next check, or hardly any
_CACHE = 1 << 19  # squared distances at a time
_ROUNDING = 16 * float(np.finfo(np.float32).eps)  # of the largest squared length


@dataclass(frozen=True)
class Targets:
    """The target neighbours of rows, and the classes whose other rows should be further off.

    Attributes:
        neighbors: (n, k) int64 positions of the target neighbours of each row, -1 where there are fewer.
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
            found = min(count, len(members) - 1)
            search = NearestNeighbors(n_neighbors=found).fit(rows[members])
            neighbors[members, :found] = members[search.kneighbors(return_distance=False)]
        return cls(neighbors, codes.astype(np.int64))

    @property
    def pairs(self) -> Items:
        """(m, 2) rows and their target neighbours."""
        anchors, places = np.nonzero(self.neighbors >= 0)
        return np.column_stack([anchors, self.neighbors[anchors, places]])


@dataclass(eq=False)
class Impostors:
    """sum of [margin + D(i, j) - D(i, l)]_+ over target neighbours j of i and rows l of other classes, and of the pull
    times D(i, j), both divided by the number of (i, j); and a regulariser.

    Weinberger and Saul (JMLR 2009), equation (12). Of all (i, l) only those are looked at that were impostors, nearer
    to i than margin beyond its furthest target neighbour, at the last check, or nearly so: far more were so once, on
    the way. A check goes through the rows in blocks, so n^2 k triplets are never listed. A pair stands for its k
    triplets, which share their distances, so a step costs a distance a pair and not two a triplet.

    Args:
        features: the rows.
        targets: what is to be near.
        margin: by how much others are to be further off, in squared distance.
        regularizer: what to add.
        parameters: what to differentiate with respect to.
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
        """Return the objective over the active pairs; its positions are in their (m, k) triplets."""
        near = metric.distances(self.features, self._near)
        missing = self._missing(metric, self._reach(near), self._active).ravel()
        violated = np.flatnonzero(missing > 0)
        missing = missing[violated]
        slopes = np.minimum(missing / self.smoothing, 1.0) if self.smoothing else np.ones(len(missing))
        push = float(slopes @ (missing - slopes * self.smoothing / 2))
        return Evaluation(self._value(metric, near, push), violated, slopes / len(near))

    def recheck(self, metric: Metric) -> int:
        """Check all pairs, make those near enough active, and return how many impostors were not."""
        known, reach = self._keys, self._reach(metric.distances(self.features, self._near))
        self._keys = np.concatenate(list(self._search(metric, reach + _SPARE * self.margin)))
        self._active = self._pairs(self._keys)
        found = self._keys[self._missing(metric, reach, self._active).max(axis=1) > 0]
        return len(merged(known, found)) - len(known)

    def gradient(self, metric: Metric, evaluation: Evaluation) -> Rows:
        """Return a subgradient with respect to the parameters.

        Triplets are first summed up by pair: what an impostor's k triplets cost pushes it, and what a target's triplets
        cost pulls that, so the Laplacian has an edge a pair. Keeping it between steps and changing only what entered or
        left would save only this sum: its product with the rows costs the same.
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
        found = [self._missing(metric, reach, self._pairs(keys)) for keys in self._search(metric, reach)]
        return self._value(metric, near, sum(float(np.maximum(missing, 0.0).sum()) for missing in found))

    def _value(self, metric: Metric, near: Values, push: float) -> float:
        return (push + self.pull * float(near.sum())) / len(near) + self.regularizer.value(metric)

    def _reach(self, near: Values) -> Rows:
        """Return the (n, k) squared distances within which others violate; minus infinity where there is no target."""
        reach = np.full(self.targets.neighbors.shape, -np.inf)
        reach[self.targets.neighbors >= 0] = self.margin + near
        return reach

    def _missing(self, metric: Metric, reach: Rows, pairs: Items) -> Rows:
        """Return by how much pairs are too near, (m, k), in the order of their first rows."""
        missing: Rows = np.repeat(reach, np.bincount(pairs[:, 0], minlength=len(reach)), axis=0)
        missing -= metric.distances(self.features, pairs)[:, None]
        return missing

    def _search(self, metric: Metric, reach: Rows) -> Iterator[Items]:
        """Yield the keys of all impostors, block by block, and of a few pairs within rounding of being impostors.

        One product of float32 matrices finds how far inside its reach each row is; pairs that its rounding might hide
        are included.
        """
        factor = metric.factor
        assert factor is not None, "impostors are those of a positive semidefinite metric"  # noqa: S101
        embedded = self.features.embedded(factor)
        lengths, furthest = np.square(embedded).sum(axis=1), reach.max(axis=1)
        rounding = _ROUNDING * lengths.max()
        ones, classes, count = np.ones(len(embedded)), self.targets.classes, len(embedded)
        left = np.column_stack([-2 * embedded, lengths - furthest - rounding, ones]).astype(np.float32)
        right = np.column_stack([embedded, ones, lengths]).astype(np.float32)
        for part in slices(count, count, _CACHE):
            with np.errstate(invalid="ignore"):  # few infinite reaches times the zeros that BLAS pads rows with
                inside = left[part] @ right.T < 0
            keys = part.start * count + np.flatnonzero(inside)
            anchors, others = np.divmod(keys, count)
            yield keys[classes[anchors] != classes[others]]

    def _pairs(self, keys: Items) -> Items:
        return np.column_stack(np.divmod(keys, len(self.features.rows)))
