"""Vectors in, neighbours out: the indexes behind one protocol, and the exact twin that judges them."""

from index.base import Index, Neighbors
from index.exact import ExactIndex
from index.flat import FlatIndex
from index.snapshot import SnapshotError

__all__ = ["ExactIndex", "FlatIndex", "Index", "Neighbors", "SnapshotError"]
