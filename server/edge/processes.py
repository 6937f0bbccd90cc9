"""Several server processes on one port, and a parent that starts and watches them without serving."""

import fcntl
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
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from multiprocessing.util import Finalize
from pathlib import Path
from typing import TYPE_CHECKING

from crossview.engine.values.errors import StorageError
from crossview.server.core.exposure import check_exposure
from crossview.server.core.keys.audit_log import log_changes
from crossview.server.core.limits import keep_memory_together, raise_descriptors
from crossview.server.core.logs import log_to_stderr
from crossview.server.core.succession import check_ports
from crossview.server.core.tls import load_certificate
from crossview.server.wire.settings import ServerSettings

if TYPE_CHECKING:
    from crossview.server.edge.listen import RunningServer

SWITCH_SECONDS = 0.0001
"""Interval in seconds at which the interpreter switches threads; short, so that a search, which needs the interpreter
only between two scans, does not wait for a long computation."""
_RESTART_SECONDS = 1.0
"""Minimum time between two starts of a process, so that a process that ends at once does not restart in a loop."""
_EXIT_SECONDS = 10.0
"""Time that a process has to exit after its calls have ended; then it is killed."""
_YOUNG, _NEVER = (10_000, 1), 1_000_000_000
"""Thresholds of the garbage collector: new objects before a collection of the young generation, such collections
before one of the middle generation, which stops every thread for longer the more objects wait for it (.1 s with
100,000); and a number that disables automatic full collections."""
_LAST_PRIORITY = -101
"""Priority of a finalizer that runs after all finalizers of multiprocessing, whose lowest priority is -100."""
_HELD = "held"
"""A file in the folder of temporary files, which the process locks as long as it lives."""
_NEW_SECONDS = 60.0
"""Seconds in which a new folder may not be locked yet."""
_log = logging.getLogger("crossview.server")


