"""A process that carries out jobs, one after the other; it ends when its server does, however that ends."""

import logging
import os
import queue
import threading
import time
from collections.abc import Callable
from contextlib import closing
from multiprocessing.connection import Connection

from google.protobuf.any_pb2 import Any
from google.rpc.status_pb2 import Status

from crossview.engine.collection import Collection
from crossview.engine.home import Home
from crossview.engine.runtime.cancellation import cancellable
from crossview.engine.runtime.threads import one_blas_thread
from crossview.engine.training import evaluator, extension, trainer  # noqa: F401  # loaded before this process is forked
from crossview.features.picture_pool import PicturePool
from crossview.features.priority import give_way
from crossview.server.channel import END, ERROR, PROGRESS, REQUEST, RESPONSE, STOP, Channel
from crossview.server.jobs.operation import collection_of
from crossview.server.jobs.work import carry_out
from crossview.server.wire.status import error_in, refusal
from crossview.v1.jobs_pb2 import JobMetadata, SubmitJobRequest

_REPORT_SECONDS = 0.1
"""Between two steps that are reported, unless one has a note."""


def main(connection: "Connection[bytes, bytes]", home: str, pictures: Callable[[], PicturePool]) -> None:
    """Carry out the jobs of the server at the other end of a connection, with low priority.

    ``pictures`` makes what reads the pictures of requests: they come from anyone.
    """
    give_way()
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    with closing(pictures()) as pool:
        worker = _Worker(Channel(connection), Home(home), pool)
        threading.Thread(target=worker.listen, daemon=True).start()
        worker.work()


class _Worker:
    """Jobs are carried out in the main thread; another listens, so that a job can be stopped meanwhile."""

    def __init__(self, channel: Channel, home: Home, pictures: PicturePool) -> None:
        self._channel, self._home, self._pictures = channel, home, pictures
        self._requests: queue.SimpleQueue[SubmitJobRequest | None] = queue.SimpleQueue()
        self._stop: Status | None = None

    def listen(self) -> None:
        """Take the messages of the server."""
        while True:
            try:
                tag, body = self._channel.receive() or (b"", b"")
            except EOFError:
                os._exit(1)  # the server was killed; nobody waits for results
            if tag == STOP:
                self._stop = Status.FromString(body)
            elif tag == REQUEST:
                self._stop = None  # of the job before, which has ended
                self._requests.put(SubmitJobRequest.FromString(body))
            elif tag == END:
                self._requests.put(None)
                return

    def work(self) -> None:
        """Carry out jobs, until the server needs this process no more."""
        while (request := self._requests.get()) is not None:
            try:
                with cancellable(self._check), one_blas_thread(), self._opened(request) as collection:
                    response = carry_out(collection, request, _Reporter(self._channel))
            except Exception as error:  # noqa: BLE001  # every error becomes a status
                self._channel.send(ERROR, refusal(error).status)
            else:
                packed = Any()
                packed.Pack(response)
                self._channel.send(RESPONSE, packed)

    def _opened(self, request: SubmitJobRequest) -> Collection:
        return self._home.open(collection_of(request), self._pictures)

    def _check(self) -> None:
        if self._stop is not None:
            raise error_in(self._stop)


class _Reporter:
    """Sends how far a job is, not too often."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._last = 0.0

    def __call__(self, what: str, done: int, total: int, note: str = "") -> None:
        """Take a step."""
        now = time.monotonic()
        if note or done == total or now - self._last >= _REPORT_SECONDS:
            self._last = now
            self._channel.send(PROGRESS, JobMetadata.Progress(what=what, done=done, total=total, note=note))
