"""Exact Hamming search by FAISS: a flat binary index under an id map."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import faiss
import numpy as np
from numpy.typing import ArrayLike, NDArray

from index.base import Codes, Ids, Neighbors, check_codes, check_k
from index.faiss_index import FaissIndex
from index.snapshot import SnapshotError, read_snapshot


class BinaryFlatIndex(FaissIndex):
    """An ``Index`` of binary codes over ``IDMap,BFlat``.

    FAISS keeps the first in storage of equally distant codes, so the codes are stored in the order of their ids.
    """

    _kind = "flat-hamming"

    def __init__(self, dim: int) -> None:
        super().__init__(faiss.IndexBinaryIDMap(faiss.IndexBinaryFlat(-(-dim // 8) * 8)))
        self._dim = dim

    @property
    def dim(self) -> int:
        """Bits of a code."""
        return self._dim

    def add(self, ids: ArrayLike, vectors: ArrayLike) -> None:
        """Add codes under new ids, shape (n,); fastest where they are greater than all ids that are present."""
        new = self._new(ids)
        rows = check_codes(vectors, self.dim, len(new))
        if not len(new):
            return
        if len(self) and new.min() < self._stored_ids()[-1]:
            new, rows = np.concatenate([self._stored_ids(), new]), np.concatenate([self._stored_codes(), rows])
            self._index.reset()
        order = np.argsort(new)
        self._index.add_with_ids(rows[order], new[order])

    def search(self, vectors: ArrayLike, k: int, only: ArrayLike | None = None) -> Neighbors:
        """Return the k nearest of each query among the ids in ``only`` where given."""
        distances, ids = self._nearest(check_codes(vectors, self.dim), check_k(k), only)
        distances[ids < 0] = np.inf
        return Neighbors(ids, distances)

    def get(self, ids: ArrayLike) -> Codes:
        """Return the codes of the ids; KeyError names an absent one."""
        wanted = self._present(ids)
        return self._stored_codes()[np.searchsorted(self._stored_ids(), wanted)]

    def save(self, path: Path, meta: Mapping[str, Any]) -> None:
        """Replace the snapshot at ``path`` atomically."""
        super().save(path, {"dim": self.dim, "meta": dict(meta)})  # FAISS knows whole bytes only

    @classmethod
    def load(cls, path: Path) -> tuple[Self, dict[str, Any]]:
        """Read a snapshot and its meta."""
        payload, header = read_snapshot(path, cls._kind)
        try:
            index = cls(header["dim"])
            index._index = faiss.deserialize_index_binary(np.frombuffer(payload, np.uint8))
        except (KeyError, RuntimeError) as error:
            raise SnapshotError(f"{path} cannot be read: {error}") from error
        return index, header["meta"]

    def _serialized(self) -> NDArray[np.uint8]:
        data: NDArray[np.uint8] = faiss.serialize_index_binary(self._index)
        return data

    def _stored_ids(self) -> Ids:
        """The ids in the order of their codes, as FAISS holds them; a change of the index ends their use."""
        if not len(self):
            return np.empty(0, np.int64)
        stored: Ids = faiss.rev_swig_ptr(self._index.id_map.data(), len(self))
        return stored

    def _stored_codes(self) -> Codes:
        """The codes as FAISS holds them; a change of the index ends their use."""
        flat = faiss.downcast_IndexBinary(self._index.index)
        if not len(self):
            return np.empty((0, flat.code_size), np.uint8)
        stored: Codes = faiss.rev_swig_ptr(flat.xb.data(), len(self) * flat.code_size)
        return stored.reshape(len(self), flat.code_size)
