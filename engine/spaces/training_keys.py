"""The keys of a space's training items: stored packed, and unpacked on use."""

import zlib
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from crossview.engine.catalog.moves import Renames
from crossview.engine.values.errors import StorageError

PackedKeys = NDArray[np.uint8]
"""Compressed bytes; a NUL, which no key contains, separates the keys."""
NO_KEYS: PackedKeys = np.zeros(0, np.uint8)
_PIECE = 1 << 20
"""Bytes unpacked at a time, because a few packed bytes can expand a thousandfold."""


def packed_keys(keys: Iterable[str]) -> PackedKeys:
    """Return distinct keys as compressed bytes, (n,)."""
    joined = "\0".join(sorted(keys)).encode()
    return np.frombuffer(zlib.compress(joined), np.uint8) if joined else NO_KEYS


def unpacked_keys(packed: PackedKeys) -> frozenset[str]:
    """Return the keys that ``packed_keys`` packed; StorageError for any other bytes."""
    try:
        return frozenset(key.decode() for key in _different(packed.tobytes())) if len(packed) else frozenset()
    except (ValueError, zlib.error) as error:
        raise StorageError(
            f"the stored training keys of a space are damaged ({error}): train the space again"
        ) from error


def renamed_keys(packed: PackedKeys, renames: Renames) -> PackedKeys:
    """Return packed keys after items got new keys, in one change after the other."""
    if not renames or not len(packed):
        return packed
    keys = set(unpacked_keys(packed))
    for new in renames:
        items = {key for former, key in new.items() if former in keys}
        # The new key of an item can be the key of a training item that is deleted.
        keys = (keys - new.keys() - set(new.values())) | items
    return packed_keys(keys)


def _different(data: bytes) -> Iterator[bytes]:
    """Yield packed keys in their order; ValueError if they are not ascending."""
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
            raise ValueError("a key is too long")
