"""The keys that a space was trained on: stored packed, and unpacked where something is asked about them."""

import zlib
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from crossview.engine.errors import StorageError

PackedKeys = NDArray[np.uint8]
"""Bytes; no key has a NUL, which stands between them."""
NO_KEYS: PackedKeys = np.zeros(0, np.uint8)
_PIECE = 1 << 20
"""Bytes that are unpacked at a time: a few can stand for a thousand times as many."""


def packed_keys(keys: Iterable[str]) -> PackedKeys:
    """Return different keys as few bytes, (n,)."""
    joined = "\0".join(sorted(keys)).encode()
    return np.frombuffer(zlib.compress(joined), np.uint8) if joined else NO_KEYS


def unpacked_keys(packed: PackedKeys) -> frozenset[str]:
    """Return the keys that ``packed_keys`` was given; StorageError for any other bytes."""
    try:
        return frozenset(key.decode() for key in _different(packed.tobytes())) if len(packed) else frozenset()
    except (ValueError, zlib.error) as error:
        raise StorageError(f"the keys that a space was trained on are damaged ({error}): train it again") from error


def _different(data: bytes) -> Iterator[bytes]:
    """Yield packed keys in their order; ValueError where one does not come after the last."""
    inflating, last, rest = zlib.decompressobj(), b"", b""
    while not inflating.eof:
        piece = inflating.decompress(data, _PIECE)
        if not piece and not inflating.eof:
            raise ValueError("their end is missing")
        *whole, rest = (rest + piece).split(b"\0")
        data = inflating.unconsumed_tail
        if inflating.eof:
            whole.append(rest)
        for key in whole:
            if key <= last:
                raise ValueError("they are not in order")
            yield (last := key)
        if len(rest) > _PIECE:
            raise ValueError("one is too long")
