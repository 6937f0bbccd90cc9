"""The first page: the collections, with some of their pictures."""

import asyncio
from dataclasses import dataclass

from crossview.server.edge.pages.answer import Answer
from crossview.server.edge.pages.page_calls import PageError
from crossview.server.edge.pages.site import Page
from crossview.server.edge.pages.visit import Visit
from crossview.v1 import collections_pb2 as pb

_CARDS, _SAMPLES = 24, 5


@dataclass(frozen=True)
class Card:
    """A collection as the page shows it."""

    name: str
    description: str = ""
    items: int = 0
    views: tuple[str, ...] = ()
    space: str = ""
    samples: tuple[str, ...] = ()
    error: str = ""


async def show(visit: Visit) -> Answer:
    """Return the list of collections."""
    wanted = pb.ListCollectionsRequest(page_size=_CARDS, page_token=visit.query.text("after"))
    listed = await visit.call("ListCollections", wanted)
    cards = await asyncio.gather(*(_card(visit, collection.name) for collection in listed.collections))
    return visit.page("home.html", title="Collections", cards=cards, more=listed.next_page_token)


async def _card(visit: Visit, name: str) -> Card:
    """Return the card of a collection; one that cannot be opened has its error."""
    short = name.partition("/")[2]
    try:
        info, listed = await visit.call_all(
            ("GetCollection", pb.GetCollectionRequest(name=name)),
            ("ListItems", pb.ListItemsRequest(parent=name, page_size=_SAMPLES, sample=_SAMPLES)),
        )
    except PageError as error:
        return Card(short, error=error.message)
    views = tuple(view.name for view in info.views)
    samples = tuple(item.key for item in listed.items)
    return Card(short, info.description, info.items, views, info.active_space, samples)


PAGES = (Page("/", show),)
