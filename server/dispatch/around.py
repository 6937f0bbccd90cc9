"""What happens around every call, in its order: checks that may refuse it, and records of how it ended."""

import logging
import time
from typing import Protocol

from crossview.server.dispatch.call import Call

REQUEST_LOG = "crossview.requests"
"""The logger that has one line for each call, at level INFO; a stream has one for each message."""
_log = logging.getLogger(REQUEST_LOG)


class Around(Protocol):
    """One thing that happens around calls, in the event loop."""

    def begin(self, call: Call) -> None:
        """Note that a call begins, before its request is read; an error that this raises refuses the call."""

    def end(self, call: Call) -> None:
        """Note that a call has ended, with its code, collection and sizes; only if ``begin`` raised nothing."""


class RequestLog:
    """Writes a line for each call."""

    def begin(self, call: Call) -> None:
        """See ``Around``."""

    def end(self, call: Call) -> None:
        """See ``Around``."""
        if _log.isEnabledFor(logging.INFO):
            milliseconds = 1e3 * (time.monotonic() - call.began)
            _log.info(
                "%s collection=%s status=%s ms=%.1f request_bytes=%d response_bytes=%d",
                *(call.method.name, call.collection, call.code.name, milliseconds, call.received, call.sent),
            )
