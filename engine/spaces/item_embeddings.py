"""What a space makes of the rows that items have, a page of items at a time, in the order of keys."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from crossview.engine.errors import BusyError

ITEMS_AT_ONCE = 1_000
"""Items of a page at most."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ItemEmbeddings:
    """A page of items that have a view, and what a space makes of their rows."""

    space: str
    generation: int
    keys: tuple[str, ...]
    """In order."""
    vectors: NDArray[np.float32] | NDArray[np.uint8]
    """Shape (n, D), n may be 0; codes packed as by ``np.packbits``, shape (n, ceil(bits / 8))."""
    bits: int = 0
    """Of a code; 0 for float vectors."""
    after: str = ""
    """The next page has the items after this key; "" on the last page."""


class Embedder(Protocol):
    """A collection, here or on a server."""

    def embed_items(self, view: str, *, space: str = "", target: str = "", after: str = "") -> ItemEmbeddings:
        """Return one page."""


def every_page(collection: Embedder, view: str, space: str = "", target: str = "") -> Iterator[ItemEmbeddings]:
    """Yield page after page; BusyError if the space is trained again or another generation activated meanwhile."""
    first = page = collection.embed_items(view, space=space, target=target)
    yield page
    while page.after:
        page = collection.embed_items(view, space=first.space, target=target, after=page.after)
        if page.generation != first.generation:
            raise BusyError(
                f"space {first.space!r} changed from generation {first.generation} to {page.generation} "
                "while its vectors were read: start again"
            )
        yield page
