"""Rooms: threads and waiting places for each kind of call, so that no kind waits for another."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from server.errors import OverloadedError
from server.settings import ServerSettings

T = TypeVar("T")
_LONG = {"Train", "ExtendSpace", "AssignLabel", "Evaluate", "FitViews", "WaitOperation"}
_READING = ("Get", "List", "Count", "Check", "Embed")


class Room:
    """Threads that answer one kind of call, and as many more places for calls that wait for a thread.

    ``retry_seconds`` is after how long a call that is refused had better come again.
    """

    def __init__(self, kind: str, threads: int, waiting: int, retry_seconds: float) -> None:
        self._kind, self._retry_seconds = kind, retry_seconds
        self._threads = ThreadPoolExecutor(threads, kind)
        self._places = threading.BoundedSemaphore(threads + waiting)

    async def run(self, work: Callable[[], T]) -> T:
        """Returns what the work returns, done in a thread; work that nobody awaits any more is not begun.

        Raises OverloadedError at once where every place is taken, else what the work raises.
        """
        if not self._places.acquire(blocking=False):
            raise OverloadedError(
                f"too many {self._kind} are under way or wait: try again in {self._retry_seconds:g} s",
                self._retry_seconds,
            )
        future = self._threads.submit(work)
        future.add_done_callback(lambda _: self._places.release())
        return await asyncio.wrap_future(future)

    def close(self) -> None:
        """Lets the threads end; what they work on goes on."""
        self._threads.shutdown(wait=False, cancel_futures=True)


class Rooms:
    """The rooms of a server."""

    def __init__(self, settings: ServerSettings) -> None:
        self._searches = Room("searches", settings.threads, settings.waiting, 0.1)
        self._pictures = Room("searches by picture", settings.threads, settings.waiting, 1.0)
        self._reads = Room("reading calls", settings.threads, settings.waiting, 0.5)
        self._writes = Room("writes", settings.writers, settings.waiting, 1.0)
        self._long = Room("trainings and other long calls", settings.waiting, 0, 10.0)

    def of(self, service: str, method: str, request: Any) -> Room:
        """Returns the room of a call; ``request`` is None where it is too large to be decoded before."""
        if service.endswith("SearchService"):
            large = request is None or any(query.image for query in request.queries)
            return self._pictures if large else self._searches
        if method in _LONG:
            return self._long
        return self._reads if method.startswith(_READING) else self._writes

    def close(self) -> None:
        """Closes every room."""
        for room in vars(self).values():
            room.close()
