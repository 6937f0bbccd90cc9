"""Ours: a collection in process, and the indexes below it."""

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.scale.data import DIM, Condition, Data, Ids, K, Vectors

NAME, VIEW, SPACE = "items", "v", "raw"
_AT_ONCE = 5_000


class Crossview:
    """A collection of one view, whose vectors come from the file of the data, and its columns from a table."""

    concurrent = True

    def __init__(self, kind: str, folder: Path, data: Data) -> None:
        self._kind, self._folder, self._data = kind, folder, data
        self._collection: Any = None

    @property
    def lists_to_probe(self) -> int:
        """The lists that a search probes for its promised recall; 0 if it is exact."""
        (index,) = self._collection.spaces.get(SPACE).indexes
        return max((search.effort for search in index.searches), default=0)

    def build(self) -> None:
        import crossview

        self._collection = crossview.create(NAME, [f"{VIEW}=vectors:dim={DIM}"], home=self._folder / "home")
        names, table = self._folder / "keys.txt", self._folder / "columns.csv"
        keys = [f"{number:08d}" for number in range(self._data.count)]
        names.write_text("\n".join(keys) + "\n", encoding="utf-8")
        columns = zip(keys, self._data.column("number").tolist(), self._data.column("cluster").tolist(), strict=True)
        lines = [f"{key},{number},{cluster}\n" for key, number, cluster in columns]
        table.write_text("".join(["key,number,cluster\n", *lines]), encoding="utf-8")
        self._collection.items.index_vectors(VIEW, self._data.folder / "vectors.npy", names)
        self._collection.items.annotate(table)
        names.unlink()
        table.unlink()
        if self._kind != "flat":
            self._collection.spaces.reindex(SPACE, index=self._kind, recall=0.99)
        self.search(self._data.queries["within"][:1], 99, None)  # the first search writes the snapshot of the index

    def open(self) -> None:
        import crossview

        self._collection = crossview.open(NAME, self._folder / "home")

    def search(self, queries: Vectors, effort: int, only: Condition | None) -> Ids:
        from crossview import Filter, Query, SearchRequest, field

        condition = Filter() if only is None else Filter(field(only.column) < only.below)
        options: dict[str, Any] = {} if self._kind == "flat" else {"recall": effort / 100}
        probes = [Query(VIEW, vector=row) for row in queries]
        lists = self._collection.search(SearchRequest(probes, space=SPACE, k=K, filter=condition, **options))
        ids = np.full((len(queries), K), -1)
        for row, hit_list in zip(ids, lists, strict=True):
            row[: len(hit_list.hits)] = [int(hit.key) for hit in hit_list.hits]
        return ids

    def use_threads(self, count: int) -> None:
        pass

    def replace(self, ids: Ids, rows: Vectors) -> None:
        self._collection.items.put_vectors(VIEW, [f"{number:08d}" for number in ids.tolist()], rows)

    def delete(self, ids: Ids) -> None:
        for start in range(0, len(ids), _AT_ONCE):
            self._collection.items.delete([f"{number:08d}" for number in ids[start : start + _AT_ONCE].tolist()])

    def maintain(self) -> bool:
        self._collection.storage.compact()
        return True

    def close(self) -> None:
        self._collection.close()


class CrossviewIndex:
    """An index of the room ``index``, in its snapshot."""

    concurrent = True

    def __init__(self, kind: str, folder: Path, data: Data) -> None:
        self._kind, self._path, self._data = kind, folder / "index.snapshot", data
        self._index: Any = None
        self._selections: dict[Condition, Any] = {}

    def _empty(self) -> Any:
        from crossview.index.registry import IndexSpec

        kind, _, vectors = self._kind.partition(" ")
        return IndexSpec(kind, {"vectors": vectors} if vectors else {}).empty(DIM)

    def build(self) -> None:
        index = self._empty()
        for batch in self._data.batches():
            index = index.changed((), batch.ids, batch.rows)
        self._index = index.compacted()
        self._index.save(self._path, {})

    def open(self) -> None:
        self._index, _ = type(self._empty()).load(self._path)

    def search(self, queries: Vectors, effort: int, only: Condition | None) -> Ids:
        if only is not None and only not in self._selections:
            self._selections[only] = self._index.selection(np.flatnonzero(self._data.kept(only)))
        candidates = effort * K if self._kind == "scan" else effort  # as many times k as the k factor says
        ids: Ids = self._index.search(queries, K, None if only is None else self._selections[only], candidates).ids
        return ids

    def use_threads(self, count: int) -> None:
        import faiss

        faiss.omp_set_num_threads(count)

    def replace(self, ids: Ids, rows: Vectors) -> None:
        self._index = self._index.changed((), ids, rows)

    def delete(self, ids: Ids) -> None:
        self._index = self._index.changed(ids, (), np.empty((0, DIM), np.float32))

    def maintain(self) -> bool:
        self._index = self._index.compacted()
        return True

    def close(self) -> None:
        pass
