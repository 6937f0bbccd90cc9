"""Quadruplets of linear scores, summed by sorting: every difference of one list with every difference of another.

The constraint that s(k) - s(l) exceeds s(i) - s(j) by a margin, for all (i, j) of one list and all (k, l) of another,
is a sum over two lists of differences. Sorting turns the loss of each difference into spans of the other list, so that
p x q quadruplets take the time and memory of p + q, as pairs of rows do
(:mod:`engine.learners.papers.attributes.ordering`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crossview.engine.learners.papers.solvers.newton import Newton

Values = NDArray[np.float64]
Places = NDArray[np.intp]
_H = Newton().h  # half the width of the Huber loss's quadratic part


@dataclass(frozen=True, kw_only=True, eq=False)
class Crossing:
    """Constraints s(k) - s(l) >= s(i) - s(j) + margin for all (i, j) in ``near`` and all (k, l) in ``far``.

    Attributes:
        near: (p, 2) rows (i, j); the same row twice if the constraint only orders k and l.
        far: (q, 2) rows (k, l).
        weights: (q,) weight of each of the p constraints of a far pair.
        margin: margin of all constraints.
    """

    near: Places
    far: Places
    weights: Values
    margin: float

    @property
    def count(self) -> float:
        """The number of constraints, multiplied by their weights."""
        return len(self.near) * float(self.weights.sum())

    @property
    def start(self) -> float:
        """The excess from which on a constraint has no loss; see ``VectorProblem``."""
        return self.margin + _H if self.margin > 0 else self.margin


@dataclass(frozen=True, kw_only=True, eq=False)
class LocalCrossing:
    """The Huber loss of one crossing near given scores, where it is a quadratic form.

    Attributes:
        value: the loss.
        near_slopes: (p,) its derivatives with respect to the near differences.
        far_slopes: (q,) its derivatives with respect to the far differences.
        order: (q,) the far differences, sorted.
        spans: (2, p) first and last place in ``order`` of the far differences in the quadratic part, for each near
            difference.
    """

    value: float
    near_slopes: Values
    far_slopes: Values
    order: Places
    spans: Places

    @classmethod
    def of(cls, crossing: Crossing, scores: Values) -> "LocalCrossing":
        """Return the loss near (n,) scores."""
        reach, far = crossing.start + _differences(crossing.near, scores), _differences(crossing.far, scores)
        order = np.argsort(far)
        far, weights = far[order], crossing.weights[order]
        spans = np.array([np.searchsorted(far, reach - 2 * _H), np.searchsorted(far, reach)])
        (of_linear, of_quadratic), (sums, more), (_, squares) = (
            _linear_and_quadratic(weights * power, spans) for power in (np.ones(len(far)), far, np.square(far))
        )
        quadratic = of_quadratic * np.square(reach) - 2 * reach * more + squares
        value = of_linear * (reach - _H) - sums + quadratic / (4 * _H)
        far_slopes = np.empty(len(far))
        counts, reaches = (_over_spans(values, spans, len(far)) for values in (np.ones(len(reach)), reach))
        linear = len(reach) - np.cumsum(np.bincount(spans[0], minlength=len(far) + 1))[:-1]
        far_slopes[order] = -weights * (linear + (reaches - counts * far) / (2 * _H))
        return cls(
            value=float(value.sum()),
            near_slopes=of_linear + (of_quadratic * reach - more) / (2 * _H),
            far_slopes=far_slopes,
            order=order,
            spans=spans,
        )

    def bent(self, crossing: Crossing, near: Values, far: Values) -> tuple[Values, Values]:
        """Return the products, (p,) and (q,), of half the Hessian with changes of the near and the far differences."""
        changes, weights = far[self.order], crossing.weights[self.order]
        (_, of_quadratic), (_, sums) = (_linear_and_quadratic(w, self.spans) for w in (weights, weights * changes))
        counts, nears = (_over_spans(part, self.spans, len(far)) for part in (np.ones(len(near)), near))
        of_far = np.empty(len(far))
        of_far[self.order] = weights * (counts * changes - nears)
        return (of_quadratic * near - sums) / (4 * _H), of_far / (4 * _H)


@dataclass(frozen=True, kw_only=True, eq=False)
class LocalCrossings:
    """The loss of several crossings near given scores.

    Attributes:
        value: the loss.
        slope: (n,) its gradient with respect to the scores.
        parts: each crossing, and its loss.
    """

    value: float
    slope: Values
    parts: Sequence[tuple[Crossing, LocalCrossing]]

    def laplacian(self, values: Values) -> Values:
        """Return the (n,) product with half of the Hessian."""
        product = np.zeros(len(values))
        for crossing, local in self.parts:
            near, far = local.bent(crossing, _differences(crossing.near, values), _differences(crossing.far, values))
            product += _spread(crossing, near, far, len(values))
        return product


@dataclass(frozen=True, eq=False)
class Crossings:
    """The sum of the Huber losses (:class:`~engine.learners.papers.solvers.newton.VectorProblem`) of all constraints.

    Attributes:
        parts: crossings, at least one.
    """

    parts: Sequence[Crossing]

    @property
    def count(self) -> float:
        """The number of constraints, multiplied by their weights."""
        return sum(part.count for part in self.parts)

    def around(self, scores: Values) -> LocalCrossings:
        """Return the loss near (n,) scores."""
        parts = [(part, LocalCrossing.of(part, scores)) for part in self.parts]
        slope = sum(
            (_spread(part, local.near_slopes, local.far_slopes, len(scores)) for part, local in parts), np.zeros(1)
        )
        return LocalCrossings(value=sum(local.value for _, local in parts), slope=slope, parts=parts)


def _differences(pairs: Places, values: Values) -> Values:
    return np.asarray(values[pairs[:, 0]] - values[pairs[:, 1]])


def _spread(crossing: Crossing, near: Values, far: Values, count: int) -> Values:
    """Return the (n,) sums over differences; each adds to its first row and subtracts from its second."""
    rows = np.concatenate([crossing.near, crossing.far])
    along = np.concatenate([near, far])
    return np.asarray(np.bincount(rows[:, 0], along, count) - np.bincount(rows[:, 1], along, count))


def _linear_and_quadratic(values: Values, spans: Places) -> tuple[Values, Values]:
    """Return the sums of sorted values before each span, and within it, (p,) each."""
    running = np.concatenate([[0.0], np.cumsum(values)])
    return running[spans[0]], running[spans[1]] - running[spans[0]]


def _over_spans(values: Values, spans: Places, count: int) -> Values:
    """Return, for each of the sorted differences, the sum of the values whose spans contain it, (q,)."""
    starts, ends = (np.bincount(places, values, count + 1) for places in spans)
    return np.asarray(np.cumsum(starts - ends)[:-1])
