"""The site: it receives requests for pages, checks them, and sends the answers of the pages."""

import logging
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.exceptions import HTTPException
from starlette.routing import Route

from crossview.server.edge.http.calls import Calls
from crossview.server.edge.http.exchange import ClientLeftError, Exchange
from crossview.server.edge.pages import guard
from crossview.server.edge.pages.answer import SECURITY, Answer
from crossview.server.edge.pages.page_calls import PageCalls, PageError
from crossview.server.edge.pages.sessions import Sessions
from crossview.server.edge.pages.static_files import StaticFiles
from crossview.server.edge.pages.templates import Templates
from crossview.server.edge.pages.visit import Visit
from crossview.server.wire.status import Code

Handler = Callable[[Visit], Awaitable[Answer]]
_log = logging.getLogger("crossview.server")


@dataclass(frozen=True)
class Page:
    """An address, and the coroutine that answers requests for it."""

    path: str
    """The path, as routes of starlette write it; ``{collection}`` is the name of a collection."""
    handler: Handler
    verb: str = "GET"


@dataclass(frozen=True)
class Section:
    """A tab of every collection."""

    name: str
    title: str
    path: str
    """The path after /c/COLLECTION."""


class Site:
    """The pages of a server.

    Args:
        calls: the dispatcher and the limits that all calls over HTTP share.
        sections: the tabs of a collection.
        version: the version of the program.
    """

    calls: PageCalls
    sessions: Sessions
    static: StaticFiles

    def __init__(self, calls: Calls, sections: Sequence[Section], version: str) -> None:
        self.calls, self.sessions, self.static = PageCalls(calls), Sessions(), StaticFiles()
        self.budget = calls.dispatcher.budget
        self._templates = Templates(static=self.static.address, sections=tuple(sections), version=version)

    def routes(self, pages: Sequence[Page]) -> list[Route]:
        """Return the routes of the pages, and of the files that they use."""
        files = Page(self.static.path, self.static.answer)
        return [Route(page.path, _Endpoint(self, page), methods=[page.verb]) for page in (files, *pages)]

    def rendered(self, visit: Visit, template: str, values: Mapping[str, object]) -> str:
        """Return a template as text."""
        common = {
            "visit": visit,
            "layout": "part.html" if visit.is_part else "base.html",
            "collection": visit.path.get("collection", ""),
            "has_key": bool(visit.session.key),
            "token": visit.token,
        }
        return self._templates.rendered(template, common | dict(values))

    async def answer(self, page: Page, visit: Visit, scope: Mapping[str, Any]) -> Answer:
        """Return the answer of a page, or a page with its error."""
        try:
            guard.check_source(scope, visit.headers)
            if visit.is_new and page.verb == "GET" and guard.hides_cookie(scope, visit.headers):
                return guard.again(scope, visit.address)
            if page.verb != "GET":
                await guard.check_token(visit, self.sessions)
            return await page.handler(visit)
        except PageError as error:
            return self._failed(visit, error)
        except HTTPException:
            raise
        except Exception as error:  # noqa: BLE001 - people get an id, and the log the error
            made = uuid.uuid4().hex[:12]
            _log.error("error %s", made, exc_info=error)
            failed = PageError(500, f"the server failed unexpectedly; its log explains error {made}", Code.INTERNAL)
            return self._failed(visit, failed)

    def _failed(self, visit: Visit, error: PageError) -> Answer:
        wants_page = visit.headers.get("sec-fetch-dest", "document") == "document" and not visit.is_part
        if error.code is Code.UNAUTHENTICATED and wants_page:
            return visit.redirect("/login", next=visit.address)
        found = visit.page("error.html", error.status, title="Error", error=error)
        if error.retry_seconds is None:
            return found
        wait = ("retry-after", str(max(1, round(error.retry_seconds))))
        return Answer(found.body, found.content_type, found.status, (*found.headers, wait))


class _Endpoint:
    """A page as an application of ASGI."""

    def __init__(self, site: Site, page: Page) -> None:
        self._site, self._page = site, page

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request."""
        site = self._site
        exchange = Exchange(scope, receive, send, site.budget)
        known = guard.session_id(scope, exchange.headers)
        visit = Visit(exchange, scope, known, site.calls, site.sessions, site.rendered)
        try:
            async with exchange.cancelled_with_client():
                found = await site.answer(self._page, visit, scope)
                headers = [*SECURITY, *found.headers]
                if visit.is_new and not (set(dict(headers)) & {"refresh"} or self._page.path == site.static.path):
                    headers.append(("set-cookie", guard.cookie(scope, visit.cookie)))
                await exchange.respond(found.body, found.content_type, found.status, headers)
        except ClientLeftError:
            return
