"""A process that reads pictures, one after another: a picture that takes it down takes nothing else.

The process keeps the extractors that it has met, so that a codebook travels once. A conversation about one picture:

    -> Order, then the bytes of the picture          <- Missing: extractors that it does not know
    -> those, pickled                                <- Header: how many pixels it is about to decode
    -> whether it may                                <- Answer
"""

import os
import pickle
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from crossview.features.base import ImageExtractor
from crossview.features.budget import NotWantedError
from crossview.features.decode import pixels_to_decode
from crossview.features.errors import ImageError, ImageTooLargeError
from crossview.features.pictures import PictureLimits
from crossview.features.worker import become_worker

_KEPT = 64
"""Extractors that a worker keeps, those used last."""
_START_SECONDS = 120.0
_PROGRAM = "import sys; from crossview.features.picture_worker import serve; serve(*map(int, sys.argv[1:]))"
"""What the process runs: nothing of the program that starts it, which may be of any kind."""

Packed = Mapping[str, tuple[str, bytes]]
"""By view, the digest and the pickle of an extractor."""


class WorkerDiedError(Exception):
    """The process ended, or was ended, during a picture."""


class TooSlowError(Exception):
    """A picture takes longer than it may."""


@dataclass(frozen=True)
class _Order:
    """What is to be done of a picture."""

    work: Callable[..., Any]
    digests: Mapping[str, str]
    """Of the extractors, by view."""
    max_pixels: int


@dataclass(frozen=True)
class _Missing:
    """Asks for extractors."""

    views: Sequence[str]


@dataclass(frozen=True)
class _Header:
    """Asks for leave to decode a picture."""

    pixels: int


@dataclass(frozen=True)
class _Answer:
    """What came of a picture: an error of any kind, or a result."""

    result: Any = None
    error: BaseException | None = None


class PictureWorker:
    """The process, as its owner sees it; RuntimeError where it cannot be started."""

    def __init__(self, limits: PictureLimits) -> None:
        self._limits = limits
        ours, theirs = socket.socketpair()
        ending, self._living = os.pipe()
        passed = (theirs.fileno(), ending)
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", _PROGRAM, *map(str, (*passed, limits.memory_bytes))],
                pass_fds=passed,
                stdin=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
                start_new_session=True,  # Ctrl-C is the parent's to handle
            )
        finally:
            theirs.close()
            os.close(ending)
        self._connection = Connection(ours.detach())
        try:
            self._receive(time.monotonic() + _START_SECONDS)
        except (WorkerDiedError, TooSlowError) as error:
            self.end()
            raise RuntimeError("a process that reads pictures could not be started; see the log") from error

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    def alive(self) -> bool:
        """Return whether the process has not ended."""
        return self._process.poll() is None

    def read(
        self,
        work: Callable[..., Any],
        image: bytes,
        packed: Packed,
        room: Callable[[int], AbstractContextManager[None]],
    ) -> Any:
        """Return what ``work`` gives of a picture, or the ImageError that it raises.

        ``room`` gives the pixels that are decoded their room, or raises NotWantedError, which is raised. After
        WorkerDiedError and TooSlowError the process has to be ended.
        """
        limits = self._limits
        self._send(_Order(work, {view: digest for view, (digest, _) in packed.items()}, limits.pixels))
        self._send_bytes(image)
        until = time.monotonic() + limits.seconds
        said = self._receive(until)
        if isinstance(said, _Missing):
            for view in said.views:
                self._send_bytes(packed[view][1])
            said = self._receive(until)
        if isinstance(said, _Header):
            said = self._decoded(room(said.pixels))
        if said.error is None or isinstance(said.error, ImageError):
            return said.result if said.error is None else said.error
        raise said.error

    def _decoded(self, room: AbstractContextManager[None]) -> Any:
        try:
            with room:
                self._send(True)
                return self._receive(time.monotonic() + self._limits.seconds)
        except NotWantedError:
            self._send(False)
            self._receive(time.monotonic() + self._limits.seconds)
            raise

    def kill(self) -> None:
        """End the process, whatever it does; who waits for it finds it dead."""
        self._process.kill()

    def end(self) -> None:
        """End the process, and wait until it has ended."""
        self._process.kill()
        self._process.wait()
        if not self._connection.closed:
            self._connection.close()
            os.close(self._living)

    def _send(self, message: Any) -> None:
        try:
            self._connection.send(message)
        except OSError as error:
            raise WorkerDiedError from error

    def _send_bytes(self, data: bytes) -> None:
        try:
            self._connection.send_bytes(data)
        except OSError as error:
            raise WorkerDiedError from error

    def _receive(self, until: float) -> Any:
        try:
            if not self._connection.poll(max(0.0, until - time.monotonic())):
                raise TooSlowError
            return self._connection.recv()
        except (EOFError, OSError) as error:
            raise WorkerDiedError from error


