"""Actions on chosen items: adding or removing a label, deletion from the collection, and export of their keys."""

import csv
import io
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from crossview.engine.catalog.ingest.cells import label_cell
from crossview.server.edge.pages.answer import NO_STORE, Answer
from crossview.server.edge.pages.browse_page import items_request
from crossview.server.edge.pages.browse_state import BrowseState
from crossview.server.edge.pages.fields import Fields
from crossview.server.edge.pages.page_calls import PageError
from crossview.server.edge.pages.site import Page
from crossview.server.edge.pages.visit import Visit
from crossview.v1 import collections_pb2 as pb

_MOST_UNDONE = 20_000
"""Maximum number of changed keys in an answer, with which a script can undo the change."""
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
        chosen = cls(form.texts("key"), form.text("all") == "1", BrowseState.of(form), form.text("from"))
        if not chosen.keys and not chosen.all:
            raise PageError(400, "no item is chosen: choose some, then repeat the action")
        return chosen

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


async def label(visit: Visit) -> Answer:
    """Add the label ``label`` to the chosen items, or remove it from them (``do`` is "add" or "remove")."""
    form = await visit.form()
    chosen, name, adds = Chosen.of(form), form.raw("label-name"), form.text("do") != "remove"
    if not name.strip():
        raise PageError(400, "the label is empty: write one")
    changed, failures = [], 0
    async for items in chosen.items(visit):
        updates = [_update(item, name, adds) for item in items if (name in item.labels) is not adds]
        if updates:
            request = pb.UpdateItemsRequest(parent=visit.collection, updates=updates)
            report = await visit.call("UpdateItems", request)
            if report.failures and len(report.failures) == len(updates):
                raise PageError(400, report.failures[0].reason)
            failures += len(report.failures)
            changed += [update.key for update in updates]
    return _done(visit, chosen, changed, failures)


def _update(item: Any, name: str, adds: bool) -> pb.ItemUpdate:
    labels = [*item.labels, name] if adds else [label for label in item.labels if label != name]
    return pb.ItemUpdate(key=item.key, labels=labels, clear_labels=not labels)


async def delete(visit: Visit) -> Answer:
    """Delete the chosen items from the collection if the form says ``sure``; otherwise ask."""
    form = await visit.form()
    chosen = Chosen.of(form)
    if form.text("sure") != "1":
        sample = [item async for item in _first(visit, chosen)]
        number = await chosen.count(visit)
        return visit.page(
            "delete_chosen.html", title="Delete", tab=chosen.page, chosen=chosen, number=number, sample=sample
        )
    deleted = []
    async for items in chosen.items(visit):
        keys = [item.key for item in items]
        await visit.call("DeleteItems", pb.DeleteItemsRequest(parent=visit.collection, keys=keys))
        deleted += keys
    return _done(visit, chosen, deleted)


async def _first(visit: Visit, chosen: Chosen) -> Any:
    """Yield some of the chosen items, to be shown."""
    async for items in chosen.items(visit):
        for item in items[:24]:
            yield item
        return


def _done(visit: Visit, chosen: Chosen, keys: list[str], failures: int = 0) -> Answer:
    """Return the changed keys to a script, and lead a person back to the page."""
    if not visit.is_part:
        return visit.redirect(chosen.address(visit.path["collection"]))
    value = {"changed": len(keys), "failures": failures, "keys": keys if len(keys) <= _MOST_UNDONE else []}
    return Answer(json.dumps(value).encode(), "application/json", headers=(NO_STORE,))


async def export(visit: Visit) -> Answer:
    """Return the keys and labels of the chosen items as CSV, which ``crossview annotate`` reads."""
    chosen = Chosen.of(await visit.form())
    written = io.StringIO()
    table = csv.writer(written, lineterminator="\r\n")
    table.writerow(("key", "label"))
    async for items in chosen.items(visit):
        table.writerows((item.key, label_cell(item.labels)) for item in items)
    headers = (NO_STORE, ("content-disposition", 'attachment; filename="items.csv"'))
    return Answer(written.getvalue().encode(), "text/csv; charset=utf-8", headers=headers)


PAGES = (
    Page("/c/{collection}/chosen/label", label, "POST"),
    Page("/c/{collection}/chosen/delete", delete, "POST"),
    Page("/c/{collection}/chosen/export", export, "POST"),
)
