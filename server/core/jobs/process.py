"""The server's end of a process that runs jobs."""

import os
import signal
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

from google.rpc.status_pb2 import Status

from crossview.features.picture_pool import PicturePool
from crossview.server.core.channel import END, REQUEST, STOP, Channel
from crossview.server.core.forks import CONTEXT, started
from crossview.v1.jobs_pb2 import SubmitJobRequest

_END_SECONDS = 5.0
"""Time that an idle process has to exit before it is killed."""


class WorkerProcess:
    """A process that runs jobs.

    The first start takes seconds, because the fork server imports the engine; later processes are forks of the fork
    server and share its memory.

    Args:
        home: folder of the collections.
        held: descriptor of the owner's lock, which the process holds while it lives.
        pictures: makes, in the process, the pool that reads the pictures of requests.
        recorded: whether the process sends the stages of each job.
        folder: the folder of this machine that the job indexes; None: the job does what its request says.
    """

    def __init__(
        self,
        home: Path,
        held: int,
        pictures: Callable[[], PicturePool],
        recorded: bool = False,
        folder: Path | None = None,
    ) -> None:
        ours, its = CONTEXT.Pipe()
        lock = Connection(os.dup(held))  # multiprocessing passes a descriptor to a process only as a Connection
        with its, lock:
            self._process = started(_carry_out, (its, lock, str(home), pictures, recorded, folder))
        self._channel = Channel(ours)
        self.receive = self._channel.receive

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._process.pid or 0

    def is_alive(self) -> bool:
        """Return whether the process runs."""
        return self._process.is_alive()

    def carry_out(self, request: SubmitJobRequest) -> None:
        """Send the next job; raise EOFError if the process has ended."""
        self._channel.send(REQUEST, request)

    def stop(self, why: Status) -> None:
        """End the job with a status at its next checkpoint; raise EOFError if the process has ended."""
        self._channel.send(STOP, why)

    def end(self) -> None:
        """End the idle process, and wait for its exit."""
        try:
            self._channel.send(END)
        except EOFError:
            pass
        else:
            self._process.join(_END_SECONDS)
        self.kill()

    def kill(self) -> str:
        """Kill the process if it still runs, wait for its exit, and describe the exit in words."""
        self._process.kill()
        self._process.join()
        self._channel.close()
        code = self._process.exitcode or 0
        return f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"


def _carry_out(
    channel: "Connection[bytes, bytes]",
    lock: "Connection[bytes, bytes]",
    home: str,
    pictures: Callable[[], PicturePool],
    recorded: bool,
    folder: Path | None,
) -> None:
    """Run the worker in the process, which holds the lock until its end."""
    os.setpgrp()  # Ctrl-C in a terminal must reach only the server
    from crossview.server.core.jobs.worker import main

    main(channel, home, pictures, recorded, folder)
    lock.close()
