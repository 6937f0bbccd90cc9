"""Results of a hostile client's calls: statuses, and the shortest input of each forbidden status."""

import base64
import re
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from benchmarks.serve.figures import figure

FAULTS = ("UNKNOWN", "INTERNAL", "UNAVAILABLE", "DATA_LOSS")
LATE, ENDED = "DEADLINE_EXCEEDED", "ENDED"
_SHOWN = 2_000  # bytes of an input that are kept
HEALTH_WAITS = 5.0

ResultRows = list[dict[str, Any]]


@dataclass(frozen=True)
class Fault:
    """One kind of failure: the shortest of the inputs that had it."""

    part: str
    method: str
    status: str
    message: str
    request: bytes

    def as_json(self) -> dict[str, Any]:
        """Return its row; of a long input the beginning."""
        beginning = base64.b64encode(self.request[:_SHOWN]).decode()
        about = {name: getattr(self, name) for name in ("part", "method", "status", "message")}
        return {**about, "bytes": len(self.request), "request": beginning}


@dataclass
class Findings:
    """Statuses by part of the run, and faults by kind."""

    statuses: dict[str, Counter[str]] = field(default_factory=dict)
    faults: dict[tuple[str, ...], Fault] = field(default_factory=dict)

    def note(self, part: str, method: str, request: bytes, status: str, message: str = "") -> None:
        """Count a call; what no client may cause is kept with its input, and so is what had no answer in time."""
        self.statuses.setdefault(part, Counter())[status] += 1
        if status not in (*FAULTS, LATE, ENDED) and not _is_fault(status):
            return
        kind = part, method, status, re.sub(r"[0-9a-f]{8,}|\d+|'[^']*'", "#", message)[:120]
        fault = self.faults.get(kind)
        if fault is None or len(request) < len(fault.request):
            self.faults[kind] = Fault(part, method, status, message[:300], request)

    def total(self, *statuses: str) -> int:
        """Return how many calls ended with one of these."""
        return sum(counts[status] for counts in self.statuses.values() for status in statuses)

    def faults_of_http(self) -> int:
        """Return how many answers over HTTP had a status of a failed server."""
        return sum(count for counts in self.statuses.values() for name, count in counts.items() if _is_fault(name))

    def rows(self) -> ResultRows:
        """Return the calls by part and status."""
        return [
            figure(part, "calls", "crossview", status, count)
            for part, counts in self.statuses.items()
            for status, count in sorted(counts.items())
        ]


def _is_fault(status: str) -> bool:
    """Return whether a status of HTTP says that the server failed; 501 says that it has no such method or encoding."""
    return status.startswith("HTTP 5") and status != "HTTP 501"


@contextmanager
def health_checks(address: str, every: float = 0.1) -> Iterator[list[float]]:
    """Give a list to which the seconds of health checks are added during the block; a failed one is infinite."""
    seconds: list[float] = []
    stop = threading.Event()

    def check() -> None:
        with grpc.insecure_channel(address, options=[("grpc.use_local_subchannel_pool", 1)]) as channel:
            stub = health_pb2_grpc.HealthStub(channel)
            while not stop.wait(every):
                began = time.perf_counter()
                try:
                    # A channel that failed to connect once would refuse every check of the next second by itself.
                    stub.Check(health_pb2.HealthCheckRequest(), timeout=HEALTH_WAITS, wait_for_ready=True)
                    seconds.append(time.perf_counter() - began)
                except grpc.RpcError:
                    seconds.append(float("inf"))

    thread = threading.Thread(target=check)
    thread.start()
    try:
        yield seconds
    finally:
        stop.set()
        thread.join()


def of_call(error: grpc.RpcError) -> tuple[str, str]:
    """Return the status and message of a failed call."""
    getters: Mapping[str, Any] = {"code": getattr(error, "code", None), "details": getattr(error, "details", None)}
    code, details = (getters[name]() if getters[name] else None for name in getters)
    return (code.name if code else "UNKNOWN"), details or ""
