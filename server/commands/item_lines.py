"""The items of a collection as the lines of a CSV, page by page."""

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engine.query import Filter
    from server.backend import CollectionBackend

ITEM_COLUMNS = ("key", "labels", "attributes", "text", "source", "views")
_PAGE = 1_000


def item_lines(
    collection: "CollectionBackend", condition: "Filter", after: str, limit: int | None
) -> Iterator[tuple[Any, ...]]:
    """The items that pass the filter, in order of key, those after ``after``; all of them where there is no limit."""
    left = limit or sys.maxsize
    while left and (page := collection.items(condition, after=after, limit=min(left, _PAGE))):
        yield from (tuple(getattr(item, name) for name in ITEM_COLUMNS) for item in page)
        after, left = page[-1].key, left - len(page)
