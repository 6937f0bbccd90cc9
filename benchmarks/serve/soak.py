"""A server's long day in minutes: mixed load, what its memory does, an orderly stop under load, and a killed server.

``python -m benchmarks soak [--json OUT] [--report DIR] [--minutes 10] [--items 100000]``

Half of the calls are searches, some of them as JSON over HTTP; the others are pictures, writes and deletions of a fixed
set of items, and one training. Memory is compared between a fifth of the run, minute 2 of 10, and its end, net of the
rows stored meanwhile. Then the server gets SIGTERM under load: every call that it had accepted is answered, and what it
answered is there afterwards. Then it is killed while items are written, and started again.
"""

import argparse
import signal
import statistics
import tempfile
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import grpc
import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from benchmarks.frame.benchmark import Benchmark, Document, positive
from benchmarks.frame.headlines import stated
from benchmarks.frame.workers import alone
from benchmarks.serve.beside import imports, training
from benchmarks.serve.clients import Clients, clients
from benchmarks.serve.data import SHARED, VECTORS, as_json, fill, requests
from benchmarks.serve.figures import OURS, Limit, figure, judged
from benchmarks.serve.load import DELETE, HEALTH, IMPORT, OK, TRAIN, Calls, Load
from benchmarks.serve.process import ServerProcess, free_port, serving, watched
from benchmarks.store.data import DIM
from crossview.v1 import collections_pb2 as pb
from crossview.v1 import collections_pb2_grpc
from crossview.v1.types_pb2 import Filter

