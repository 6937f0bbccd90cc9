"""Calls over gRPC of a collection in inverted lists, beside a minimal server around the same lists of FAISS."""

import sys
import tempfile
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.scale.data import WITHIN, Data, K
from benchmarks.scale.ours import NAME, SPACE, VIEW, Crossview
from benchmarks.serve.clients import Clients, clients
from benchmarks.serve.load import OK, Load
from benchmarks.serve.process import ServerProcess, serving
from crossview.index.ivf import list_count
from crossview.v1 import search_pb2 as pb
from crossview.v1.types_pb2 import Vector

PART = "calls"
OURS, STREAMS, BARE = "crossview ivf", "crossview ivf, streams", "minimal server, faiss IVF"
CALLERS = (1, 32)
ROUNDS = 5


def measured(folder: Path, seconds: float) -> list[dict[str, Any]]:
    """Return calls a second and times of each server, medians over rounds in which they take turns."""
    data = Data(folder)
    with tempfile.TemporaryDirectory(prefix="crossview-calls-") as scratch:
        lists, probes = list_count(data.count), _collection(Path(scratch), data)
        bare = [sys.executable, "-m", "benchmarks.serve.lists", str(folder), str(lists), str(probes or lists)]
        other = ServerProcess(bare, Path(scratch, "bare.log"))
        try:
            with serving(Path(scratch, "home")) as ours, clients() as callers:
                load = Load(address=ours.address, requests=_requests(data), seconds=seconds)
                loads = {OURS: load, STREAMS: replace(load, streams=True), BARE: replace(load, address=other.address)}
                return [row for count in CALLERS for row in _rows(callers, loads, count, data.count, probes)]
        finally:
            other.end()


def _collection(folder: Path, data: Data) -> int:
    """Make a collection in a home of the folder; return the lists that its searches probe."""
    engine = Crossview("ivf", folder, data)
    engine.build()
    probes = engine.lists_to_probe
    engine.close()
    return probes


def _requests(data: Data) -> tuple[bytes, ...]:
    parent = f"collections/{NAME}"
    queries = [pb.Query(view=VIEW, vector=Vector(values=row.tolist())) for row in data.queries[WITHIN]]
    return tuple(
        pb.SearchRequest(parent=parent, space=SPACE, k=K, queries=[query]).SerializeToString() for query in queries
    )


def _rows(callers: Clients, loads: dict[str, Load], count: int, items: int, probes: int) -> list[dict[str, Any]]:
    samples: dict[tuple[str, str], list[float]] = defaultdict(list)
    names = list(loads)
    for turn in range(ROUNDS):
        rates: dict[str, float] = {}
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            calls = callers.run(replace(loads[name], at_once=count))
            if (calls.codes != OK).any():
                raise RuntimeError(f"calls of {name} failed: {calls.statuses()}")
            rates[name] = calls.rate
            samples[name, "calls/s"].append(calls.rate)
            for percent in (50, 99):
                samples[name, f"p{percent}, ms"].append(calls.milliseconds(percent))
        for name in (OURS, STREAMS):
            samples[name, "share"].append(rates[name] / rates[BARE])
    same = {"items": items, "part": PART, "queries": WITHIN, "condition": "", "effort": probes, "callers": count}
    return [
        {**same, "method": name, "metric": metric, "value": median(values)}
        for (name, metric), values in samples.items()
    ]
