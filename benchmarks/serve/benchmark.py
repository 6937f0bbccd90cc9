"""The server beside a reference of some forty lines, raw FAISS and a bare echo, in one run.

``python -m benchmarks serve-speed [--json OUT] [--report DIR] [--items 100000] [--seconds 3] [--trials 3]``

Ours is ``crossview serve`` with its default settings, in a process of its own, on a home that the benchmark makes. The
reference parses the same request, searches with one thread and answers from plain lists. Clients are ``grpc.aio``, in
processes of their own. Servers and clients share the machine's cores: the echo says what they leave of them.
"""

import argparse
import math
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.frame.benchmark import Benchmark, Document, numbers, positive
from benchmarks.frame.headlines import stated
from benchmarks.frame.plots import panels
from benchmarks.frame.record import usable_cores
from benchmarks.frame.tables import Row, figures_by, rows_with, table
from benchmarks.frame.workers import alone
from benchmarks.serve import beside, overload, ports, speed
from benchmarks.serve.beside import measure_beside
from benchmarks.serve.clients import clients
from benchmarks.serve.data import SHARED, fill, requests
from benchmarks.serve.figures import OURS, REFERENCE, STREAMS, Limit, medians
from benchmarks.serve.overload import measure_overload
from benchmarks.serve.ports import both_ports, measure_ports
from benchmarks.serve.process import accepts, reference, serving
from benchmarks.serve.speed import Served, check_answers, measure_limits, measure_speed
from crossview.v1 import search_pb2

PARTS = ("speed", "overload", "beside", "ports")
_STEADY = 3  # times the seconds of other measurements: 20 calls a second are few
_WARM_SECONDS = 1.0

