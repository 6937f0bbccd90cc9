"""Calls of every kind, so many at once, of ours and of the reference in turn; and what a server could reach at most."""

import itertools
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import faiss
import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.frame.workers import alone, pool
from benchmarks.serve.clients import Clients
from benchmarks.serve.data import JOINED, KINDS, PICTURES, TOGETHER, drawn
from benchmarks.serve.figures import ECHO, OURS, REFERENCE, STREAMS, figure
from benchmarks.serve.load import OK, SEARCH, Calls, Load
from benchmarks.serve.reference import ECHO as ECHO_METHOD
from benchmarks.store.data import DIM, K
from crossview.engine.collections.home import Home
from crossview.engine.values.query import Query
from crossview.v1 import search_pb2 as pb

PART = "speed"
PERCENTILES = {"p50, ms": 50, "p95, ms": 95, "p99, ms": 99}
EXTRACTION, RAW = "extraction alone", "raw FAISS"
_WARM_PICTURES = 1.0

Figures = list[dict[str, Any]]


@dataclass(frozen=True, kw_only=True)
class Served:
    """Two servers that run, ours and the reference, and what they are asked."""

    home: Path
    ours: str
    reference: str
    requests: Mapping[str, tuple[bytes, ...]]
    items: int
    seed: int
    streaming: bool
    """Whether ours has StreamSearch."""

    def loads(self, kind: str) -> dict[str, Load]:
        """Return the calls of a kind by method."""
        ours = Load(address=self.ours, requests=self.requests[kind])
        loads = {OURS: ours}
        if self.streaming:
            loads[STREAMS] = replace(ours, streams=True)
        if kind in ("vector", "code"):
            loads[REFERENCE] = replace(ours, address=self.reference)
        if kind == "vector":
            loads[ECHO] = replace(ours, address=self.reference, method=ECHO_METHOD)
        return loads


def measure_speed(served: Served, clients: Clients, at_once: Sequence[int], seconds: float, trial: int) -> Figures:
    """Return the figures of one trial; the trial's number says who begins."""
    rows: Figures = []
    for kind in KINDS:
        for count in at_once:
            loads = served.loads(kind)
            names = list(loads)
            turn = trial % len(names)
            results = {}
            for name in names[turn:] + names[:turn]:
                warm = _WARM_PICTURES if kind == "picture" else loads[name].warm
                results[name] = clients.run(replace(loads[name], at_once=count, seconds=seconds, warm=warm))
            rows += _of_turn(kind, count, results)
    return rows


def measure_limits(served: Served, seconds: float, cores: int) -> Figures:
    """Return what there is to reach: raw FAISS in process by threads, pictures that the cores extract."""
    rows = []
    for threads in sorted({1, cores}):
        rate = alone(_search_vectors, served.items, served.seed, threads, seconds, threads=1)
        rows.append(figure(PART, "vector", RAW, "calls/s", rate, threads))
    with pool(cores) as workers:
        run = partial(_extract, served.home, served.requests["picture"], seconds)
        rate = sum(workers.map(run, range(cores)))
    return [*rows, figure(PART, "picture", EXTRACTION, "calls/s", rate, cores)]


def _search_vectors(items: int, seed: int, threads: int, seconds: float) -> float:
    """Return the queries a second that threads search, each one at a time."""
    data = drawn(items, seed)
    index = faiss.IndexFlatL2(DIM)
    index.add(data.vectors)
    end = time.perf_counter() + seconds
    counts = np.zeros(threads, np.int64)

    def search(thread: int) -> None:
        faiss.omp_set_num_threads(1)
        for row in itertools.cycle(data.queries):
            if time.perf_counter() > end:
                return
            index.search(row[None], K)
            counts[thread] += 1

    running = [threading.Thread(target=search, args=(number,)) for number in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    return float(counts.sum() / seconds)


def _extract(home: Path, requests: tuple[bytes, ...], seconds: float, first: int) -> float:
    """Return the pictures a second that this process describes by the three views, from the ``first`` one on."""
    images = [pb.SearchRequest.FromString(request).queries[0].image for request in requests]
    with Home(home).open(PICTURES) as collection, threadpool_limits(1):
        collection.embed([Query(JOINED, image=images[0])], space=TOGETHER)
        began, count = time.perf_counter(), 0
        while time.perf_counter() - began < seconds:
            collection.embed([Query(JOINED, image=images[(first + count) % len(images)])], space=TOGETHER)
            count += 1
        return count / (time.perf_counter() - began)


def _of_turn(kind: str, count: int, results: Mapping[str, Calls]) -> Iterator[dict[str, Any]]:
    """Return the methods' figures; what ours does of another's calls stands in the rows of the other."""
    of = partial(figure, PART, kind, clients=count)
    mine = results[OURS]
    for name, calls in results.items():
        yield of(name, "calls/s", calls.rate)
        for metric, percent in PERCENTILES.items():
            yield of(name, metric, calls.milliseconds(percent))
        yield of(name, "failed", float((calls.codes != OK).sum()))
        if name == STREAMS:
            yield of(name, "times unary", calls.rate / max(1e-9, mine.rate))
        elif name != OURS:
            yield of(name, "share that ours reaches", mine.rate / max(1e-9, calls.rate))
            yield of(name, "p50 of ours above, ms", mine.milliseconds(50) - calls.milliseconds(50))


def check_answers(served: Served, clients: Clients) -> None:
    """Ask each kind once; RuntimeError where ours does not accept it."""
    for kind, requests in served.requests.items():
        load = Load(address=served.ours, requests=requests, method=SEARCH, seconds=0.2, warm=0.0)
        if set(statuses := clients.run(load).statuses()) != {"OK"}:
            raise RuntimeError(f"queries by {kind} are not answered: {statuses}")
