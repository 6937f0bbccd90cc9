"""LanceDB, with its indexes of vectors."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.scale.data import DIM, Condition, Data, Ids, K, Vectors
from benchmarks.scale.engine import CONSTRUCTION, LINKS, lists

_TABLE, _AT_ONCE = "items", 10_000
_REFINED = 10  # times the number of hits: how many are compared by their vectors, where the index compresses


class Lance:
    """A table with an index of vectors, and one of each column that a condition names."""

    concurrent = True

    def __init__(self, kind: str, folder: Path, data: Data) -> None:
        import lancedb

        self._kind, self._data, self._threads = kind, data, 1
        self._database: Any = lancedb.connect(str(folder))
        self._table: Any = None

    def build(self) -> None:
        import pyarrow as pa

        vectors = pa.list_(pa.float32(), DIM)
        schema = pa.schema({"id": pa.int64(), "vector": vectors, "number": pa.int64(), "cluster": pa.int64()})

        def batches() -> Iterator[Any]:
            for ids, rows, number, cluster in self._data.batches(_AT_ONCE):
                columns = [ids, pa.FixedSizeListArray.from_arrays(rows.ravel(), DIM), number, cluster]
                yield pa.record_batch(list(map(pa.array, columns)), schema=schema)

        self._table = self._database.create_table(_TABLE, batches(), schema=schema)
        shape: dict[str, int] = {"num_partitions": lists(self._data.count)}
        if "HNSW" in self._kind:  # the library wants few partitions, with a large graph each
            shape = {"num_partitions": 1, "m": LINKS, "ef_construction": CONSTRUCTION}
        if self._kind == "IVF_PQ":
            shape["num_sub_vectors"] = DIM // 2
        self._table.create_index(metric="l2", index_type=self._kind, **shape)
        for column in ("id", "number", "cluster"):
            self._table.create_scalar_index(column)

    def open(self) -> None:
        self._table = self._database.open_table(_TABLE)

    def search(self, queries: Vectors, effort: int, only: Condition | None) -> Ids:
        if len(queries) == 1 or self._threads == 1:
            return np.stack([self._one(query, effort, only) for query in queries])
        with ThreadPoolExecutor(self._threads) as pool:
            return np.stack(list(pool.map(lambda query: self._one(query, effort, only), queries)))

    def use_threads(self, count: int) -> None:
        self._threads = count

    def replace(self, ids: Ids, rows: Vectors) -> None:
        import pyarrow as pa

        columns = {name: self._data.column(name)[ids] for name in ("number", "cluster")}
        vectors = pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), DIM)
        new = pa.table({"id": ids, "vector": vectors, **columns})
        self._table.merge_insert("id").when_matched_update_all().execute(new)

    def delete(self, ids: Ids) -> None:
        for start in range(0, len(ids), _AT_ONCE):
            self._table.delete(f"id IN ({', '.join(map(str, ids[start : start + _AT_ONCE].tolist()))})")

    def maintain(self) -> bool:
        self._table.optimize()
        return True

    def close(self) -> None:
        pass

    def _one(self, query: Vectors, effort: int, only: Condition | None) -> Ids:
        search = self._table.search(query).distance_type("l2").select(["id", "_distance"]).limit(K)
        if only is not None:
            search = search.where(f"{only.column} < {only.below}", prefilter=True)
        if "HNSW" in self._kind:  # a graph gives at most as many as it visits
            search = search.ef(effort).refine_factor(min(_REFINED, effort // K))
        elif only is None:
            search = search.nprobes(effort)
        else:  # as the library does by itself, further lists are read until there are 10 hits
            search = search.minimum_nprobes(effort).maximum_nprobes(0)
        if self._kind == "IVF_PQ":
            search = search.refine_factor(_REFINED)
        ids = np.full(K, -1)
        hits = search.to_arrow()["id"].to_numpy()
        ids[: len(hits)] = hits
        return ids
