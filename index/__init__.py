"""Vectors in, neighbours out: the indexes behind one protocol, and the exact twins that judge them."""

from index.base import Index, Neighbors
from index.binary_flat import BinaryFlatIndex
from index.exact import ExactBinaryIndex, ExactIndex
from index.flat import FlatIndex
from index.multi_index import AutoBinaryIndex, MultiIndexHashing
from index.registry import KINDS, IndexSpec
from index.reranked import RerankedIndex, with_floats
from index.snapshot import SnapshotError

__all__ = [
    "KINDS",
    "AutoBinaryIndex",
    "BinaryFlatIndex",
    "ExactBinaryIndex",
    "ExactIndex",
    "FlatIndex",
    "Index",
    "IndexSpec",
    "MultiIndexHashing",
    "Neighbors",
    "RerankedIndex",
    "SnapshotError",
    "with_floats",
]
