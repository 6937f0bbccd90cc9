"""Several server processes on one port, started and watched by one that serves nothing itself."""

import gc
import logging
import multiprocessing
import os
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from multiprocessing.util import Finalize
from typing import TYPE_CHECKING

from crossview.engine.errors import StorageError
from crossview.server.limits import keep_memory_together, raise_descriptors
from crossview.server.settings import ServerSettings

if TYPE_CHECKING:
    from crossview.server.listen import RunningServer

SWITCH_SECONDS = 0.0001
"""How long a thread keeps the interpreter from others, which want it for less: searches, between two scans."""
_SOONEST = 1.0
"""Seconds between two starts of a process that ends at once."""
_PATIENCE = 10.0
"""Seconds that a process has to end after its calls."""
_YOUNG, _NEVER = (10_000, 10), 1_000_000_000
"""Objects that are made, and searches among these, before the young ones are searched for garbage; and all."""
_LAST = -101
"""The priority of a finalizer that runs after those of multiprocessing, whose last one has -100."""
_log = logging.getLogger("crossview.server")


def keep_garbage_apart() -> None:
    """Exclude the present objects from garbage collection, so that no call pays for a search among all objects.

    Such a search stops every thread for as long as it lasts, .2 s for an answer of 60,000 hits, and comes when many
    objects are made. What was imported is left out of it from now on; the server's upkeep does the others.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_YOUNG, _NEVER)


def prepare_process(settings: ServerSettings) -> None:
    """Let this serving process switch threads often, open many files, and log to stderr."""
    raise_descriptors()
    keep_memory_together()
    sys.setswitchinterval(SWITCH_SECONDS)
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    if settings.log_requests:
        logging.getLogger("crossview.requests").setLevel(logging.INFO)


def temporary_files() -> Callable[[], object]:
    """Put this process's temporary files into one folder, and return the function that removes it.

    An orderly end calls that function itself, after multiprocessing has removed its own folder in there. Call it before
    ``os._exit``, which runs no finalizers.
    """
    tempfile.tempdir = tempfile.mkdtemp(prefix="cv-")
    return Finalize(None, shutil.rmtree, (tempfile.tempdir,), {"ignore_errors": True}, exitpriority=_LAST)


@dataclass
class _Child:
    process: SpawnProcess
    ready: Connection
    """Tells the address once the process serves."""
    started: float


class Processes:
    """Server processes that share a port; the system gives each new connection to one of them.

    Raises StorageError where another program has the port, or a process does not come to serve.
    """

    def __init__(self, settings: ServerSettings) -> None:
        self._context = multiprocessing.get_context("spawn")
        self._reserved = _reserved(settings.host, settings.port)
        workers = max(1, settings.workers // settings.processes)
        self._settings = replace(settings, port=self._reserved.getsockname()[1], workers=workers)
        self.address = f"{settings.host}:{self._settings.port}"
        self._children: list[_Child] = []
        for _ in range(settings.processes):
            self._start()
        try:
            for child in self._children:
                child.ready.recv()
        except EOFError as error:
            self.stop()
            raise StorageError("a server process ended before it served; its message is above") from error

    def replace_dead(self) -> None:
        """Start another process in place of each dead one."""
        for child in [child for child in self._children if not child.process.is_alive()]:
            _log.error("a server process ended with code %s; another one is started", child.process.exitcode)
            time.sleep(max(0.0, child.started + _SOONEST - time.monotonic()))
            self._children.remove(child)
            self._start()

    def stop(self) -> bool:
        """Let every process end its calls; return whether all did so in time."""
        for child in self._children:
            child.process.terminate()
        patience = self._settings.grace_seconds + self._settings.answer_seconds + _PATIENCE
        for child in self._children:
            child.process.join(patience)
            child.process.kill()
            child.process.join()
        self._reserved.close()
        before_it_served = -signal.SIGTERM
        return all(child.process.exitcode in (0, before_it_served) for child in self._children)

    def _start(self) -> None:
        ours, theirs = self._context.Pipe(duplex=False)
        process = self._context.Process(target=_serve, args=(self._settings, theirs))
        process.start()
        theirs.close()
        self._children.append(_Child(process, ours, time.monotonic()))


def start(settings: ServerSettings) -> "RunningServer | Processes":
    """Start to serve, in this process or in several others; raise what these raise."""
    if settings.processes > 1:
        return Processes(settings)
    from crossview.server.listen import RunningServer  # it loads all that calls need

    running = RunningServer(settings)
    keep_garbage_apart()
    return running


def _serve(settings: ServerSettings, pipe: Connection) -> None:
    """Serve until SIGTERM, or until the parent is gone."""
    from crossview.server.listen import RunningServer

    stopping = threading.Event()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent too, which tells its processes
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    threading.Thread(target=_stop_with_parent, args=(stopping,), daemon=True).start()

    prepare_process(settings)
    remove_temporary_files = temporary_files()
    running = RunningServer(settings)
    keep_garbage_apart()
    pipe.send(running.address)
    pipe.close()
    while not stopping.wait(1.0):
        pass
    in_time = running.stop()
    remove_temporary_files()
    os._exit(0 if in_time else 1)  # a call that has not ended would keep the process alive


def _stop_with_parent(stopping: threading.Event) -> None:
    parent = multiprocessing.parent_process()
    wait([parent.sentinel] if parent else [])
    stopping.set()


def _reserved(host: str, port: int) -> socket.socket:
    """Return a socket that reserves a port, 0 for a free one, for processes that share it."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    shared = socket.socket(family)
    try:
        if port:
            with closing(socket.socket(family)) as alone:  # fails where somebody listens, sharing the port or not
                alone.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                alone.bind((host, port))
        shared.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        shared.bind((host, port))
    except OSError as error:
        shared.close()
        raise StorageError(f"cannot listen on {host}:{port}; is another server using the port?") from error
    return shared
