"""Sketches of raw rows: short codes by which a search finds the near copies of a query among the rows of a view."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from crossview.engine.spaces.pipeline import Part
from crossview.engine.spaces.target import SKETCH, Target

Rows = NDArray[np.float32]
BITS = 256
_CHANCE = 0.005
"""Mean number of rows within reach of a row that has no copy."""
_WIDE = 10
"""Ratio of the two shares of pairs between whose distances the intrinsic dimension is measured."""
_MOST_ROWS, _MOST_QUERIES = 10_000, 500
"""Maximum number of rows, and of rows whose nearest neighbours are measured, from which the reach is estimated."""
_SPARE_BITS = 4
"""Bits that may differ beyond the mean number, by chance or because sums in another order differ in the last digit."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Sketch:
    """The sketches of the rows of one view, and the distance up to which two rows are near copies.

    Rows are compared as points: signed square roots of the values, so that few large values do not outweigh all others,
    minus their mean, with a mean square length of 1 in each part of a joined view. A code has one bit for each of
    ``BITS`` random hyperplanes through the origin. Two points at angle t differ in a mean share of t / pi of the bits
    (Charikar, STOC 2002).
    """

    view: str
    center: Rows
    """Mean of the roots, (d,)."""
    scale: Rows
    """Divisor of each centred root, (d,)."""
    signs: NDArray[np.uint8]
    """Signs of the normals of the hyperplanes, (d, BITS / 8), packed."""
    reach: float
    """The largest distance between the points of near copies."""
    robust: bool
    """Whether rows hardly differ between a picture and a changed copy, so that queries of other views look here too."""

    @staticmethod
    def drawn(count: int, seed: int) -> NDArray[np.intp]:
        """Return the positions of the rows that a sketch of ``count`` rows learns from, ascending."""
        return np.sort(np.random.default_rng(seed).permutation(count)[:_MOST_ROWS])

    @classmethod
    def fit(cls, view: str, rows: Rows, count: int, parts: Sequence[Part], seed: int) -> Self:
        """Return the sketch for a view with these parts, by the rows ``drawn`` with the seed, (n, d) with n > 0, from
        all ``count`` rows."""
        widths = [part.width for part in parts]
        rng = np.random.default_rng(seed)
        rng.permutation(count)  # the draw of the rows
        some = _roots(rows)
        center = some.mean(axis=0)
        ends = np.cumsum(widths)[:-1]
        lengths = [np.sqrt((part**2).sum(axis=1).mean()) for part in np.split(some - center, ends, axis=1)]
        scale = np.repeat(np.array([length or 1.0 for length in lengths], np.float32), widths)
        signs = rng.integers(0, 256, (rows.shape[1], BITS // 8), dtype=np.uint8)
        reach = _reach((some - center) / scale, count, rng)
        robust = len(parts) == 1 and parts[0].robust
        return cls(view=view, center=center, scale=scale, signs=signs, reach=reach, robust=robust)

    @cached_property
    def target(self) -> Target:
        """The hidden target whose index holds the codes of the view's items."""
        return Target(view=self.view, name=SKETCH, dim=BITS, codes=True)

    @cached_property
    def _normals(self) -> Rows:
        return np.unpackbits(self.signs, axis=1).astype(np.float32) * 2 - 1

    def points(self, rows: Rows) -> Rows:
        """Return the points of rows of the view, both (n, d)."""
        return (_roots(rows) - self.center) / self.scale

    def codes(self, points: Rows) -> NDArray[np.uint8]:
        """Return the codes of points, (n, d), packed: (n, BITS / 8)."""
        return np.packbits(points @ self._normals > 0, axis=1)

    def radii(self, points: Rows) -> NDArray[np.float64]:
        """Return for each point, (n, d), the number of bits in which nearly all codes of near copies differ at most."""
        lengths = np.sqrt((points.astype(np.float64) ** 2).sum(axis=1))
        shares = np.arcsin(np.minimum(self.reach / np.maximum(lengths, self.reach or 1.0), 1)) / np.pi
        return np.asarray(BITS * shares + _SPARE_BITS)


def _roots(rows: Rows) -> Rows:
    return np.sign(rows) * np.sqrt(np.abs(rows))


def _reach(points: Rows, count: int, rng: np.random.Generator) -> float:
    """Return the distance within which a row without copies has ``_CHANCE`` rows on average, out of ``count``.

    This is the ``_CHANCE`` quantile of the distances to the nearest row. If the collection contains copies, that is the
    distance of copies; then the law of distances decides: the share of pairs within distance r grows as r to the power
    of the intrinsic dimension (Grassberger and Procaccia, Physica D 9, 1983). Copies hardly change the shares from
    which the dimension is measured, because an item has few copies.
    """
    places = rng.permutation(len(points))[:_MOST_QUERIES]
    lengths = (points**2).sum(axis=1)
    squares = lengths[places, None] + lengths - 2 * points[places] @ points.T
    squares[np.arange(len(places)), places] = np.inf
    distances = np.sqrt(np.maximum(squares, 0))
    pairs = distances[np.isfinite(distances)]
    if not len(pairs):
        return 0.0
    near = min(max(_CHANCE, 2 / len(points)), 1 / _WIDE)
    low, high = np.quantile(pairs, [near, min(_WIDE * near, 1)])
    if not 0 < low < high:
        return 0.0
    dimension = np.log(_WIDE) / np.log(high / low)
    by_law = low * (_CHANCE / count / near) ** (1 / dimension)
    nearest = np.quantile(distances.min(axis=1), _CHANCE) * (len(points) / count) ** (1 / dimension)
    return float(nearest if nearest >= by_law / 2 else by_law)
