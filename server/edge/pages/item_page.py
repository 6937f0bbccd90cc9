"""The details of an item, and its deletion."""

from typing import Any

from google.protobuf.json_format import MessageToDict

from crossview.server.edge.pages.answer import Answer
from crossview.server.edge.pages.search_state import Example, SearchState
from crossview.server.edge.pages.site import Page
from crossview.server.edge.pages.visit import Visit
from crossview.v1 import collections_pb2, types_pb2

_MOST_FACTS = 60
_SHOWN = ("hash", "width", "height")
"""Metadata of files that the details show elsewhere, or that only programs read."""


async def read_item(visit: Visit, key: str) -> Any:
    """Return an item with its facts; raise PageError."""
    name = f"{visit.collection}/items/{key}"
    item = await visit.call("GetItem", collections_pb2.GetItemRequest(name=name))
    return {"item": item, "facts": _facts(item)}


def _facts(item: types_pb2.Item) -> list[tuple[str, str]]:
    """Return the names and values of the attributes of an item and of its file."""
    facts = list(_flat(MessageToDict(item.attributes)))
    facts += sorted((f"file.{name}", text) for name, text in _flat(MessageToDict(item.file)) if name not in _SHOWN)
    return facts[:_MOST_FACTS]


def _flat(value: Any, prefix: str = "") -> Any:
    for name, inner in value.items():
        if isinstance(inner, dict):
            yield from _flat(inner, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", ", ".join(map(_text, inner)) if isinstance(inner, list) else _text(inner)


def _text(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).lower() if isinstance(value, bool) else str(value)


async def show(visit: Visit) -> Answer:
    """Return the details of the item ``key``, in the state of the search."""
    state, key = SearchState.of(visit.query), visit.query.text("key")
    panel = await read_item(visit, key)
    return visit.page("item.html", title=key, tab="search", state=state, panel=panel, Example=Example)


async def delete(visit: Visit) -> Answer:
    """Delete the item ``key`` from the collection; its file stays."""
    form = await visit.form()
    name = f"{visit.collection}/items/{form.text('key')}"
    await visit.call("DeleteItem", collections_pb2.DeleteItemRequest(name=name))
    return visit.redirect(f"/c/{visit.path['collection']}")


PAGES = (Page("/c/{collection}/item", show), Page("/c/{collection}/delete", delete, "POST"))
