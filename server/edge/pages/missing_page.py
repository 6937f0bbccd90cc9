"""The answer to an address without a page."""

from starlette.exceptions import HTTPException

from crossview.server.edge.pages.answer import Answer
from crossview.server.edge.pages.page_calls import PageError
from crossview.server.edge.pages.site import Page
from crossview.server.edge.pages.visit import Visit
from crossview.server.wire.status import Code


async def show(visit: Visit) -> Answer:
    """Raise PageError for a person; programs get the refusal of other addresses."""
    if "text/html" in visit.headers.get("accept", ""):
        raise PageError(404, "there is no such page: start at the list of collections", Code.NOT_FOUND)
    raise HTTPException(404)


PAGES = (Page("/{path:path}", show),)
