"""Rooms: threads and waiting places for each kind of call, so that no kind waits for another."""

import asyncio
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any, TypeVar, cast

from crossview.features.worker import cores
from crossview.server import methods
from crossview.server.errors import OverloadedError
from crossview.server.methods import Method
from crossview.server.settings import ServerSettings
from crossview.v1 import search_pb2

Work = Callable[[list[Any]], list[Any]]
"""Work for several callers: takes what each gives, and returns a result or an error for each."""


@dataclass(eq=False)
class Waiter:
    """What a call gives to the work of a thread, and the future of the event loop that waits for what becomes of it."""

    given: Any
    future: asyncio.Future[Any]
    outcome: Any = None
    """The result, or the error that is raised where the work is awaited."""


class Task:
    """Work of a thread for one caller, or for several, who may join until it begins."""

    def __init__(self, work: Work, most: int = 1, alike: Hashable | None = None) -> None:
        self._work, self._most = work, most
        self.alike = alike
        """What those who may join have in common."""
        self._callers: list[Waiter] = []
        self._open = True
        self._joining = threading.Lock()
        self.seconds = 0.0
        """How long it took, divided by the callers."""

    def __len__(self) -> int:
        return len(self._callers)

    @property
    def begun(self) -> bool:
        """Whether a thread does it, or has done it."""
        return not self._open

    def join(self, caller: Waiter) -> bool:
        """Add a caller; return False if the task has begun or is full."""
        with self._joining:
            joined = self._open and len(self._callers) < self._most
            if joined:
                self._callers.append(caller)
            return joined

    def run(self) -> None:
        """Do the work for all callers that still wait, in a thread."""
        with self._joining:
            self._open = False
        waiting = [caller for caller in self._callers if not caller.future.done()]
        if not waiting:
            return
        began = time.monotonic()
        try:
            outcomes = self._work([caller.given for caller in waiting])
        except BaseException as error:  # noqa: BLE001 - it is raised where the work is awaited
            outcomes = [error] * len(waiting)
        for caller, outcome in zip(waiting, outcomes, strict=True):
            caller.outcome = outcome
        self.seconds = (time.monotonic() - began) / len(waiting)

    def deliver(self) -> None:
        """Give every caller the outcome of its call, in the event loop."""
        for caller in self._callers:
            if caller.future.done():  # nobody waits any more
                continue
            if isinstance(caller.outcome, BaseException):
                caller.future.set_exception(caller.outcome)
            else:
                caller.future.set_result(caller.outcome)


T = TypeVar("T")
_SEARCH_PATIENCE, _READ_PATIENCE, _PICTURE_PATIENCE = 0.3, 1.0, 2.0
"""Seconds that a search may wait for its turn, another reading call, and a search by picture: to send the picture again
costs most."""
_NEWS = 0.1
"""Share of the last call in how long calls are expected to take."""


@dataclass(eq=False)
class _Alike:
    """The tasks of calls that are alike, which have not ended."""

    under_way: int = 0
    """Handed to threads, ``_abreast`` at most: what comes meanwhile joins the last one."""
    held: deque[Task] = field(default_factory=deque)
    last: Task | None = None


