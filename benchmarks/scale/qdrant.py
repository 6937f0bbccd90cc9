"""Qdrant's local mode, which has no index: it compares a query with every item, in NumPy."""

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.scale.data import DIM, Condition, Data, Ids, K, Vectors

_NAME, _AT_ONCE = "items", 2_000
_COLUMNS = ("number", "cluster")


class Qdrant:
    """A collection of the local mode, in a folder."""

    concurrent = False

    def __init__(self, kind: str, folder: Path, data: Data) -> None:
        from qdrant_client import QdrantClient

        self._data = data
        self._client: Any = QdrantClient(path=str(folder / "qdrant"))

    def build(self) -> None:
        from qdrant_client import models

        vectors = models.VectorParams(size=DIM, distance=models.Distance.EUCLID)
        self._client.create_collection(_NAME, vectors_config=vectors)
        for batch in self._data.batches(_AT_ONCE):
            self._put(*batch)

    def open(self) -> None:
        self._client.get_collection(_NAME)

    def search(self, queries: Vectors, effort: int, only: Condition | None) -> Ids:
        from qdrant_client import models

        condition = None
        if only is not None:
            below = models.FieldCondition(key=only.column, range=models.Range(lt=only.below))
            condition = models.Filter(must=[below])
        requests = [models.QueryRequest(query=query.tolist(), limit=K, filter=condition) for query in queries]
        ids = np.full((len(queries), K), -1)
        for row, result in zip(ids, self._client.query_batch_points(_NAME, requests), strict=True):
            row[: len(result.points)] = [point.id for point in result.points]
        return ids

    def use_threads(self, count: int) -> None:
        pass

    def replace(self, ids: Ids, rows: Vectors) -> None:
        self._put(ids, rows, *(self._data.column(name)[ids] for name in _COLUMNS))

    def delete(self, ids: Ids) -> None:
        from qdrant_client import models

        for start in range(0, len(ids), _AT_ONCE):
            points = models.PointIdsList(points=ids[start : start + _AT_ONCE].tolist())
            self._client.delete(_NAME, points_selector=points)

    def maintain(self) -> bool:
        return False

    def close(self) -> None:
        self._client.close()

    def _put(self, ids: Ids, rows: Vectors, number: Ids, cluster: Ids) -> None:
        from qdrant_client import models

        columns = zip(number.tolist(), cluster.tolist(), strict=True)
        payloads = [dict(zip(_COLUMNS, values, strict=True)) for values in columns]
        for start in range(0, len(ids), _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            points = models.Batch(ids=ids[part].tolist(), vectors=rows[part].tolist(), payloads=payloads[part])
            self._client.upsert(_NAME, points)
