"""Quotas: limits of the requests a second and of the bytes in progress of each caller, by the name of its key."""

import time
from collections import OrderedDict, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

from crossview.server.core.dispatch.call import Call
from crossview.server.wire.errors import OverloadedError
from crossview.server.wire.settings import ServerSettings

_BURST_SECONDS = 2.0
"""A caller that was idle may send the requests of this time at once."""
_MOST_KEYS = 10_000
"""Maximum number of remembered callers; the one that has been idle longest is forgotten first."""
_BUDGET_RETRY_SECONDS = 1.0
"""Time after which a client should repeat a request that exceeded a limit of bytes."""


class Quotas:
    """The limit of requests a second, as an ``Around``: a token bucket for each caller.

    Each message of a stream that is answered message by message counts as a request. Only the event loop calls it.
    """

    def __init__(self, settings: ServerSettings) -> None:
        self._rate = settings.key_rate
        self._burst = 0.0 if self._rate is None else max(1.0, self._rate * _BURST_SECONDS)
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()
        """The requests that each caller may send at once, and the time at which this was true."""
        self.refused: int = 0
        """Number of refused calls since the start."""

    def begin(self, call: Call) -> None:
        """Count a request; raise OverloadedError if its caller sends too many."""
        if self._rate is None:
            return
        name, now = call.caller.identity.name, time.monotonic()
        tokens, since = self._left.pop(name, (self._burst, now))
        tokens = min(self._burst, tokens + (now - since) * self._rate)
        allowed = tokens >= 1.0
        self._left[name] = tokens - allowed, now
        if len(self._left) > _MOST_KEYS:
            self._left.popitem(last=False)
        if not allowed:
            self.refused += 1
            seconds = (1.0 - tokens) / self._rate
            raise OverloadedError(
                f"{_named(name)} may send {self._rate:g} requests a second: try again in {seconds:.2g} s", seconds
            )

    def end(self, call: Call) -> None:
        """See ``Around``."""


class Budget:
    """Limits of the memory of requests that arrive or are in progress, of all callers and of each caller.

    Only the event loop uses it.
    """

    def __init__(self, settings: ServerSettings) -> None:
        self._most, self._most_of_one = settings.flight_bytes, settings.key_bytes
        self._arriving = 0
        self.used: int = 0
        """The bytes that the requests take in memory."""
        self._used_by: defaultdict[str, int] = defaultdict(int)
        self.refused: int = 0
        """Number of requests refused for the bytes of their caller since the start."""

    def arrive(self, size: int) -> None:
        """Count bytes of requests that arrive, until ``leave``; raise OverloadedError above half of the limit.

        The other half remains for requests that have arrived, so that slow clients do not stop the others.
        """
        if self._arriving and self._arriving + size > self._most // 2:
            raise _overloaded("the requests that are arriving", self._arriving, size)
        self._take(size)
        self._arriving += size

    def leave(self, size: int) -> None:
        """Count bytes of requests that arrived no more."""
        self._arriving -= size
        self.used -= size

    def _take(self, size: int) -> None:
        if self.used and self.used + size > self._most:
            raise _overloaded("the requests in progress", self.used, size)
        self.used += size

    @contextmanager
    def held(self, size: int, name: str) -> Iterator[None]:
        """Count the bytes of a request of a caller during the block; raise OverloadedError above a limit."""
        if self._most_of_one is not None:
            own = self._used_by.get(name, 0)
            if own and own + size > self._most_of_one:
                self.refused += 1
                raise _overloaded(f"the requests of {_named(name)} in progress", own, size)
        self._take(size)
        self._used_by[name] += size
        try:
            yield
        finally:
            self.used -= size
            self._used_by[name] -= size
            if not self._used_by[name]:
                del self._used_by[name]


def _overloaded(what: str, used: int, size: int) -> OverloadedError:
    return OverloadedError(
        f"{what} take {used / 1e6:,.0f} MB of memory, and this one {size / 1e6:,.1f} MB more: "
        f"try again in {_BUDGET_RETRY_SECONDS:g} s, or send less at a time",
        _BUDGET_RETRY_SECONDS,
    )


def _named(name: str) -> str:
    """Return the name of a caller for a message."""
    return f"the key {name!r}" if name else "a caller without a key"
