"""A steady client of 20 searches a second and one of health checks, idle and beside what takes the server's time."""

import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np

from benchmarks.serve.clients import Clients
from benchmarks.serve.data import VECTORS
from benchmarks.serve.figures import figure
from benchmarks.serve.load import HEALTH, IMPORT, OK, TRAIN, Calls, Load
from benchmarks.serve.speed import Served
from benchmarks.store.data import DIM, VIEW, keys
from crossview.v1 import collections_pb2 as pb
from crossview.v1 import search_pb2
from crossview.v1.types_pb2 import Vector

PART, IDLE, ALL = "beside", "idle", "all of these"
SEARCHES, CHECKS = "a search by vector", "a health check"
A_SECOND, CHECKS_A_SECOND = 20.0, 10.0
PICTURES_AT_ONCE, WRITERS, BULK = 8, 64, 500
TRAINED_ON = 2_000
MOST_HITS = 100_000
"""That a server allows a request."""

_CALM = 60.0

Figures = list[dict[str, Any]]


def measure_beside(served: Served, clients: Clients, seconds: float) -> Figures:
    """Return the figures of a trial, idle first; the seconds are those of each condition."""
    rows: Figures = []
    idle: dict[str, Calls] = {}
    for name, loads in _conditions(served).items():
        with clients.beside(*loads):
            by_client = _steady(served, clients, seconds)
        idle = idle or by_client
        _until_calm(served, clients, idle[SEARCHES].milliseconds(50))
        for who, calls in by_client.items():
            rows += _of_client(name, who, calls, idle[who])
    return rows


def _steady(served: Served, clients: Clients, seconds: float) -> dict[str, Calls]:
    loads = {
        SEARCHES: Load(address=served.ours, requests=served.requests["vector"], rate=A_SECOND, seconds=seconds),
        CHECKS: Load(address=served.ours, requests=(b"",), method=HEALTH, rate=CHECKS_A_SECOND, seconds=seconds),
    }
    with ThreadPoolExecutor(len(loads)) as pool:
        return dict(zip(loads, pool.map(clients.run, loads.values()), strict=True))


def _until_calm(served: Served, clients: Clients, usual: float) -> None:
    """Wait until searches take about as long as usual, in ms: what was begun and given up may go on for a while."""
    end = time.perf_counter() + _CALM
    load = Load(address=served.ours, requests=served.requests["vector"], rate=A_SECOND, seconds=1.0)
    while clients.run(load).milliseconds(90) > 2 * usual and time.perf_counter() < end:
        pass


def _of_client(condition: str, who: str, calls: Calls, idle: Calls) -> Iterator[dict[str, Any]]:
    of = partial(figure, PART, condition, who)
    for metric, percent in {"p50, ms": 50, "p99, ms": 99, "longest, ms": 100}.items():
        yield of(metric, calls.milliseconds(percent))
    yield of("p99 above idle, ms", calls.milliseconds(99) - idle.milliseconds(99))
    yield of("failed", float((calls.codes != OK).sum()))


def _conditions(served: Served) -> Mapping[str, Sequence[Load]]:
    pictures = Load(address=served.ours, requests=served.requests["picture"], at_once=PICTURES_AT_ONCE)
    writers = Load(address=served.ours, requests=imports(1, "writer", 20 * WRITERS), method=IMPORT, at_once=WRITERS)
    learner = Load(address=served.ours, requests=(training(served.items),), method=TRAIN, timeout=600.0)
    bulk = Load(address=served.ours, requests=imports(BULK, "bulk", 20), method=IMPORT)
    largest = Load(address=served.ours, requests=(largest_search(),))
    return {
        IDLE: (),
        f"{PICTURES_AT_ONCE} pictures at once": (pictures,),
        f"{WRITERS} writers": (writers,),
        "a training": (learner,),
        "an import": (bulk,),
        "the largest search": (largest,),
        ALL: (pictures, writers, learner, bulk, largest),
    }


def imports(size: int, name: str, count: int) -> tuple[bytes, ...]:
    """Return requests of so many items, each of other ones: sent again, they change what they added."""
    rows = np.random.default_rng(0).standard_normal((count * size, DIM), np.float32)
    items = [
        pb.NewItem(key=f"{name}/{number}", rows={VIEW: Vector(values=row.tolist())}) for number, row in enumerate(rows)
    ]
    parts = (items[start : start + size] for start in range(0, len(items), size))
    requests = (pb.ImportItemsRequest(parent=f"collections/{VECTORS}", items=part) for part in parts)
    return tuple(request.SerializeToString() for request in requests)


def largest_search() -> bytes:
    """Return a request of some 40 bytes for as many hits as a server allows."""
    query = search_pb2.Query(view=VIEW, key=keys(0, 1)[0])
    request = search_pb2.SearchRequest(parent=f"collections/{VECTORS}", queries=[query], k=MOST_HITS)
    return request.SerializeToString()


def training(items: int) -> bytes:
    """Return the request of a training of some seconds, which activates nothing."""
    held_out = max(0.0, 1 - TRAINED_ON / items)
    request = pb.TrainRequest(
        parent=f"collections/{VECTORS}",
        learner="lmnn",
        views=[VIEW],
        holdout=held_out,
        space_id="beside",
        activate=False,
    )
    return request.SerializeToString()