def keep_garbage_apart() -> None:
    """Exclude existing objects from garbage collection, and disable automatic full collections.

    A full collection stops every thread (.2 s during an answer of 60,000 hits), and Python starts it when a call makes
    many objects. The server's upkeep collects all garbage instead, between calls.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_YOUNG, _NEVER)


def prepare_process(settings: ServerSettings) -> None:
    """Prepare this process to serve: limits of descriptors and memory, the device, switches of threads, the log.

    Raises ModelError for a device that cannot be used.
    """
    raise_descriptors()
    keep_memory_together()
    sys.setswitchinterval(SWITCH_SECONDS)
    log_to_stderr(settings.log_format)
    if settings.log_requests:
        logging.getLogger("crossview.requests").setLevel(logging.INFO)
    if settings.audit_log is not None:
        log_changes(settings.audit_log)
    if settings.device is not None:
        from crossview.features.models.session import use_device  # deferred: it imports what runs models

        use_device(settings.device)


def temporary_files() -> Callable[[], object]:
    """Put the temporary files of this process into one folder; return the function that removes the folder.

    A normal exit calls the function as the last finalizer, because multiprocessing has its own folder inside this one.
    Call it before ``os._exit``, which runs no finalizers. The leftovers of killed processes are removed first.
    """
    _remove_abandoned(Path(tempfile.gettempdir()))
    tempfile.tempdir = tempfile.mkdtemp(prefix="cv-")
    held = os.open(Path(tempfile.tempdir, _HELD), os.O_CREAT | os.O_RDWR, 0o600)  # until this process ends
    fcntl.flock(held, fcntl.LOCK_EX)
    return Finalize(None, shutil.rmtree, (tempfile.tempdir,), {"ignore_errors": True}, exitpriority=_LAST_PRIORITY)


def _remove_abandoned(folder: Path) -> None:
    """Remove the folders of temporary files, of this user, whose processes have ended."""
    for temporary in folder.glob("cv-*"):
        with suppress(OSError):  # of another user, or still held
            facts = temporary.lstat()
            if facts.st_uid != os.getuid() or time.time() - facts.st_mtime < _NEW_SECONDS:
                continue
            held = os.open(temporary / _HELD, os.O_RDWR | os.O_NOFOLLOW)
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(temporary, ignore_errors=True)  # which follows no link
            finally:
                os.close(held)


@dataclass
class _Child:
    process: SpawnProcess
    ready: Connection
    """Pipe that receives the address once the process serves."""
    started: float
    number: int
    """Its number among the processes, which a process that replaces it takes over."""


class Processes:
    """Server processes that share a port; the system gives each new connection to one of them.

    Raises StorageError if another program uses the port, or a process ends before it serves.
    """

    def __init__(self, settings: ServerSettings) -> None:
        self._context = multiprocessing.get_context("spawn")
        if not settings.take_over:
            check_ports(settings)
        self._reserved = _reserved(settings.host, settings.port)
        workers = max(1, settings.workers // settings.processes)
        self._settings = replace(settings, port=self._reserved.getsockname()[1], workers=workers)
        self._reserved_http: socket.socket | None = None
        if settings.http_port is not None:
            self._reserved_http = _reserved(settings.host, settings.http_port)
            self._settings = replace(self._settings, http_port=self._reserved_http.getsockname()[1])
        self.http_port: int | None = self._settings.http_port
        """The port for HTTP; None without one."""
        self.address: str = f"{settings.host}:{self._settings.port}"
        self._children: list[_Child] = []
        for number in range(settings.processes):
            self._start(number)
        try:
            for child in self._children:
                child.ready.recv()
        except EOFError as error:
            self.stop()
            raise StorageError("a server process ended before it served; see its message above") from error

    def replace_dead(self) -> None:
        """Replace each dead process by a new one."""
        for child in [child for child in self._children if not child.process.is_alive()]:
            _log.error("a server process ended with code %s; starting another one", child.process.exitcode)
            time.sleep(max(0.0, child.started + _RESTART_SECONDS - time.monotonic()))
            self._children.remove(child)
            self._start(child.number)

    def stop(self) -> bool:
        """Stop every process once its calls have ended; return whether all processes exited in time."""
        for child in self._children:
            child.process.terminate()
        patience = self._settings.grace_seconds + self._settings.answer_seconds + _EXIT_SECONDS
        for child in self._children:
            child.process.join(patience)
            child.process.kill()
            child.process.join()
        self._reserved.close()
        if self._reserved_http is not None:
            self._reserved_http.close()
        before_it_served = -signal.SIGTERM  # a process handles the signal only once it serves
        return all(child.process.exitcode in (0, before_it_served) for child in self._children)

    def _start(self, number: int) -> None:
        ours, theirs = self._context.Pipe(duplex=False)
        first = self._settings.admin_port
        settings = replace(self._settings, admin_port=None if first is None else first + number)
        process = self._context.Process(target=_serve, args=(settings, theirs))
        process.start()
        theirs.close()
        self._children.append(_Child(process, ours, time.monotonic(), number))


def start(settings: ServerSettings) -> "RunningServer | Processes":
    """Start to serve, in this process or in several; raise the errors of RunningServer, Processes, check_exposure."""
    check_exposure(settings)
    if settings.processes > 1:
        if settings.tls is not None:
            load_certificate(settings.tls)  # report a wrong file once, not in each process
        return Processes(settings)
    from crossview.server.edge.listen import RunningServer  # deferred: this imports everything that calls need

    running = RunningServer(settings)
    keep_garbage_apart()
    return running


def _serve(settings: ServerSettings, pipe: Connection) -> None:
    """Serve until SIGTERM, or until the parent ends."""
    from crossview.server.edge.listen import RunningServer

    stopping = threading.Event()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C also reaches the parent, which then stops its processes
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
    os._exit(0 if in_time else 1)  # the thread of a running call would keep the process alive


def _stop_with_parent(stopping: threading.Event) -> None:
    parent = multiprocessing.parent_process()
    wait([parent.sentinel] if parent else [])
    stopping.set()


def _reserved(host: str, port: int) -> socket.socket:
    """Return a socket that reserves a port for the processes that share it; port 0 selects a free port."""
    shared = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        shared.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        shared.bind((host, port))
    except OSError as error:
        shared.close()
        raise StorageError(f"cannot listen on {host}:{port}; is another server using the port?") from error
    return shared
