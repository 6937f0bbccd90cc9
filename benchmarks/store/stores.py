"""Stores of vectors in a folder, ours and peers, behind one small protocol; each library is imported where it is used.

Run by the interpreter that has the library, in a process of its own (``benchmarks.store.worker``). All compute
Euclidean distances, exactly but for Chroma, which has a graph (HNSW) only; settings are the libraries' own.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from benchmarks.store.data import DIM, VIEW, K
from benchmarks.store.timing import OURS

NAME = "vectors"
Condition = tuple[str, str]
"""A column of labels, "first" or "second", and the label that hits must have there."""


class Batch(NamedTuple):
    """New items: ids, rows of shape (n, 50), float32, and two labels of each."""

    ids: Sequence[int]
    rows: NDArray[np.float32]
    first: Sequence[str]
    second: Sequence[str]


class Store(Protocol):
    """A store that is open."""

    def add(self, batch: Batch) -> None:
        """Add items; they are durable, as far as the store promises it, when it returns."""

    def ready(self) -> None:
        """Do what the library wants done after an import, and before searches."""

    def search(self, query: NDArray[np.float32], only: Condition | None) -> list[int]:
        """Return the ids of the 10 nearest items."""

    def close(self) -> None:
        """Close it."""


class Crossview:
    """Ours, in process."""

    def __init__(self, folder: Path, new: bool) -> None:
        import crossview

        if new:
            self._collection = crossview.create(NAME, [f"{VIEW}=vectors:dim={DIM}"], home=folder)
        else:
            self._collection = crossview.open(NAME, folder)

    def add(self, batch: Batch) -> None:
        from crossview import NewItem

        self._collection.items.put(
            [
                NewItem(f"{number:08d}", rows={VIEW: row}, labels=(first, second))
                for number, row, first, second in zip(*batch, strict=True)
            ]
        )

    def ready(self) -> None:
        pass

    def search(self, query: NDArray[np.float32], only: Condition | None) -> list[int]:
        from crossview import Filter, Query, SearchRequest

        condition = Filter() if only is None else Filter(labels=only[1:])
        (hit_list,) = self._collection.search(
            SearchRequest([Query(VIEW, vector=query)], space="raw", k=K, filter=condition)
        )
        return [int(hit.key) for hit in hit_list.hits]

    def close(self) -> None:
        self._collection.close()


class Milvus:
    """Milvus Lite, with its flat index."""

    def __init__(self, folder: Path, new: bool) -> None:
        from pymilvus import DataType, MilvusClient

        self._client = MilvusClient(str(folder / "milvus.db"))
        if new:
            schema = self._client.create_schema(auto_id=False, enable_dynamic_field=False)
            schema.add_field("id", DataType.INT64, is_primary=True)
            schema.add_field("vector", DataType.FLOAT_VECTOR, dim=DIM)
            for column in ("first", "second"):
                schema.add_field(column, DataType.VARCHAR, max_length=8)
            index = self._client.prepare_index_params()
            index.add_index("vector", index_type="FLAT", metric_type="L2")
            self._client.create_collection(NAME, schema=schema, index_params=index)
        else:
            self.ready()

    def add(self, batch: Batch) -> None:
        names = ("id", "vector", "first", "second")
        self._client.insert(NAME, [dict(zip(names, values, strict=True)) for values in zip(*batch, strict=True)])

    def ready(self) -> None:
        self._client.load_collection(NAME)

    def search(self, query: NDArray[np.float32], only: Condition | None) -> list[int]:
        condition = "" if only is None else f'{only[0]} == "{only[1]}"'
        (hits,) = self._client.search(NAME, [query.tolist()], filter=condition, limit=K)
        return [hit["id"] for hit in hits]

    def close(self) -> None:
        self._client.close()


class Lance:
    """LanceDB, without an index of vectors: its exact scan."""

    def __init__(self, folder: Path, new: bool) -> None:
        import lancedb

        self._database = lancedb.connect(str(folder))
        self._table = None if new else self._database.open_table(NAME)

    def add(self, batch: Batch) -> None:
        import pyarrow as pa

        vectors = pa.FixedSizeListArray.from_arrays(pa.array(batch.rows.ravel()), DIM)
        columns = {"id": pa.array(batch.ids, pa.int64()), "vector": vectors}
        rows = pa.table(columns | {"first": pa.array(batch.first), "second": pa.array(batch.second)})
        if self._table is None:
            self._table = self._database.create_table(NAME, rows)
        else:
            self._table.add(rows)

    def ready(self) -> None:
        self._opened().optimize()

    def search(self, query: NDArray[np.float32], only: Condition | None) -> list[int]:
        search = self._opened().search(query).distance_type("l2").select(["id", "_distance"]).limit(K)
        if only is not None:
            search = search.where(f"{only[0]} = '{only[1]}'", prefilter=True)
        ids: list[int] = search.to_arrow()["id"].to_pylist()
        return ids

    def close(self) -> None:
        pass

    def _opened(self) -> Any:
        if self._table is None:
            raise RuntimeError("nothing has been added yet")
        return self._table


class Chroma:
    """Chroma, on its disk."""

    def __init__(self, folder: Path, new: bool) -> None:
        import chromadb
        from chromadb.config import Settings

        client = chromadb.PersistentClient(str(folder), settings=Settings(anonymized_telemetry=False))
        if new:
            space: Any = {"hnsw": {"space": "l2"}}
            self._collection = client.create_collection(NAME, configuration=space, embedding_function=None)
        else:
            self._collection = client.get_collection(NAME, embedding_function=None)

    def add(self, batch: Batch) -> None:
        labels = [{"first": first, "second": second} for first, second in zip(batch.first, batch.second, strict=True)]
        self._collection.add(ids=list(map(str, batch.ids)), embeddings=batch.rows, metadatas=labels)

    def ready(self) -> None:
        pass

    def search(self, query: NDArray[np.float32], only: Condition | None) -> list[int]:
        where = None if only is None else {only[0]: only[1]}
        result = self._collection.query(query_embeddings=query[None], n_results=K, where=where, include=["distances"])
        return [int(key) for key in result["ids"][0]]

    def close(self) -> None:
        pass


class Qdrant:
    """Qdrant's local mode."""

    def __init__(self, folder: Path, new: bool) -> None:
        from qdrant_client import QdrantClient, models

        self._client = QdrantClient(path=str(folder / "qdrant"))
        if new:
            vectors = models.VectorParams(size=DIM, distance=models.Distance.EUCLID)
            self._client.create_collection(NAME, vectors_config=vectors)

    def add(self, batch: Batch) -> None:
        from qdrant_client import models

        labels = [{"first": first, "second": second} for first, second in zip(batch.first, batch.second, strict=True)]
        self._client.upsert(NAME, models.Batch(ids=list(batch.ids), vectors=batch.rows.tolist(), payloads=labels))

    def ready(self) -> None:
        pass

    def search(self, query: NDArray[np.float32], only: Condition | None) -> list[int]:
        from qdrant_client import models

        condition = None
        if only is not None:
            match = models.MatchValue(value=only[1])
            condition = models.Filter(must=[models.FieldCondition(key=only[0], match=match)])
        result = self._client.query_points(
            NAME, query=query.tolist(), limit=K, with_payload=False, query_filter=condition
        )
        return [point.id for point in result.points]

    def close(self) -> None:
        self._client.close()


_STORES: Mapping[str, Callable[[Path, bool], Store]] = {
    OURS: Crossview,
    "milvus-lite": Milvus,
    "lancedb": Lance,
    "chroma": Chroma,
    "qdrant-local": Qdrant,
}
PEERS = tuple(name for name in _STORES if name != OURS)


def open_store(name: str, folder: Path, new: bool) -> Store:
    """Return a store of a folder, a new one or that which is there."""
    return _STORES[name](folder, new)
