"""Rooms: threads and waiting places for each kind of call, so that no kind of call waits for another."""

import asyncio
import math
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any, Generic, TypeVar, cast

from crossview.features.background import begun
from crossview.features.worker import cores
from crossview.server.wire import methods
from crossview.server.wire.convert_search import queries_of
from crossview.server.wire.errors import OverloadedError
from crossview.server.wire.methods import Method
from crossview.server.wire.settings import ServerSettings

T = TypeVar("T")


class FairQueue(Generic[T]):
    """A queue with a line for each caller; ``take`` goes round the lines. Only one thread uses it."""

    def __init__(self) -> None:
        self._lines: OrderedDict[str, deque[T]] = OrderedDict()
        """The lines that are not empty, the next one first."""

    def __bool__(self) -> bool:
        return bool(self._lines)

    def put(self, line: str, value: T) -> None:
        """Add a value to the end of a line."""
        self._lines.setdefault(line, deque()).append(value)

    def take(self) -> T:
        """Return the first value of the next line; raise StopIteration from an empty queue."""
        line, values = next(iter(self._lines.items()))
        value = values.popleft()
        if values:
            self._lines.move_to_end(line)
        else:
            del self._lines[line]
        return value


Work = Callable[[list[Any]], list[Any]]
"""Work for several calls: takes their inputs, and returns a result or an error for each."""


@dataclass(eq=False)
class Waiter:
    """A call that waits for a thread: its input, its caller, and the future of the event loop for its outcome."""

    argument: Any
    future: asyncio.Future[Any]
    line: str = ""
    """The name of the caller, who waits in a line of its own."""
    outcome: Any = None
    """The result, or the error that the awaiting call raises."""
    task: "Task | None" = None

    @property
    def waits(self) -> bool:
        """Whether no thread has begun to work for the call, and the call has not left."""
        return (self.task is None or not self.task.begun) and not self.future.done()


class Task:
    """Work of a thread for one or several calls, which can join until the work begins."""

    line: str

    def __init__(self, work: Work, line: str = "", most: int = 1, alike: Hashable | None = None) -> None:
        self._work, self._most, self.line = work, most, line
        self.alike = alike
        """The key that all joined calls share."""
        self.callers: list[Waiter] = []
        self._open = True
        self._joining = threading.Lock()
        self.seconds: float = 0.0
        """Duration of the work divided by the number of calls."""

    @property
    def begun(self) -> bool:
        """Whether a thread has begun the work."""
        return not self._open

    def join(self, caller: Waiter) -> bool:
        """Add a waiting call; return False if the task has begun or is full."""
        with self._joining:
            joined = self._open and len(self.callers) < self._most
            if joined:
                self.callers.append(caller)
                caller.task = self
            return joined

    def run(self) -> None:
        """Do the work for all calls that still wait, in a thread."""
        with self._joining:
            self._open = False
        waiting = [caller for caller in self.callers if not caller.future.done()]
        if not waiting:
            return
        began = time.monotonic()
        try:
            outcomes = self._work([caller.argument for caller in waiting])
        except BaseException as error:  # noqa: BLE001 - the awaiting calls raise it
            outcomes = [error] * len(waiting)
        for caller, outcome in zip(waiting, outcomes, strict=True):
            caller.outcome = outcome
        self.seconds = (time.monotonic() - began) / len(waiting)

    def deliver(self) -> None:
        """Deliver the outcome to every waiting call, in the event loop."""
        for caller in self.callers:
            caller.task = None  # a cycle would keep the request in memory
            if caller.future.done():  # the caller has left
                continue
            if isinstance(caller.outcome, BaseException):
                caller.future.set_exception(caller.outcome)
            else:
                caller.future.set_result(caller.outcome)


