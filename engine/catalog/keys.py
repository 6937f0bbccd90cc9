"""Keys of items: equal if their Unicode normal forms are."""

import unicodedata


def normal(key: str) -> str:
    """Return the normal form (NFC) of a key or path: systems write the same letters in different ways."""
    return unicodedata.normalize("NFC", key)
