"""The page on which a person enters a key, and the end of a session."""

from crossview.server.edge.pages.answer import Answer, local
from crossview.server.edge.pages.page_calls import PageError
from crossview.server.edge.pages.site import Page
from crossview.server.edge.pages.visit import Visit
from crossview.server.wire.status import Code
from crossview.v1 import collections_pb2


async def show(visit: Visit) -> Answer:
    """Return the form for a key; a server without keys needs none."""
    after = local(visit.query.text("next"))
    if await _may_enter(visit) is None:
        return visit.redirect(after)
    return visit.page("login.html", title="Key", next=after, error=None)


async def log_in(visit: Visit) -> Answer:
    """Begin a session with the key of the form, if the server knows it."""
    form = await visit.form()
    after, key = local(form.text("next")), form.text("key")
    if key.isascii() and key.isprintable() and key:
        visit.log_in(key)
        refused = await _may_enter(visit)
    else:
        refused = PageError(401, "enter the key that you have got, such as cv_...", Code.UNAUTHENTICATED)
    if refused is None:
        return visit.redirect(after)
    visit.log_out()
    return visit.page("login.html", 401, title="Key", next=after, error=refused.message)


async def log_out(visit: Visit) -> Answer:
    """End the session, and let the browser forget what it has loaded."""
    visit.log_out()
    answer = visit.redirect("/login")
    return Answer(status=answer.status, headers=(*answer.headers, ("clear-site-data", '"cache"')))


async def _may_enter(visit: Visit) -> PageError | None:
    """Return the error that the calls of a session get, None if they are allowed."""
    try:
        await visit.call("ListCollections", collections_pb2.ListCollectionsRequest(page_size=1))
    except PageError as error:
        if error.code is Code.UNAUTHENTICATED:
            return error
        raise
    return None


PAGES = (Page("/login", show), Page("/login", log_in, "POST"), Page("/logout", log_out, "POST"))
