"""FAISS without anything around it."""

from pathlib import Path
from typing import Any

import faiss
import numpy as np

from benchmarks.scale.data import DIM, Condition, Data, Ids, K, Vectors
from benchmarks.scale.engine import CONSTRUCTION, LISTS, TRAINED_ON, UnsupportedError, lists

_FILE = "index.faiss"


class Faiss:
    """An index by its factory string, in a file; a condition is a bitmap of ids, made at its first use."""

    concurrent = False

    def __init__(self, kind: str, folder: Path, data: Data) -> None:
        self._kind, self._path, self._data = kind, folder / _FILE, data
        self._index: Any = None
        self._bitmaps: dict[Condition, Any] = {}

    def build(self) -> None:
        self._index = _empty(self._kind, self._data)
        for batch in self._data.batches():
            if self._by_id:
                self._index.add_with_ids(batch.rows, batch.ids)
            else:
                self._index.add(batch.rows)
        faiss.write_index(self._index, str(self._path))

    def open(self) -> None:
        self._index = faiss.read_index(str(self._path))

    def search(self, queries: Vectors, effort: int, only: Condition | None) -> Ids:
        parameters = _parameters(self._kind, effort, None if only is None else self._bitmap(only))
        _, ids = self._index.search(queries, K, params=parameters)
        hits: Ids = ids
        return hits

    def use_threads(self, count: int) -> None:
        faiss.omp_set_num_threads(count)

    def replace(self, ids: Ids, rows: Vectors) -> None:
        self.delete(ids)
        self._index.add_with_ids(rows, ids)

    def delete(self, ids: Ids) -> None:
        if not self._by_id:
            raise UnsupportedError("FAISS removes no vector from this kind of index")
        bits = np.zeros(self._data.count, bool)
        bits[ids] = True
        self._index.remove_ids(faiss.IDSelectorBitmap(np.packbits(bits, bitorder="little")))

    def maintain(self) -> bool:
        return False

    def close(self) -> None:
        pass

    @property
    def _by_id(self) -> bool:
        return self._kind.startswith(("IVF", "Flat"))

    def _bitmap(self, only: Condition) -> Any:
        if only not in self._bitmaps:
            # FAISS reads the bits of a byte from the lowest one.
            self._bitmaps[only] = faiss.IDSelectorBitmap(np.packbits(self._data.kept(only), bitorder="little"))
        return self._bitmaps[only]


def _empty(kind: str, data: Data) -> Any:
    """Return an empty index of a kind, trained where it needs that."""
    number = lists(data.count)
    # A flat index alone numbers its vectors, and takes no ids.
    index = faiss.index_factory(DIM, "IDMap2,Flat" if kind == "Flat" else kind.replace(str(LISTS), str(number)))
    if kind.startswith("HNSW"):
        index.hnsw.efConstruction = CONSTRUCTION
    if not index.is_trained:
        index.train(data.rows(0, min(data.count, TRAINED_ON * number)))
    return index


def _parameters(kind: str, effort: int, selector: Any = None) -> Any:
    """Return the parameters of a search, with a selector of ids or None."""
    if kind.startswith("IVF"):
        return faiss.SearchParametersIVF(nprobe=effort, sel=selector)
    if kind.startswith("HNSW"):
        return faiss.SearchParametersHNSW(efSearch=effort, sel=selector)
    if kind == "Flat":
        return faiss.SearchParameters(sel=selector)
    if selector is not None:
        raise UnsupportedError("FAISS has no conditions for this kind of index")
    return faiss.IndexRefineSearchParameters(k_factor=effort)
