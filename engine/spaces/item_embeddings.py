"""The embeddings of items in a space, page by page in the order of keys."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from crossview.engine.errors import BusyError

ITEMS_AT_ONCE = 1_000
"""Most items of a page."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ItemEmbeddings:
    """A page of items that have a view, and their embeddings in a space."""

    space: str
    generation: int
    keys: tuple[str, ...]
    """Keys in ascending order."""
    vectors: NDArray[np.float32] | NDArray[np.uint8]
    """Shape (n, D), n may be 0; codes packed as by ``np.packbits``, shape (n, ceil(bits / 8))."""
    bits: int = 0
    """Bits of a code; 0 for float vectors."""
    after: str = ""
    """Key after which the next page starts; "" on the last page."""


class Embedder(Protocol):
    """A local collection, or one on a server."""

    def embed_items(self, view: str, *, space: str = "", target: str = "", after: str = "") -> ItemEmbeddings:
        """Return one page."""


def every_page(collection: Embedder, view: str, space: str = "", target: str = "") -> Iterator[ItemEmbeddings]:
    """Yield all pages; BusyError if the space's generation in use changes between two pages."""
    first = page = collection.embed_items(view, space=space, target=target)
    yield page
    while page.after:
        page = collection.embed_items(view, space=first.space, target=target, after=page.after)
        if page.generation != first.generation:
            raise BusyError(
                f"space {first.space!r} changed from generation {first.generation} to {page.generation} "
                "during the reading of its vectors: start again"
            )
        yield page
