"""The stored and searched data: vectors in clusters, two labels and a number for each, and queries of the same kind."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crossview.features.base import FeatureRows

DIM, CLASSES, SPREAD = 50, 1_000, 0.5
VIEW, K = "v", 10
SHARES: Mapping[str, float] = {"0.01": 1e-4, "0.1": 1e-3, "1": 1e-2, "10": 1e-1}
"""Per cent of the items that have the first label of that name; the rest have "rest"."""
SECOND: Mapping[str, float] = {"half": 0.5, "rare": 0.01}
"""Shares of the second label; the others have "common"."""
KEPT = (*SHARES, "50", "99")
"""Per cent of the items that the filters keep."""


@dataclass(frozen=True)
class Data:
    """Vectors of shape (n, 50) and queries of shape (m, 50), float32, and two labels of every vector, each (n,)."""

    vectors: FeatureRows
    queries: FeatureRows
    first: NDArray[np.str_]
    second: NDArray[np.str_]

    def kept(self, percent: str) -> NDArray[np.int64]:
        """Return the positions of the items that the filter of such a share keeps, ascending."""
        if percent == "50":
            return np.flatnonzero(self.second == "half")
        return np.flatnonzero(self.second != "rare" if percent == "99" else self.first == percent)


def draw(count: int, queries: int, seed: int) -> Data:
    """Return data of a seed; the class centres are the same for every seed."""
    generator = np.random.default_rng(seed)
    centers = np.random.default_rng(0).standard_normal((CLASSES, DIM), np.float32)

    def rows(size: int) -> FeatureRows:
        noise = generator.standard_normal((size, DIM), np.float32)
        return np.asarray(centers[generator.integers(CLASSES, size=size)] + np.float32(SPREAD) * noise)

    first, second = (_labels(count, *shares, generator) for shares in ((SHARES, "rest"), (SECOND, "common")))
    return Data(rows(count), rows(queries), first, second)


def keys(first: int, last: int) -> list[str]:
    """Return the keys of the items at these positions."""
    return [f"{number:08d}" for number in range(first, last)]


def _labels(count: int, shares: Mapping[str, float], default: str, generator: np.random.Generator) -> NDArray[np.str_]:
    """Return names for items, at least one item for each; so many have a name as its share says, up to rounding."""
    names = np.full(count, default, dtype="<U8")
    order, start = generator.permutation(count), 0
    for name, share in shares.items():
        size = max(1, round(share * count))
        names[order[start : start + size]] = name
        start += size
    return names
