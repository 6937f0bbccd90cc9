"""Processes of any interpreter that answer questions (``benchmarks.frame.answering``), and their peak memory."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing import Pipe
from pathlib import Path
from typing import Any

from benchmarks.frame.record import ROOT
from benchmarks.frame.resident_memory import peak

STORES = ROOT / ".venv-stores" / "bin" / "python"
"""The interpreter that has the libraries of other stores and indexes of vectors."""
OURS = Path(sys.executable)
_SOON = 120.0  # seconds that a process may take to end


class WorkerError(RuntimeError):
    """A worker failed, or took too long; the message says how."""


class Process:
    """A module of this project that an interpreter runs: its arguments begin with the descriptor of the connection."""

    def __init__(self, python: Path, module: str, arguments: Sequence[object], folder: Path, log: Path) -> None:
        """Start it in a folder, and write its output to a log; WorkerError where the interpreter is missing."""
        if not python.exists():
            raise WorkerError("not installed; make its environment with: make stores")
        self._connection, theirs = Pipe()
        self._errors = log.open("ab")
        # A session of its own: some peers start processes, which are ended with it.
        self._process = subprocess.Popen(
            [str(python), "-m", module, str(theirs.fileno()), *map(str, arguments)],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=self._errors,
            stderr=self._errors,
            pass_fds=[theirs.fileno()],
            start_new_session=True,
        )
        theirs.close()  # so that the connection ends with the process

    def ask(self, action: str, timeout: float, **arguments: Any) -> dict[str, Any]:
        """Return the worker's answer; WorkerError where it fails or is late."""
        try:
            self._connection.send_bytes(json.dumps({"action": action, **arguments}).encode())
            if not self._connection.poll(max(0.0, timeout)):
                raise WorkerError("was too slow")
            answer: dict[str, Any] = json.loads(self._connection.recv_bytes())
        except (EOFError, OSError):
            raise WorkerError(f"its process ended with status {self._process.wait(_SOON)}") from None
        if "failed" in answer:
            raise WorkerError(answer["failed"])
        return answer

    def peak_memory(self) -> int:
        """Return the most bytes that the process had in memory so far, with those of the processes it started."""
        return peak(self._process.pid)

    def end(self) -> None:
        """End the process, and what it has started."""
        self._connection.close()
        try:
            self._process.wait(_SOON)
        except subprocess.TimeoutExpired:
            pass
        finally:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._errors.close()
