"""Ten times the calls that the server can answer: what becomes of those that it accepts, and of the others."""

from functools import partial
from typing import Any

from benchmarks.serve.clients import Clients
from benchmarks.serve.figures import OURS, figure
from benchmarks.serve.load import OK, REFUSED, Load
from benchmarks.serve.speed import Served

PART, TIMES, AT_ONCE, UNLOADED = "overload", 10.0, 32, 0.2
TASKS = {"vector": "searches by a vector", "batch": "searches by 64 vectors", "picture": "searches by a picture"}
MOST_A_SECOND = 3_000.0
"""Calls that a client begins; where ten times the capacity is more, the load is as large as the clients can make it."""
_PATIENCE = 15.0

Figures = list[dict[str, Any]]


def measure_overload(served: Served, clients: Clients, seconds: float) -> Figures:
    """Return the figures of a trial; the capacity is that of 32 calls at once, unloaded is a fifth of the capacity."""
    rows: Figures = []
    for kind, task in TASKS.items():
        load = partial(Load, address=served.ours, requests=served.requests[kind], seconds=seconds, timeout=_PATIENCE)
        full = clients.run(load(at_once=AT_ONCE))
        capacity = max(1.0, full.rate)
        calm = clients.run(load(rate=max(2.0, UNLOADED * capacity)))
        rush = clients.run(load(rate=min(MOST_A_SECOND, TIMES * capacity)))
        of, count = partial(figure, PART, task, OURS), max(1, len(rush.codes))
        accepted, refused = (rush.codes == OK).sum(), (rush.codes == REFUSED).sum()
        rows += [
            of("capacity, calls/s", capacity),
            of("begun, times the capacity", float((rush.began >= 0).sum()) / seconds / capacity),
            of("p99 at capacity, ms", full.milliseconds(99)),
            of("p99 unloaded, ms", calm.milliseconds(99)),
            of("p99 accepted, ms", rush.milliseconds(99)),
            of("p99 accepted, times unloaded", rush.milliseconds(99) / calm.milliseconds(99)),
            of("p99 accepted, times that at capacity", rush.milliseconds(99) / full.milliseconds(99)),
            of("p99 refused, ms", rush.milliseconds(99, REFUSED)),
            of("accepted, %", 100 * float(accepted) / count),
            of("refused, %", 100 * float(refused) / count),
            of("ended otherwise, %", 100 * float(count - accepted - refused) / count),
        ]
    return rows
