"""The server's end of the process for writes."""

import logging
import os
import threading
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from queue import SimpleQueue

from google.protobuf.any_pb2 import Any
from google.protobuf.message import Message
from google.rpc.status_pb2 import Status

from crossview.engine.runtime.cancellation import checkpoint
from crossview.features.background import begun
from crossview.server.core.channel import ERROR, REQUEST, STOP, Channel
from crossview.server.core.forks import CONTEXT, started
from crossview.server.wire.errors import ServerStoppedError
from crossview.server.wire.status import error_in, refusal

_TICK = 0.1
"""Interval at which the server checks whether the caller of a write has left."""
_AGAIN_SECONDS = 1.0
"""Delay after a failed start of the process."""
_END_SECONDS = 1.0
"""Maximum time that ``close`` waits for a start in progress."""
_log = logging.getLogger("crossview.server")


class WriteProcess:
    """A separate process for writes, so that searches in this process do not wait for their computations.

    ``start``, or the first write, starts the process, and it restarts after it dies. Until its imports are done, which
    takes seconds, ``answer`` returns None and the server writes in its own process.

    Args:
        home: folder of the collections.
        writers: maximum number of concurrent writes.
        idle_seconds: time after which the process closes an unused collection.
    """

    def __init__(self, home: Path, writers: int, idle_seconds: float) -> None:
        self._home, self._writers, self._idle_seconds = home, writers, idle_seconds
        self._state = threading.Lock()
        self._process: _Process | None = None
        self._starting: threading.Thread | None = None
        self._closed = False

    def answer(self, request: Message) -> Any | None:
        """Return the packed response to a request; None, without any write, if the process does not run.

        Raises the errors of the write and of ``checkpoint``, and ServerStoppedError if the process dies meanwhile.
        """
        process = self._process
        if process is None:
            self.start()
            return None
        try:
            return process.answer(request)
        except EOFError as error:
            self._replace(process)
            raise ServerStoppedError(
                "the process for writes ended during the write; it is unknown whether the change was made: check "
                "before you repeat it"
            ) from error

    def _replace(self, dead: "_Process") -> None:
        with self._state:
            if self._process is not dead:  # another write has already replaced it
                return
            self._process = None
        _log.error("the process for writes %s; starting another one", dead.end())
        self.start()

    @property
    def pid(self) -> int | None:
        """The id of the process; None without a process."""
        process = self._process
        return None if process is None else process.pid

    def close(self) -> None:
        """End the process, and never start another one."""
        with self._state:
            self._closed, starting = True, self._starting
        if starting is not None:
            starting.join(_END_SECONDS)  # a slower start sees _closed and ends its process
        with self._state:
            process, self._process = self._process, None
        if process is not None:
            process.end()

    def start(self) -> None:
        """Start the process in the background, unless it runs or is starting."""
        with self._state:
            if self._process is None and self._starting is None and not self._closed:
                self._starting = begun(self._started, "start of writes")

    def _started(self) -> None:
        try:
            process = _Process(self._home, self._writers, self._idle_seconds)
            with self._state:
                closed = self._closed
                self._process = None if closed else process
            if closed:
                process.end()
        except EOFError:  # a signal to all processes of a server can reach it before it has its own group
            _log.warning("the process for writes ended while it started; the next write starts another one")
            time.sleep(_AGAIN_SECONDS)
        except Exception:  # noqa: BLE001  # this process writes meanwhile, and the next write tries again
            _log.exception("cannot start the process for writes")
            time.sleep(_AGAIN_SECONDS)
        finally:
            self._starting = None


class _Process:
    """One process for writes, with a channel for each concurrent write."""

    def __init__(self, home: Path, writers: int, idle_seconds: float) -> None:
        pipes = [CONTEXT.Pipe() for _ in range(writers)]
        theirs = [its for _, its in pipes]
        self._process = started(_carry_out, (theirs, str(home), idle_seconds))
        self._channels = [Channel(ours) for ours, _ in pipes]
        self._free: SimpleQueue[Channel] = SimpleQueue()
        for its, channel in zip(theirs, self._channels, strict=True):
            its.close()
            self._free.put(channel)
        self._channels[0].receive()  # wait until the process is ready

    def answer(self, request: Message) -> Any:
        """Return the packed response as ``WriteProcess.answer`` does; raise EOFError if the process ended."""
        packed = Any()
        packed.Pack(request)
        channel = self._free.get()
        try:
            channel.send(REQUEST, packed)
            tag, body = _received(channel)
        finally:
            self._free.put(channel)
        if tag == ERROR:
            raise error_in(Status.FromString(body))
        return Any.FromString(body)

    @property
    def pid(self) -> int | None:
        """The id of the process."""
        return self._process.pid

    def end(self) -> str:
        """Kill the process, and describe its exit in words."""
        self._process.kill()
        self._process.join()
        return f"ended with exit code {self._process.exitcode}"


def _received(channel: Channel) -> tuple[bytes, bytes]:
    """Return the answer to the request; send STOP, once, if the caller has left."""
    stopped = False
    while True:
        received = channel.receive(_TICK)
        if received is not None:
            return received
        try:
            if not stopped:
                checkpoint()
        except Exception as error:  # noqa: BLE001  # the write ends with this error, or has already ended
            channel.send(STOP, refusal(error).status)
            stopped = True


def _carry_out(connections: Sequence["Connection[bytes, bytes]"], home: str, idle_seconds: float) -> None:
    os.setpgrp()  # Ctrl-C in a terminal must reach only the server
    from crossview.server.core.writing.worker import main

    main(connections, home, idle_seconds)
