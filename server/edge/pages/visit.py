"""A request of a browser for a page, and what its handler may do."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote, urlencode

from google.protobuf.message import Message

from crossview.engine.values.errors import CrossviewError
from crossview.server.edge.http.exchange import Exchange, exact_status
from crossview.server.edge.pages.answer import HTML, NO_STORE, Answer, local
from crossview.server.edge.pages.fields import Fields
from crossview.server.edge.pages.page_calls import PageCalls, PageError, page_error
from crossview.server.edge.pages.sessions import Session, Sessions
from crossview.server.wire.status import Code, refusal

FORM_TYPE = "application/x-www-form-urlencoded"
_FORM_BYTES = 1 << 20


class Visit:
    """A request of a browser.

    Args:
        exchange, scope: the request, as ASGI defines it.
        session_id: the id of the session that the request names; None without one.
        calls: calls methods.
        sessions: the sessions of the server.
        render: returns a template as text.

    Attributes:
        path: the parts of the address that the page names, such as ``collection``.
        address: the address with its query, below the host.
        query: the fields of the address.
        headers: the headers, by their names in lower case.
    """

    is_new: bool

    def __init__(
        self,
        exchange: Exchange,
        scope: Mapping[str, Any],
        session_id: str | None,
        calls: PageCalls,
        sessions: Sessions,
        render: Callable[["Visit", str, Mapping[str, object]], str],
    ) -> None:
        self._exchange, self._calls, self._sessions, self._render = exchange, calls, sessions, render
        self._id, self.is_new = session_id or sessions.new_id(), session_id is None
        self._session = sessions.get(self._id) or Session()
        self._form: Fields | None = None
        self.path: Mapping[str, str] = scope["path_params"]
        text = scope["query_string"].decode("latin-1")
        self.address: str = quote(scope["path"], safe="/:@!$&'()*+,;=~-._") + (f"?{text}" if text else "")
        self.query: Fields = Fields(text)
        self.headers: dict[str, str] = exchange.headers
        self.is_part: bool = "x-part" in self.headers
        """Whether a script asks for the content of the page alone."""

    @property
    def collection(self) -> str:
        """The resource name of the collection of the address."""
        return f"collections/{self.path['collection']}"

    @property
    def session(self) -> Session:
        """The facts about the browser that the server keeps, unless ``keep`` was never called."""
        return self._session

    @property
    def token(self) -> str:
        """The token of the session."""
        return self._sessions.token(self._id)

    async def call(self, name: str, request: Message) -> Any:
        """Return the response of a method; raise PageError."""
        return await self._calls.call(name, request, self._session.key, self.headers.items())

    async def answered(self, name: str, request: Message) -> tuple[Any, PageError | None]:
        """Return the response of a method and None, or None and the error if it is about what a person asks for."""
        try:
            return await self.call(name, request), None
        except PageError as error:
            if error.code not in (Code.FAILED_PRECONDITION, Code.INVALID_ARGUMENT, Code.NOT_FOUND):
                raise
            return None, error

    async def call_all(self, *wanted: tuple[str, Message]) -> list[Any]:
        """Return the responses of several methods, called at the same time; raise the first PageError."""
        return await asyncio.gather(*(self.call(name, request) for name, request in wanted))

    async def form(self) -> Fields:
        """Return the fields of the form; raise PageError."""
        if self._form is None:
            if self._exchange.content_type != FORM_TYPE:
                raise PageError(415, f"send the form as {FORM_TYPE}")
            self._form = Fields((await self.body(_FORM_BYTES)).decode("latin-1"))
        return self._form

    async def body(self, most: int) -> bytes:
        """Return the body of at most so many bytes; raise PageError."""
        body = self._exchange.body
        try:
            return await body.read(most, self.headers.get("content-encoding", ""))
        except CrossviewError as error:
            refused = page_error(refusal(error))
            refused.status = exact_status(error) or refused.status
            raise refused from error
        finally:
            body.release()

    def upload(self, picture: bytes) -> str:
        """Keep a picture in the session; return its id."""
        self._sessions.make_room(len(picture))
        self._sessions.keep(self._id, self._session)
        return self._session.uploads.add(picture)

    def log_in(self, key: str) -> None:
        """Begin a session with a key, under a new id."""
        self._sessions.end(self._id)
        self._id, self.is_new = self._sessions.new_id(), True
        self._session = Session(key)
        self._sessions.keep(self._id, self._session)

    def log_out(self) -> None:
        """End the session, and begin an empty one under a new id."""
        self._sessions.end(self._id)
        self._id, self.is_new, self._session = self._sessions.new_id(), True, Session()

    @property
    def cookie(self) -> str:
        """The value of the cookie."""
        return self._id

    def page(self, template: str, status: int = 200, **values: object) -> Answer:
        """Return a page, or its content alone if a script asks for that."""
        return Answer(self._render(self, template, values).encode(errors="replace"), HTML, status)

    def part(self, template: str, **values: object) -> Answer:
        """Return a template that does not extend ``base.html``."""
        return Answer(self._render(self, template, values).encode(errors="replace"))

    @staticmethod
    def redirect(path: str, **query: str) -> Answer:
        """Return an answer that sends the browser to a page of this site, by GET."""
        to = local(path) + (f"?{urlencode(query)}" if query else "")
        return Answer(status=303, headers=(("location", to), NO_STORE))