LIMITS = {
    "memory grown, %": Limit(most=5),
    "calls that failed": Limit(most=0),
    "accepted calls that failed at the stop": Limit(most=0),
    "acknowledged writes that are gone after the stop": Limit(most=0),
    "acknowledged writes that are gone after the kill": Limit(most=0),
    "seconds from the start after a kill until healthy": Limit(most=5),
}
"""The last one at 1,000,000 items."""
SEARCHES_A_SECOND, WRITTEN, ONE = 20.0, 2_000, 1e-9
"""Searches of both kinds; keys that are written and deleted; a rate at which one call is made."""
_SETTLED, _LOOKED, _ROW = 2 / 10, 0.05, 4 * DIM + 100  # parts of the run; bytes of a row and of what is kept with it
_UNDER_LOAD, _ACCEPTED, _KEYS = 4.0, 0.25, 20_000
"""Seconds of load before a signal; how long before it a call must have begun to be accepted; keys of its writes."""


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Return settings and figures."""
    seconds = 60 * options.minutes
    with tempfile.TemporaryDirectory(prefix="crossview-soak-") as folder, clients() as run:
        home = Path(folder) / "home"
        alone(fill, home, options.items, options.seed, options.data)
        by_kind = requests(options.items, options.seed, options.data)
        say = Console(stderr=True).print
        say("mixed load ...")
        http = free_port()
        with serving(home, "--http-port", str(http)) as server:
            figures = _mixed((server, f"127.0.0.1:{http}"), run, by_kind, options.items, seconds)
        say("stop under load ...")
        figures |= _stopped(home, run, by_kind)
        say("kill and start ...")
        figures |= _killed(home, run)
    names = ("minutes", "items", "seed")
    rows = [figure("soak", "all", OURS, name, value) for name, value in figures.items()]
    return {"settings": {name: getattr(options, name) for name in names}, "rows": rows}


def _mixed(
    served: tuple[ServerProcess, str],
    run: Clients,
    by_kind: Mapping[str, tuple[bytes, ...]],
    items: int,
    seconds: float,
) -> dict[str, float]:
    """Return memory and failures of the long part; ``served`` is the server with the address of its port for HTTP."""
    server, http = served
    rate = SEARCHES_A_SECOND / 2
    loads = {
        "searches": Load(address=server.address, requests=by_kind["vector"], rate=rate),
        "searches of codes": Load(address=server.address, requests=by_kind["code"], rate=rate),
        "searches by JSON": Load(address=http, requests=as_json(by_kind["vector"]), rate=rate, http=True),
        "pictures": Load(address=server.address, requests=by_kind["picture"], rate=rate / 5),
        "writes": Load(address=server.address, requests=imports(1, "soak", WRITTEN), method=IMPORT, rate=rate),
        "deletions": Load(address=server.address, requests=_deletions(), method=DELETE, rate=rate * 0.8),
        "trainings": Load(address=server.address, requests=(training(items),), method=TRAIN, rate=ONE),
        "health checks": Load(address=server.address, requests=(b"",), method=HEALTH, rate=1.0),
    }
    loads = {name: replace(load, seconds=seconds) for name, load in loads.items()}
    loads["trainings"] = replace(loads["trainings"], warm=0.0, timeout=seconds + 600)
    with watched(server, every=max(0.1, seconds / 600)) as memory, ThreadPoolExecutor(len(loads) + 1) as pool:
        began = time.monotonic()
        running = {name: pool.submit(run.run, load) for name, load in loads.items()}
        time.sleep(max(0.0, began + _SETTLED * seconds - time.monotonic()))
        early = len(memory), _count(server.address)
        results = {name: future.result() for name, future in running.items()}
        late = len(memory), _count(server.address)
    window = max(1, int(_LOOKED * late[0]))
    before = statistics.median(memory[max(0, early[0] - window) : early[0] + 1])
    after = statistics.median(memory[late[0] - window : late[0]]) - _ROW * (late[1] - early[1])
    return {
        "memory after a fifth of the time, MB": before / 1e6,
        "memory at the end net of rows, MB": after / 1e6,
        "most memory, MB": max(memory) / 1e6,
        "memory grown, %": 100 * (after / before - 1),
        **{f"{name}: p99, ms": calls.milliseconds(99) for name, calls in results.items()},
        **{f"{name}: calls": len(calls.codes) for name, calls in results.items()},
        "calls that failed": sum(int((calls.codes != OK).sum()) for calls in results.values()),
        **{
            f"{name}: {status}": count
            for name, calls in results.items()
            for status, count in calls.statuses().items()
            if status != "OK"
        },
    }


def _stopped(home: Path, run: Clients, by_kind: Mapping[str, tuple[bytes, ...]]) -> dict[str, float]:
    """Return what happens to calls in progress and to acknowledged writes when the server gets SIGTERM."""
    http = free_port()
    with serving(home, "--http-port", str(http)) as server:
        loads = [
            Load(address=server.address, requests=by_kind["batch"], at_once=4),
            Load(address=f"127.0.0.1:{http}", requests=as_json(by_kind["batch"]), at_once=2, http=True),
            Load(address=server.address, requests=by_kind["picture"], at_once=2),
            _writes(server, "stop"),
        ]
        with run.beside(*loads) as running:
            time.sleep(_UNDER_LOAD)
            signalled = time.perf_counter()
            status = server.end(signal.SIGTERM)
            ended = time.perf_counter() - signalled
    results = [future.result() for future in running]
    under_way = [_under_way(calls, signalled) for calls in results]
    with serving(home) as server:
        stored = _count(server.address, "stop/")
    return {
        "seconds from the signal to the end": ended,
        "exit status after the signal": status,
        "calls under way at the stop": sum(len(codes) for codes in under_way),
        "accepted calls that failed at the stop": sum(int((codes != OK).sum()) for codes in under_way),
        "acknowledged writes that are gone after the stop": max(0, _accepted(results[-1]) - stored),
    }


def _killed(home: Path, run: Clients) -> dict[str, float]:
    """Return how long a server killed during writes takes to be healthy again, and which writes are lost."""
    with serving(home) as server, run.beside(_writes(server, "kill")) as running:
        time.sleep(_UNDER_LOAD)
        server.end(signal.SIGKILL)
    began = time.perf_counter()
    with serving(home) as server:
        healthy = time.perf_counter() - began
        stored = _count(server.address, "kill/")
        counted = time.perf_counter() - began
    return {
        "seconds from the start after a kill until healthy": healthy,
        "seconds from the start after a kill until items are counted": counted,
        "acknowledged writes that are gone after the kill": max(0, _accepted(running[0].result()) - stored),
    }


def _writes(server: ServerProcess, name: str) -> Load:
    """Import of an item each, all of other keys."""
    return Load(address=server.address, requests=imports(1, name, _KEYS), method=IMPORT, at_once=4, warm=0.0)


def _deletions() -> tuple[bytes, ...]:
    parent = f"collections/{VECTORS}"
    requests = (pb.DeleteItemsRequest(parent=parent, keys=[f"soak/{number}"]) for number in range(WRITTEN))
    return tuple(request.SerializeToString() for request in requests)


def _under_way(calls: Calls, moment: float) -> NDArray[np.int64]:
    """Return the statuses of the calls that had been accepted by then and were not answered."""
    began = calls.start + calls.began
    return calls.codes[(began < moment - _ACCEPTED) & (began + calls.took > moment)]


def _accepted(calls: Calls) -> int:
    return int((calls.codes == OK).sum())


def _count(address: str, prefix: str = "") -> int:
    with grpc.insecure_channel(address) as channel:
        stub = collections_pb2_grpc.CollectionServiceStub(channel)
        request = pb.CountItemsRequest(parent=f"collections/{VECTORS}", filter=Filter(key_prefix=prefix))
        return stub.CountItems(request).items


def markdown(document: Document) -> str:
    """Return the report."""
    about = "{minutes:g} minutes of mixed load on {items:,} items.".format(**document["settings"])
    return "\n\n".join(["# Mixed load, a stop and a kill", about, judged(document["rows"], LIMITS)])


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--minutes", type=float, default=10.0, help="of mixed load")
    parser.add_argument("--items", type=positive, default=100_000, help="number of vectors")
    parser.add_argument("--data", type=Path, default=SHARED, help="holds corel1k/images; drawn pictures where missing")
    parser.add_argument("--seed", type=int, default=0)


BENCHMARK = Benchmark(
    "soak",
    __doc__,
    _arguments,
    measure,
    markdown,
    headline=stated(
        "Kill a server under mixed load: acknowledged writes that are lost; s until it answers again",
        "{0:.0f}; {1:.1f}",
        "",
        {"metric": "acknowledged writes that are gone after the kill"},
        {"metric": "seconds from the start after a kill until healthy"},
    ),
)
