"""The engines by name: their classes, their kinds of index, and the interpreter that has their library."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from benchmarks.scale.data import Data
from benchmarks.scale.engine import ONE, PROBES, VISITS, Engine, Kind
from benchmarks.scale.graphs import Hnswlib, Usearch
from benchmarks.scale.lance import Lance
from benchmarks.scale.milvus import Milvus
from benchmarks.scale.ours import Crossview, CrossviewIndex
from benchmarks.scale.qdrant import Qdrant

_RECALLS = Kind("recall", (80, 90, 95, 99), (90, 99))
_REFINED = Kind("k factor", (1, 3, 10, 30, 100, 300), (10, 100))


def _faiss(kind: str, folder: Path, data: Data) -> Engine:
    from benchmarks.scale.raw_faiss import Faiss  # the peers' interpreter has no FAISS

    return Faiss(kind, folder, data)


class Named(NamedTuple):
    """An engine, by kind, folder and data; its kinds; and whether the peers' interpreter has its library."""

    engine: Callable[[str, Path, Data], Engine]
    kinds: Mapping[str, Kind]
    peer: bool = True


ENGINES: Mapping[str, Named] = {
    "crossview": Named(Crossview, {"flat": ONE, "scan": _RECALLS, "ivf": _RECALLS, "hnsw": _RECALLS}, peer=False),
    "crossview index": Named(
        CrossviewIndex,
        {"flat": ONE, "ivf": PROBES, "ivf float16": PROBES, "hnsw": VISITS, "scan": _REFINED},
        peer=False,
    ),
    "faiss": Named(
        _faiss,
        {
            "Flat": ONE,
            "IVF2048,Flat": PROBES,
            "IVF2048,SQfp16": PROBES,
            "HNSW32": VISITS,
            "PQ32x4fs,RFlat": _REFINED,
        },
        peer=False,
    ),
    "hnswlib": Named(Hnswlib, {"HNSW32": VISITS}),
    "usearch": Named(Usearch, {"HNSW32": VISITS}),
    "lancedb": Named(Lance, {"IVF_PQ": PROBES, "IVF_FLAT": PROBES, "IVF_HNSW_SQ": VISITS}),
    "milvus-lite": Named(Milvus, {"FLAT": ONE, "IVF_FLAT": ONE}),
    "qdrant-local": Named(Qdrant, {"scan": ONE}),
}
