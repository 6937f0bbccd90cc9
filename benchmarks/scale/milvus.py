"""Milvus Lite; its local mode has the indexes FLAT and IVF_FLAT, and finds the same with any ``nprobe``."""

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.scale.data import DIM, Condition, Data, Ids, K, Vectors
from benchmarks.scale.engine import lists

_NAME, _AT_ONCE = "items", 2_000


class Milvus:
    """A collection in a file, behind a process that the library starts."""

    concurrent = True

    def __init__(self, kind: str, folder: Path, data: Data) -> None:
        from pymilvus import MilvusClient

        self._kind, self._data = kind, data
        self._client: Any = MilvusClient(str(folder / "milvus.db"))

    def build(self) -> None:
        from pymilvus import DataType

        schema = self._client.create_schema(auto_id=False, enable_dynamic_field=False)
        schema.add_field("id", DataType.INT64, is_primary=True)
        schema.add_field("vector", DataType.FLOAT_VECTOR, dim=DIM)
        for column in ("number", "cluster"):
            schema.add_field(column, DataType.INT64)
        index = self._client.prepare_index_params()
        settings = {} if self._kind == "FLAT" else {"nlist": lists(self._data.count)}
        index.add_index("vector", index_type=self._kind, metric_type="L2", params=settings)
        self._client.create_collection(_NAME, schema=schema, index_params=index)
        for batch in self._data.batches(_AT_ONCE):
            self._client.insert(_NAME, _entities(*batch))
        self._client.load_collection(_NAME)

    def open(self) -> None:
        self._client.load_collection(_NAME)

    def search(self, queries: Vectors, effort: int, only: Condition | None) -> Ids:
        condition = "" if only is None else f"{only.column} < {only.below}"
        hit_lists = self._client.search(_NAME, queries.tolist(), filter=condition, limit=K)
        ids = np.full((len(queries), K), -1)
        for row, hits in zip(ids, hit_lists, strict=True):
            row[: len(hits)] = [hit["id"] for hit in hits]
        return ids

    def use_threads(self, count: int) -> None:
        pass

    def replace(self, ids: Ids, rows: Vectors) -> None:
        self._client.upsert(_NAME, _entities(ids, rows, *(self._data.column(name)[ids] for name in _COLUMNS)))

    def delete(self, ids: Ids) -> None:
        for start in range(0, len(ids), _AT_ONCE):
            self._client.delete(_NAME, ids=ids[start : start + _AT_ONCE].tolist())

    def maintain(self) -> bool:
        return False

    def close(self) -> None:
        self._client.close()


_COLUMNS = ("number", "cluster")


def _entities(ids: Ids, rows: Vectors, number: Ids, cluster: Ids) -> list[dict[str, Any]]:
    names = ("id", "vector", *_COLUMNS)
    entries = zip(ids.tolist(), rows, number.tolist(), cluster.tolist(), strict=True)
    return [dict(zip(names, entry, strict=True)) for entry in entries]
