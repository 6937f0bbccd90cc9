"""The site: it receives requests for pages, keeps other sites out, and sends the answers of the pages."""

import hashlib
import http.cookies
import logging
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any
from urllib.parse import urlsplit

from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.routing import Route

from crossview.server.edge.http.calls import Calls
from crossview.server.edge.http.exchange import ClientLeftError, Exchange
from crossview.server.edge.pages.answer import IMMUTABLE, NO_STORE, SECURITY, Answer, local
from crossview.server.edge.pages.page_calls import PageCalls, PageError
from crossview.server.edge.pages.sessions import Sessions
from crossview.server.edge.pages.templates import Templates, item_address, thumbnail_address
from crossview.server.edge.pages.visit import Visit
from crossview.server.wire.status import Code

Handler = Callable[[Visit], Awaitable[Answer]]
_AGAIN = "again"
_TOKEN_HEADER, _TOKEN_FIELD = "x-csrf-token", "csrf"
_TYPES = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}
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
    static: "_StaticFiles"

    def __init__(self, calls: Calls, sections: Sequence[Section], version: str) -> None:
        self.calls, self.sessions, self.static = PageCalls(calls), Sessions(), _StaticFiles()
        self.budget = calls.dispatcher.budget
        common = {"static": self.static.address, "sections": tuple(sections), "version": version}
        self._templates = Templates(thumbnail_address, item_address, acts=True, **common)

    def routes(self, pages: Sequence[Page]) -> list[Route]:
        """Return the routes of the pages, and of the files that they use."""
        static = Page(self.static.path, self.static.answer)
        return [Route(page.path, _Endpoint(self, page), methods=[page.verb]) for page in (static, *pages)]

    def rendered(self, visit: Visit, template: str, values: Mapping[str, object]) -> str:
        """Return a template as text."""
        common = {
            "visit": visit,
            "layout": "part.html" if visit.is_part else "base.html",
            "collection": visit.path.get("collection", ""),
            "has_key": bool(visit.session.key),
            "token": visit.token,
            "csrf": lambda: Markup('<input type="hidden" name="csrf" value="{}">').format(visit.token),
        }
        return self._templates.rendered(template, common | dict(values))

    async def answer(self, page: Page, visit: Visit, scope: Mapping[str, Any]) -> Answer:
        """Return the answer of a page, or a page with its error."""
        try:
            _check_source(scope, visit.headers)
            if visit.is_new and page.verb == "GET" and _hides_cookie(scope, visit.headers):
                return _again(scope, visit.address)
            if page.verb != "GET":
                await _check_token(visit, self.sessions)
            return await page.handler(visit)
        except PageError as error:
            return self._failed(visit, error)
        except HTTPException:
            raise
        except Exception as error:  # noqa: BLE001 - people get an id, and the log the error
            error_id = uuid.uuid4().hex[:12]
            _log.error("error %s", error_id, exc_info=error)
            failed = PageError(500, f"the server failed unexpectedly; its log explains error {error_id}", Code.INTERNAL)
            return self._failed(visit, failed)

    def _failed(self, visit: Visit, error: PageError) -> Answer:
        wants_page = visit.headers.get("sec-fetch-dest", "document") == "document" and not visit.is_part
        if error.code is Code.UNAUTHENTICATED and wants_page:
            return visit.redirect("/login", next=visit.address)
        answer = visit.page("error.html", error.status, title="Error", error=error)
        if error.retry_seconds is None:
            return answer
        wait = ("retry-after", str(max(1, round(error.retry_seconds))))
        return Answer(answer.body, answer.content_type, answer.status, (*answer.headers, wait))


class _StaticFiles:
    """The files of the folder ``static``, in memory. All share one hash, so that scripts can import each other."""

    path = "/static/{hash}/{file}"

    def __init__(self) -> None:
        folder = files("crossview.server.edge.pages") / "static"
        kinds = tuple(f".{ending}" for ending in _TYPES)
        self._files = {file.name: file.read_bytes() for file in folder.iterdir() if file.name.endswith(kinds)}
        content = hashlib.blake2b(digest_size=8)
        for name in sorted(self._files):
            content.update(name.encode() + b"\0" + self._files[name])
        self._hash = content.hexdigest()

    def address(self, name: str) -> str:
        """Return the address of a file; KeyError for an unknown one."""
        self._files[name]
        return f"/static/{self._hash}/{name}"

    async def answer(self, visit: Visit) -> Answer:
        """Return a file."""
        name = visit.path["file"]
        if visit.path["hash"] != self._hash or name not in self._files:
            raise PageError(404, "there is no such file; load the page again")
        return Answer(self._files[name], _TYPES[name.rpartition(".")[2]], headers=(IMMUTABLE,))


