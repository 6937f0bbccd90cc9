"""The checks that keep other sites out: the cookie of a session, the origin of a request, and its token."""

import http.cookies
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from crossview.server.edge.pages.answer import NO_STORE, Answer, local
from crossview.server.edge.pages.page_calls import PageError
from crossview.server.edge.pages.sessions import Sessions
from crossview.server.wire.status import Code

if TYPE_CHECKING:
    from crossview.server.edge.pages.visit import Visit

_AGAIN = "again"
TOKEN_HEADER, TOKEN_FIELD = "x-csrf-token", "csrf"


def _cookie_name(scope: Mapping[str, Any]) -> str:
    """Return the name of the cookie: with the port, because browsers send cookies to all ports of a host."""
    port = (scope.get("server") or ("", 0))[1]
    prefix = "__Host-" if scope["scheme"] == "https" else ""
    return f"{prefix}crossview-{port}"


def session_id(scope: Mapping[str, Any], headers: Mapping[str, str]) -> str | None:
    """Return the id of the session that a request names; None without a valid one."""
    try:
        cookies = http.cookies.SimpleCookie(headers.get("cookie", ""))
    except http.cookies.CookieError:
        return None
    found = cookies.get(_cookie_name(scope))
    return found.value if found is not None and Sessions.is_id(found.value) else None


def cookie(scope: Mapping[str, Any], named: str) -> str:
    """Return the value of the header that sets the cookie of a session."""
    secure = "; Secure" if scope["scheme"] == "https" else ""
    return f"{_cookie_name(scope)}={named}; Path=/; HttpOnly; SameSite=Strict{secure}"


def hides_cookie(scope: Mapping[str, Any], headers: Mapping[str, str]) -> bool:
    """Return whether a person follows a link of another site, so that the browser hides a cookie that is strict."""
    follows = headers.get("sec-fetch-site") in ("cross-site", "same-site")
    return follows and f"{_cookie_name(scope)}-{_AGAIN}=" not in headers.get("cookie", "")


def again(scope: Mapping[str, Any], address: str) -> Answer:
    """Return an answer that loads a page again, which is then a request of this site, with the cookie of the session.

    A second cookie, for a few seconds, ensures that this happens once.
    """
    once = f"{_cookie_name(scope)}-{_AGAIN}=1; Path=/; Max-Age=5; HttpOnly; SameSite=Lax"
    secure = "; Secure" if scope["scheme"] == "https" else ""
    headers = (("refresh", f"0; url={local(address)}"), ("set-cookie", once + secure), NO_STORE)
    return Answer(b"<!doctype html><html lang=en><title>crossview</title>", headers=headers)


def check_source(scope: Mapping[str, Any], headers: Mapping[str, str]) -> None:
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


async def check_token(visit: "Visit", sessions: Sessions) -> None:
    """Raise PageError for a request that changes something without the token of its session."""
    given = visit.headers.get(TOKEN_HEADER)
    if given is None:
        given = (await visit.form()).text(TOKEN_FIELD)
    if visit.is_new or not sessions.is_token(visit.cookie, given):
        message = "the page was open for too long, or comes from another site: load it again, then repeat the action"
        raise PageError(403, message, Code.PERMISSION_DENIED)
