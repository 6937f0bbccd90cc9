"""Executors: where the parts of a large work run. The same work runs on this machine and in a cluster."""

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol, TypeVar

from crossview.engine.runtime.cancellation import cancellable, checkpoint
from crossview.engine.values.errors import CancelledError

Task = TypeVar("Task")
Result = TypeVar("Result")
TaskIn = TypeVar("TaskIn", contravariant=True)
ResultOut = TypeVar("ResultOut", covariant=True)
_AT_ONCE = 2
"""Tasks at once on this machine: one waits for files or the engine while the other computes."""
_LOOK_EVERY = 0.2
"""Seconds between two checkpoints while the tasks run."""


class Work(Protocol[TaskIn, ResultOut]):
    """Work in independent tasks, as a value that can be sent to other machines."""

    def opened(self) -> AbstractContextManager[Callable[[TaskIn], ResultOut]]:
        """Open what all tasks need, for the block, and give the function that does one task; threads may share it.

        A task can be repeated, after its worker was killed, and changes nothing if it is already done.
        """


class Executor(Protocol):
    """A place where work runs."""

    @property
    def readers(self) -> int | None:
        """Number of processes that read pictures wherever the work is opened; None for one per core."""

    @property
    def elsewhere(self) -> bool:
        """Whether other processes than this one do the tasks."""

    def results(self, work: Work[Task, Result], tasks: Iterable[Task]) -> Iterator[Result]:
        """Yield the result of each task as it ends, in any order; raises the first error of a task."""


@dataclass(frozen=True)
class Here:
    """This machine: threads share the opened work, whose pictures are read in processes of their own."""

    readers: int | None = None
    """See ``Executor.readers``."""
    elsewhere = False
    """See ``Executor.elsewhere``."""

    def results(self, work: Work[Task, Result], tasks: Iterable[Task]) -> Iterator[Result]:
        """See ``Executor.results``."""
        stopping = threading.Event()

        def check() -> None:
            if stopping.is_set():
                raise CancelledError("another task has failed, or the work was stopped")

        def done(do: Callable[[Task], Result], task: Task) -> Result:
            with cancellable(check):
                return do(task)

        with work.opened() as do, ThreadPoolExecutor(_AT_ONCE, "task") as pool:
            running = set[Future[Result]]()
            try:
                for task in tasks:
                    running.add(pool.submit(done, do, task))
                    if len(running) == _AT_ONCE:
                        yield from _ended(running)
                while running:
                    yield from _ended(running)
            finally:
                stopping.set()


HERE = Here()
"""This machine, with a process for each core."""


def _ended(running: set[Future[Result]]) -> Iterator[Result]:
    """Yield the results of tasks that end next, and forget these tasks."""
    while True:
        checkpoint()
        ended = wait(running, _LOOK_EVERY, FIRST_COMPLETED).done
        if ended:
            break
    running -= ended
    for task in ended:
        yield task.result()
