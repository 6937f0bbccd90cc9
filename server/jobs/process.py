"""A process for jobs, as its server sees it."""

import json
import signal
import socket
import subprocess
import sys
from multiprocessing.connection import Connection
from pathlib import Path

from google.rpc.status_pb2 import Status

from server.jobs.channel import END, REQUEST, STOP, Channel
from server.pb.crossview.v1.jobs_pb2 import SubmitJobRequest

_CODE = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from server.jobs.worker import main
main(int(sys.argv[2]), sys.argv[3])
"""
_END_SECONDS = 5.0


class WorkerProcess:
    """Starts a process that carries out jobs; it imports for a second or two, and is therefore used again.

    Args:
        home: folder of the collections.
        held: descriptor of the owner's lock, which the process keeps locked for as long as it lives.
    """

    def __init__(self, home: Path, held: int) -> None:
        ours, its = socket.socketpair()
        with its:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _CODE, json.dumps(sys.path), str(its.fileno()), str(home)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=(its.fileno(), held),
                process_group=0,  # Ctrl-C in a terminal is the server's to handle
            )
        self._channel = Channel(Connection(ours.detach()))
        self.receive = self._channel.receive

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    def is_alive(self) -> bool:
        """Whether the process has not ended."""
        return self._process.poll() is None

    def carry_out(self, request: SubmitJobRequest) -> None:
        """Sends the next job; EOFError where the process is gone."""
        self._channel.send(REQUEST, request)

    def stop(self, why: Status) -> None:
        """Lets the job end with a status, at its next checkpoint; EOFError where the process is gone."""
        self._channel.send(STOP, why)

    def end(self) -> None:
        """Ends the process, which carries out no job, and waits for it."""
        try:
            self._channel.send(END)
            self._process.wait(_END_SECONDS)
        except (EOFError, subprocess.TimeoutExpired):
            self._process.kill()
        self._release()

    def kill(self) -> str:
        """Kills the process, unless it is dead, waits for it, and returns how it died, in words."""
        self._process.kill()
        self._release()
        code = self._process.returncode
        return f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"

    def _release(self) -> None:
        self._process.wait()
        self._channel.close()
