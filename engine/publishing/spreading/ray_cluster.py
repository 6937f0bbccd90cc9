"""A Ray cluster as an executor: each worker is an actor that opens the work once and does one task at a time."""

import importlib
import socket
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from crossview.engine.publishing.spreading.executor import Result, Task, Work
from crossview.engine.runtime.cancellation import checkpoint
from crossview.engine.values.errors import NotInstalledError, NotReadyError, lacking

LOCAL = "local"
"""The address that starts a cluster on this machine, for the time of the work."""
_RESTARTS = 3
"""How often a worker that was killed starts again, and a task is repeated."""
_CONNECT_SECONDS = 10.0
_LOOK_EVERY = 0.2
"""Seconds between two checkpoints while the tasks run."""


@dataclass(frozen=True)
class RayCluster:
    """A Ray cluster. Its machines need the same version of crossview as this one."""

    address: str
    """HOST:PORT, ray://HOST:PORT, ``auto`` for the cluster of this machine, or ``local``."""
    workers: int | None = None
    """Number of workers, of one core each [default: one for each core of the cluster]."""
    readers = 1
    """See ``Executor.readers``: it is a process of its own, so that a bad picture does not end the worker."""
    elsewhere = True
    """See ``Executor.elsewhere``."""

    def results(self, work: Work[Task, Result], tasks: Iterable[Task]) -> Iterator[Result]:
        """See ``Executor.results``.

        Raises NotInstalledError without Ray, NotReadyError for a cluster that does not answer, or a task whose worker
        ends again and again.
        """
        ray = library()
        with ExitStack() as connected:
            self._connect(ray, connected)
            count = self.workers or max(1, int(ray.cluster_resources().get("CPU", 1)))
            kind = ray.remote(num_cpus=1, max_restarts=_RESTARTS, max_task_retries=_RESTARTS)(_Worker)
            idle = deque(kind.remote(work, version("crossview")) for _ in range(count))
            workers = list(idle)
            connected.callback(lambda: [ray.kill(worker) for worker in workers])
            yield from _results(ray, idle, iter(tasks))

    def _connect(self, ray: Any, connected: ExitStack) -> None:
        """Connect to the cluster, unless this program is connected to one."""
        if ray.is_initialized():
            return
        self._check_reachable()
        options = {"num_cpus": self.workers, "include_dashboard": False} if self.address == LOCAL else {}
        try:
            ray.init(address=self.address, log_to_driver=False, logging_level="error", **options)
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise self._unreachable(error) from error
        connected.callback(ray.shutdown)

    def _check_reachable(self) -> None:
        """Raise NotReadyError if nothing listens at an address: Ray would try for minutes."""
        host, colon, port = self.address.removeprefix("ray://").rpartition(":")
        if not colon:
            return
        try:
            socket.create_connection((host.strip("[]"), int(port)), _CONNECT_SECONDS).close()
        except (OSError, ValueError) as error:
            raise self._unreachable(error) from error

    def _unreachable(self, error: Exception) -> NotReadyError:
        short = " ".join(str(error).split())[:200]
        return NotReadyError(
            f"no Ray cluster answers at {self.address}: start a cluster, or name the address of its head ({short})"
        )


def library() -> Any:
    """Return Ray; NotInstalledError, which names the remedy, without it."""
    try:
        return importlib.import_module("ray")
    except ImportError as error:
        raise lacking(NotInstalledError, "a cluster needs Ray", "ray") from error


class _Worker:
    """A process of the cluster."""

    def __init__(self, work: Work[Any, Any], required: str) -> None:
        self._work, self._wanted = work, required
        self._open = ExitStack()
        self._do: Callable[[Any], Any] | None = None

    def do(self, task: Any) -> Any:
        """Return the result of one task."""
        if self._do is None:
            if (here := version("crossview")) != self._wanted:
                raise NotReadyError(f"a machine of the Ray cluster has crossview {here}: install {self._wanted} there")
            self._do = self._open.enter_context(self._work.opened())
        return self._do(task)


def _results(ray: Any, idle: deque[Any], tasks: Iterator[Any]) -> Iterator[Any]:
    """Yield the result of each task as it ends; every worker has one task at a time."""
    running = dict[Any, Any]()
    while True:
        while idle and (task := next(tasks, None)) is not None:
            worker = idle.popleft()
            running[worker.do.remote(task)] = worker
        if not running:
            return
        checkpoint()
        ended, _ = ray.wait(list(running), timeout=_LOOK_EVERY)
        for reference in ended:
            idle.append(running.pop(reference))
            yield _result(ray, reference)


def _result(ray: Any, ended: Any) -> Any:
    """Return the result of a task that has ended, or raise its own error."""
    try:
        return ray.get(ended)
    except ray.exceptions.RayTaskError as error:
        raise (error.cause if isinstance(error.cause, Exception) else error) from None
    except ray.exceptions.RayActorError as error:
        raise NotReadyError(
            f"a worker of the Ray cluster ended {_RESTARTS + 1} times: see its log, and run the same command again to "
            "continue"
        ) from error
