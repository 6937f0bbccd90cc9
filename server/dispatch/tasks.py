"""Tasks: work of a thread that calls wait for, one or several that are alike."""

import asyncio
import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

Work = Callable[[list[Any]], list[Any]]
"""Work for several callers: takes what each gives, and returns a result or an error for each."""


@dataclass(eq=False)
class Caller:
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
        self._callers: list[Caller] = []
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

    def join(self, caller: Caller) -> bool:
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
