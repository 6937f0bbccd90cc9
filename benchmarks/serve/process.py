"""A server in a process of its own, and what it and the processes that it started take of the memory."""

import functools
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from benchmarks.frame.record import ROOT
from benchmarks.frame.resident_memory import family

CLI = (sys.executable, "-m", "crossview.server.commands.cli")
_STARTED, _SOON, _TICK = 300.0, 300.0, 0.02  # seconds


class ServerProcess:
    """A process that prints its address, HOST:PORT, once it listens."""

    def __init__(self, command: list[str], log: Path) -> None:
        """Raise RuntimeError, with the log, where it ends instead."""
        self._log = log.open("ab")
        before = self._log.tell()
        # a session of its own, so that its remaining processes can be ended together
        self._process = subprocess.Popen(command, cwd=ROOT, stdout=self._log, stderr=self._log, start_new_session=True)
        self.address = ""
        while not self.address:
            ended = not self.alive
            output = log.read_bytes()[before:].decode(errors="replace")
            if match := re.search(r"127\.0\.0\.1:\d+\b(?=\s)", output):
                self.address = match[0]
            elif ended:
                self.end()
                raise RuntimeError(f"no server: {' '.join(command)}\n{output}")
            time.sleep(_TICK)

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process.poll() is None

    @property
    def processes(self) -> set[int]:
        """The process and all that it started, by id."""
        return family(self._process.pid)

    def memory(self) -> int:
        """Return the bytes in memory of the process and of all that it started; pages that they share count once."""
        return sum(map(_proportional, self.processes))

    def end(self, number: int = signal.SIGTERM) -> int:
        """Send a signal and wait; return the exit status. Kill its remaining processes."""
        if self.alive:
            self._process.send_signal(number)
        try:
            return self._process.wait(_SOON)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(_SOON)
            self._log.close()


@dataclass(frozen=True)
class Limits:
    """Limits of each process of a server."""

    memory: int
    """Bytes of data, not of addresses, because a process reserves many addresses that it never uses."""
    descriptors: int

    @property
    def command(self) -> list[str]:
        """Prefix of a command with limits."""
        limits = f"ulimit -d {self.memory >> 10}; ulimit -n {self.descriptors}"
        return ["bash", "-c", f'{limits}; exec "$@"', "limited"]


def free_port() -> int:
    """Return a port that is free at present."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def serving(
    home: Path, *options: str, limits: Limits | None = None, health: str | None = None
) -> Iterator[ServerProcess]:
    """Give a healthy ``crossview serve`` of a home; its log is beside the home. ``health`` is the address of checks."""
    command = [*CLI, "serve", "--home", str(home), "--port", "0", *options]
    command = command if limits is None else [*limits.command, *command]
    server = ServerProcess(command, home.with_name(f"{home.name}.log"))
    try:
        until_healthy(health or server.address)
        yield server
    finally:
        server.end()


@contextmanager
def reference(items: int, seed: int, log: Path) -> Iterator[ServerProcess]:
    """Give the reference server."""
    server = ServerProcess([sys.executable, "-m", "benchmarks.serve.reference", str(items), str(seed)], log)
    try:
        yield server
    finally:
        server.end()


def until_healthy(address: str, seconds: float = _STARTED) -> float:
    """Wait until the server's health is SERVING and return the seconds; TimeoutError where it takes too long."""
    began = time.perf_counter()
    while time.perf_counter() - began < seconds:
        with grpc.insecure_channel(address) as channel, suppress(grpc.RpcError):
            answer = health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(), timeout=seconds)
            if answer.status == health_pb2.HealthCheckResponse.SERVING:
                return time.perf_counter() - began
        time.sleep(_TICK)
    raise TimeoutError(f"{address} was not healthy within {seconds:g} s")


@functools.cache
def accepts(option: str) -> bool:
    """Return whether ``crossview serve`` has an option."""
    done = subprocess.run([*CLI, "serve", "--help"], cwd=ROOT, capture_output=True, text=True, check=True)
    return re.search(rf"{re.escape(option)}\b", done.stdout) is not None


@contextmanager
def watched(server: ServerProcess, every: float = 0.25) -> Iterator[list[int]]:
    """Give a list to which the server's memory is added as long as the block runs."""
    readings = [server.memory()]
    stop = threading.Event()

    def watch() -> None:
        while not stop.wait(every):
            readings.append(server.memory())

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield readings
    finally:
        stop.set()
        thread.join()


def _proportional(process: int) -> int:
    """Return the bytes of a process's own pages, and its part of those that it shares: forks share most of theirs."""
    try:
        match = re.search(r"^Pss:\s+(\d+) kB", Path(f"/proc/{process}/smaps_rollup").read_text(), re.MULTILINE)
    except OSError:  # it has ended
        return 0
    return 1024 * int(match[1]) if match else 0
