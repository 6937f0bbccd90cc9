"""Streams of requests: read in the event loop, and ended where they say nothing for too long, or are too many."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable
from typing import Any, TypeVar

import grpc

from engine.errors import CancelledError
from server.errors import ServerStoppedError, SilentStreamError

T = TypeVar("T")


async def until(wanted: Awaitable[T], *ends: asyncio.Future[Any], seconds: float | None = None) -> T | None:
    """Returns what is awaited; None where one of the ends, or so many seconds, come first: then it is cancelled."""
    future = asyncio.ensure_future(wanted)
    try:
        await asyncio.wait({future, *ends}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        return future.result() if future.done() else None
    finally:
        future.cancel()


class Silences:
    """Streams that say nothing, although all that they have sent is answered.

    One that is silent for ``seconds`` ends; where there are more than ``most``, so does the one that has been silent
    longest: however many there are, they keep nobody from being answered.
    """

    def __init__(self, most: int, seconds: float) -> None:
        self._most, self._seconds = most, seconds
        self._silent: dict[Stream, float] = {}
        """Since when, the longest first."""
        self._timer: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._silent)

    def begin(self, stream: "Stream") -> None:
        """Takes note that a stream is silent from now on."""
        self._silent[stream] = time.monotonic()
        if len(self._silent) > self._most:
            self._end(next(iter(self._silent)), "too many streams are silent, and this one has been for longest")
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._seconds, self._look)

    def end(self, stream: "Stream") -> None:
        """Takes note that a stream is not silent any more."""
        self._silent.pop(stream, None)

    def _end(self, stream: "Stream", why: str) -> None:
        del self._silent[stream]
        if not stream.silenced.done():
            stream.silenced.set_result(f"{why}: open another one when there is something to send")

    def _look(self) -> None:
        self._timer = None
        latest = time.monotonic() - self._seconds
        for stream, since in list(self._silent.items()):
            if since > latest:
                delay = since - latest
                self._timer = asyncio.get_running_loop().call_later(delay, self._look)
                return
            self._end(stream, f"the stream was silent for {self._seconds:g} seconds")


class Stream:
    """The messages that a client sends, read as they are wanted; ``stopping`` ends when the server begins to stop."""

    def __init__(self, context: Any, silences: Silences, stopping: asyncio.Future[Any]) -> None:
        self._context, self._silences, self._stopping = context, silences, stopping
        self._under_way = 0
        self._reading = False
        self.silenced: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        """Why it is ended, once it has been silent for too long."""

    def begin(self) -> None:
        """Takes note that a message is being answered: until then the client may wait."""
        self._under_way += 1

    def end(self) -> None:
        """Takes note that it is answered."""
        self._under_way -= 1
        if self._reading and not self._under_way:
            self._silences.begin(self)

    async def read(self) -> bytes | None:
        """Returns the next message, None after the last.

        Raises SilentStreamError where the client says nothing for too long, CancelledError where the stream was cut,
        ServerStoppedError where the server begins to stop.
        """
        self._reading = True
        if not self._under_way:
            self._silences.begin(self)
        try:
            data = await until(self._context.read(), self._stopping, self.silenced)
        except (grpc.RpcError, grpc.aio.BaseError) as error:
            raise CancelledError("the caller's stream of requests was cut") from error
        finally:
            self._reading = False
            self._silences.end(self)
        if data is not None:
            return None if data is grpc.aio.EOF else data
        if self.silenced.done():
            raise SilentStreamError(self.silenced.result())
        raise ServerStoppedError("the server stops: what the stream had sent is answered; connect again")

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while (data := await self.read()) is not None:
            yield data
