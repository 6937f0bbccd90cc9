"""The logs of calls: a line for each call, and a line with more facts for each slow call."""

import logging
import time
from collections.abc import Iterator
from typing import Any

from crossview.server.core.dispatch.call import Call
from crossview.server.core.logs import fields

REQUEST_LOG, SLOW_LOG = "crossview.requests", "crossview.slow"
"""Names of the loggers of calls: at level INFO for each call and for each message of a stream, and WARNING for a slow
one."""
_log, _slow = logging.getLogger(REQUEST_LOG), logging.getLogger(SLOW_LOG)
_LONGEST = 100
"""Maximum number of characters of a name of a request in the log."""


class RequestLog:
    """A log with a line for each call, and a line for each call that takes more than ``slow_ms`` milliseconds.

    The lines have no content of requests: no picture, text, vector or key of an item, and no text of a filter.
    """

    def __init__(self, slow_ms: float | None = None) -> None:
        self._slow_ms = slow_ms

    def begin(self, call: Call) -> None:
        """See ``Around``."""

    def end(self, call: Call) -> None:
        """See ``Around``."""
        milliseconds = 1e3 * (time.monotonic() - call.began)
        if _log.isEnabledFor(logging.INFO):
            _write(_log, logging.INFO, "", dict(_facts(call, milliseconds)))
        if self._slow_ms is not None and milliseconds > self._slow_ms:
            facts = dict(_facts(call, milliseconds)) | dict(_details(call))
            _write(_slow, logging.WARNING, "slow call: ", facts)


def _write(log: logging.Logger, level: int, before: str, facts: dict[str, Any]) -> None:
    """Log facts, as text and as fields of a line of JSON."""
    words = " ".join(
        f"{name}={value:.1f}" if isinstance(value, float) else f"{name}={value}"
        for name, value in facts.items()
        if name != "method"
    )
    log.log(level, "%s%s %s", before, facts["method"], words, extra=fields(**facts))


def _facts(call: Call, milliseconds: float) -> Iterator[tuple[str, Any]]:
    yield "method", call.method.name
    yield "collection", call.collection
    yield "status", call.code.name
    yield "ms", round(milliseconds, 3)
    yield "request_bytes", call.received
    yield "response_bytes", call.sent
    yield "id", call.id
    if call.recording is not None:
        yield "trace", call.trace.trace_id
    if call.caller.identity.name:
        yield "key", call.caller.identity.name


def _details(call: Call) -> Iterator[tuple[str, Any]]:
    """Yield the stages of a call, and the sizes and names in its request."""
    for name, seconds in zip(("wait_ms", "work_ms", "encode_ms"), call.stages(), strict=False):
        yield name, round(1e3 * seconds, 3)
    yield "hits", call.hits
    request: Any = call.request
    if request is None:
        return
    field_names = request.DESCRIPTOR.fields_by_name
    for name in ("k", "page_size"):
        if name in field_names and getattr(request, name):
            yield name, getattr(request, name)
    if "queries" in field_names:
        yield "queries", len(request.queries)
        yield "views", _names(query.view for query in list(request.queries)[:_LONGEST])
    if "targets" in field_names:
        yield "targets", _names(request.targets)
    if "space" in field_names:
        yield "space", _names([request.space])
    if "filter" in field_names and request.HasField("filter"):
        yield "filter_bytes", request.filter.ByteSize()


def _names(names: Any) -> str:
    """Return different names, without the characters that could break a line of the log."""
    joined = ",".join(dict.fromkeys(names))
    return "".join(letter if letter.isprintable() and letter != " " else "?" for letter in joined)[:_LONGEST]
