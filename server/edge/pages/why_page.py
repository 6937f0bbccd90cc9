"""The explanation of a result: what adds to its place, and what agrees in both pictures, drawn over them."""

from urllib.parse import quote

from crossview.engine.values.explanation import Explanation
from crossview.server.edge.pages.answer import Answer
from crossview.server.edge.pages.page_calls import PageError
from crossview.server.edge.pages.search_requests import searches
from crossview.server.edge.pages.search_state import SearchState
from crossview.server.edge.pages.site import Page
from crossview.server.edge.pages.templates import thumbnail_address
from crossview.server.edge.pages.visit import Visit
from crossview.server.wire.fields import to_value
from crossview.v1 import collections_pb2
from crossview.v1 import search_pb2 as pb


async def show(visit: Visit) -> Answer:
    """Return why the item ``key`` has its place in the list with the number ``list`` of a search."""
    state, key = SearchState.of(visit.query), visit.query.text("key")
    info = await visit.call("GetCollection", collections_pb2.GetCollectionRequest(name=visit.collection))
    lists = searches(state, info, visit.session.uploads) if state.asks else []
    if not lists:
        raise PageError(400, "there is no query to explain the item by: search first")
    search = lists[visit.query.number("list", 0, 0, len(lists) - 1)]
    request = pb.ExplainRequest(parent=visit.collection, search=search.request, keys=[key])
    response = await visit.call("Explain", request)
    if not response.explanations:
        raise PageError(404, "the search cannot find this item, so there is nothing to explain")
    explained = to_value(Explanation, response.explanations[0])
    asked = _asked(state, visit.path["collection"])
    return visit.page("why.html", title=f"Why {key}", tab="search", key=key, asked=asked, explained=explained)


def _asked(state: SearchState, collection: str) -> dict[str, str]:
    """Return the query, or the first of several, as the page draws it: the address of its picture, or its text."""
    if not state.examples:
        return {"address": "", "text": state.text}
    example = state.examples[0]
    if example.kind == "key":
        return {"address": thumbnail_address(collection, example.value, "large"), "text": ""}
    return {"address": f"/pictures/{quote(example.value)}", "text": ""}


PAGES = (Page("/c/{collection}/why", show),)
