"""All pages and tabs of the site."""

from starlette.exceptions import HTTPException
from starlette.routing import Route

from crossview.server.edge.http.calls import Calls
from crossview.server.edge.pages import (
    attributes_page,
    audit_page,
    browse_page,
    changes_page,
    chosen_page,
    completion_page,
    duplicates_page,
    home_page,
    item_page,
    job_page,
    login_page,
    map_page,
    notions_page,
    page_jobs,
    pictures_page,
    question_page,
    search_page,
    suggestions_page,
    threshold_page,
    training_page,
    why_page,
)
from crossview.server.edge.pages.answer import Answer
from crossview.server.edge.pages.page_calls import PageError
from crossview.server.edge.pages.site import Page, Section, Site
from crossview.server.edge.pages.visit import Visit
from crossview.server.wire.status import Code

SECTIONS = (
    Section("search", "Search", ""),
    Section("browse", "Browse", "/browse"),
    Section("map", "Map", "/map"),
    Section("teach", "Teach", "/teach"),
    Section("duplicates", "Duplicates", "/duplicates"),
    Section("audit", "Audit", "/audit"),
    Section("changes", "Changes", "/changes"),
)
"""The tabs of a collection, in order."""
_MODULES = (
    home_page,
    login_page,
    search_page,
    pictures_page,
    item_page,
    why_page,
    completion_page,
    browse_page,
    chosen_page,
    duplicates_page,
    map_page,
    audit_page,
    changes_page,
    notions_page,
    question_page,
    suggestions_page,
    attributes_page,
    threshold_page,
    training_page,
    job_page,
    page_jobs,
)
PAGES = tuple(page for module in _MODULES for page in module.PAGES)
"""Every page; a path that several have fits the first."""


def page_routes(calls: Calls, version: str) -> list[Route]:
    """Return the routes of all pages; they share the limits of all calls over HTTP."""
    return Site(calls, SECTIONS, version).routes((*PAGES, Page("/{path:path}", _missing)))


async def _missing(visit: Visit) -> Answer:
    """Raise PageError for a person; programs get the refusal of other addresses."""
    if "text/html" in visit.headers.get("accept", ""):
        raise PageError(404, "there is no such page: start at the list of collections", Code.NOT_FOUND)
    raise HTTPException(404)
