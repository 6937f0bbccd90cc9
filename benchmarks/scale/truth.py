"""The exact nearest items, by FAISS over blocks, kept beside the data; and the recall of what an engine finds.

A hit counts if its distance to the query is at most that of the true 10th neighbour, so that equal distances count.
All distances are computed again in float64, because FAISS loses small ones in float32.
"""

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from faiss.contrib.exhaustive_search import knn_ground_truth
from numpy.typing import NDArray

from benchmarks.scale.data import BLOCK, DIM, Condition, Data, Ids, K, Vectors

_CANDIDATES = 2 * K  # rounding can exchange neighbours at nearly equal distances
_TOLERANCE = 1 + 1e-6


class State(NamedTuple):
    """How far the items have changed: so many of the order replaced, and so many behind the replaceable deleted."""

    replaced: int = 0
    deleted: int = 0


UNCHANGED = State()


class Truth:
    """The exact answers of one state, under one condition or none."""

    def __init__(self, folder: Path, state: State = UNCHANGED, only: Condition | None = None) -> None:
        """``folder`` is that of the data, which gets a file of the answers."""
        self._data, self._state, self._only = Data(folder), state, only

    @cached_property
    def _place(self) -> Ids:
        """The place of the replacement of each item; -1 for an unchanged item, -2 for one that cannot be found."""
        data, place = self._data, np.full(self._data.count, -1)
        place[data.order[: self._state.replaced]] = np.arange(self._state.replaced)
        place[data.order[data.changed : data.changed + self._state.deleted]] = -2
        place[~data.kept(self._only)] = -2
        return place

    @cached_property
    def _there(self) -> int:
        return int((self._place >= -1).sum())

    def farthest(self, view: str) -> NDArray[np.float64]:
        """Return the squared distance of every query of a view to its 10th neighbour, or its last, (1000,)."""
        if not self.is_known(view):
            np.save(self._path(view), self._farthest(self._data.queries[view]))
        distances: NDArray[np.float64] = np.load(self._path(view))
        return distances

    def is_known(self, view: str) -> bool:
        """Return whether ``farthest`` is kept."""
        return self._path(view).exists()

    def _path(self, view: str) -> Path:
        column = "all" if self._only is None else f"{self._only.column}-{self._only.below}"
        return self._data.folder / f"truth-{view}-{column}-{self._state.replaced}-{self._state.deleted}.npy"

    def recall(self, view: str, ids: Ids) -> float:
        """Return the share of the nearest that is among the ids, (m, at most 10), of the first queries; -1: none."""
        queries, sorted_ids = (
            self._data.queries[view][: len(ids)],
            np.sort(np.asarray(ids).reshape(len(ids), -1), axis=1),
        )
        valid = sorted_ids >= 0
        valid[:, 1:] &= sorted_ids[:, 1:] != sorted_ids[:, :-1]
        valid[valid] = self._place[sorted_ids[valid]] >= -1
        near = self._distances(queries, sorted_ids) <= self.farthest(view)[: len(ids), None] * _TOLERANCE
        return float((valid & near).sum() / (len(ids) * min(K, self._there)))

    def _farthest(self, queries: Vectors) -> NDArray[np.float64]:
        ids = np.flatnonzero(self._place >= -1)
        _, places = knn_ground_truth(queries, self._blocks(), min(_CANDIDATES, len(ids)))
        distances = np.sort(self._distances(queries, ids[places]), axis=1)
        return distances[:, min(K, len(ids)) - 1]

    def _blocks(self) -> Iterator[Vectors]:
        """Yield the vectors of the items that can be found, by id."""
        for first in range(0, self._data.count, BLOCK):
            ids = np.arange(first, min(first + BLOCK, self._data.count))
            if len(ids := ids[self._place[ids] >= -1]):
                yield self._vectors(ids)

    def _vectors(self, ids: Ids) -> Vectors:
        """Return the vectors of ids, (n, 64), with replacements in their place."""
        rows, place = np.asarray(self._mapped("vectors")[ids]), self._place[ids]
        rows[place >= 0] = self._mapped("replacements")[place[place >= 0]]
        return rows

    def _mapped(self, name: str) -> Vectors:
        mapped: Vectors = np.load(self._data.folder / f"{name}.npy", mmap_mode="r")
        return mapped

    def _distances(self, queries: Vectors, ids: Ids) -> NDArray[np.float64]:
        rows = self._vectors(np.maximum(ids, 0).ravel()).reshape(*ids.shape, DIM)
        difference = rows - queries[:, None].astype(np.float64)
        squared: NDArray[np.float64] = np.einsum("qkd,qkd->qk", difference, difference)
        return squared


def learn(folder: Path, state: State, only: Condition | None, view: str) -> None:
    """Compute and keep the exact answers to the queries of a view."""
    Truth(folder, state, only).farthest(view)
