"""The stats command."""

import json
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from typing import Annotated

import typer

from crossview.engine.values.errors import InvalidInputError
from crossview.server.commands.common import JsonOption, print_json
from crossview.server.commands.output import Table, say, show, table
from crossview.server.wire.errors import ServerUnavailableError

_SECONDS = 10.0
"""Maximum time to wait for the numbers."""
_BYTES = 1 << 26
"""Maximum size of the numbers."""


@dataclass(frozen=True)
class Sample:
    """One value of a metric."""

    name: str
    labels: Mapping[str, str]
    value: float


@dataclass(frozen=True)
class Stats:
    """The numbers of a server."""

    samples: list[Sample]

    def of(self, name: str, *labels: str, **values: str) -> dict[tuple[str, ...], float]:
        """Return the sums of a metric by the values of some labels, of those samples that have the chosen values."""
        sums: dict[tuple[str, ...], float] = defaultdict(float)
        for sample in self.samples:
            if sample.name == f"crossview_{name}" and values.items() <= sample.labels.items():
                sums[tuple(sample.labels.get(label, "") for label in labels)] += sample.value
        return sums

    def one(self, name: str, **values: str) -> float:
        """Return the sum of a metric."""
        return sum(self.of(name, **values).values())

    def below(self, method: str, share: float) -> str:
        """Return the milliseconds within which a share of a method's calls ended, as a bucket of the histogram."""
        buckets = {
            float(bound): count
            for (bound,), count in self.of("call_seconds_bucket", "le", method=method, stage="whole").items()
        }
        least = share * max(buckets.values(), default=0.0)
        bound = next((bound for bound, count in sorted(buckets.items()) if count >= least), float("inf"))
        return f"{1e3 * bound:g}" if bound < float("inf") else "more"


def stats(
    admin: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="Address of the server's port for metrics, of serve --admin-port.")
    ] = "localhost:9464",
    every: Annotated[
        float | None, typer.Option(min=0.1, metavar="SECONDS", help="Repeat until Ctrl-C, with calls a second.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Print the calls, queues, collections and jobs of a running server.

    The server needs a port for metrics: crossview serve --admin-port 9464.

    Examples:
        crossview stats
        crossview stats --admin localhost:9464 --every 5
    """
    last: tuple[float, Stats] | None = None
    while True:
        numbers, now = fetched(admin), time.monotonic()
        if as_json:
            print_json(numbers)
        else:
            show(*_parts(numbers, last and (now - last[0], last[1])))
        if every is None:
            return
        say()
        last = now, numbers
        time.sleep(every)


def fetched(address: str) -> Stats:
    """Return the numbers of a server. Raises ServerUnavailableError, InvalidInputError for another kind of server."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or "/" in host:
        raise InvalidInputError(f"{address!r} is not an address: write HOST:PORT, such as localhost:9464")
    try:
        with closing(HTTPConnection(host.strip("[]"), int(port), timeout=_SECONDS)) as connection:  # without a proxy
            connection.request("GET", "/stats")
            tree = json.loads(connection.getresponse().read(_BYTES))
        return Stats([Sample(sample["name"], sample["labels"], sample["value"]) for sample in tree])
    except (ValueError, KeyError, TypeError, HTTPException) as error:
        raise InvalidInputError(
            f"{address} is not the port for metrics of a crossview server: use the port of serve --admin-port"
        ) from error
    except OSError as error:
        raise ServerUnavailableError(
            f"no server answers at {address}: start it with --admin-port, or give its address with --admin"
        ) from error


def _parts(now: Stats, last: tuple[float, Stats] | None) -> Iterator[Table | str]:
    yield _calls(now, last)
    rooms = table("room", ">busy", ">threads", ">waiting", ">refused")
    for (room,), threads in now.of("room_threads", "room").items():
        figures = (now.one(f"room_{name}", room=room) for name in ("busy", "waiting", "refused_total"))
        busy, waiting, refused = (f"{figure:,.0f}" for figure in figures)
        rooms.add_row(room, busy, f"{threads:,.0f}", waiting, refused)
    yield rooms
    collections = table("collection", ">items", ">index MB", ">versions")
    for (name,), items in now.of("items", "collection").items():
        size, versions = now.one("index_bytes", collection=name), now.one("versions", collection=name)
        collections.add_row(name, f"{items:,.0f}", f"{size / 1e6:,.1f}", f"{versions:,.0f}")
    if collections.rows:
        yield collections
    states = [f"{count:,.0f} {state}" for (state,), count in now.of("jobs", "state").items() if count]
    yield f"jobs: {', '.join(states) or 'none'}"
    yield (
        f"connections: {now.one('connections'):,.0f}; calls in progress: {now.one('calls_in_progress'):,.0f}, with "
        f"{now.one('bytes_in_flight') / 1e6:,.1f} MB; refused for limits of keys: {now.one('quota_refused_total'):,.0f}"
    )
    yield (
        f"processes for pictures: {now.one('picture_processes'):,.0f}, {now.one('picture_busy'):,.0f} busy; "
        f"pictures that ended one: {now.one('pictures_fatal_total'):,.0f}"
    )


def _calls(now: Stats, last: tuple[float, Stats] | None) -> Table:
    """Return the table of the methods; with earlier numbers, the calls a second since then."""
    rows = table("method", ">calls", *([">a second"] if last else []), ">failed", ">50% ms", ">99% ms", ">hits")
    for (method,), calls in sorted(now.of("calls_total", "method").items(), key=lambda row: -row[1]):
        failed = calls - now.one("calls_total", method=method, code="OK")
        rate = [] if last is None else [f"{(calls - last[1].one('calls_total', method=method)) / last[0]:,.1f}"]
        times = f"\u2264 {now.below(method, 0.5)}", f"\u2264 {now.below(method, 0.99)}"
        hits = now.one("hits_total", method=method)
        rows.add_row(method, f"{calls:,.0f}", *rate, f"{failed:,.0f}", *times, f"{hits:,.0f}" if hits else "")
    return rows
