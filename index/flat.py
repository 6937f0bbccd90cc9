"""Exact search by FAISS: a flat L2 index under an id map."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import faiss
import numpy as np
from numpy.typing import ArrayLike, NDArray

from index.base import Ids, Neighbors, Vectors, check_ids, check_k, check_vectors, in_order
from index.snapshot import SnapshotError, read_snapshot, write_snapshot

_KIND = "flat-l2"
_CORES = faiss.omp_get_max_threads()
_PARALLEL_WORK = 1 << 26
"""Multiplications below which a search stays on its own thread: starting and joining a team costs more, above all
where the cores are busy."""
_REFINE_FLOATS = 1 << 24
"""Vector components gathered at once when distances are recomputed (64 MiB)."""


class FlatIndex:
    """An ``Index`` over ``IDMap2,Flat``.

    FAISS ranks by squared distances that it expands as |q|^2 - 2qx + |x|^2 in float32, which loses the small ones;
    the distances of what it found are therefore computed again from the vectors.
    """

    def __init__(self, dim: int) -> None:
        self._index = faiss.IndexIDMap2(faiss.IndexFlatL2(dim))

    @property
    def dim(self) -> int:
        """Dimension of the vectors."""
        return int(self._index.d)

    def __len__(self) -> int:
        return int(self._index.ntotal)

    def ids(self) -> Ids:
        """Return the ids that are present, ascending."""
        return np.sort(self._stored_ids())

    def add(self, ids: ArrayLike, vectors: ArrayLike) -> None:
        """Add vectors, shape (n, dim), under new ids, shape (n,)."""
        new = check_ids(ids)
        rows = check_vectors(vectors, self.dim, len(new))
        if (present := np.intersect1d(new, self._stored_ids())).size:
            raise ValueError(f"id {present[0]} is already present")
        if len(new):
            self._index.add_with_ids(rows, new)

    def remove(self, ids: ArrayLike) -> int:
        """Remove ids, ignoring absent ones; return how many were present."""
        gone = check_ids(ids)
        return int(self._index.remove_ids(gone)) if len(gone) and len(self) else 0

    def search(self, vectors: ArrayLike, k: int, only: ArrayLike | None = None) -> Neighbors:
        """Return the k nearest of each query among the ids in ``only`` where given."""
        k = check_k(k)
        queries = check_vectors(vectors, self.dim)
        ids = np.full((len(queries), k), -1, np.int64)
        reachable = min(k, len(self))
        if reachable and len(queries):
            parameters = None
            if only is not None:
                parameters = faiss.SearchParameters(sel=faiss.IDSelectorBatch(check_ids(only)))
            self._use_threads(len(queries))
            ids[:, :reachable] = self._index.search(queries, reachable, params=parameters)[1]
        return in_order(ids, self._true_distances(queries, ids))

    def range(self, vectors: ArrayLike, radius: float) -> list[Neighbors]:
        """Return, for each query, all vectors at distance <= radius."""
        queries = check_vectors(vectors, self.dim)
        if not len(self) or not len(queries) or radius < 0:
            return [Neighbors(np.empty((1, 0), np.int64), np.empty((1, 0), np.float32))] * len(queries)
        # FAISS compares strictly, in squares, and with rounding of the expanded form: ask for a little more.
        self._use_threads(len(queries))
        slack = 1e-5 * (float(np.square(queries).sum(axis=1).max()) + radius**2 + 1e-30)
        limits, _, found = self._index.range_search(queries, radius**2 + slack)
        answers = []
        for number, query in enumerate(queries):
            ids = found[limits[number] : limits[number + 1]][None].astype(np.int64)
            near = in_order(ids, self._true_distances(query[None], ids))
            inside = near.distances[0] <= np.float32(radius)
            answers.append(Neighbors(near.ids[:, inside], near.distances[:, inside]))
        return answers

    def get(self, ids: ArrayLike) -> Vectors:
        """Return the vectors of the ids; KeyError names an absent one."""
        wanted = check_ids(ids)
        if (absent := np.setdiff1d(wanted, self._stored_ids())).size:
            raise KeyError(int(absent[0]))
        return self._reconstruct(wanted)

    def save(self, path: Path, meta: Mapping[str, Any]) -> None:
        """Replace the snapshot at ``path`` atomically."""
        write_snapshot(path, _KIND, faiss.serialize_index(self._index).data, meta)

    @classmethod
    def load(cls, path: Path) -> tuple[Self, dict[str, Any]]:
        """Read a snapshot and its meta."""
        payload, meta = read_snapshot(path, _KIND)
        index = cls.__new__(cls)
        try:
            index._index = faiss.deserialize_index(np.frombuffer(payload, np.uint8))
        except RuntimeError as error:
            raise SnapshotError(f"{path} cannot be read: {error}") from error
        return index, meta

    def _use_threads(self, queries: int) -> None:
        """Choose the team of the calling thread; FAISS divides a flat search by queries, so one needs no team."""
        small = queries == 1 or queries * len(self) * self.dim < _PARALLEL_WORK
        faiss.omp_set_num_threads(1 if small else _CORES)

    def _stored_ids(self) -> Ids:
        stored: Ids = faiss.vector_to_array(self._index.id_map)
        return stored

    def _reconstruct(self, ids: Ids) -> Vectors:
        if not len(ids):
            return np.empty((0, self.dim), np.float32)
        vectors: Vectors = self._index.reconstruct_batch(ids)
        return vectors

    def _true_distances(self, queries: Vectors, ids: Ids) -> NDArray[np.float32]:
        """Distances of found ids, shape (queries, k), from the stored vectors; infinity where an id is -1."""
        distances = np.full(ids.shape, np.inf, np.float32)
        step = max(1, _REFINE_FLOATS // max(1, self.dim))
        for query, row, out in zip(queries, ids, distances, strict=True):
            for start in range(0, len(row), step):
                part = row[start : start + step]
                present = part >= 0
                difference = self._reconstruct(part[present]).astype(np.float64) - query
                out[start : start + step][present] = np.sqrt(np.einsum("nd,nd->n", difference, difference))
        return distances