class Room:
    """Threads that answer one kind of call, and as many more places for calls that wait for a thread.

    A call that would wait longer than ``patience`` seconds, by how long the last ones took, is refused, although there
    is a place: the others keep their pace however many come. So is one that has waited for so long: how long the calls
    before it take shows only then. ``retry_seconds`` is after how long it had better come again.
    Calls that are alike may be answered together: those that come while as many as there are cores are under way are
    one task. Unlike an executor's, the threads wake the event loop once for all that has ended by then: under load,
    this is most of what a call costs there.
    """

    def __init__(self, kind: str, threads: int, waiting: int, retry_seconds: float, patience: float = math.inf) -> None:
        self._kind, self._retry_seconds, self._patience = kind, retry_seconds, patience
        self._most_threads, self._places = threads, threads + waiting
        self._threads: list[threading.Thread] = []
        self._taken = 0
        """Changed by the event loop alone, as are the threads and the seconds."""
        self._seconds = 0.0
        """That the last calls took, the later the more they count."""
        self._todo: SimpleQueue[Task | None] = SimpleQueue()
        self._alike: dict[Hashable, _Alike] = {}
        self._abreast = min(threads, cores())
        """Tasks of calls that are alike that are under way at once: more would take the interpreter from each other."""
        self._ended: deque[Task] = deque()
        self._loop_knows = False
        self._impatient: deque[tuple[float, Waiter, Task]] = deque()
        """Calls that may wait, and until when, in the order of their coming."""
        self._timer: asyncio.TimerHandle | None = None

    async def run(self, work: Callable[[], T]) -> T:
        """Return the result of the work, done in a thread; work that nobody awaits any more does not begin.

        Raises OverloadedError at once where every place is taken or the wait is too long, else what the work raises.
        """
        caller, task = self._caller(None), Task(lambda _: [work()])
        task.join(caller)
        self._put(task)
        self._limit_wait(caller, task)
        return cast(T, await caller.future)

    async def run_together(self, alike: Hashable, given: Any, work: Work, most: int) -> Any:
        """Return the outcome of a call, from work for all alike calls that wait at the same time, up to ``most``.

        Raises as ``run``.
        """
        caller, others = self._caller(given), self._alike.setdefault(alike, _Alike())
        if others.last is None or not others.last.join(caller):
            others.last = task = Task(work, most, alike)
            task.join(caller)
            others.held.append(task)
            self._put_alike(alike)
        self._limit_wait(caller, others.last)
        return await caller.future

    def _caller(self, given: Any) -> Waiter:
        """Take a place for a call."""
        if self._taken >= self._places or self._wait() > self._patience:
            raise self._overloaded()
        self._taken += 1
        return Waiter(given, asyncio.get_running_loop().create_future())

    def _overloaded(self) -> OverloadedError:
        return OverloadedError(
            f"too many {self._kind} are under way or wait: try again in {self._retry_seconds:g} s", self._retry_seconds
        )

    def _limit_wait(self, caller: Waiter, task: Task) -> None:
        """Let a call wait for no longer than the patience."""
        if self._patience == math.inf or self._taken <= self._abreast:
            return
        self._impatient.append((time.monotonic() + self._patience, caller, task))
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._patience, self._refuse_late)

    def _refuse_late(self) -> None:
        """Refuse the calls that have waited for too long."""
        self._timer = None
        while self._impatient:
            until, caller, task = self._impatient[0]
            left = until - time.monotonic()
            if left > 0 and not caller.future.done():
                self._timer = asyncio.get_running_loop().call_later(left, self._refuse_late)
                return
            self._impatient.popleft()
            if not caller.future.done() and not task.begun:
                caller.future.set_exception(self._overloaded())

    def _put(self, task: Task) -> None:
        """Hand a task to the threads."""
        if self._taken > len(self._threads) < self._most_threads:
            loop = asyncio.get_running_loop()
            self._threads.append(threading.Thread(target=self._work, args=(loop,), name=self._kind, daemon=True))
            self._threads[-1].start()
        self._todo.put(task)

    def _put_alike(self, alike: Hashable) -> None:
        """Hand the held tasks of alike calls to the threads, as many as may be under way."""
        tasks = self._alike[alike]
        while tasks.held and tasks.under_way < self._abreast:
            tasks.under_way += 1
            self._put(tasks.held.popleft())
        if not tasks.under_way:
            del self._alike[alike]

    def _wait(self) -> float:
        """Return the seconds until a thread would begin another call; 0 as long as few calls wait."""
        waiting = self._taken + 1 - self._most_threads
        return waiting * self._seconds / self._most_threads if waiting > self._most_threads else 0.0

    def close(self) -> None:
        """Let the threads end after their current work."""
        for _ in self._threads:
            self._todo.put(None)

    def _work(self, loop: asyncio.AbstractEventLoop) -> None:
        while (task := self._todo.get()) is not None:
            task.run()
            self._ended.append(task)
            task = None  # a thread that waits for the next keeps no request in memory
            if not self._loop_knows:
                self._loop_knows = True
                with suppress(RuntimeError):  # it is closed: nobody waits
                    loop.call_soon_threadsafe(self._deliver)

    def _deliver(self) -> None:
        self._loop_knows = False
        while self._ended:
            task = self._ended.popleft()
            seconds = task.seconds
            if task.alike is not None:
                self._alike[task.alike].under_way -= 1
                self._put_alike(task.alike)
                seconds *= self._most_threads / self._abreast
            self._taken -= len(task)
            self._seconds += _NEWS * (seconds - self._seconds)
            task.deliver()


def queries_of(request: Any) -> list[Any]:
    """Return the queries of a request to the search service, those of pairs one after the other."""
    if isinstance(request, search_pb2.SameRequest):
        return [query for pair in request.pairs for query in (pair.first, pair.second)]
    return list(request.queries)


class Rooms:
    """The rooms of a server."""

    def __init__(self, settings: ServerSettings) -> None:
        threads, waiting = settings.threads, settings.waiting
        self.reads = Room("reading calls", threads, waiting, 0.5, _READ_PATIENCE)
        self._pictures = Room("searches by picture", threads, waiting, 1.0, _PICTURE_PATIENCE)
        self._rooms = {
            methods.Room.SEARCHES: Room("searches", threads, waiting, 0.1, _SEARCH_PATIENCE),
            methods.Room.READS: self.reads,
            methods.Room.WRITES: Room("writes", settings.writers, waiting, 1.0),
            methods.Room.LONG: Room("long calls", waiting, 0, 10.0),
            methods.Room.FITS: Room("fits of views by pictures", waiting, 0, 10.0),
        }

    def of(self, method: Method, request: Any) -> Room:
        """Return the room of a call; ``request`` is None if it is too large to decode before."""
        if method.room is methods.Room.SEARCHES and (request is None or any(one.image for one in queries_of(request))):
            return self._pictures
        return self._rooms[method.room]

    def close(self) -> None:
        """Close every room."""
        for room in (self._pictures, *self._rooms.values()):
            room.close()