_SEARCH_PATIENCE, _READ_PATIENCE, _PICTURE_PATIENCE = 0.3, 1.0, 2.0
"""Maximum waiting time of a search, of another reading call, and of a search by picture or by a model of texts, which
waits longest because sending a picture again, and running a model, cost most."""
_AHEAD_SECONDS, _MOST_AHEAD = 0.005, 32
"""Time in which a thread ends the tasks that it has beforehand, and maximum number of these tasks."""
_SMOOTHING = 0.1
"""Weight of the latest call in the exponential moving average of the duration of calls."""


@dataclass(eq=False)
class _Alike:
    """The unfinished tasks of similar calls."""

    under_way: int = 0
    """Number of tasks handed to threads, at most ``_abreast``; later calls join the last held task."""
    held: deque[Task] = field(default_factory=deque)
    last: Task | None = None


@dataclass(frozen=True)
class RoomFigures:
    """The state of a room at one time."""

    waiting: int
    """Number of calls that wait for a thread."""
    busy: int
    """Number of threads that work."""
    threads: int
    """Maximum number of threads."""
    refused: int
    """Number of calls that the room has refused since its start."""


class Room:
    """Threads that answer one kind of call, and places for calls that wait for a thread.

    A room refuses a call if no place is free, if the expected waiting time exceeds ``patience`` seconds, or if the call
    has actually waited that long. So accepted calls stay fast under any load. The expected waiting time follows from
    the average duration of recent calls.

    A room can answer similar calls as one task: calls that arrive while one task per core is running join the next
    task. The threads wake the event loop once for all tasks that have ended, unlike an executor, which wakes it for
    each task; under load, waking is most of the cost of a call in the event loop.

    Callers take turns: each has its own line, by the name of its key. If all places are taken, a caller with fewer
    waiting calls gets the place of the latest call of the longest line.

    Args:
        kind: words for the calls, for messages and the names of threads.
        threads: maximum number of threads.
        waiting: number of places for waiting calls.
        retry_seconds: time after which a refused call should be repeated.
        patience: maximum waiting time in seconds.
    """

    def __init__(self, kind: str, threads: int, waiting: int, retry_seconds: float, patience: float = math.inf) -> None:
        self._kind, self._retry_seconds, self._patience = kind, retry_seconds, patience
        self._most_threads, self._places = threads, threads + waiting
        self._threads: list[threading.Thread] = []
        self._taken = 0
        """Number of used places. Only the event loop changes it, ``_lines``, ``_threads`` and ``_seconds``."""
        self._lines: dict[str, dict[Waiter, None]] = {}
        """The calls that use places, by line, in order of arrival."""
        self._seconds = 0.0
        """Exponential moving average of the duration of calls."""
        self._todo: SimpleQueue[Task | None] = SimpleQueue()
        """The tasks of which each thread takes the next: few, because they no longer take turns."""
        self._later: FairQueue[Task] = FairQueue()
        self._under_way = self._refused = 0
        self._alike: dict[Hashable, _Alike] = {}
        self._abreast = min(threads, cores())
        """Maximum number of running tasks of similar calls; more would compete for the interpreter."""
        self._ended: deque[Task] = deque()
        self._loop_knows = False
        self._impatient: deque[tuple[float, Waiter, Task]] = deque()
        """Waiting calls with the time at which the room refuses them, in order of arrival."""
        self._timer: asyncio.TimerHandle | None = None

    async def run(self, work: Callable[[], T], line: str = "") -> T:
        """Do the work in a thread and return its result; skip the work if the caller leaves before it begins.

        Raises OverloadedError if no place is free or the wait is too long, otherwise the errors of the work.
        """
        caller, task = self._enter(None, line), Task(lambda _: [work()], line)
        task.join(caller)
        self._put(task)
        self._limit_wait(caller, task)
        return cast(T, await caller.future)

    async def run_together(self, alike: Hashable, argument: Any, work: Work, most: int, line: str = "") -> Any:
        """Return the result of a call, from one task for up to ``most`` waiting calls of the line with one ``alike``.

        Raises the errors of ``run``.
        """
        alike = line, alike
        caller, group = self._enter(argument, line), self._alike.setdefault(alike, _Alike())
        if group.last is None or not group.last.join(caller):
            group.last = task = Task(work, line, most, alike)
            task.join(caller)
            group.held.append(task)
            self._put_alike(alike)
        self._limit_wait(caller, group.last)
        return await caller.future

    def figures(self) -> RoomFigures:
        """Return what happens in the room now; any thread may call this."""
        waiting = sum(caller.waits for line in list(self._lines.values()) for caller in list(line))
        busy = min(self._under_way, self._most_threads)
        return RoomFigures(waiting, busy, self._most_threads, self._refused)

    def _enter(self, argument: Any, line: str) -> Waiter:
        """Take a place for a call; raise OverloadedError if the room refuses the call."""
        if self._wait(line) > self._patience or (self._taken >= self._places and not self._make_place(line)):
            raise self._overloaded()
        if not (self._threads or self._begin()):
            raise self._overloaded()
        self._taken += 1
        caller = Waiter(argument, asyncio.get_running_loop().create_future(), line)
        self._lines.setdefault(line, {})[caller] = None
        return caller

    def _leave(self, caller: Waiter) -> None:
        """Free the place of a call, unless it is free already."""
        line = self._lines.get(caller.line)
        if line is not None and caller in line:
            del line[caller]
            self._taken -= 1
            if not line:
                del self._lines[caller.line]

    def _make_place(self, line: str) -> bool:
        """Refuse the latest waiting call of the longest line, if that line is longer than ``line`` would be."""
        longest = max(self._lines.values(), key=len)
        if len(longest) <= len(self._lines.get(line, ())) + 1:
            return False
        latest = next((caller for caller in reversed(longest) if caller.waits), None)
        if latest is None:
            return False
        latest.future.set_exception(self._overloaded())
        self._leave(latest)
        return True

    def _overloaded(self) -> OverloadedError:
        self._refused += 1
        return OverloadedError(
            f"too many {self._kind} are in progress or waiting: try again in {self._retry_seconds:g} s",
            self._retry_seconds,
        )

    def _limit_wait(self, caller: Waiter, task: Task) -> None:
        """Limit the waiting time of a call to the patience of the room."""
        if self._patience == math.inf or self._taken <= self._abreast:
            return
        self._impatient.append((time.monotonic() + self._patience, caller, task))
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._patience, self._refuse_late)

    def _refuse_late(self) -> None:
        self._timer = None
        while self._impatient:
            until, caller, task = self._impatient[0]
            seconds = until - time.monotonic()
            if seconds > 0 and not caller.future.done():
                self._timer = asyncio.get_running_loop().call_later(seconds, self._refuse_late)
                return
            self._impatient.popleft()
            if not caller.future.done() and not task.begun:
                caller.future.set_exception(self._overloaded())

    def _put(self, task: Task) -> None:
        """Queue a task for the threads; start another thread if there are more calls than threads."""
        if self._taken > len(self._threads) < self._most_threads:
            self._begin()
        self._later.put(task.line, task)
        self._hand_out()

    def _begin(self) -> bool:
        """Start another thread; return whether the system allows it."""
        if thread := begun(self._work, self._kind, asyncio.get_running_loop()):
            self._threads.append(thread)
        return thread is not None

    def _hand_out(self) -> None:
        """Give the threads tasks of the lines in turn: one for each thread, and those that it ends in a moment.

        With fewer tasks, threads would wait for the event loop; with more, another caller would wait for them.
        """
        ahead = int(min(_MOST_AHEAD, _AHEAD_SECONDS / self._seconds)) if self._seconds else 1
        while self._later and self._under_way < self._most_threads * (1 + max(1, ahead)):
            self._under_way += 1
            self._todo.put(self._later.take())

    def _put_alike(self, alike: Hashable) -> None:
        """Queue the held tasks of similar calls, up to ``_abreast`` at a time."""
        tasks = self._alike[alike]
        while tasks.held and tasks.under_way < self._abreast:
            tasks.under_way += 1
            self._put(tasks.held.popleft())
        if not tasks.under_way:
            del self._alike[alike]

    def _wait(self, line: str) -> float:
        """Return the expected waiting time of another call of a line in seconds; 0 while few calls wait."""
        ahead = self._taken
        if ahead < 2 * self._most_threads:
            return 0.0
        if len(self._lines) > 1 or line not in self._lines:  # lines take turns
            own = len(self._lines.get(line, ())) + 1
            ahead = sum(min(len(callers), own) for callers in self._lines.values())
        waiting = ahead + 1 - self._most_threads
        return waiting * self._seconds / self._most_threads if waiting > self._most_threads else 0.0

    def close(self) -> None:
        """Let the threads end after their current work."""
        for _ in self._threads:
            self._todo.put(None)

    def _work(self, loop: asyncio.AbstractEventLoop) -> None:
        while (task := self._todo.get()) is not None:
            task.run()
            self._ended.append(task)
            task = None  # frees the memory of the request while the thread waits
            if not self._loop_knows:
                self._loop_knows = True
                with suppress(RuntimeError):  # the loop is closed, so no call waits
                    loop.call_soon_threadsafe(self._deliver)

    def _deliver(self) -> None:
        self._loop_knows = False
        while self._ended:
            task = self._ended.popleft()
            seconds = task.seconds
            if task.alike is not None:
                self._alike[task.alike].under_way -= 1
                self._put_alike(task.alike)
                seconds *= self._most_threads / self._abreast  # ``_wait`` divides by all threads
            self._under_way -= 1
            for caller in task.callers:
                self._leave(caller)
            if task.seconds:  # otherwise all callers had left before the work began
                self._seconds += _SMOOTHING * (seconds - self._seconds)
            task.deliver()
        self._hand_out()


