"""The kinds of index by name, and the description of an index that a space stores."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from crossview.index.base import Index
from crossview.index.binary_flat import BinaryFlatIndex
from crossview.index.binary_lists import BinaryListsIndex
from crossview.index.exact import ExactBinaryIndex, ExactIndex
from crossview.index.flat import FlatIndex
from crossview.index.graph import GraphIndex
from crossview.index.ivf import IvfIndex
from crossview.index.multi_index import AutoBinaryIndex, MultiIndexHashing
from crossview.index.product import CodeScanIndex
from crossview.index.reranked import RerankedIndex

KINDS: dict[str, Callable[..., Index]] = {
    "exact": ExactIndex,
    "flat": FlatIndex,
    "scan": CodeScanIndex,
    "ivf": IvfIndex,
    "hnsw": GraphIndex,
    "exact-binary": ExactBinaryIndex,
    "binary-flat": BinaryFlatIndex,
    "multi-index-hashing": MultiIndexHashing,
    "binary": AutoBinaryIndex,
    "binary-lists": BinaryListsIndex,
    "reranked": RerankedIndex,
}


@dataclass(frozen=True)
class IndexSpec:
    """A kind of index and its parameters, without the widths of its vectors."""

    kind: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """JSON values by name, such as ``factor`` of ``reranked``."""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"no kind of index {self.kind!r}; there are: {', '.join(KINDS)}")

    def empty(self, *widths: int) -> Index:
        """Return an empty index; the width is the number of components of float vectors, or of bits of codes.

        ``reranked`` takes two widths: the bits, and the components of the float vectors behind the codes.
        """
        return KINDS[self.kind](*widths, **self.parameters)
