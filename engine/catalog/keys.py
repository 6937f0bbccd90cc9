"""Keys of items: equal if their Unicode normal forms are."""

import unicodedata

from engine.errors import InvalidInputError

_MAX_KEY = 1024


def check_key(key: str) -> str:
    """Return the key of an item; InvalidInputError if it cannot be one."""
    if not key or len(key) > _MAX_KEY or "\0" in key:
        raise InvalidInputError(f"a key has 1 to {_MAX_KEY} characters and no NUL")
    return key


def normal(key: str) -> str:
    """Return the normal form (NFC) of a key or path: systems write the same letters in different ways."""
    return unicodedata.normalize("NFC", key)