SHARE, ABOVE = "share that ours reaches", "p50 of ours above, ms"
CAPTION = "Calls a second by calls at once"
LEGIBLE = 100_000  # items below which the limits say nothing
LIMITS: Mapping[tuple[str, str, int, str, str], Limit] = {
    ("speed", "vector", 32, REFERENCE, SHARE): Limit(0.75),
    ("speed", "code", 32, REFERENCE, SHARE): Limit(0.60),
    ("speed", "vector", 1, REFERENCE, ABOVE): Limit(most=1.0),
    ("speed", "code", 1, REFERENCE, ABOVE): Limit(most=1.0),
    ("speed", "vector", 32, STREAMS, "times unary"): Limit(1.3),
    ("speed", "code", 32, STREAMS, "times unary"): Limit(1.3),
    (ports.PART, ports.KIND, ports.AT_ONCE, ports.PROTECTED, ports.PLAIN_SHARE): Limit(0.85),
    (ports.PART, ports.KIND, ports.AT_ONCE, ports.JSON, ports.PLAIN_SHARE): Limit(0.35),
    (ports.PART, ports.KIND, ports.BOTH_AT_ONCE, ports.BOTH, "failed"): Limit(most=0.0),
    (ports.PART, ports.REFUSED, 0, ports.PROTECTED, ports.SAME_TIME): Limit(0.9, 1.1),
}
PICTURES = Limit(0.9)
"""Share of the pictures a second that the cores extract, with 32 at once."""
ANY_TASK: Mapping[tuple[str, str, str], Limit] = {
    (beside.PART, beside.SEARCHES, "p99 above idle, ms"): Limit(most=25.0),
    (beside.PART, beside.CHECKS, "p99, ms"): Limit(most=100.0),
    (overload.PART, OURS, "p99 accepted, times unloaded"): Limit(most=3.0),
    (overload.PART, OURS, "p99 refused, ms"): Limit(most=50.0),
    (overload.PART, OURS, "ended otherwise, %"): Limit(most=0.0),
}
_ABOUT = (
    "Medians over {trials} trials of {seconds:g} s each; {items:,} vectors of 50 numbers. Servers and {clients} client "
    "processes share the cores, so that the echo is as much as the clients can ask. "
    "Figures that miss their limit are bold; limits are for 100,000 items and more."
)


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Return settings, and medians over the trials."""
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="crossview-serve-") as folder, ExitStack() as stack:
        home = Path(folder) / "home"
        alone(fill, home, options.items, options.seed, options.data)
        run = stack.enter_context(clients(options.clients))
        with _served(home, options) as served:
            check_answers(served, run)
            if "speed" in options.parts:
                rows += measure_limits(served, options.seconds, usable_cores())
            for trial in range(options.trials):
                for part, work in _parts(served, options, trial).items():
                    Console(stderr=True).print(f"trial {trial}: {part} ...", highlight=False)
                    rows += work(clients=run)
        if ports.PART in options.parts:
            with both_ports(home, requests(options.items, options.seed, options.data)["vector"]) as both:
                measure_ports(both, run, _WARM_SECONDS, 0)  # new servers first load the collection and start threads
                for trial in range(options.trials):
                    Console(stderr=True).print(f"trial {trial}: {ports.PART} ...", highlight=False)
                    rows += measure_ports(both, run, options.seconds, trial)
    names = ("items", "seconds", "trials", "seed", "clients", "processes", "parts")
    return {"settings": {name: getattr(options, name) for name in names}, "rows": medians(rows)}


@contextmanager
def _served(home: Path, options: argparse.Namespace) -> Iterator[Served]:
    flags = ["--processes", str(options.processes)] if options.processes else []
    if flags and not accepts("--processes"):
        raise SystemExit("crossview serve has no option --processes; leave it out")
    with (
        serving(home, *flags) as ours,
        reference(options.items, options.seed, home.with_name("reference.log")) as other,
    ):
        yield Served(
            home=home,
            ours=ours.address,
            reference=other.address,
            requests=requests(options.items, options.seed, options.data),
            items=options.items,
            seed=options.seed,
            streaming="StreamSearch" in search_pb2.DESCRIPTOR.services_by_name["SearchService"].methods_by_name,
        )


def _parts(served: Served, options: argparse.Namespace, trial: int) -> dict[str, Callable[..., list[dict[str, Any]]]]:
    every = {
        "speed": partial(measure_speed, served, at_once=options.at_once, seconds=options.seconds, trial=trial),
        "overload": partial(measure_overload, served, seconds=options.seconds),
        "beside": partial(measure_beside, served, seconds=_STEADY * options.seconds),
    }
    return {name: work for name, work in every.items() if name in options.parts}


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--items", type=positive, default=100_000, help="number of vectors")
    parser.add_argument("--seconds", type=float, default=3.0, help="of one measurement")
    parser.add_argument("--trials", type=positive, default=3, help="times that all is measured")
    parser.add_argument("--at-once", type=numbers, default=(1, 8, 32, 128), help="numbers of calls at once")
    parser.add_argument("--clients", type=positive, default=max(1, usable_cores() // 2), help="client processes")
    parser.add_argument("--processes", type=int, default=0, help="of crossview serve; 0: its own choice")
    parser.add_argument("--parts", nargs="*", choices=PARTS, default=list(PARTS), metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--data", type=Path, default=SHARED, help="holds corel1k/images; drawn pictures where missing")
    parser.add_argument("--seed", type=int, default=0)


def markdown(document: Document) -> str:
    """Return the report."""
    rows, settings = document["rows"], document["settings"]
    parts = ["# A server's speed", _ABOUT.format(**settings)]
    fast = rows_with(rows, part=speed.PART)
    if fast:
        parts.append(
            table([["query by", "method", "at once", "calls/s", "p50, ms", "p95", "p99", "failed"], *_calls(fast)])
        )
        parts.append(table([["query by", "at once", "figure", "value", "limit"], *_shares(fast, settings["items"])]))
    for part, head in ((beside.PART, "## Beside other work"), (overload.PART, "## Ten times the capacity")):
        if own_rows := rows_with(rows, part=part):
            parts += [
                head,
                table([["beside" if part == beside.PART else "load", *_columns(own_rows)], *_wide(own_rows, settings)]),
            ]
    if own_rows := rows_with(rows, part=ports.PART):
        parts += [
            "## TLS, keys and HTTP",
            table([["of", "method", "at once", "figure", "value", "limit"], *_each(own_rows)]),
        ]
    return "\n\n".join(parts)


def _calls(rows: list[Row]) -> Iterator[list[str]]:
    for (task, count), methods in figures_by(rows, "task", "clients").items():
        for method, figures in methods.items():
            times = [_short(figures.get(metric)) for metric in speed.PERCENTILES]
            yield [task, method, str(count), _short(figures["calls/s"]), *times, _short(figures.get("failed"))]


def _shares(rows: list[Row], items: int) -> Iterator[list[str]]:
    """Return the rows that have a limit, or are a share of another method's figure."""
    for row in rows:
        place = (row["part"], row["task"], row["clients"], row["method"], row["metric"])
        if row["metric"] in (SHARE, ABOVE, "times unary"):
            name = f"{row['metric']}: {row['method']}"
            yield [row["task"], str(row["clients"]), name, *_judged(row["value"], LIMITS.get(place), items)]
    for limit in rows_with(rows, task="picture", method=speed.EXTRACTION):
        for row in rows_with(rows, task="picture", metric="calls/s"):
            if row["method"].startswith(OURS):
                allowed = PICTURES if row["clients"] == 32 else None
                name = f"{SHARE}: {limit['method']}, {row['method']}"
                yield ["picture", str(row["clients"]), name, *_judged(row["value"] / limit["value"], allowed, items)]


