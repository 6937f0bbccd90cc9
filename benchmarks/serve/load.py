"""Calls that a client makes of a server: so many at once, at a steady rate, or through streams; what became of them.

Requests are bytes and responses are not parsed, so that the client takes little of the processor from the server.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

import grpc
import numpy as np
from numpy.typing import NDArray

from benchmarks.serve.http_calls import HttpConnection

SEARCH = "/crossview.v1.SearchService/Search"
STREAM = "/crossview.v1.SearchService/StreamSearch"
IMPORT = "/crossview.v1.CollectionService/ImportItems"
DELETE = "/crossview.v1.CollectionService/DeleteItems"
TRAIN = "/crossview.v1.CollectionService/Train"
HEALTH = "/grpc.health.v1.Health/Check"
OK, UNKNOWN, UNAVAILABLE = 0, grpc.StatusCode.UNKNOWN.value[0], grpc.StatusCode.UNAVAILABLE.value[0]
REFUSED = grpc.StatusCode.RESOURCE_EXHAUSTED.value[0]
NAMES = {code.value[0]: code.name for code in grpc.StatusCode}

_CODES = {200: OK, 429: REFUSED}
"""Codes of statuses of HTTP."""
_TICK = 0.001
_AGAIN = 0.1
"""Seconds that a caller waits after a call that failed, as the server asks for."""
_LARGE = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]


@dataclass(frozen=True, kw_only=True)
class Load:
    """The calls of one client."""

    address: str
    requests: tuple[bytes, ...]
    """Encoded, used in turn."""
    method: str = SEARCH
    at_once: int = 1
    """Calls under way: the next one begins when one ends."""
    rate: float = 0.0
    """Calls that begin in a second, if positive, independent of the calls in progress."""
    streams: bool = False
    """Whether the calls are messages of a few streams."""
    seconds: float = 3.0
    """How long calls begin; 0: until the client is stopped, when calls under way are cancelled."""
    warm: float = 0.3
    """Seconds before; calls that end in them do not count."""
    timeout: float = 120.0
    connections: int = 8
    """Over which the calls are spread, as those of several processes are."""
    http: bool = False
    """Whether requests are JSON, posted over HTTP/1.1 by a connection for each call under way."""
    key: str = ""
    """The key of the caller, if any."""
    authority: Path | None = None
    """The certificate that the client trusts; with it, connections use TLS."""


@dataclass(frozen=True, eq=False)
class Calls:
    """The results of n calls that ended after the beginning."""

    start: float
    """The beginning, by ``time.perf_counter``, which is the same in all processes."""
    lasted: float
    """Seconds of the measurement."""
    began: NDArray[np.float64]
    """(n,) seconds after the beginning; negative for calls that began before."""
    took: NDArray[np.float64]
    """(n,) seconds."""
    codes: NDArray[np.int64]
    """(n,) numbers of gRPC statuses."""

    @property
    def rate(self) -> float:
        """Accepted calls a second, of those that ended within the measurement, however long they took."""
        return float(np.sum((self.codes == OK) & (self.began + self.took <= self.lasted)) / max(1e-9, self.lasted))

    def milliseconds(self, percent: float, code: int = OK) -> float:
        """Return a percentile of the calls of a status; NaN where there are none."""
        times = self.took[self.codes == code]
        return 1_000 * float(np.percentile(times, percent)) if len(times) else float("nan")

    def statuses(self) -> dict[str, int]:
        """Return how many calls ended with each status."""
        return {NAMES[code]: count for code, count in sorted(Counter(self.codes.tolist()).items())}


def together(parts: list[Calls]) -> Calls:
    """Return the calls of several clients as one."""
    rows = (np.concatenate([getattr(part, name) for part in parts]) for name in ("began", "took", "codes"))
    return Calls(parts[0].start, parts[0].lasted, *rows)


def make_calls(load: Load, stopped: Event | None = None) -> Calls:
    """Make the calls of a load, in this process."""
    return asyncio.run(_Client(load, stopped).run())


def status_of(answer: bytes) -> int:
    """Return the status of an answer of a stream: field 1 is a response, field 2 an error, whose field 1 it is."""
    if answer[:1] != b"\x12":
        return OK
    place = 1
    while answer[place] & 0x80:  # the length
        place += 1
    return answer[place + 2]


def _channel(load: Load) -> Any:
    # Without a pool of its own, a channel shares one connection with all channels of the same options.
    options = [*_LARGE, ("grpc.use_local_subchannel_pool", 1)]
    if load.authority is None:
        return grpc.aio.insecure_channel(load.address, options=options)
    trusted = grpc.ssl_channel_credentials(load.authority.read_bytes())
    return grpc.aio.secure_channel(load.address, trusted, options=options)


@dataclass
class _Client:
    load: Load
    stopped: Event | None
    rows: list[tuple[float, float, int]] = field(default_factory=list, init=False)
    start: float = field(default=0.0, init=False)

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        return (("authorization", f"Bearer {self.load.key}"),) if self.load.key else ()

    async def run(self) -> Calls:
        load = self.load
        count = min(load.connections, load.at_once if not load.rate else load.connections)
        channels = [] if load.http else [_channel(load) for _ in range(count)]
        self.start = time.perf_counter() + load.warm
        ways: Callable[[list[Any]], Awaitable[Any]]
        ways = self._streams if load.streams else self._steadily if load.rate else self._at_once
        ways = self._over_http if load.http else ways
        work = asyncio.ensure_future(ways(channels))
        if not load.seconds:
            while not (self.stopped is None or self.stopped.is_set() or work.done()):
                await asyncio.sleep(0.05)
            work.cancel()
        with suppress(asyncio.CancelledError):
            await work
        await asyncio.gather(*(channel.close() for channel in channels))
        began, took, codes = np.array(self.rows, float).reshape(-1, 3).T
        return Calls(self.start, load.seconds, began, took, codes.astype(np.int64))

    @property
    def over(self) -> bool:
        return self.load.seconds > 0 and time.perf_counter() - self.start >= self.load.seconds

    def note(self, began: float, code: int) -> None:
        ended = time.perf_counter()
        if ended >= self.start:
            self.rows.append((began - self.start, ended - began, code))

    async def _call(self, method: Any, number: int) -> int:
        began, code = time.perf_counter(), OK
        try:
            request = self.load.requests[number % len(self.load.requests)]
            await method(request, timeout=self.load.timeout, metadata=self.headers)
        except grpc.aio.AioRpcError as error:
            code = error.code().value[0]
        self.note(began, code)
        return code

    async def _at_once(self, channels: list[Any]) -> None:
        methods = [channel.unary_unary(self.load.method) for channel in channels]

        async def caller(first: int) -> None:
            number = first
            while not self.over:
                if await self._call(methods[first % len(methods)], number) != OK:
                    await asyncio.sleep(_AGAIN)
                number += self.load.at_once

        await asyncio.gather(*map(caller, range(self.load.at_once)))

    async def _over_http(self, _: list[Any]) -> None:
        await asyncio.gather(*map(self._poster, range(self.load.at_once)))

    async def _poster(self, number: int) -> None:
        """Post requests over one connection, which is made again where it was lost."""
        load, pause = self.load, self.load.at_once / self.load.rate if self.load.rate else 0.0
        while not self.over:
            began = time.perf_counter()
            try:
                async with HttpConnection(load.address, load.method, load.key) as connection:
                    while not self.over:
                        began = time.perf_counter()
                        status = await connection.post(load.requests[number % len(load.requests)])
                        code = _CODES.get(status, UNKNOWN)
                        self.note(began, code)
                        number += load.at_once
                        rest = began + pause - time.perf_counter()
                        await asyncio.sleep(max(0.0, rest) if code == OK else _AGAIN)
            except (OSError, EOFError):
                self.note(began, UNAVAILABLE)
                await asyncio.sleep(_AGAIN)

    async def _steadily(self, channels: list[Any]) -> None:
        methods = [channel.unary_unary(self.load.method) for channel in channels]
        tasks: set[asyncio.Task[int]] = set()
        started, number = time.perf_counter(), 0
        while not self.over:
            while number <= int((time.perf_counter() - started) * self.load.rate):
                tasks.add(asyncio.create_task(self._call(methods[number % len(methods)], number)))
                number += 1
            await asyncio.sleep(_TICK)
        await asyncio.gather(*tasks)

    async def _streams(self, channels: list[Any]) -> None:
        window = max(1, self.load.at_once // len(channels))
        await asyncio.gather(*(self._stream(channel.stream_stream(STREAM), window) for channel in channels))

    async def _stream(self, method: Any, window: int) -> None:
        """Send requests through one stream, ``window`` of them under way; answers come in their order."""
        call, room, began = method(timeout=self.load.timeout), asyncio.Semaphore(window), []

        async def write() -> None:
            number = 0
            while not self.over:
                await room.acquire()
                began.append(time.perf_counter())
                await call.write(self.load.requests[number % len(self.load.requests)])
                number += 1
            await call.done_writing()

        writing, read, code = asyncio.create_task(write()), 0, OK
        try:
            while (answer := await call.read()) is not grpc.aio.EOF:
                self.note(began[read], status_of(answer))
                read += 1
                room.release()
            await writing
        except grpc.aio.AioRpcError as error:
            code = error.code().value[0]
        writing.cancel()
        for start in began[read:]:
            self.note(start, code)
