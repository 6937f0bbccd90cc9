"""Sliders of the attributes of a space: results have more or less of each than the query, and follow the sliders."""

import math
from dataclasses import dataclass
from typing import Any

from crossview.server.edge.pages.answer import Answer
from crossview.server.edge.pages.fields import Fields
from crossview.server.edge.pages.page_calls import PageError
from crossview.server.edge.pages.search_requests import short
from crossview.server.edge.pages.site import Page
from crossview.server.edge.pages.visit import Visit
from crossview.server.wire.status import Code
from crossview.v1 import collections_pb2
from crossview.v1 import search_pb2 as pb

MOST = 3.0
"""The end of a slider, in standard deviations of the scores."""
_RESULTS, _SAMPLE, _MOST_AXES = 24, 24, 40
AMOUNT, HOLD = "by.", "hold"
"""The beginning of the field of an amount, before the name of its attribute, and the field of held attributes."""


@dataclass(frozen=True)
class Axis:
    """The slider of an attribute."""

    name: str
    amount: float
    held: bool


@dataclass(frozen=True)
class Moved:
    """A query, and how far results should be from it along the attributes of a space."""

    space: Any
    view: str
    key: str
    axes: tuple[Axis, ...]

    @classmethod
    def of(cls, fields: Fields, info: Any) -> "Moved | None":
        """Return what the address asks of a space with attributes; None if no space has any."""
        spaces = {short(space.name): space for space in info.spaces if space.axes}
        if not spaces:
            return None
        wanted = fields.text("space") or (info.active_space if info.active_space in spaces else next(iter(spaces)))
        if wanted not in spaces:
            raise PageError(404, f"no space {wanted!r} with attributes; there is: {', '.join(spaces)}", Code.NOT_FOUND)
        space = spaces[wanted]
        view, held = fields.text("view"), fields.texts(HOLD)
        axes = [Axis(axis, _amount(fields.text(f"{AMOUNT}{axis}")), axis in held) for axis in space.axes[:_MOST_AXES]]
        return cls(space, view if view in space.views else space.views[0], fields.raw("like"), tuple(axes))

    def request(self, parent: str) -> pb.SearchRequest:
        """Return the search."""
        request = pb.SearchRequest(parent=parent, space=short(self.space.name), k=_RESULTS)
        request.queries.add(key=self.key, view=self.view)
        for axis in self.axes:
            if axis.amount > 0:
                request.more[axis.name] = axis.amount
            elif axis.amount < 0:
                request.less[axis.name] = -axis.amount
        if request.more or request.less:
            request.hold.extend(axis.name for axis in self.axes if axis.held and not axis.amount)
        return request


def _amount(text: str) -> float:
    """Return the amount of a slider; 0 for another text."""
    try:
        value = float(text)
    except ValueError:
        return 0.0
    return max(-MOST, min(MOST, value)) if math.isfinite(value) else 0.0


async def show(visit: Visit) -> Answer:
    """Return the sliders with the results; without a query, items to choose from."""
    info = await visit.call("GetCollection", collections_pb2.GetCollectionRequest(name=visit.collection))
    moved = Moved.of(visit.query, info)
    hits: list[Any] = []
    items: list[Any] = []
    error: PageError | None = None
    if moved is not None and moved.key:
        try:
            response = await visit.call("Search", moved.request(visit.collection))
            hits = [hit for hit in (hit for each in response.results for hit in each.hits) if hit.key != moved.key]
        except PageError as refused:
            if refused.code is Code.UNAUTHENTICATED:
                raise
            error = refused
    elif moved is not None:
        request = collections_pb2.ListItemsRequest(parent=visit.collection, page_size=_SAMPLE, sample=_SAMPLE)
        items = list((await visit.call("ListItems", request)).items)
    values = {
        "title": f"Attributes of {visit.path['collection']}",
        "tab": "teach",
        "lesson": "attributes",
        "moved": moved,
        "space": short(moved.space.name) if moved is not None else "",
        "spaces": [short(space.name) for space in info.spaces if space.axes],
        "hits": hits,
        "items": items,
        "error": error,
        "most": MOST,
    }
    return visit.page("attributes.html", 200 if error is None else error.status, **values)


PAGES = (Page("/c/{collection}/teach/attributes", show),)
