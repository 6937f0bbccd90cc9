"""All pages and tabs of the site."""

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
    missing_page,
    notions_page,
    pictures_page,
    question_page,
    search_page,
    suggestions_page,
    threshold_page,
    training_page,
    why_page,
)
from crossview.server.edge.pages.site import Section, Site

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
PAGES = (
    *home_page.PAGES,
    *login_page.PAGES,
    *search_page.PAGES,
    *pictures_page.PAGES,
    *item_page.PAGES,
    *why_page.PAGES,
    *completion_page.PAGES,
    *browse_page.PAGES,
    *chosen_page.PAGES,
    *duplicates_page.PAGES,
    *map_page.PAGES,
    *audit_page.PAGES,
    *changes_page.PAGES,
    *notions_page.PAGES,
    *question_page.PAGES,
    *suggestions_page.PAGES,
    *attributes_page.PAGES,
    *threshold_page.PAGES,
    *training_page.PAGES,
    *job_page.PAGES,
)
"""Every page; a path that several have fits the first."""


def page_routes(calls: Calls, version: str) -> list[Route]:
    """Return the routes of all pages; they share the limits of all calls over HTTP."""
    return Site(calls, SECTIONS, version).routes((*PAGES, *missing_page.PAGES))