class Rooms:
    """The rooms of a server."""

    def __init__(self, settings: ServerSettings) -> None:
        threads, waiting = settings.threads, settings.waiting
        self.reads: Room = Room("reading calls", threads, waiting, 0.5, _READ_PATIENCE)
        self._pictures = Room("searches by picture", threads, waiting, 1.0, _PICTURE_PATIENCE)
        self._texts = Room("searches by the models of texts", threads, waiting, 1.0, _PICTURE_PATIENCE)
        self._rooms = {
            methods.Room.SEARCHES: Room("searches", threads, waiting, 0.1, _SEARCH_PATIENCE),
            methods.Room.READS: self.reads,
            methods.Room.WRITES: Room("writes", settings.writers, waiting, 1.0),
            methods.Room.LONG: Room("long calls", waiting, 0, 10.0),
            methods.Room.FITS: Room("fits of views by pictures", waiting, 0, 10.0),
        }

    def of(self, method: Method, request: Any, by_model: bool = False) -> Room:
        """Return the room of a call; ``request`` is None if it is too large to decode in the event loop.

        ``by_model`` tells whether a model may run on texts of the request, which can take seconds.
        """
        searches = method.room is methods.Room.SEARCHES
        if searches and (request is None or any(query.image for query in queries_of(request))):
            return self._pictures
        if searches and by_model:
            return self._texts
        return self._rooms[method.room]

    def figures(self) -> dict[str, RoomFigures]:
        """Return what happens in every room, by its name."""
        apart = {"pictures": self._pictures.figures(), "texts": self._texts.figures()}
        return apart | {kind.value: room.figures() for kind, room in self._rooms.items()}

    def busy(self) -> bool:
        """Return whether a thread of any room works."""
        return any(figures.busy for figures in self.figures().values())

    def close(self) -> None:
        """Close every room."""
        for room in (self._pictures, self._texts, *self._rooms.values()):
            room.close()
