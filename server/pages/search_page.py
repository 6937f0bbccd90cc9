"""The search page of a collection."""

from crossview.server.pages.answer import Answer
from crossview.server.pages.site import Page
from crossview.server.pages.visit import Visit
from crossview.v1 import collections_pb2 as pb


async def show(visit: Visit) -> Answer:
    """Return the page."""
    info, listed = await visit.call_all(
        ("GetCollection", pb.GetCollectionRequest(name=visit.collection)),
        ("ListItems", pb.ListItemsRequest(parent=visit.collection, page_size=60)),
    )
    return visit.page("search.html", title=visit.path["collection"], tab="search", info=info, items=listed.items)


PAGES = (Page("/c/{collection}", show),)
