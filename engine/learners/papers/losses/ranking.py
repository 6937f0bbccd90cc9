"""Risks of the distances of pairs of rows: of single constraints, or of rankings."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from crossview.engine.learners.papers.losses.constraints import Constraints
from crossview.engine.learners.papers.losses.differences import Pairs, Values


class Risk(Protocol):
    """The protocol of risks: convex, piecewise linear functions of the squared distances of some pairs."""

    @property
    def pairs(self) -> Pairs:
        """(m, 2) pairs of rows."""

    def at(self, distances: Values) -> tuple[float, Values]:
        """Return the risk, and a subgradient with respect to the (m,) distances."""


@dataclass(frozen=True, eq=False)
class HingeRisk:
    """The weighted mean of [margin + D(i, j) - D(k, l)]_+ over constraints: the loss of equation (11)."""

    pairs: Pairs
    margins: Values
    costs: Values

    @classmethod
    def of(cls, constraints: Constraints) -> "HingeRisk":
        """Return the risk of constraints."""
        pairs = np.concatenate([constraints.far, constraints.near])
        return cls(pairs, constraints.margins, constraints.weights / constraints.weights.sum())

    def at(self, distances: Values) -> tuple[float, Values]:
        """Return the risk, and a subgradient with respect to the (m,) distances."""
        far, near = np.split(distances, 2)
        missing = self.margins + near - far
        costs = np.where(missing > 0, self.costs, 0.0)
        return float(costs @ missing), np.concatenate([-costs, costs])


@dataclass(frozen=True, eq=False)
class RankingRisk:
    """The mean, over queries x, of the largest Delta(y_x, y) - <M, psi(x, y_x) - psi(x, y)> over rankings y.

    Law, Thome and Cord, "Learning a Distance Metric from Relative Comparisons between Quadruplets of Images" (IJCV
    2017), equations (16) and (17). Delta is the share of pairs of a relevant and a non-relevant result that y ranks in
    the wrong order, each times twice its margin, so that with a margin of 1/2 it is one minus the area under the ROC
    curve. The worst ranking reverses every pair that lacks its margin: the risk is a sum of hinges, 2 [margin + D -
    D']_+.

    - For quadruplets, each first pair is a query; it should be nearer than the second pairs that are listed with it.
    - For triplets, each first row is a query.
    - All pairs with an upper or a lower bound are one query: each pair with an upper bound should be nearer than each
      with a lower bound, by the difference of their bounds. Sorting computes this sum.

    The weights of constraints give the part of each kind in the risk, and of each constraint in its query.
    """

    pairs: Pairs
    margins: Values
    costs: Values
    similar: Values
    dissimilar: Values
    pair_margins: tuple[Values, Values]

    @classmethod
    def of(cls, constraints: Constraints) -> "RankingRisk":
        """Return the risk of constraints.

        Raises:
            ValueError: for pairs that are all similar or all dissimilar, which rank nothing.
        """
        nothing_far, nothing_near = (pairs[:, 0] == pairs[:, 1] for pairs in (constraints.far, constraints.near))
        near, far = nothing_far & ~nothing_near, nothing_near & ~nothing_far
        ordered = ~(nothing_far | nothing_near)
        # The loss only ranks similar pairs before dissimilar ones, so one kind alone has no loss.
        if near.any() != far.any():
            raise ValueError("a structural loss ranks similar pairs before dissimilar ones: give pairs of both kinds")
        weights = constraints.weights
        total = float(weights[ordered].sum() + weights[near | far].sum())
        if not total:
            raise ValueError("constraints of a structural loss must compare different rows")
        similar, dissimilar = (weights[kind] / (weights[kind].sum() or 1.0) for kind in (near, far))
        return cls(
            pairs=np.concatenate(
                [constraints.far[ordered], constraints.near[ordered], constraints.near[near], constraints.far[far]]
            ),
            margins=constraints.margins[ordered],
            costs=_shares(constraints.take(np.flatnonzero(ordered))) / total if ordered.any() else np.empty(0),
            similar=similar * (weights[near | far].sum() / total),
            dissimilar=dissimilar,
            pair_margins=(-constraints.margins[near], constraints.margins[far]),
        )

    def at(self, distances: Values) -> tuple[float, Values]:
        """Return the risk, and a subgradient with respect to the (m,) distances."""
        count = len(self.margins)
        slopes = np.zeros(len(distances))
        missing = self.margins + distances[count : 2 * count] - distances[:count]
        costs = np.where(missing > 0, 2 * self.costs, 0.0)
        value = float(costs @ missing)
        slopes[:count], slopes[count : 2 * count] = -costs, costs
        if len(self.similar):
            split = 2 * count + len(self.similar)
            lower, upper = distances[2 * count : split] - self.pair_margins[0], distances[split:] - self.pair_margins[1]
            value += self._between(lower, upper, slopes[2 * count : split], slopes[split:])
        return value, slopes

    def _between(self, lower: Values, upper: Values, lower_slopes: Values, upper_slopes: Values) -> float:
        """Return the sum over all s, d of 2 c_s c_d [lower_s - upper_d]_+, and write its slopes into the given
        arrays."""
        # In sorted order, the pairs d that s violates are a run: sums over all s, d cost a sort instead of a product.
        order_upper, order_lower = np.argsort(upper), np.argsort(lower)
        below = np.searchsorted(upper[order_upper], lower, "left")
        above = len(lower) - np.searchsorted(lower[order_lower], upper, "right")
        lower_slopes[:] = 2 * self.similar * _running(self.dissimilar[order_upper])[below]
        upper_slopes[:] = -2 * self.dissimilar * _running(self.similar[order_lower][::-1])[above]
        return float(lower_slopes @ lower + upper_slopes @ upper)


def _running(values: Values) -> Values:
    return np.concatenate([[0.0], np.cumsum(values)])


def _shares(constraints: Constraints) -> NDArray[np.float64]:
    """Return (n,) costs with the sum of the weights, equal in total for every query of equal weights."""
    near, far, weights = constraints.near, constraints.far, constraints.weights
    anchored = near[:, 0] == far[:, 0]
    keys = np.column_stack([near[:, 0], np.where(anchored, -1, near[:, 1])])
    _, queries = np.unique(keys, axis=0, return_inverse=True)
    queries = queries.ravel()
    totals, counts = np.bincount(queries, weights), np.bincount(queries)
    share = weights / counts[queries]  # weight divided by the number of constraints of the query
    return np.asarray(share * (totals.sum() / share.sum()))