def _each(rows: list[Row]) -> Iterator[list[str]]:
    for row in rows:
        limit = LIMITS.get((row["part"], row["task"], row["clients"], row["method"], row["metric"]))
        judged = _judged(row["value"], limit, LEGIBLE)
        yield [row["task"], row["method"], str(row["clients"] or ""), row["metric"], *judged]


def _columns(rows: list[Row]) -> list[str]:
    return ["method", *dict.fromkeys(row["metric"] for row in rows)]


def _wide(rows: list[Row], settings: Mapping[str, Any]) -> Iterator[list[str]]:
    """Return a line for each task and method, a column for each metric."""
    _, *metrics = _columns(rows)
    part = rows[0]["part"]
    for (task,), methods in figures_by(rows, "task").items():
        for method, figures in methods.items():
            limits = (ANY_TASK.get((part, method, metric)) for metric in metrics)
            cells = zip(metrics, limits, strict=True)
            yield [
                task,
                method,
                *(_judged(figures.get(metric), limit, settings["items"])[0] for metric, limit in cells),
            ]
    for method in dict.fromkeys(method for of, method, _ in ANY_TASK if of == part):
        limits = (ANY_TASK.get((part, method, metric)) for metric in metrics)
        yield ["limit", method, *("" if limit is None else str(limit) for limit in limits)]


def _judged(value: float | None, limit: Limit | None, items: int) -> list[str]:
    """Return a figure, bold where it misses its limit, and the limit."""
    missed = limit is not None and value is not None and items >= LEGIBLE and value not in limit
    return [f"**{_short(value)}**" if missed else _short(value), "" if limit is None else str(limit)]


def _short(value: float | None) -> str:
    """Return three significant digits, and whole numbers in full."""
    if value is None:
        return ""
    digits = max(0, 2 - math.floor(math.log10(abs(value)))) if value else 0
    return f"{value:,.{min(digits, 3)}f}"


def draw_plot(path: Path, document: Document) -> None:
    """Draw calls a second by calls at once, a panel for each kind of query."""
    rows = rows_with(document["rows"], part=speed.PART, metric="calls/s")
    rows = [row for row in rows if row["method"] not in (speed.RAW, speed.EXTRACTION)]
    kinds = list(dict.fromkeys(row["task"] for row in rows)) or ["none"]
    with panels(path, 1, len(kinds), (3.2 * len(kinds), 3.2), squeeze=False) as figure:
        for axis, kind in zip(figure.axes, kinds, strict=True):
            own = rows_with(rows, task=kind)
            for method in dict.fromkeys(row["method"] for row in own):
                of = rows_with(own, method=method)
                axis.plot([row["clients"] for row in of], [row["value"] for row in of], marker="o", label=method)
            axis.set(title=kind, xlabel="calls at once", ylabel="calls/s", xscale="log", ylim=(0, None))
            counts = sorted({row["clients"] for row in own})
            axis.set_xticks(counts, map(str, counts), minor=False)
            axis.minorticks_off()
            if rows:
                axis.legend(fontsize=7)


BENCHMARK = Benchmark(
    "serve-speed",
    __doc__,
    _arguments,
    measure,
    markdown,
    draw_plot,
    CAPTION,
    headline=stated(
        "Search 100,000 vectors over gRPC, 32 callers at once, two cores: calls a second",
        "{0:,.0f}; {1:,.0f} in streams",
        "{2:,.0f} (a minimal server in Python around FAISS)",
        {"part": "speed", "task": "vector", "clients": 32, "method": "crossview", "metric": "calls/s"},
        {"part": "speed", "task": "vector", "clients": 32, "method": "crossview, streams", "metric": "calls/s"},
        {"part": "speed", "task": "vector", "clients": 32, "method": "reference", "metric": "calls/s"},
    ),
)
