"""Streams of requests: the event loop reads them, and ends streams that are silent for too long, or too many."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Protocol, TypeVar

from crossview.engine.values.errors import InvalidInputError
from crossview.server.wire.errors import ServerStoppedError, SilentStreamError

T = TypeVar("T")
Read = Callable[[], Awaitable[Any]]
"""Returns the next encoded message of a caller; END after the last. Raises CancelledError if the stream broke."""
END = object()
STOPPED = "the server stopped during the call and gave up its work; repeat the call later"


async def until(awaitable: Awaitable[T], *ends: asyncio.Future[Any], seconds: float | None = None) -> T | None:
    """Return the awaited result; cancel it and return None if one of ``ends`` or the timeout comes first."""
    future = asyncio.ensure_future(awaitable)
    try:
        await asyncio.wait({future, *ends}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        return future.result() if future.done() else None
    finally:
        future.cancel()


class Silent(Protocol):
    """A call whose client may be silent."""

    def let_go(self, why: str) -> None:
        """End the call, with the reason in a sentence."""


class Silences:
    """The silent calls: the server has answered all their messages and waits for the next.

    The server ends a call that is silent for ``seconds``. If there are more than ``most`` silent calls, it ends the one
    that has been silent longest, so that silent calls cannot use up the places of other calls.
    """

    def __init__(self, most: int, seconds: float) -> None:
        self._most, self._seconds = most, seconds
        self._silent: dict[Silent, float] = {}
        """The start of each silence, by the monotonic clock, the longest silence first."""
        self._timer: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._silent)

    def begin(self, call: Silent) -> None:
        """Start the silence of a call."""
        self._silent[call] = time.monotonic()
        if len(self._silent) > self._most:
            self._end(next(iter(self._silent)), "too many calls are silent, and this one has been silent longest")
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._seconds, self._look)

    def end(self, call: Silent) -> None:
        """End the silence of a call."""
        self._silent.pop(call, None)

    def _end(self, call: Silent, why: str) -> None:
        del self._silent[call]
        call.let_go(f"{why}: start another call when you have a message to send")

    def _look(self) -> None:
        self._timer = None
        latest = time.monotonic() - self._seconds
        for call, since in list(self._silent.items()):
            if since > latest:
                delay = since - latest
                self._timer = asyncio.get_running_loop().call_later(delay, self._look)
                return
            self._end(call, f"the call was silent for {self._seconds:g} seconds")


class Listener:
    """A call whose client has sent its request and waits; ``stopping`` is done when the server begins to stop."""

    def __init__(self, silences: Silences, stopping: asyncio.Future[Any]) -> None:
        self._silences, self._stopping = silences, stopping
        self._silenced: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def let_go(self, why: str) -> None:
        """See ``Silent``."""
        if not self._silenced.done():
            self._silenced.set_result(why)

    async def hear(self, awaitable: Awaitable[T], seconds: float | None = None) -> T | None:
        """Return the awaited message, or None after ``seconds``.

        Raises SilentStreamError if the call is silent for too long, ServerStoppedError if the server begins to stop.
        """
        self._silences.begin(self)
        try:
            result = await until(awaitable, self._stopping, self._silenced, seconds=seconds)
        finally:
            self._silences.end(self)
        if result is None and self._silenced.done():
            raise SilentStreamError(self._silenced.result())
        if result is None and self._stopping.done():
            raise ServerStoppedError(STOPPED)
        return result


class OneMessage:
    """The only message of a call, for which the server may have to wait."""

    def __init__(self, read: Read, silences: Silences) -> None:
        self._read, self._silences = read, silences
        self._reader: asyncio.Task[Any] | None = None
        self._silent = ""

    def let_go(self, why: str) -> None:
        """See ``Silent``."""
        self._silent = why
        if self._reader is not None:
            self._reader.cancel()  # cancelling is cheaper for every call than waiting for two futures

    async def read(self) -> Any:
        """Return the message; raise SilentStreamError if it takes too long, InvalidInputError if there is none."""
        self._reader = asyncio.current_task()
        self._silences.begin(self)
        try:
            data = await self._read()
        except asyncio.CancelledError:
            if not self._silent or self._reader is None:
                raise  # the caller has left
            self._reader.uncancel()
            raise SilentStreamError(self._silent) from None
        finally:
            self._silences.end(self)
        if data is END:
            raise InvalidInputError("the call has no message: send its request")
        return data


class Stream:
    """The messages of a client, read on demand; ``stopping`` is done when the server begins to stop."""

    def __init__(self, read: Read, silences: Silences, stopping: asyncio.Future[Any]) -> None:
        self._read, self._silences, self._stopping = read, silences, stopping
        self._under_way = 0
        self._reading = False
        self._silenced: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        """The reason to end the stream, once it has been silent for too long."""

    def let_go(self, why: str) -> None:
        """See ``Silent``."""
        if not self._silenced.done():
            self._silenced.set_result(why)

    def begin(self) -> None:
        """Note that the server answers a message; meanwhile the client may be silent."""
        self._under_way += 1

    def end(self) -> None:
        """Note that the server has answered a message."""
        self._under_way -= 1
        if self._reading and not self._under_way:
            self._silences.begin(self)

    async def read(self) -> Any:
        """Return the next message, or END after the last.

        Raises SilentStreamError if the client is silent for too long, CancelledError if the stream broke,
        ServerStoppedError if the server begins to stop.
        """
        self._reading = True
        if not self._under_way:
            self._silences.begin(self)
        try:
            data = await until(self._read(), self._stopping, self._silenced)
        finally:
            self._reading = False
            self._silences.end(self)
        if data is not None:
            return data
        if self._silenced.done():
            raise SilentStreamError(self._silenced.result())
        raise ServerStoppedError("the server stops: it has answered all messages of the stream; connect again")

    async def __aiter__(self) -> AsyncIterator[Any]:
        while (data := await self.read()) is not END:
            yield data
