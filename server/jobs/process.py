"""A process for jobs, as its server sees it."""

import os
import signal
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

from google.rpc.status_pb2 import Status

from crossview.features.picture_pool import PicturePool
from crossview.server.channel import END, REQUEST, STOP, Channel
from crossview.server.forks import CONTEXT
from crossview.v1.jobs_pb2 import SubmitJobRequest

_END_SECONDS = 5.0


class WorkerProcess:
    """Starts a process that carries out jobs.

    The first start takes seconds, for what has to be imported; later ones are forks of a process that has imported it,
    and share its memory.

    Args:
        home: folder of the collections.
        held: descriptor of the owner's lock, which the process keeps locked for as long as it lives.
        pictures: makes, in the process, what reads the pictures of requests.
    """

    def __init__(self, home: Path, held: int, pictures: Callable[[], PicturePool]) -> None:
        ours, its = CONTEXT.Pipe()
        lock = Connection(os.dup(held))  # as which a descriptor can be handed on
        with its, lock:
            self._process = CONTEXT.Process(target=_carry_out, args=(its, lock, str(home), pictures))
            self._process.start()
        self._channel = Channel(ours)
        self.receive = self._channel.receive

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid or 0

    def is_alive(self) -> bool:
        """Return whether the process has not ended."""
        return self._process.is_alive()

    def carry_out(self, request: SubmitJobRequest) -> None:
        """Send the next job; raise EOFError if the process is gone."""
        self._channel.send(REQUEST, request)

    def stop(self, why: Status) -> None:
        """Let the job end with a status, at its next checkpoint; raise EOFError if the process is gone."""
        self._channel.send(STOP, why)

    def end(self) -> None:
        """End the process, which carries out no job, and wait for it."""
        try:
            self._channel.send(END)
        except EOFError:
            pass
        else:
            self._process.join(_END_SECONDS)
        self.kill()

    def kill(self) -> str:
        """Kill the process, unless it is dead, wait for it, and return how it died, in words."""
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
) -> None:
    """Run in the process, which holds the lock to its end."""
    os.setpgrp()  # Ctrl-C in a terminal is the server's to handle
    from crossview.server.jobs.worker import main

    main(channel, home, pictures)
    lock.close()
