"""The process that carries out a server's writes, as the server sees it."""

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
from crossview.server.channel import ERROR, REQUEST, STOP, Channel
from crossview.server.errors import ServerStoppedError
from crossview.server.forks import CONTEXT
from crossview.server.wire.status import error_in, refusal

_TICK = 0.1
"""Seconds between two looks at whether a write is still wanted."""
_AGAIN_SECONDS = 1.0
"""Between two starts of the process."""
_END_SECONDS = 1.0
"""How long the end waits for a start that is under way."""
_log = logging.getLogger("crossview.server")


class WriteProcess:
    """Carries out writes in a process of its own, so that what they compute keeps no search of this one waiting.

    The process is started beside the first write at the latest, and again where it has died. It takes seconds to
    import what it needs; meanwhile there is none.

    Args:
        home: folder of the collections.
        writers: writes carried out at once.
        idle_seconds: how long it keeps a collection open that no write uses.
    """

    def __init__(self, home: Path, writers: int, idle_seconds: float) -> None:
        self._home, self._writers, self._idle_seconds = home, writers, idle_seconds
        self._state = threading.Lock()
        self._process: _Process | None = None
        self._starting: threading.Thread | None = None
        self._closed = False

    def answer(self, request: Message) -> Any | None:
        """Return the packed response to a request; None if there is no process, and nothing was done.

        Raises what the write raises, ServerStoppedError where the process dies meanwhile, and what the ``checkpoint``
        of cancellable work raises.
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
                "the process that carried out the write ended; it is unknown whether the change was made: check before "
                "you repeat it"
            ) from error

    def _replace(self, dead: "_Process") -> None:
        with self._state:
            if self._process is not dead:  # another write has noticed
                return
            self._process = None
        _log.error("the process that writes %s; another one is started", dead.end())
        self.start()

    def wait_until_ready(self, seconds: float) -> bool:
        """Start the process, and return whether it is ready within so many seconds."""
        until = time.monotonic() + seconds
        while self._process is None and time.monotonic() < until:
            self.start()
            time.sleep(_TICK)
        return self._process is not None

    @property
    def pid(self) -> int | None:
        """The number of the process; None without a process."""
        process = self._process
        return None if process is None else process.pid

    def close(self) -> None:
        """End the process, and start no other."""
        with self._state:
            self._closed, starting = True, self._starting
        if starting is not None:
            starting.join(_END_SECONDS)  # on a busy machine the imports may last; it ends itself then
        with self._state:
            process, self._process = self._process, None
        if process is not None:
            process.end()

    def start(self) -> None:
        """Begin to start the process, unless it exists or is starting."""
        with self._state:
            if self._process is None and self._starting is None and not self._closed:
                self._starting = threading.Thread(target=self._started, name="start of writes", daemon=True)
                self._starting.start()

    def _started(self) -> None:
        try:
            process = _Process(self._home, self._writers, self._idle_seconds)
            with self._state:
                closed = self._closed
                self._process = None if closed else process
            if closed:
                process.end()
        except Exception:  # noqa: BLE001  # it is tried again with the next write, which this process carries out
            _log.exception("a process for writes could not be started")
            time.sleep(_AGAIN_SECONDS)
        finally:
            self._starting = None


class _Process:
    """One such process, with a channel for each write that is carried out at once."""

    def __init__(self, home: Path, writers: int, idle_seconds: float) -> None:
        pipes = [CONTEXT.Pipe() for _ in range(writers)]
        theirs = [its for _, its in pipes]
        self._process = CONTEXT.Process(target=_carry_out, args=(theirs, str(home), idle_seconds))
        self._process.start()
        self._channels = [Channel(ours) for ours, _ in pipes]
        self._free: SimpleQueue[Channel] = SimpleQueue()
        for its, channel in zip(theirs, self._channels, strict=True):
            its.close()
            self._free.put(channel)
        self._channels[0].receive()  # it is ready

    def answer(self, request: Message) -> Any:
        """See ``WriteProcess.answer``; EOFError where the process is gone."""
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
        """The number of the process."""
        return self._process.pid

    def end(self) -> str:
        """End the process, and return how it ended, in words."""
        self._process.kill()
        self._process.join()
        return f"ended with exit code {self._process.exitcode}"


def _received(channel: Channel) -> tuple[bytes, bytes]:
    """Return the answer to the request; pass on, once, that nobody wants it any more."""
    stopped = False
    while True:
        received = channel.receive(_TICK)
        if received is not None:
            return received
        try:
            if not stopped:
                checkpoint()
        except Exception as error:  # noqa: BLE001  # it comes back as the write's own error, or the write has ended
            channel.send(STOP, refusal(error).status)
            stopped = True


def _carry_out(connections: Sequence["Connection[bytes, bytes]"], home: str, idle_seconds: float) -> None:
    """Carry out requests, in the process."""
    os.setpgrp()  # Ctrl-C in a terminal is the server's to handle
    from crossview.server.writing.worker import main

    main(connections, home, idle_seconds)
