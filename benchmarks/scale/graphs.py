"""Libraries of graphs (HNSW): hnswlib, and usearch."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.scale.data import DIM, Condition, Data, Ids, K, Vectors
from benchmarks.scale.engine import CONSTRUCTION, LINKS, UnsupportedError


class Hnswlib:
    """hnswlib; a condition is a function of Python, which it calls for every visited node, on one thread."""

    concurrent = False

    def __init__(self, kind: str, folder: Path, data: Data) -> None:
        import hnswlib

        self._path, self._data, self._threads = str(folder / "index.hnsw"), data, 1
        self._index: Any = hnswlib.Index("l2", DIM)
        self._conditions: dict[Condition, tuple[Callable[[int], bool], int]] = {}

    def build(self) -> None:
        self._index.init_index(self._data.count, ef_construction=CONSTRUCTION, M=LINKS)
        for batch in self._data.batches():
            self._index.add_items(batch.rows, batch.ids)
        self._index.save_index(self._path)

    def open(self) -> None:
        self._index.load_index(self._path, self._data.count)

    def search(self, queries: Vectors, effort: int, only: Condition | None) -> Ids:
        self._index.set_ef(effort)
        if only is None:
            ids, _ = self._index.knn_query(queries, K, num_threads=self._threads)
            return np.asarray(ids, np.int64)
        passes, k = self._kept(only)
        return np.concatenate([self._passing(query[None], k, passes) for query in queries])

    def use_threads(self, count: int) -> None:
        self._threads = count

    def replace(self, ids: Ids, rows: Vectors) -> None:
        self._index.add_items(rows, ids)  # of a known id: the node moves

    def delete(self, ids: Ids) -> None:
        for number in ids.tolist():
            self._index.mark_deleted(number)

    def maintain(self) -> bool:
        return False

    def close(self) -> None:
        pass

    def _kept(self, only: Condition) -> tuple[Callable[[int], bool], int]:
        """Return the function of a condition, and how many items there are to find."""
        if only not in self._conditions:
            mask = self._data.kept(only)
            self._conditions[only] = mask.tolist().__getitem__, min(K, int(mask.sum()))
        return self._conditions[only]

    def _passing(self, query: Vectors, k: int, passes: Callable[[int], bool]) -> Ids:
        try:
            ids, _ = self._index.knn_query(query, k, num_threads=1, filter=passes)
        except RuntimeError as error:  # it reached fewer, and returns none of them
            if "contiguous" not in str(error):
                raise
            return np.full((1, k), -1)
        return np.asarray(ids, np.int64)


class Usearch:
    """usearch, float32."""

    concurrent = False

    def __init__(self, kind: str, folder: Path, data: Data) -> None:
        from usearch.index import Index

        self._path, self._data, self._threads = str(folder / "index.usearch"), data, 1
        self._index: Any = Index(ndim=DIM, metric="l2sq", dtype="f32", connectivity=LINKS, expansion_add=CONSTRUCTION)

    def build(self) -> None:
        for batch in self._data.batches():
            self._index.add(batch.ids, batch.rows)
        self._index.save(self._path)

    def open(self) -> None:
        self._index.load(self._path)

    def search(self, queries: Vectors, effort: int, only: Condition | None) -> Ids:
        if only is not None:
            raise UnsupportedError("usearch has no conditions in Python")
        self._index.expansion_search = effort
        matches = self._index.search(queries, K, threads=self._threads)
        keys = np.atleast_2d(matches.keys).astype(np.int64)
        counts = np.atleast_1d(getattr(matches, "counts", len(matches)))  # the matches of one query have no counts
        keys[np.arange(keys.shape[1]) >= counts[:, None]] = -1
        return keys

    def use_threads(self, count: int) -> None:
        self._threads = count

    def replace(self, ids: Ids, rows: Vectors) -> None:
        self._index.remove(ids)
        self._index.add(ids, rows)

    def delete(self, ids: Ids) -> None:
        self._index.remove(ids)

    def maintain(self) -> bool:
        return False

    def close(self) -> None:
        pass
