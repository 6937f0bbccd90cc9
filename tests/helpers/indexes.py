"""The kinds of index, and vectors for any of them."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossview.index.base import Index
from crossview.index.registry import KINDS
from crossview.index.reranked import RerankedIndex, with_floats


class Reranked(RerankedIndex):
    """Re-ranks everything, by as many floats as a code has bits: then it is exact, and keeps all promises."""

    def __init__(self, dim: int) -> None:
        super().__init__(dim, dim, 1000)


Kind = Callable[[int], Index]

PLAIN: list[Kind] = [kind for kind in KINDS.values() if kind is not RerankedIndex]
FLOAT = [kind for kind in PLAIN if kind(8).get([]).dtype == np.float32]
BINARY = [kind for kind in PLAIN if kind not in FLOAT]
INDEXES: list[Kind] = [*FLOAT, *BINARY, Reranked]
"""Every kind of the registry, so that a new one keeps the promises of all."""


def vectors_of(kind: Kind, bits: NDArray[Any]) -> NDArray[Any]:
    """Return vectors for an index from rows of zeros and ones."""
    return rows_of(kind, np.packbits(bits, axis=1), np.asarray(bits, np.float32))


def rows_of(kind: Kind, codes: NDArray[np.uint8], floats: NDArray[np.float32]) -> NDArray[Any]:
    """Return the rows of an index: codes, and the floats that they stand for."""
    return with_floats(codes, floats) if kind is Reranked else codes if kind in BINARY else floats


def filled(kind: Kind, count: int = 50, dim: int = 20, seed: int = 0) -> tuple[Index, NDArray[np.int64], NDArray[Any]]:
    """Return an index of random vectors, all different, under random ids; the ids, and the vectors."""
    rng = np.random.default_rng(seed)
    ids = rng.permutation(10 * count)[:count].astype(np.int64)
    floats = rng.normal(size=(count, dim)).astype(np.float32)
    vectors = rows_of(kind, np.packbits(floats > 0, axis=1), floats)
    assert len(np.unique(vectors, axis=0)) == count
    return kind(dim).changed([], ids, vectors), ids, vectors
