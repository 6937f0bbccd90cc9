"""The methods, as pages call them: through the dispatcher, like every other transport."""

from collections.abc import Iterable
from typing import Any

from google.protobuf.message import Message

from crossview.engine.values.errors import Call, CrossviewError, Remedy, worded
from crossview.server.core.dispatch.call import PROTOBUF, Caller
from crossview.server.core.dispatch.dispatcher import RefusedError
from crossview.server.edge.http.calls import Calls
from crossview.server.wire.connect import HTTP_STATUSES
from crossview.server.wire.methods import METHODS
from crossview.server.wire.remedies import STEPS
from crossview.server.wire.status import Code, Refusal, refusal

_METHODS = {method.name: method for method in METHODS.values() if not method.streams and method.each is None}
"""The methods with one request and one response, by name, which is unique."""
_CALL_SECONDS = 120.0
"""Maximum time of a call; what takes longer is a job."""
_HEADERS = ("x-request-id", "traceparent")
"""Headers of the browser's request that a call keeps."""


_PLACES = {
    "collection.feedback.judge": "the marks below the hits of a search",
    "collection.items": "Browse",
    "collection.questions.next": "Teach",
    "collection.spaces.activate": "the button Use of Teach, Train",
    "collection.spaces.calibrate": "Teach, Same or different",
    "home.names": "All collections",
}
"""The place on the pages for a call that messages name; people do other calls by commands."""
_LABELS = {"holdout": "Held out to measure", "space": "Space", "spec": "Learner", "view": "View", "views": "Views"}
"""The labels of fields for arguments that messages name."""


class PageError(Exception):
    """An error that a page shows: an HTTP status and a message for people."""

    status: int
    message: str
    code: Code
    retry_seconds: float | None

    def __init__(
        self, status: int, message: str, code: Code = Code.INVALID_ARGUMENT, wait: float | None = None
    ) -> None:
        super().__init__(message)
        self.message: str = for_people(message)
        self.status, self.code, self.retry_seconds = status, code, wait


def for_people(message: str) -> str:
    """Return a message with places of the pages as remedies."""
    return worded(message, _place)


def _place(remedy: Remedy) -> str:
    """Return where the pages do what a message tells people to do."""
    if isinstance(remedy, Call):
        return _PLACES.get(remedy.name) or f"the command crossview {STEPS[remedy.name].command}"
    label = f"“{_LABELS.get(remedy.name, remedy.name.replace('_', ' '))}”"
    value = ", ".join(map(str, remedy.value)) if isinstance(remedy.value, list) else remedy.value
    return label if value is ... or value is True else f"{label} {value}"


def page_error(refused: Refusal) -> PageError:
    """Return the error of a refused call."""
    return PageError(HTTP_STATUSES[refused.code], refused.message, refused.code, refused.retry_seconds)


class PageCalls:
    """Calls methods for pages, with the keys, scopes, quotas, limits and records of all other calls."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def call(self, name: str, request: Message, key: str, headers: Iterable[tuple[str, str]] = ()) -> Any:
        """Return the response of a method; raise PageError.

        Args:
            name: the name of the method, such as "Search".
            request: its request.
            key: the key of the caller; empty without one.
            headers: the headers of the browser's request.
        """
        kept = [(header, value) for header, value in headers if header in _HEADERS]
        metadata = [*kept, ("authorization", f"Bearer {key}")] if key else kept
        method = _METHODS[name]

        caller = Caller(PROTOBUF, _CALL_SECONDS, lambda: metadata)

        async def read() -> bytes:
            return request.SerializeToString()

        try:
            with self._calls.counted():
                answer = await self._calls.dispatcher.answer(method, read, caller)
        except RefusedError as error:
            raise page_error(error.refusal) from error
        except CrossviewError as error:
            raise page_error(refusal(error)) from error
        return method.response.FromString(answer)