class _Endpoint:
    """A page as an application of ASGI."""

    def __init__(self, site: Site, page: Page) -> None:
        self._site, self._page = site, page

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request."""
        site = self._site
        exchange = Exchange(scope, receive, send, site.budget)
        session = _session_id(scope, exchange.headers)
        visit = Visit(exchange, scope, session, site.calls, site.sessions, site.rendered)
        try:
            async with exchange.cancelled_with_client():
                answer = await site.answer(self._page, visit, scope)
                headers = [*SECURITY, *answer.headers]
                if visit.is_new and not (set(dict(headers)) & {"refresh"} or self._page.path == site.static.path):
                    headers.append(("set-cookie", _cookie(scope, visit.cookie)))
                await exchange.respond(answer.body, answer.content_type, answer.status, headers)
        except ClientLeftError:
            return


def _cookie_name(scope: Mapping[str, Any]) -> str:
    """Return the name of the cookie: with the port, because browsers send cookies to all ports of a host."""
    port = (scope.get("server") or ("", 0))[1]
    prefix = "__Host-" if scope["scheme"] == "https" else ""
    return f"{prefix}crossview-{port}"


def _session_id(scope: Mapping[str, Any], headers: Mapping[str, str]) -> str | None:
    """Return the id of the session that a request names; None without a valid one."""
    try:
        cookies = http.cookies.SimpleCookie(headers.get("cookie", ""))
    except http.cookies.CookieError:
        return None
    morsel = cookies.get(_cookie_name(scope))
    return morsel.value if morsel is not None and Sessions.is_id(morsel.value) else None


def _cookie(scope: Mapping[str, Any], named: str) -> str:
    """Return the value of the header that sets the cookie of a session."""
    secure = "; Secure" if scope["scheme"] == "https" else ""
    return f"{_cookie_name(scope)}={named}; Path=/; HttpOnly; SameSite=Strict{secure}"


def _hides_cookie(scope: Mapping[str, Any], headers: Mapping[str, str]) -> bool:
    """Return whether a person follows a link of another site, so that the browser hides a cookie that is strict."""
    follows = headers.get("sec-fetch-site") in ("cross-site", "same-site")
    return follows and f"{_cookie_name(scope)}-{_AGAIN}=" not in headers.get("cookie", "")


def _again(scope: Mapping[str, Any], address: str) -> Answer:
    """Return an answer that loads a page again, which is then a request of this site, with the cookie of the session.

    A second cookie, for a few seconds, ensures that this happens once.
    """
    once = f"{_cookie_name(scope)}-{_AGAIN}=1; Path=/; Max-Age=5; HttpOnly; SameSite=Lax"
    secure = "; Secure" if scope["scheme"] == "https" else ""
    headers = (("refresh", f"0; url={local(address)}"), ("set-cookie", once + secure), NO_STORE)
    return Answer(b"<!doctype html><html lang=en><title>crossview</title>", headers=headers)


def _check_source(scope: Mapping[str, Any], headers: Mapping[str, str]) -> None:
    """Raise PageError for a request that a page of another site makes, unless a person follows a link there."""
    site = headers.get("sec-fetch-site", "none")
    if scope["method"] in ("GET", "HEAD"):
        follows = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
        if site in ("cross-site", "same-site") and not follows:
            raise _foreign()
        return
    origin = headers.get("origin")
    ours = origin is None or (urlsplit(origin).netloc.lower() == headers.get("host", "").lower() != "")
    if not ours or site not in ("same-origin", "none"):
        raise _foreign()


def _foreign() -> PageError:
    message = "the request comes from another site, which may not use this server: open the page itself"
    return PageError(403, message, Code.PERMISSION_DENIED)


async def _check_token(visit: Visit, sessions: Sessions) -> None:
    """Raise PageError for a request that changes something without the token of its session."""
    token = visit.headers.get(_TOKEN_HEADER)
    if token is None:
        token = (await visit.form()).text(_TOKEN_FIELD)
    if visit.is_new or not sessions.is_token(visit.cookie, token):
        message = "the page was open for too long, or comes from another site: load it again, then repeat the action"
        raise PageError(403, message, Code.PERMISSION_DENIED)
