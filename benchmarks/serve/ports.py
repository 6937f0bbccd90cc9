"""Searches by vector with TLS and a key, as JSON, and over 128 connections of both kinds; and the time of refusals."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.frame.record import ROOT
from benchmarks.serve.clients import Clients
from benchmarks.serve.data import TEXTS, VECTORS, as_json
from benchmarks.serve.figures import OURS, figure
from benchmarks.serve.load import OK, Calls, Load, together
from benchmarks.serve.process import CLI, free_port, serving
from crossview.v1 import collections_pb2

PART, KIND, AT_ONCE, BOTH_AT_ONCE = "ports", "vector", 32, 128
PROTECTED, JSON, BOTH = "crossview, TLS and a key", "crossview, JSON over HTTP", "crossview, both ports"
REFUSED, MISSING = "a refused collection", "a missing collection"
PLAIN_SHARE, SAME_TIME = "times plain gRPC", "times a missing one"
_DESCRIBE = "/crossview.v1.CollectionService/GetCollection"

Figures = list[dict[str, Any]]


@dataclass(frozen=True)
class Ports:
    """Two servers of equal homes: one plain, with a port for HTTP, and one with TLS and keys."""

    plain: Load
    protected: Load
    json: Load
    denied: Load
    """Descriptions of a collection that the key of ``protected`` may not read."""
    absent: Load
    """Descriptions of a collection that does not exist, by the same key."""


@contextmanager
def both_ports(home: Path, requests: tuple[bytes, ...]) -> Iterator[Ports]:
    """Give the ports of a home, which is copied for the server with keys."""
    guarded = home.with_name("guarded")
    shutil.copytree(home, guarded)
    key = _new_key(guarded)
    cert, private = _certificate(home.parent)
    port = free_port()
    with ExitStack() as stack:
        plain = stack.enter_context(serving(home, "--http-port", str(port)))
        tls = "--tls-cert", str(cert), "--tls-key", str(private), "--health-port", str(health := free_port())
        protected = stack.enter_context(serving(guarded, *tls, health=f"127.0.0.1:{health}"))
        safe = Load(address=protected.address, requests=requests, at_once=AT_ONCE, authority=cert, key=key)
        yield Ports(
            plain=Load(address=plain.address, requests=requests, at_once=AT_ONCE),
            protected=safe,
            json=Load(address=f"127.0.0.1:{port}", requests=as_json(requests), at_once=AT_ONCE, http=True),
            denied=replace(safe, requests=_described(TEXTS), method=_DESCRIBE, at_once=1),
            absent=replace(safe, requests=_described("nobody"), method=_DESCRIBE, at_once=1),
        )


def measure_ports(ports: Ports, clients: Clients, seconds: float, trial: int) -> Figures:
    """Return the figures of one trial; its number says who begins."""
    loads = {OURS: ports.plain, PROTECTED: ports.protected, JSON: ports.json}
    turn = trial % len(loads)
    names = [*list(loads)[turn:], *list(loads)[:turn]]
    calls = {name: clients.run(replace(loads[name], seconds=seconds)) for name in names}
    rows = [row for name in loads for row in _of_calls(name, calls[name], AT_ONCE)]
    rows += [
        figure(PART, KIND, name, PLAIN_SHARE, calls[name].rate / max(1e-9, calls[OURS].rate), AT_ONCE)
        for name in (PROTECTED, JSON)
    ]
    rows += _of_calls(BOTH, _at_once(ports, clients, seconds), BOTH_AT_ONCE)
    return [*rows, *_refusals(ports, clients, seconds)]


def _of_calls(name: str, calls: Calls, count: int) -> Figures:
    values = {
        "calls/s": calls.rate,
        "p50, ms": calls.milliseconds(50),
        "p99, ms": calls.milliseconds(99),
        "failed": float((calls.codes != OK).sum()),
        **{f"ended with {status}": count for status, count in calls.statuses().items() if status != "OK"},
    }
    return [figure(PART, KIND, name, metric, value, count) for metric, value in values.items()]


def _at_once(ports: Ports, clients: Clients, seconds: float) -> Calls:
    """Return what became of the calls over 64 connections of each kind, together."""
    half = BOTH_AT_ONCE // 2
    loads = [replace(load, at_once=half, connections=half, seconds=seconds) for load in (ports.plain, ports.json)]
    with ThreadPoolExecutor(len(loads)) as pool:
        return together(list(pool.map(clients.run, loads)))


def _refusals(ports: Ports, clients: Clients, seconds: float) -> Figures:
    """Return the times of answers that must not tell whether a collection exists: codes are equal, times alike."""
    denied, absent = (clients.run(replace(load, seconds=seconds / 2)) for load in (ports.denied, ports.absent))
    codes = {*denied.codes.tolist(), *absent.codes.tolist()}
    if len(codes) != 1:
        raise RuntimeError(f"the status tells whether a collection exists: {sorted(codes)}")
    (code,) = codes
    times = [calls.milliseconds(50, code) for calls in (denied, absent)]
    rows = [
        figure(PART, task, PROTECTED, "p50, ms", time) for task, time in zip((REFUSED, MISSING), times, strict=True)
    ]
    return [*rows, figure(PART, REFUSED, PROTECTED, SAME_TIME, times[0] / times[1])]


def _certificate(folder: Path) -> tuple[Path, Path]:
    """Return the files of a certificate for 127.0.0.1 that signs itself, and of its private key."""
    cert, key = folder / "cert.pem", folder / "key.pem"
    kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    name = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    files = ["-keyout", str(key), "-out", str(cert)]
    program = shutil.which("openssl")
    if program is None:
        raise SystemExit("TLS is measured with a certificate that openssl makes: install openssl")
    subprocess.run([program, "req", "-x509", *kind, *files, *name], check=True, capture_output=True)
    return cert, key


def _new_key(home: Path) -> str:
    """Return a new key that may read the vectors."""
    words = ["key", "create", "benchmark", "--scope", "read", "--collections", VECTORS, "--home", str(home), "--json"]
    done = subprocess.run([*CLI, *words], cwd=ROOT, capture_output=True, text=True, check=True)
    return str(json.loads(done.stdout)["result"]["key"])


def _described(name: str) -> tuple[bytes, ...]:
    return (collections_pb2.GetCollectionRequest(name=f"collections/{name}").SerializeToString(),)
