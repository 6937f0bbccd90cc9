"""The items that a person has chosen on a page: some keys, or all that pass the condition of the page."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from crossview.server.edge.pages.browse_page import items_request
from crossview.server.edge.pages.browse_state import BrowseState
from crossview.server.edge.pages.fields import Fields
from crossview.server.edge.pages.page_calls import PageError
from crossview.server.edge.pages.visit import Visit
from crossview.v1 import collections_pb2 as pb

_AT_ONCE = 1_000
"""Number of items in a call."""
_FROM = {"browse": "/browse", "duplicates": "/duplicates", "audit": "/audit", "map": "/map"}
"""The pages on which items can be chosen."""


@dataclass(frozen=True)
class Chosen:
    """The chosen items, and the page on which a person has chosen them."""

    keys: tuple[str, ...]
    all: bool
    """Whether the items are all that pass ``state``, instead of ``keys``."""
    state: BrowseState
    page: str

    @classmethod
    def of(cls, form: Fields) -> "Chosen":
        """Return what a form states; raise PageError if it names nothing."""
        found = cls(form.texts("key"), form.text("all") == "1", BrowseState.of(form), form.text("from"))
        if not found.keys and not found.all:
            raise PageError(400, "no item is chosen: choose some, then repeat the action")
        return found

    def fields(self) -> list[tuple[str, str]]:
        """Return the fields of a form that states the same."""
        keys = [("key", key) for key in self.keys]
        return [*keys, ("all", "1" if self.all else ""), ("from", self.page), *self.state.fields()]

    def address(self, collection: str) -> str:
        """Return the address of the page."""
        return self.state.address(collection, _FROM.get(self.page, "/browse"))

    async def count(self, visit: Visit) -> int:
        """Return the number of items."""
        if not self.all:
            return len(self.keys)
        request = pb.CountItemsRequest(parent=visit.collection, filter=self.state.filter())
        counted = await visit.call("CountItems", request)
        return int(counted.items)

    async def items(self, visit: Visit) -> AsyncIterator[list[Any]]:
        """Yield the items that exist, page by page, in the order of keys."""
        if not self.all:
            for first in range(0, len(self.keys), _AT_ONCE):
                request = pb.ListItemsRequest(parent=visit.collection, page_size=_AT_ONCE)
                request.filter.keys.extend(self.keys[first : first + _AT_ONCE])
                async for page in _pages(visit, request):
                    yield page
            return
        async for page in _pages(visit, items_request(visit, self.state.changed(sort=""), _AT_ONCE)):
            yield page


async def _pages(visit: Visit, request: pb.ListItemsRequest) -> AsyncIterator[list[Any]]:
    while True:
        listed = await visit.call("ListItems", request)
        if listed.items:
            yield list(listed.items)
        if not listed.next_page_token:
            return
        request.page_token = listed.next_page_token
