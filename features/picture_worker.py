"""A process that reads pictures, one after another: a picture that ends the process harms nothing else.

The process keeps the extractors that it has received, so that a codebook travels once. The messages about one picture:

    -> Order, then the bytes of the picture,         <- Missing: extractors that it does not know
       unless the process reads its file
    -> those extractors, pickled                     <- Header: how many pixels it will decode
    -> whether it may                                <- Answer
"""

import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from crossview.features.base import ImageExtractor
from crossview.features.decode import pixels_to_decode
from crossview.features.errors import ImageError, ImageTooLargeError
from crossview.features.models.memory_limit import MemoryLimit
from crossview.features.pictures import PictureLimits, encoded_picture
from crossview.features.pixel_budget import NotWantedError
from crossview.features.quiet import quiet
from crossview.features.stages import Packed as PackedStage
from crossview.features.stages import Recording, listening, present
from crossview.features.worker import become_worker

_KEPT = 64
"""Number of extractors that a worker keeps; it drops those that were not used for the longest time."""
_START_SECONDS = 120.0
_PROGRAM = "import sys; from crossview.features.picture_worker import serve; serve(*map(int, sys.argv[1:]))"
"""The program of the process. It imports nothing of the program that starts it, which may have no main guard."""

Packed = Mapping[str, tuple[str, bytes]]
"""The digest and the pickle of an extractor, by view."""


class WorkerDiedError(Exception):
    """The process ended while it read a picture."""


class TooSlowError(Exception):
    """Reading a picture takes longer than the limit."""


@dataclass(frozen=True)
class _Order:
    """The work for one picture."""

    work: Callable[..., Any]
    digests: Mapping[str, str]
    """The digests of the extractors, by view."""
    max_pixels: int
    trusted: bool
    """See ``PictureLimits``."""
    file: Path | None
    """The file of the picture; None if its bytes follow."""
    recorded: bool
    """Whether the answer has the stages of the work."""


@dataclass(frozen=True)
class _Missing:
    """A request for extractors."""

    views: Sequence[str]


@dataclass(frozen=True)
class _Header:
    """A request for permission to decode a picture."""

    pixels: int


@dataclass(frozen=True)
class _Answer:
    """The result of a picture, or an error of any kind."""

    result: Any = None
    error: BaseException | None = None
    stages: Sequence[PackedStage] = ()


class PictureWorker:
    """The owner's side of a process; the constructor raises RuntimeError if the process cannot start."""

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
                start_new_session=True,  # Ctrl-C reaches the parent only, which decides
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
        """The id of the process."""
        return self._process.pid

    def alive(self) -> bool:
        """Return whether the process has not ended."""
        return self._process.poll() is None

    def read(
        self,
        work: Callable[..., Any],
        image: bytes | Path,
        packed: Packed,
        room: Callable[[int], AbstractContextManager[None]],
    ) -> Any:
        """Return the result of ``work`` for a picture, or the ImageError that it raises.

        ``room`` reserves memory for a number of pixels; if it raises NotWantedError, so does this method. After
        WorkerDiedError and TooSlowError the caller must end the process.
        """
        limits, file = self._limits, image if isinstance(image, Path) else None
        digests = {view: digest for view, (digest, _) in packed.items()}
        place = present()
        self._send(_Order(work, digests, limits.pixels, limits.trusted, file, place is not None))
        if isinstance(image, bytes):
            self._send_bytes(image)
        until = time.monotonic() + limits.seconds
        message = self._receive(until)
        if isinstance(message, _Missing):
            for view in message.views:
                self._send_bytes(packed[view][1])
            message = self._receive(until)
        if isinstance(message, _Header):
            message = self._decoded(room(message.pixels))
        if place is not None:
            place[0].take(message.stages, place[1])
        if message.error is None or isinstance(message.error, ImageError):
            return message.result if message.error is None else message.error
        raise message.error

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
        """End the process at once; a thread that waits for its answer gets WorkerDiedError."""
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
    """Read pictures while the parent lives.

    ``connection`` is the descriptor of a socket, ``parent`` that of a pipe whose other end closes with the parent.
    """
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    become_worker()
    quiet.is_alone = True
    _Reader(Connection(connection), MemoryLimit(memory_bytes)).run()


def _end_with(parent: int) -> None:
    os.read(parent, 1)
    os._exit(1)  # the parent has ended, so nothing waits for results


@dataclass
class _Reader:
    """The side of the process: it answers orders, and keeps the extractors that it knows."""

    connection: Connection
    limit: MemoryLimit
    known: OrderedDict[str, ImageExtractor] = field(default_factory=OrderedDict)
    busy: bool = False
    leaving: bool = False

    def run(self) -> None:
        """Answer orders until the other end closes or SIGTERM arrives; finish the current picture first."""
        signal.signal(signal.SIGTERM, self._leave)
        self.connection.send(_Answer())
        while not self.leaving:
            try:
                order = self.connection.recv()
                self.busy = True
                data = self.connection.recv_bytes() if order.file is None else b""
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
        if order.file is not None:
            file = _tried(partial(encoded_picture, order.file, order.max_pixels))
            if file.error is not None:
                return file
            data = file.result
        most = None if order.trusted else order.max_pixels
        header = _tried(partial(pixels_to_decode, data, max_pixels=most))
        if header.error is not None:
            return header
        self.connection.send(_Header(header.result))
        if not self.connection.recv():
            return _Answer()
        recording = Recording() if order.recorded else None
        with listening(recording):
            made = _tried(partial(order.work, data, extractors, order.max_pixels))
        return made if recording is None else replace(made, stages=recording.packed())

    def _extractors(self, digests: Mapping[str, str]) -> dict[str, ImageExtractor]:
        missing = [view for view, digest in digests.items() if digest not in self.known]
        if missing:
            self.connection.send(_Missing(missing))
        for view in missing:
            made = pickle.loads(self.connection.recv_bytes())  # noqa: S301  # from the parent
            self.limit.make_room(made.memory)
            self.known[digests[view]] = made
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
    except Exception as error:  # noqa: BLE001  # the parent raises it
        return _Answer(error=_portable(error))


def _portable(error: Exception) -> Exception:
    """Return an error that can be pickled: the same error, or one with the same message."""
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301  # our own
    except Exception:  # noqa: BLE001  # pickling runs the code of any class of errors
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error
