"""What a space makes of the rows that items have, a page of items at a time, in the order of keys."""

from collections.abc import Iterator
from typing import Protocol

from crossview.engine.errors import BusyError
from crossview.engine.query import ItemEmbeddings

ITEMS_AT_ONCE = 1_000
"""Items of a page at most."""


class Embedder(Protocol):
    """The items of a collection, here or on a server."""

    def embed(self, view: str, *, space: str = "", target: str = "", after: str = "") -> ItemEmbeddings:
        """Return one page."""


def every_page(items: Embedder, view: str, space: str = "", target: str = "") -> Iterator[ItemEmbeddings]:
    """Yield page after page; BusyError if the space is trained again or another generation activated meanwhile."""
    first = page = items.embed(view, space=space, target=target)
    yield page
    while page.after:
        page = items.embed(view, space=first.space, target=target, after=page.after)
        if page.generation != first.generation:
            raise BusyError(
                f"space {first.space!r} changed from generation {first.generation} to {page.generation} "
                "while its vectors were read: start again"
            )
        yield page
