"""An executor that logs which process starts and ends each partition, so that tests can end one in between."""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crossview.engine.publishing.spreading.executor import Executor, Work
from crossview.engine.values.errors import InvalidInputError


@dataclass(frozen=True)
class LoggedWork:
    """Work that appends a line before and after each task."""

    work: Work[Any, Any]
    log: Path

    @contextmanager
    def opened(self) -> Iterator[Callable[[Any], Any]]:
        """Open the work."""
        with self.work.opened() as do:
            yield lambda task: self._done(do, task)

    def _done(self, do: Callable[[Any], Any], task: Any) -> Any:
        self._write(f"start {task.number} {os.getpid()}")
        result = do(task)
        self._write(f"end {task.number} {os.getpid()}")
        return result

    def _write(self, line: str) -> None:
        with self.log.open("a") as file:  # a short line is appended as a whole
            file.write(f"{line}\n")


@dataclass(frozen=True)
class Logged:
    """An executor whose work is logged."""

    executor: Executor
    log: Path

    @property
    def readers(self) -> int | None:
        """Return those of the executor."""
        return self.executor.readers

    @property
    def elsewhere(self) -> bool:
        """Return that of the executor."""
        return self.executor.elsewhere

    def results(self, work: Any, tasks: Iterable[Any]) -> Iterator[Any]:
        """Yield the results of the executor."""
        return self.executor.results(LoggedWork(work, self.log), tasks)

    def lines(self, what: str) -> list[tuple[int, int]]:
        """Return the partition and the process of each start or end."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        words = [line.split() for line in lines]
        return [(int(number), int(pid)) for one, number, pid in words if one == what]

    def running(self) -> dict[int, int]:
        """Return the process of each partition that has started and not ended."""
        ended = Counter(number for number, _ in self.lines("end"))
        return {number: pid for number, pid in self.lines("start") if not ended[number]}


class FailingWork:
    """Work whose tasks all fail."""

    @contextmanager
    def opened(self) -> Iterator[Callable[[Any], Any]]:
        """Open the work."""
        yield self._failed

    def _failed(self, task: Any) -> Any:
        raise InvalidInputError(f"task {task} cannot be done")
