"""Suggested labels of items without labels: people accept or reject each, or accept all that are probable enough."""

import asyncio
import json
from dataclasses import dataclass
from typing import Any

from crossview.server.edge.pages.answer import Answer
from crossview.server.edge.pages.fields import Fields
from crossview.server.edge.pages.page_calls import PageError
from crossview.server.edge.pages.search_requests import short
from crossview.server.edge.pages.site import Page
from crossview.server.edge.pages.visit import Visit
from crossview.server.wire.status import Code
from crossview.v1 import collections_pb2, search_pb2

_SHOWN, _READ, _MOST_REJECTED = 24, 60, 500
"""Number of suggestions on a page, of items that are read for them beyond the rejected ones, and of these at most."""
_UNLABELLED = "not label exists"
_LEAST = 80


@dataclass(frozen=True)
class Suggestion:
    """A suggested label of an item, as the page shows it."""

    key: str
    label: str
    share: float = 0.0

    @property
    def text(self) -> str:
        """The suggestion as a field of the form: what people accept is what they saw."""
        return json.dumps([self.key, self.label, round(self.share, 4)])


@dataclass(frozen=True)
class Decided:
    """The last decision of a person: "accepted", "rejected" or "undone", and the suggestions."""

    what: str = ""
    last: tuple[Suggestion, ...] = ()


def _read(texts: tuple[str, ...]) -> list[Suggestion]:
    """Return the suggestions of fields; raise PageError."""
    try:
        return [Suggestion(str(key), str(label), float(share)) for key, label, share in map(json.loads, texts)]
    except (ValueError, TypeError) as error:
        raise PageError(400, "the page sent a suggestion that cannot be read: load it again") from error


async def show(visit: Visit) -> Answer:
    """Return suggestions for items without labels, the most probable first."""
    return await _shown(visit, visit.query)


async def decide(visit: Visit) -> Answer:
    """Accept or reject suggestions of the form, or take back what was accepted or rejected last; then show others."""
    form = await visit.form()
    if form.text("undo"):
        last = _read(form.texts("last"))
        if form.text("was") == "accepted":
            await _remove(visit, last)
        kept = [
            suggestion
            for suggestion in _read(form.texts("rejected"))
            if suggestion.key not in {gone.key for gone in last}
        ]
        return await _shown(visit, form, Decided("undone", tuple(last)), kept)
    rejected = _read(form.texts("rejected"))
    if form.text("reject"):
        last = _read(form.texts("reject"))
        return await _shown(visit, form, Decided("rejected", tuple(last)), [*rejected, *last][-_MOST_REJECTED:])
    least = form.number("least", _LEAST, 0, 100) / 100
    chosen = _read(form.texts("accept")) or [
        suggestion for suggestion in _read(form.texts("item")) if suggestion.share >= least
    ]
    await _add(visit, chosen)
    return await _shown(visit, form, Decided("accepted", tuple(chosen)), rejected)


async def _add(visit: Visit, chosen: list[Suggestion]) -> None:
    if chosen:
        request = collections_pb2.UpdateItemsRequest(parent=visit.collection)
        for suggestion in chosen:
            request.updates.add(key=suggestion.key, labels=[suggestion.label])
        await visit.call("UpdateItems", request)


async def _remove(visit: Visit, chosen: list[Suggestion]) -> None:
    """Remove accepted labels again, from the items that still have them alone."""
    request = collections_pb2.UpdateItemsRequest(parent=visit.collection)
    names = [f"{visit.collection}/items/{suggestion.key}" for suggestion in chosen]
    items = await asyncio.gather(*(visit.call("GetItem", collections_pb2.GetItemRequest(name=name)) for name in names))
    for suggestion, item in zip(chosen, items, strict=True):
        if list(item.labels) == [suggestion.label]:
            request.updates.add(key=suggestion.key, clear_labels=True)
    if request.updates:
        await visit.call("UpdateItems", request)


async def _shown(
    visit: Visit, fields: Fields, decided: Decided | None = None, rejected: list[Suggestion] | None = None
) -> Answer:
    """Return the page with suggestions for items that nobody has labelled, without the rejected ones."""
    info = await visit.call("GetCollection", collections_pb2.GetCollectionRequest(name=visit.collection))
    space = fields.text("space") or info.active_space or "raw"
    chosen = next((other for other in info.spaces if short(other.name) == space), None)
    views = list(chosen.views) if chosen is not None else [each.name for each in info.views]
    view = fields.text("view") or (views[0] if views else "")
    counting = collections_pb2.CountItemsRequest(parent=visit.collection)
    counting.filter.where = _UNLABELLED
    left = (await visit.call("CountItems", counting)).items
    error: PageError | None = None
    suggestions: list[Suggestion] = []
    try:
        suggestions = (
            await _suggestions(visit, space, view, {suggestion.key for suggestion in rejected or ()}) if left else []
        )
    except PageError as refused:
        if refused.code is Code.UNAUTHENTICATED:
            raise
        error = refused
    values = {
        "title": f"Labels of {visit.path['collection']}",
        "tab": "teach",
        "lesson": "labels",
        "info": info,
        "spaces": [short(each.name) for each in info.spaces],
        "space": space,
        "views": views,
        "view": view,
        "left": left,
        "found": suggestions,
        "least": fields.number("least", _LEAST, 0, 100),
        "decided": decided or Decided(),
        "rejected": rejected or [],
        "error": error,
    }
    return visit.page("suggestions.html", 200 if error is None else error.status, **values)


async def _suggestions(visit: Visit, space: str, view: str, without: set[str]) -> list[Suggestion]:
    """Return the most probable label of each of some items, the most probable first."""
    listing = collections_pb2.ListItemsRequest(parent=visit.collection, page_size=min(1000, _READ + len(without)))
    condition = f"{_UNLABELLED} and view = {json.dumps(view)}"
    listing.filter.where = condition
    listed = await visit.call("ListItems", listing)
    keys = [item.key for item in listed.items if item.key not in without][:_READ]
    if not keys:
        return []
    request = search_pb2.SuggestLabelsRequest(parent=visit.collection, space=space, min_share=0.0)
    for key in keys:
        request.queries.add(key=key, view=view)
    response: Any = await visit.call("SuggestLabels", request)
    suggestions = []
    for result in response.results:
        if result.labels:
            best = result.labels[0]
            suggestions.append(Suggestion(keys[result.query], best.label, best.share))
    return sorted(suggestions, key=lambda suggestion: -suggestion.share)[:_SHOWN]


PAGES = (
    Page("/c/{collection}/teach/labels", show),
    Page("/c/{collection}/teach/labels", decide, "POST"),
)
