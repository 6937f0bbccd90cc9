"""Processes that this program starts for work that can fail, and the messages between both.

A process ends with the program that has started it. Its program imports nothing of that program, which may have no main
guard.
"""

import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import time
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from crossview.features.stages import Packed as PackedStage

_START_SECONDS = 120.0


class WorkerDiedError(Exception):
    """The process ended while it worked."""


class TooSlowError(Exception):
    """The work takes longer than the limit."""


@dataclass(frozen=True)
class Answer:
    """The result of an order, or an error of any kind."""

    result: Any = None
    error: BaseException | None = None
    stages: Sequence[PackedStage] = ()


class WorkerProcess:
    """The owner's side of a process; the constructor raises RuntimeError if the process cannot start.

    Args:
        serve: the module and the function of the program: it takes two descriptors, of a socket and of a pipe whose
            other end closes with this program, and further numbers.
        numbers: the further numbers.
    """

    def __init__(self, serve: str, *numbers: int) -> None:
        module, _, function = serve.rpartition(".")
        program = f"import sys; from {module} import {function}; {function}(*map(int, sys.argv[1:]))"
        ours, theirs = socket.socketpair()
        ending, self._living = os.pipe()
        passed = (theirs.fileno(), ending)
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", program, *map(str, (*passed, *numbers))],
                pass_fds=passed,
                stdin=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
                start_new_session=True,  # Ctrl-C reaches the parent only, which decides
            )
        finally:
            theirs.close()
            os.close(ending)
        self._connection = Connection(ours.detach())
        try:
            self.receive(time.monotonic() + _START_SECONDS)
        except (WorkerDiedError, TooSlowError) as error:
            self.end()
            raise RuntimeError("a process for pictures or texts could not be started; see the log") from error

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._process.pid

    def alive(self) -> bool:
        """Return whether the process has not ended."""
        return self._process.poll() is None

    def kill(self) -> None:
        """End the process at once; a thread that waits for its answer gets WorkerDiedError."""
        self._process.kill()

    def end(self) -> None:
        """End the process, and wait until it has ended."""
        self._process.kill()
        self._process.wait()
        self.leave()

    def leave(self) -> None:
        """Close this program's ends of the connections."""
        if not self._connection.closed:
            self._connection.close()
            os.close(self._living)

    def abandon(self) -> None:
        """Forget the process in a fork of this program, which is not its parent."""
        self._process.returncode = 0  # otherwise Python warns that it still runs
        self.leave()

    def send(self, message: Any) -> None:
        """Send a message; WorkerDiedError."""
        try:
            self._connection.send(message)
        except OSError as error:
            raise WorkerDiedError from error

    def send_bytes(self, data: bytes) -> None:
        """Send bytes; WorkerDiedError."""
        try:
            self._connection.send_bytes(data)
        except OSError as error:
            raise WorkerDiedError from error

    def answers(self, seconds: float) -> bool:
        """Return whether a message comes within some seconds; WorkerDiedError."""
        try:
            return self._connection.poll(max(0.0, seconds))
        except OSError as error:
            raise WorkerDiedError from error

    def receive(self, until: float) -> Any:
        """Return the next message; TooSlowError if none comes until a time of the monotonic clock; WorkerDiedError."""
        if not self.answers(until - time.monotonic()):
            raise TooSlowError
        try:
            return self._connection.recv()
        except (EOFError, OSError) as error:
            raise WorkerDiedError from error


class Worker:
    """The side of the process: it answers orders until the other end closes or SIGTERM arrives."""

    def __init__(self, connection: int, parent: int) -> None:
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
        self.connection = Connection(connection)
        self._busy = self._leaving = False

    def run(self) -> None:
        """Answer orders; after SIGTERM, finish the present one first."""
        signal.signal(signal.SIGTERM, self._leave)
        self.connection.send(Answer())
        while not self._leaving:
            try:
                order = self.connection.recv()
                self._busy = True
                self.connection.send(self.answer(order))
                self._busy = False
            except (EOFError, OSError):
                return

    @abstractmethod
    def answer(self, order: Any) -> Answer:
        """Return the answer to an order."""

    def _leave(self, *_: object) -> None:
        self._leaving = True
        if not self._busy:
            os._exit(0)


def _end_with(parent: int) -> None:
    os.read(parent, 1)
    os._exit(1)  # the parent has ended, so nothing waits for results


def portable(error: Exception) -> Exception:
    """Return an error that can be pickled: the same error, or one with the same message."""
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301  # our own
    except Exception:  # noqa: BLE001  # pickling runs the code of any class of errors
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error