def serve(connection: int, parent: int, memory_bytes: int) -> None:
    """Read pictures as long as the parent lives; the descriptors are of a socket, and of a pipe that ends with it."""
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    become_worker()
    _limit_memory(memory_bytes)
    _Reader(Connection(connection)).run()


def _end_with(parent: int) -> None:
    os.read(parent, 1)
    os._exit(1)  # nobody waits for results


def _limit_memory(more: int) -> None:
    """Let this process take so many bytes more than it has; only Linux says how many it has."""
    sizes = Path("/proc/self/statm")
    if sizes.exists():
        has = int(sizes.read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (has + more, resource.RLIM_INFINITY))


@dataclass
class _Reader:
    """The process, as it sees itself."""

    connection: Connection
    known: OrderedDict[str, ImageExtractor] = field(default_factory=OrderedDict)
    busy: bool = False
    leaving: bool = False

    def run(self) -> None:
        """Answer orders until the other end is closed, or SIGTERM: a picture that was begun is finished."""
        signal.signal(signal.SIGTERM, self._leave)
        self.connection.send(_Answer())
        while not self.leaving:
            try:
                order = self.connection.recv()
                self.busy = True
                data = self.connection.recv_bytes()
                self.connection.send(self._answer(order, data))
                self.busy = False
            except (EOFError, OSError):
                return

    def _leave(self, *_: object) -> None:
        self.leaving = True
        if not self.busy:
            os._exit(0)

    def _answer(self, order: _Order, data: bytes) -> _Answer:
        extractors = self._extractors(order.digests)
        header = _tried(partial(pixels_to_decode, data, max_pixels=order.max_pixels))
        if header.error is not None:
            return header
        self.connection.send(_Header(header.result))
        if not self.connection.recv():
            return _Answer()
        return _tried(partial(order.work, data, extractors, order.max_pixels))

    def _extractors(self, digests: Mapping[str, str]) -> dict[str, ImageExtractor]:
        missing = [view for view, digest in digests.items() if digest not in self.known]
        if missing:
            self.connection.send(_Missing(missing))
        for view in missing:
            self.known[digests[view]] = pickle.loads(self.connection.recv_bytes())  # noqa: S301  # from the parent
        for digest in digests.values():
            self.known.move_to_end(digest)
        chosen = {view: self.known[digest] for view, digest in digests.items()}
        while len(self.known) > _KEPT:
            self.known.popitem(last=False)
        return chosen


def _tried(function: Callable[[], Any]) -> _Answer:
    try:
        return _Answer(function())
    except MemoryError:
        return _Answer(error=ImageTooLargeError("the picture needs more memory than there is: save it smaller"))
    except Exception as error:  # noqa: BLE001  # whoever asked is to know
        return _Answer(error=_portable(error))


def _portable(error: Exception) -> Exception:
    """Return an error as it is where it can travel, else one that says the same."""
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301  # our own
    except Exception:  # noqa: BLE001  # whatever a class of errors does to be pickled
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error
