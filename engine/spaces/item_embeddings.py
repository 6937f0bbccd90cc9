"""The embeddings of items in a space, page by page in the order of keys."""

from collections.abc import Iterator
from typing import Protocol

from crossview.engine.values.conditions.filter import EVERY_ITEM, FilterForm
from crossview.engine.values.errors import BusyError
from crossview.engine.values.query import ItemEmbeddings


class Embedder(Protocol):
    """The items of a collection, local or on a server."""

    def embed(
        self, view: str, *, space: str = "", target: str = "", filter: FilterForm = EVERY_ITEM, after: str = ""
    ) -> ItemEmbeddings:
        """Return one page."""


def every_page(
    items: Embedder, view: str, space: str = "", target: str = "", filter: FilterForm = EVERY_ITEM
) -> Iterator[ItemEmbeddings]:
    """Yield all pages; BusyError if the space's generation in use changes between two pages."""
    first = page = items.embed(view, space=space, target=target, filter=filter)
    yield page
    while page.after:
        page = items.embed(view, space=first.space, target=target, filter=filter, after=page.after)
        if page.generation != first.generation:
            raise BusyError(
                f"space {first.space!r} changed from generation {first.generation} to {page.generation} "
                "during the reading of its vectors: start again"
            )
        yield page
