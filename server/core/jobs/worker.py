"""A process that runs jobs one after another; it ends with its server, even if the server is killed."""

import json
import os
import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

from google.protobuf.any_pb2 import Any
from google.protobuf.wrappers_pb2 import StringValue
from google.rpc.status_pb2 import Status

from crossview.engine.collections.home import Home
from crossview.engine.runtime.cancellation import cancellable
from crossview.engine.runtime.threads import one_blas_thread
from crossview.engine.training import evaluator, extension, trainer  # noqa: F401  # the fork server imports them once for all forks
from crossview.features.picture_pool import PicturePool
from crossview.features.priority import give_way
from crossview.features.stages import Recording, listening
from crossview.server.core.channel import END, ERROR, PROGRESS, REQUEST, RESPONSE, STAGES, STOP, Channel
from crossview.server.core.jobs.operation import collection_of
from crossview.server.core.jobs.work import carry_out, index
from crossview.server.core.logs import log_to_stderr
from crossview.server.wire.status import error_in, refusal
from crossview.v1.jobs_pb2 import JobMetadata, SubmitJobRequest

_REPORT_SECONDS = 0.1
"""Minimum interval between two reported steps; a step with a note is always reported."""


def main(
    connection: "Connection[bytes, bytes]",
    home: str,
    pictures: Callable[[], PicturePool],
    recorded: bool = False,
    folder: Path | None = None,
) -> None:
    """Run the jobs of the server at the other end of a connection, with low priority.

    ``pictures`` makes the pool of processes that decode the pictures of requests, because they are untrusted. If
    ``recorded``, it sends the stages of each job before the outcome. With a ``folder``, the job indexes this folder.
    """
    give_way()
    log_to_stderr()
    with closing(pictures()) as pool:
        worker = _Worker(Channel(connection), Home(home), pool, recorded, folder)
        threading.Thread(target=worker.listen, daemon=True).start()
        worker.work()


class _Worker:
    """The state of the process: the main thread runs jobs, and another thread listens for messages to stop them."""

    def __init__(
        self, channel: Channel, home: Home, pictures: PicturePool, recorded: bool, folder: Path | None
    ) -> None:
        self._channel, self._home, self._pictures, self._recorded = channel, home, pictures, recorded
        self._folder = folder
        self._requests: queue.SimpleQueue[SubmitJobRequest | None] = queue.SimpleQueue()
        self._stop: Status | None = None

    def listen(self) -> None:
        """Receive the messages of the server until END; exit if the server has ended."""
        while True:
            try:
                tag, body = self._channel.receive() or (b"", b"")
            except EOFError:
                os._exit(1)  # the server was killed, so no caller waits for results
            if tag == STOP:
                self._stop = Status.FromString(body)
            elif tag == REQUEST:
                self._stop = None  # it was for the previous job
                self._requests.put(SubmitJobRequest.FromString(body))
            elif tag == END:
                self._requests.put(None)
                return

    def work(self) -> None:
        """Run jobs until the server sends END."""
        while (request := self._requests.get()) is not None:
            try:
                with (
                    self._recording(),
                    cancellable(self._check),
                    one_blas_thread(),
                    self._home.open(collection_of(request), self._pictures) as collection,
                ):
                    progress = _Reporter(self._channel)
                    if self._folder is None:
                        response = carry_out(collection, request, progress)
                    else:
                        response = index(collection, self._folder, progress)
            except Exception as error:  # noqa: BLE001  # every error becomes a status
                self._channel.send(ERROR, refusal(error).status)
            else:
                packed = Any()
                packed.Pack(response)
                self._channel.send(RESPONSE, packed)

    @contextmanager
    def _recording(self) -> Iterator[None]:
        """Send the stages of the block at its end, if the server wants them."""
        recording = Recording() if self._recorded else None
        try:
            with listening(recording):
                yield
        finally:
            if recording is not None:
                self._channel.send(STAGES, StringValue(value=json.dumps(recording.packed())))

    def _check(self) -> None:
        if self._stop is not None:
            raise error_in(self._stop)


class _Reporter:
    """Sends the progress of a job to the server, at a limited rate."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._last = 0.0

    def __call__(self, what: str, done: int, total: int, note: str = "") -> None:
        """Send a step, unless the last one was sent just before and this one has no note."""
        now = time.monotonic()
        if note or done == total or now - self._last >= _REPORT_SECONDS:
            self._last = now
            self._channel.send(PROGRESS, JobMetadata.Progress(what=what, done=done, total=total, note=note))
