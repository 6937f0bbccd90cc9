"""A process that reads pictures, one after another: a picture that ends the process harms nothing else.

The process keeps the extractors that it has received, so that a codebook travels once. The messages about one picture:

    -> Order, then the bytes of the picture,         <- Missing: extractors that it does not know
       unless the process reads its file
    -> those extractors, pickled                     <- Header: how many pixels it will decode
    -> whether it may                                <- Answer
"""

import pickle
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from crossview.features.base import ImageExtractor
from crossview.features.decode import pixels_to_decode
from crossview.features.errors import ImageError, ImageTooLargeError
from crossview.features.models.memory_limit import MemoryLimit
from crossview.features.pictures import PictureLimits, encoded_picture
from crossview.features.pixel_budget import NotWantedError
from crossview.features.quiet import quiet
from crossview.features.stages import Recording, listening, present
from crossview.features.worker import become_worker
from crossview.features.worker_process import Answer, Worker, WorkerProcess, portable

_KEPT = 64
"""Number of extractors that a worker keeps; it drops those that were not used for the longest time."""

Packed = Mapping[str, tuple[str, bytes]]
"""The digest and the pickle of an extractor, by view."""


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


class PictureWorker(WorkerProcess):
    """The owner's side of a process; the constructor raises RuntimeError if the process cannot start."""

    def __init__(self, limits: PictureLimits) -> None:
        self._limits = limits
        super().__init__(f"{serve.__module__}.{serve.__name__}", limits.memory_bytes)

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
        self.send(_Order(work, digests, limits.pixels, limits.trusted, file, place is not None))
        if isinstance(image, bytes):
            self.send_bytes(image)
        until = time.monotonic() + limits.seconds
        message = self.receive(until)
        if isinstance(message, _Missing):
            for view in message.views:
                self.send_bytes(packed[view][1])
            message = self.receive(until)
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
                self.send(True)
                return self.receive(time.monotonic() + self._limits.seconds)
        except NotWantedError:
            self.send(False)
            self.receive(time.monotonic() + self._limits.seconds)
            raise


def serve(connection: int, parent: int, memory_bytes: int) -> None:
    """Read pictures while the parent lives.

    ``connection`` is the descriptor of a socket, ``parent`` that of a pipe whose other end closes with the parent.
    """
    become_worker()
    quiet.is_alone = True
    _Reader(connection, parent, MemoryLimit(memory_bytes)).run()


class _Reader(Worker):
    """The side of the process: it reads pictures, and keeps the extractors that it knows."""

    def __init__(self, connection: int, parent: int, limit: MemoryLimit) -> None:
        super().__init__(connection, parent)
        self._limit = limit
        self._known: OrderedDict[str, ImageExtractor] = OrderedDict()

    def answer(self, order: _Order) -> Answer:
        """Return what the work makes of a picture."""
        data = self.connection.recv_bytes() if order.file is None else b""
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
            return Answer()
        recording = Recording() if order.recorded else None
        with listening(recording):
            answer = _tried(partial(order.work, data, extractors, order.max_pixels))
        return answer if recording is None else replace(answer, stages=recording.packed())

    def _extractors(self, digests: Mapping[str, str]) -> dict[str, ImageExtractor]:
        missing = [view for view, digest in digests.items() if digest not in self._known]
        if missing:
            self.connection.send(_Missing(missing))
        for view in missing:
            extractor = pickle.loads(self.connection.recv_bytes())  # noqa: S301  # from the parent
            self._limit.make_room(extractor.memory)
            self._known[digests[view]] = extractor
        for digest in digests.values():
            self._known.move_to_end(digest)
        by_view = {view: self._known[digest] for view, digest in digests.items()}
        while len(self._known) > _KEPT:
            self._known.popitem(last=False)
        return by_view


def _tried(function: Callable[[], Any]) -> Answer:
    try:
        return Answer(function())
    except MemoryError:
        return Answer(error=ImageTooLargeError("the picture needs more memory than there is: save it smaller"))
    except Exception as error:  # noqa: BLE001  # the parent raises it
        return Answer(error=portable(error))
