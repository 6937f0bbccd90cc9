"""The keys that a space was trained on: stored packed, and unpacked where something is asked about them."""

import zlib
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

PackedKeys = NDArray[np.uint8]
"""Bytes; no key has a NUL, which stands between them."""
NO_KEYS: PackedKeys = np.zeros(0, np.uint8)


def packed_keys(keys: Iterable[str]) -> PackedKeys:
    """Return different keys as few bytes, (n,)."""
    joined = "\0".join(sorted(keys)).encode()
    return np.frombuffer(zlib.compress(joined), np.uint8) if joined else NO_KEYS


def unpacked_keys(packed: PackedKeys) -> frozenset[str]:
    """Return the keys that ``packed_keys`` was given."""
    return frozenset(zlib.decompress(packed.tobytes()).decode().split("\0")) if len(packed) else frozenset()
