"""All items of a collection, by folder, label, date and condition."""

from dataclasses import dataclass
from typing import Any

from crossview.server.edge.pages.answer import Answer
from crossview.server.edge.pages.browse_state import TAKEN, BrowseState, field_text
from crossview.server.edge.pages.page_calls import PageError
from crossview.server.edge.pages.page_jobs import Work, import_of
from crossview.server.edge.pages.site import Page
from crossview.server.edge.pages.visit import Visit
from crossview.server.wire.status import Code
from crossview.v1 import collections_pb2 as pb

PAGE = 120
_VALUES, _MOST_FIELDS = 40, 40
"""Maximum number of folders and labels, and of attributes that are looked at for times."""


@dataclass(frozen=True)
class Sides:
    """The numbers of items beside the grid, each without the part of the state that it would change."""

    items: int
    folders: Any
    labels: Any
    missing: int
    dates: tuple[tuple[str, Any], ...]
    """The fields that contain times, with their facets."""

    def times(self, state: BrowseState) -> list[tuple[str, int, float]]:
        """Return the periods of the time line: the period, its items, and their share of the longest bar."""
        facets = [facet.times for field, facet in self.dates if field == state.date]
        most = max((period.items for times in facets for period in times), default=1)
        return [(period.start, period.items, period.items / most) for times in facets for period in times]


async def show(visit: Visit) -> Answer:
    """Return the grid in the state of its address."""
    state = BrowseState.of(visit.query)
    try:
        listed, sides = await _listed(visit, state)
    except PageError as error:
        if error.code not in (Code.INVALID_ARGUMENT, Code.NOT_FOUND) or (not state.narrows and not state.after):
            raise
        return _page(visit, state, None, None, None, error)
    if sides.dates and state.date not in dict(sides.dates):
        state = state if state.when else state.changed(date=sides.dates[0][0], after=state.after)
    return _page(visit, state, listed, sides, await import_of(visit, sides.items))


async def _listed(visit: Visit, state: BrowseState) -> tuple[Any, Sides]:
    attributes = await visit.call("ListAttributes", pb.ListAttributesRequest(parent=visit.collection))
    own = [name for name in map(field_text, attributes.names) if name and name != "file"]
    fields = (TAKEN, *own[:_MOST_FIELDS])
    listed, folders, labels, times = await visit.call_all(
        ("ListItems", items_request(visit, state)),
        ("CountItems", _counts(visit, state, ("key",), state.folder)),
        ("CountItems", _counts(visit, state.changed(label="", unlabelled=False), ("label", "missing"))),
        ("CountItems", _counts(visit, state.changed(when=""), fields)),
    )
    label, missing = labels.facets
    gone = labels.items - missing.missing
    dates = tuple((field, facet) for field, facet in zip(fields, times.facets, strict=True) if facet.times)
    return listed, Sides(folders.items, folders.facets[0], label, gone, dates)


def _counts(visit: Visit, state: BrowseState, fields: tuple[str, ...], below: str = "") -> pb.CountItemsRequest:
    request = pb.CountItemsRequest(parent=visit.collection, facets=fields, limit=_VALUES, below=below)
    request.filter.CopyFrom(state.filter())
    return request


def items_request(visit: Visit, state: BrowseState, size: int = PAGE) -> pb.ListItemsRequest:
    """Return the request for a page of the items of a state."""
    request = pb.ListItemsRequest(parent=visit.collection, page_size=size, page_token=state.after, sort_by=state.sort)
    request.filter.CopyFrom(state.filter())
    return request


def _page(
    visit: Visit, state: BrowseState, listed: Any, sides: Any, adding: Work | None, error: PageError | None = None
) -> Answer:
    collection = visit.path["collection"]
    values = {
        "title": f"{state.label or state.folder or 'Browse'} · {collection}",
        "tab": "browse",
        "state": state,
        "listed": listed,
        "sides": sides,
        "adding": adding,
        "error": error,
    }
    return visit.page("browse.html", 200 if error is None else error.status, **values)


async def more(visit: Visit) -> Answer:
    """Return a page of the grid: that of the token ``after``."""
    state = BrowseState.of(visit.query)
    listed = await visit.call("ListItems", items_request(visit, state))
    return visit.page("browse_more.html", title="More", tab="browse", state=state, listed=listed)


PAGES = (Page("/c/{collection}/browse", show), Page("/c/{collection}/browse/more", more))
