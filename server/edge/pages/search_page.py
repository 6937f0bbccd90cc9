"""The search page of a collection: the query, the lists of results, and further pages of each."""

import asyncio
import time
import zlib
from dataclasses import dataclass, field
from typing import Any

from crossview.engine.values.strategy import comparison
from crossview.server.edge.pages.answer import Answer
from crossview.server.edge.pages.item_page import read_item
from crossview.server.edge.pages.page_calls import PageError
from crossview.server.edge.pages.page_jobs import import_of
from crossview.server.edge.pages.search_requests import MOST, PAGE, Search, choices, searches
from crossview.server.edge.pages.search_state import Example, SearchState
from crossview.server.edge.pages.site import Page
from crossview.server.edge.pages.visit import Visit
from crossview.server.wire.status import Code
from crossview.v1 import collections_pb2

_SAMPLE = 72


@dataclass
class Listing:
    """A list of results as the page shows it."""

    title: str
    search: Search | None = None
    hits: list[Any] = field(default_factory=list)
    total: int | None = None
    next: str = ""
    """The token of the next page of items, or the number of results so far; empty at the end."""
    error: PageError | None = None
    unknown: tuple[str, ...] = ()
    """Words of the query that the view does not know."""
    warnings: tuple[str, ...] = ()
    comparison: str = ""
    """The sentence about the comparison behind a fused list."""
    is_doubtful: bool = False
    """Whether nothing may fit the query."""


async def show(visit: Visit) -> Answer:
    """Return the page in the state of its address."""
    began = time.perf_counter()
    state = SearchState.of(visit.query)
    info = await visit.call("GetCollection", collections_pb2.GetCollectionRequest(name=visit.collection))
    listings, panel, adding = await asyncio.gather(
        _listings(visit, state, info), _panel(visit, state), import_of(visit, info.items)
    )
    failed = [listing.error for listing in listings if listing.error is not None]
    values = {
        "title": _title(state, visit.path["collection"]),
        "tab": "search",
        "state": state,
        "info": info,
        "adding": adding,
        "words": any("text" in view.inputs for view in info.views),
        "lists": listings,
        "panel": panel,
        "settings": _settings(state, info),
        "milliseconds": round(1000 * (time.perf_counter() - began)),
        "Example": Example,
        "failed": failed[0] if failed and len(failed) == len(listings) else None,
    }
    return visit.page("search.html", failed[0].status if values["failed"] else 200, **values)


def _title(state: SearchState, collection: str) -> str:
    names = [example.value.rpartition("/")[2] if example.kind == "key" else "picture" for example in state.examples]
    query = state.text or ", ".join(names) or state.where
    return f"{query} · {collection}" if query else collection


def _settings(state: SearchState, info: Any) -> list[tuple[Any, Any]]:
    """Return the settings with their choices; an unknown space has the choices of the default."""
    settings = []
    for setting in (state.setting, *([] if state.other is None else [state.other])):
        try:
            choice = choices(info, setting, bool(state.text))
        except PageError:
            choice = choices(info, state.changed(setting=type(setting)()).setting, bool(state.text))
        settings.append((setting, choice))
    return settings


async def _panel(visit: Visit, state: SearchState) -> Any:
    """Return the item whose details are open, None without one; one that is gone closes."""
    if not state.item:
        return None
    try:
        return await read_item(visit, state.item)
    except PageError as error:
        if error.code is not Code.NOT_FOUND:
            raise
        return None


async def _listings(visit: Visit, state: SearchState, info: Any) -> list[Listing]:
    if not state.asks:
        return [await _items(visit, state)]
    try:
        wanted = searches(state, info, visit.session.uploads)
    except PageError as error:
        return [Listing("", error=error)]
    return list(await asyncio.gather(*(_listing(visit, search) for search in wanted)))


async def _listing(visit: Visit, search: Search) -> Listing:
    """Return the first page of a search; its error, for a refusal."""
    try:
        response = await visit.call("Search", search.request)
    except PageError as error:
        if error.code is Code.UNAUTHENTICATED:
            raise
        return Listing(search.title, search, error=error)
    listing = Listing(search.title, search, warnings=tuple(response.warnings))
    for result in response.results:
        listing.hits += result.hits
        listing.unknown += tuple(result.words.unknown)
        listing.comparison = comparison(result.target, bool(search.request.fuse))
        listing.is_doubtful = result.is_doubtful
    listing.next = _next(search, len(listing.hits))
    return listing


def _next(search: Search, hits: int) -> str:
    """Return the number of results so far, if there are more."""
    return str(hits) if hits >= search.request.k and hits < MOST else ""


def _items_request(visit: Visit, state: SearchState, token: str = "") -> collections_pb2.ListItemsRequest:
    request = collections_pb2.ListItemsRequest(parent=visit.collection, page_size=PAGE, page_token=token)
    if state.where:
        request.filter.where = state.where
    elif not state.order:
        request.sample = request.page_size = _SAMPLE
    return request


async def _items(visit: Visit, state: SearchState) -> Listing:
    """Return items without a query: those that a condition selects, or a sample."""
    request = _items_request(visit, state)
    counting = collections_pb2.CountItemsRequest(parent=visit.collection)
    counting.filter.CopyFrom(request.filter)
    try:
        listed, counted = await visit.call_all(("ListItems", request), ("CountItems", counting))
    except PageError as error:
        if error.code is not Code.INVALID_ARGUMENT:
            raise
        return Listing("", error=error)
    after = "" if request.sample else listed.next_page_token
    items = list(listed.items)
    if request.sample:  # in the order of their keys, neighbours would look alike
        items.sort(key=lambda item: zlib.crc32(item.key.encode()))
    return Listing("", None, items, counted.items, after, warnings=tuple(listed.warnings))


async def more(visit: Visit) -> Answer:
    """Return further results of a list, as tiles: ``token``, and ``of`` is "search" or "items".

    A search finds the first k results again and returns those after ``token``: the pages of ``Search`` would rank all
    items, which takes seconds for 10^5 items. The script leaves out results that it has already.
    """
    state, token = SearchState.of(visit.query), visit.query.text("token")
    listing = Listing("")
    if visit.query.text("of") == "items" or not state.asks:
        listed = await visit.call("ListItems", _items_request(visit, state.changed(order="key"), token))
        listing.hits, listing.next = list(listed.items), listed.next_page_token
    else:
        info = await visit.call("GetCollection", collections_pb2.GetCollectionRequest(name=visit.collection))
        wanted = searches(state, info, visit.session.uploads)
        search = wanted[visit.query.number("list", 0, 0, len(wanted) - 1)]
        first = visit.query.number("token", 0, 0, MOST)
        search.request.k = min(MOST, first + 2 * PAGE)
        searched = await _listing(visit, search)
        if searched.error is not None:
            raise searched.error
        listing.hits, listing.next = searched.hits[first:], searched.next
    return visit.page("more.html", title="More", tab="search", state=state, list=listing, Example=Example)


PAGES = (Page("/c/{collection}", show), Page("/c/{collection}/more", more))
