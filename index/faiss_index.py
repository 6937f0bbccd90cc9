"""What the indexes in FAISS share: rows under an id map."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import faiss
import numpy as np
from numpy.typing import ArrayLike, NDArray

from index.base import Ids, check_ids
from index.snapshot import write_snapshot

_CORES = faiss.omp_get_max_threads()
_PARALLEL_WORK = 1 << 26
"""Components, or bytes of codes, below which a search stays on its own thread: starting and joining a team costs more,
above all where the cores are busy."""


class FaissIndex(ABC):
    """An ``Index`` over ``IDMap``, less what depends on the distance."""

    _kind: ClassVar[str]
    """Name of the snapshots; a class reads those of its own kind only."""

    def __init__(self, index: Any) -> None:
        self._index = index

    def __len__(self) -> int:
        return int(self._index.ntotal)

    def ids(self) -> Ids:
        """Return the ids that are present, ascending."""
        return np.sort(self._stored_ids())

    def remove(self, ids: ArrayLike) -> int:
        """Remove ids, ignoring absent ones; return how many were present."""
        removed = check_ids(ids)
        return int(self._index.remove_ids(removed)) if len(removed) and len(self) else 0

    def save(self, path: Path, meta: Mapping[str, Any]) -> None:
        """Replace the snapshot at ``path`` atomically."""
        write_snapshot(path, self._kind, self._serialized().data, meta)

    @abstractmethod
    def _serialized(self) -> NDArray[np.uint8]: ...

    def _stored_ids(self) -> Ids:
        """The ids in the order of their rows."""
        stored: Ids = faiss.vector_to_array(self._index.id_map)
        return stored

    def _new(self, ids: ArrayLike) -> Ids:
        """Return ids that can be added, or raise ValueError."""
        new = check_ids(ids)
        if len(present := new[np.isin(new, self._stored_ids())]):
            raise ValueError(f"id {present.min()} is already present")
        return new

    def _present(self, ids: ArrayLike) -> Ids:
        """Return ids that can be read; KeyError names an absent one."""
        wanted = check_ids(ids)
        if len(absent := wanted[~np.isin(wanted, self._stored_ids())]):
            raise KeyError(int(absent.min()))
        return wanted

    def _nearest(self, queries: NDArray[Any], k: int, only: ArrayLike | None) -> tuple[NDArray[Any], Ids]:
        """FAISS's distances and ids of the k nearest, both of shape (queries, k); id -1 where there are fewer."""
        ids = np.full((len(queries), k), -1, np.int64)
        distances = np.full((len(queries), k), np.inf, np.float32)
        reachable = min(k, len(self))
        if reachable and len(queries):
            parameters = None
            if only is not None:
                parameters = faiss.SearchParameters(sel=faiss.IDSelectorBatch(check_ids(only)))
            # FAISS divides a flat search by queries, so one needs no team.
            small = len(queries) == 1 or queries.size * len(self) < _PARALLEL_WORK
            faiss.omp_set_num_threads(1 if small else _CORES)
            distances[:, :reachable], ids[:, :reachable] = self._index.search(queries, reachable, params=parameters)
        return distances, ids
