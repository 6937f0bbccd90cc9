"""Constraints on distances: D(k, l) >= D(i, j) + margin."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crossview.engine.learners.frame.comparisons import AnyComparisons, Comparisons
from crossview.engine.learners.frame.settings import Weight

Indices = NDArray[np.int64]
Values = NDArray[np.float64]


@dataclass(frozen=True)
class Bounds:
    """The bounds that constraints set on squared distances.

    Attributes:
        margin: of triplets and quadruplets, in squared distance.
        upper: largest squared distance of similar pairs.
        lower: smallest squared distance of dissimilar pairs.
    """

    margin: Weight = 1.0
    upper: Weight = 0.5
    lower: Weight = 1.5

    def of_validation(self) -> "Bounds":
        """Return the bounds of validation constraints: an order without a margin, and one threshold for all pairs.

        Margins help to learn. The question at a check is only whether the order is right.
        """
        middle = (self.upper + self.lower) / 2
        return Bounds(0.0, middle, middle)


@dataclass(frozen=True)
class Constraints:
    """n constraints D(k, l) >= D(i, j) + margin on the squared distances of rows given by their positions.

    Law, Thome and Cord (CVPR 2014), equation (8). D is any function of a pair of rows that the pair features define, so
    constraints also apply to scores other than distances.

    Attributes:
        near: (n, 2) int64, the pairs (i, j).
        far: (n, 2) int64, the pairs (k, l).
        margins: (n,) float64; with a negative margin, D(i, j) may be larger.
        weights: (n,) float64, not negative, the costs of violations.

    Raises:
        ValueError: for no constraints, arrays whose sizes disagree, positions that are negative or not whole numbers,
            margins or weights that are not finite, or weights that are negative or all zero.
    """

    near: Indices
    far: Indices
    margins: Values
    weights: Values

    def __post_init__(self) -> None:
        if self.near.ndim != 2 or self.near.shape[1] != 2 or self.far.shape != self.near.shape:
            raise ValueError(f"pairs have shapes {self.near.shape} and {self.far.shape}; both must be (n, 2)")
        count = len(self.near)
        if count == 0:
            raise ValueError("there are no constraints to learn from; give at least one")
        for name, values in (("margins", self.margins), ("weights", self.weights)):
            if values.shape != (count,):
                raise ValueError(f"{name} have shape {values.shape}, but there are {count} constraints")
            if not np.isfinite(values).all():
                raise ValueError(f"{name} must be finite, without NaN")
        if self.weights.min() < 0 or self.weights.max() == 0:
            raise ValueError("weights must not be negative, nor all zero")
        if min(self.near.min(), self.far.min()) < 0:
            raise ValueError("constraints name rows by position from 0; a negative one was given")

    def __len__(self) -> int:
        return len(self.near)

    def take(self, which: Indices) -> "Constraints":
        """Return the constraints at some positions."""
        return Constraints(**{name: values[which] for name, values in vars(self).items()})


def quadruplets(items: ArrayLike, margin: ArrayLike = 1.0, weight: ArrayLike = 1.0) -> Constraints:
    """Return D(k, l) >= D(i, j) + margin for quadruplets (i, j, k, l).

    Args:
        items: (n, 4) positions of rows.
        margin: one for all, or (n,).
        weight: one for all, or (n,).

    Raises:
        ValueError: as :class:`Constraints`.
    """
    array = _positions(items, 4)
    return Constraints(array[:, :2], array[:, 2:], _each(margin, len(array), "margins"), _each(weight, len(array)))


def triplets(items: ArrayLike, margin: ArrayLike = 1.0, weight: ArrayLike = 1.0) -> Constraints:
    """Return D(i, k) >= D(i, j) + margin for triplets (i, j, k); arguments and errors as for ``quadruplets``."""
    return quadruplets(_positions(items, 3)[:, [0, 1, 0, 2]], margin, weight)


def pairs(
    items: ArrayLike, similar: ArrayLike, upper: float = 0.5, lower: float = 1.5, weight: ArrayLike = 1.0
) -> Constraints:
    """Return D(i, j) <= upper for similar pairs and D(i, j) >= lower for the others.

    As in the paper, a pair whose difference is zero replaces the missing side, so a similar pair is (i, j, i, i) with
    margin -upper and a dissimilar one (i, i, i, j) with margin lower.

    Args:
        items: (n, 2) positions of rows.
        similar: (n,), positive or True for similar pairs, so 1 and -1, and 1 and 0, are both valid.
        upper: largest squared distance of similar pairs.
        lower: smallest squared distance of dissimilar pairs, not below ``upper``.
        weight: one for all, or (n,).

    Raises:
        ValueError: as :class:`Constraints`, or for bounds that contradict each other or are negative.
    """
    if not 0 <= upper <= lower < np.inf:
        raise ValueError(f"upper={upper} and lower={lower} must satisfy 0 <= upper <= lower")
    array = _positions(items, 2)
    alike = _each(similar, len(array), "similar") > 0
    same = array[:, [0, 0]]  # its distance is 0 under every metric
    return Constraints(
        np.where(alike[:, None], array, same),
        np.where(alike[:, None], same, array),
        np.where(alike, -float(upper), float(lower)),
        _each(weight, len(array)),
    )


def joined(sets: Sequence[Constraints]) -> Constraints:
    """Return the constraints of several sets; each keeps its weights, so pairs and quadruplets can weigh differently.

    Raises:
        ValueError: if there are no sets.
    """
    if not sets:
        raise ValueError("there are no constraints to learn from; give at least one set")
    return Constraints(**{name: np.concatenate([getattr(part, name) for part in sets]) for name in vars(sets[0])})


def constrained(
    items: NDArray[np.int64],
    similar: ArrayLike | None,
    margin: ArrayLike,
    upper: float,
    lower: float,
    weight: ArrayLike = 1.0,
) -> Constraints:
    """Return the constraints of tuples of positions: pairs, triplets or quadruplets, by the size of a tuple.

    Args:
        items: (n, t) positions.
        similar: (n,) for pairs, 1 for similar and -1 for dissimilar; unused for other tuples.
        margin: margin of triplets and quadruplets, one for all or (n,).
        upper: largest squared distance of similar pairs.
        lower: smallest squared distance of dissimilar pairs.
        weight: cost of a violation, one for all or (n,).

    Raises:
        ValueError: for another t, or pairs without ``similar``.
    """
    size = items.shape[1]
    if size == 2:
        if similar is None:
            raise ValueError("pairs need y: 1 for similar pairs, -1 for dissimilar ones")
        return pairs(items, similar, upper, lower, weight)
    if size == 3:
        return triplets(items, margin, weight)
    if size == 4:
        return quadruplets(items, margin, weight)
    raise ValueError(f"tuples are pairs, triplets or quadruplets, not of {size} rows")


def constraints_of(comparisons: AnyComparisons, margin: float, upper: float, lower: float) -> Constraints:
    """Return the constraints of comparisons of all kinds; other arguments and errors are those of ``constrained``.

    Margins and weights of the comparisons themselves take precedence.
    """
    sets = [part for part in comparisons.sets if len(part)]  # a split of a mixture can leave a kind empty
    return joined([_of_one_kind(part, margin, upper, lower) for part in sets])


def _of_one_kind(comparisons: Comparisons, margin: float, upper: float, lower: float) -> Constraints:
    margins = margin if comparisons.margins is None else comparisons.margins
    weights = 1.0 if comparisons.weights is None else comparisons.weights
    return constrained(comparisons.items, comparisons.similar, margins, upper, lower, weights)


def _positions(items: ArrayLike, size: int) -> Indices:
    array = np.asarray(items)
    if array.ndim != 2 or array.shape[1] != size:
        raise ValueError(f"tuples of {size} rows have shape (n, {size}), not {array.shape}")
    integers = np.issubdtype(array.dtype, np.integer) or (
        np.issubdtype(array.dtype, np.floating) and (np.isfinite(array).all() and (array % 1 == 0).all())
    )
    if array.size and not integers:
        raise ValueError("constraints name rows by position, so they must be whole numbers, without NaN")
    return array.astype(np.int64)


def _each(value: ArrayLike, count: int, name: str = "weights") -> Values:
    array = np.asarray(value, dtype=np.float64)
    if array.ndim and array.shape != (count,):
        raise ValueError(f"{name} have shape {array.shape}, but there are {count} constraints")
    if np.isnan(array).any():
        raise ValueError(f"{name} must be finite, without NaN")
    return np.broadcast_to(array, (count,)).copy()  # a broadcast array is read-only, and its entries are one number
