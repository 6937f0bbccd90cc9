"""Attempts: which failed calls never began, so that even a write is repeated, and how many calls run at once."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TypeVar, cast

import grpc

from crossview.server.wire.errors import DeadlineExceededError

CALLS, STREAMS, LOOKS = 50, 40, 10
"""Calls, streams, and looks at the progress of calls that a connection has at once; a server takes 100 of all."""
_PAUSES = (0.1, 0.2, 0.4)
"""Seconds before each further attempt of a call that found no server, or one that stops."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 1.0
"""Seconds before further attempts of a call that the server refuses because it has too many; each pause is twice the
one before."""
_RESET = ("CANCELLED", "Received RST_STREAM with error code 8")
"""Messages of gRPC about a call that its server has reset."""
_REFUSED = "RST_STREAM with error code 7"
"""Words of gRPC's message about a call that exceeds the number of calls of a connection."""
NEVER_SENT = ("failed to connect", "resolving", "resolution")
"""Words of gRPC's message if it found no server; a connection lost during a call has the same status code."""
R = TypeVar("R")


def repeated(attempt: Callable[[], R], timeout: float | None) -> R:
    """Return the result of a call, repeated as long as it never begins; raise its last grpc.RpcError."""
    began, number = time.monotonic(), 0
    while True:
        try:
            return attempt()
        except grpc.RpcError as failure:
            time.sleep(_pause(failure, number, began, timeout))
        number += 1


async def repeated_async(attempt: Callable[[], Awaitable[R]], timeout: float | None) -> R:
    """Return the result of a call as ``repeated`` does."""
    began, number = time.monotonic(), 0
    while True:
        try:
            return await attempt()
        except grpc.RpcError as failure:
            await asyncio.sleep(_pause(failure, number, began, timeout))
        number += 1


def _pause(failure: grpc.RpcError, number: int, began: float, timeout: float | None) -> float:
    """Return the seconds until the next attempt; raise the failure of a call that began, or of too many attempts."""
    if _is_refused(failure):
        seconds = min(_FIRST_PAUSE * (1 << min(number, 10)), _LONGEST_PAUSE)
    elif number < len(_PAUSES) and (never_began(failure) or _never_sent(failure)):
        seconds = _PAUSES[number]
    else:
        raise failure
    if timeout is not None and time.monotonic() + seconds > began + timeout:
        raise failure
    return seconds


def never_began(failure: grpc.RpcError) -> bool:
    """Return whether a stopping server ended the call before its program saw it.

    gRPC resets such calls without a message and without headers. All calls that began end with headers or with an
    error of the server; those of a closed channel have a message of this program.
    """
    call = cast(grpc.Call, failure)
    bare = not call.initial_metadata() and not call.trailing_metadata()
    return call.code() is grpc.StatusCode.CANCELLED and bare and call.details() in _RESET


def _is_refused(failure: grpc.RpcError) -> bool:
    call = cast(grpc.Call, failure)
    return call.code() is grpc.StatusCode.UNAVAILABLE and _REFUSED in (call.details() or "")


def _never_sent(failure: grpc.RpcError) -> bool:
    call = cast(grpc.Call, failure)
    words = (call.details() or "").lower()
    return call.code() is grpc.StatusCode.UNAVAILABLE and any(some in words for some in NEVER_SENT)


class Places:
    """The places of a connection of threads, for one kind of call. Further calls wait, at most their timeout."""

    def __init__(self, count: int) -> None:
        self._free = threading.BoundedSemaphore(count)

    @contextmanager
    def taken(self, timeout: float | None) -> Iterator[None]:
        """Take a place for a block; raise DeadlineExceededError if none is free within the timeout."""
        if not self._free.acquire(timeout=timeout):
            raise _too_late(timeout)
        try:
            yield
        finally:
            self._free.release()


class AsyncPlaces:
    """The places of a connection of an event loop, as ``Places``."""

    def __init__(self, count: int) -> None:
        self._free = asyncio.BoundedSemaphore(count)

    @asynccontextmanager
    async def taken(self, timeout: float | None) -> AsyncIterator[None]:
        """Take a place for a block; raise DeadlineExceededError if none is free within the timeout."""
        try:
            async with asyncio.timeout(timeout):
                await self._free.acquire()
        except TimeoutError as error:
            raise _too_late(timeout) from error
        try:
            yield
        finally:
            self._free.release()


def _too_late(timeout: float | None) -> DeadlineExceededError:
    return DeadlineExceededError(
        f"the call did not begin within {timeout:g} seconds, because the connection has as many calls as it can: allow "
        "more time, or connect a second time"
    )
