"""The kinds of index that an engine builds for the targets of a published generation."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from crossview.engine.spaces.target import Target
from crossview.engine.values.errors import InvalidInputError

AUTO = "auto"
KINDS = ("flat", "ivf", "hnsw", "diskann")
MANY = 200_000
"""Vectors up to which an exact scan is quick enough."""
_LINKS, _CONSTRUCTION = 32, 200
_EFFORTS = (8, 16, 32, 64, 128, 256, 512)


class EngineIndex(NamedTuple):
    """A kind of index, as the engine names and describes it."""

    kind: str
    """One of ``KINDS``."""
    type: str
    metric: str
    parameters: Mapping[str, Any]
    effort: str = ""
    """The parameter of a search that states its effort; "" if every search is exact."""
    efforts: Sequence[int] = ()

    @property
    def can_be_exact(self) -> bool:
        """Whether a search with the greatest effort misses nothing: a scan, or one that reads all lists."""
        return self.effort in ("", "nprobe")

    def parameters_of_search(self, effort: int, k: int) -> dict[str, int]:
        """Return the parameters of a search for k neighbours with an effort, the greatest for 0."""
        if not self.effort:
            return {}
        effort = effort or self.efforts[-1]
        return {self.effort: effort if self.effort == "nprobe" else max(effort, k)}


def engine_index(index: str, target: Target, count: int) -> EngineIndex:
    """Return the index for so many vectors or codes of a target; InvalidInputError for a kind that does not suit them.

    ``auto`` scans up to 200,000 vectors, and reads lists of near vectors beyond; hidden codes are scanned.
    """
    if index not in (AUTO, *KINDS):
        raise InvalidInputError(f"an index of an engine is auto, {', '.join(KINDS)}, not {index!r}")
    if target.hidden:
        index = "flat"
    kind = ("flat" if count <= MANY else "ivf") if index == AUTO else index
    # Milvus takes at most 65,536 lists, and FAISS, which it uses, trains a list on at least 39 vectors.
    lists = max(1, min(65_536, round(4 * math.sqrt(count)), count // 39 or 1))
    efforts = [effort for effort in (1, 2, 4, *_EFFORTS, 1_024, 2_048, 4_096) if effort < lists]
    probes = "nprobe", (*efforts, lists)
    if target.codes:
        if kind not in ("flat", "ivf"):
            raise InvalidInputError(f"target {target} contains codes, which have no index {kind}: choose flat or ivf")
        if kind == "flat":
            return EngineIndex(kind, "BIN_FLAT", "HAMMING", {})
        return EngineIndex(kind, "BIN_IVF_FLAT", "HAMMING", {"nlist": lists}, *probes)
    if kind == "flat":
        return EngineIndex(kind, "FLAT", "L2", {})
    if kind == "ivf":
        return EngineIndex(kind, "IVF_FLAT", "L2", {"nlist": lists}, *probes)
    if kind == "hnsw":
        built = {"M": _LINKS, "efConstruction": _CONSTRUCTION}
        return EngineIndex(kind, "HNSW", "L2", built, "ef", _EFFORTS)
    return EngineIndex(kind, "DISKANN", "L2", {}, "search_list", _EFFORTS)
