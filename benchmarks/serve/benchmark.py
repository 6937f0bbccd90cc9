"""The server beside a reference of some forty lines, raw FAISS and a bare echo, in one run.

``python -m benchmarks serve-speed --json OUT [--report DIR] [--items 100000] [--seconds 3] [--trials 3]``

Ours is ``crossview serve`` with its default settings, in a process of its own, on a home that the benchmark makes. The
reference parses the same request, searches with one thread and answers from plain lists. Clients are ``grpc.aio``, in
processes of their own. Servers and clients share the machine's cores: the echo says what they leave of them.
"""

import argparse
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.frame.benchmark import Benchmark, numbers, positive
from benchmarks.frame.record import usable_cores
from benchmarks.frame.workers import alone
from benchmarks.serve.beside import measure_beside
from benchmarks.serve.clients import clients
from benchmarks.serve.data import SHARED, fill, requests
from benchmarks.serve.figures import medians
from benchmarks.serve.overload import measure_overload
from benchmarks.serve.process import accepts, reference, serving
from benchmarks.serve.report import CAPTION, draw_plot, markdown
from benchmarks.serve.speed import Served, check_answers, measure_limits, measure_speed
from crossview.v1 import search_pb2

PARTS = ("speed", "overload", "beside")
_STEADY = 3  # times the seconds of other measurements: 20 calls a second are few


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
    names = ("items", "seconds", "trials", "seed", "clients", "processes", "parts")
    return {"settings": {name: getattr(options, name) for name in names}, "rows": medians(rows)}


@contextmanager
def _served(home: Path, options: argparse.Namespace) -> Iterator[Served]:
    chosen = ["--processes", str(options.processes)] if options.processes else []
    if chosen and not accepts("--processes"):
        raise SystemExit("crossview serve has no option --processes; leave it out")
    with (
        serving(home, *chosen) as ours,
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
    return {name: every[name] for name in PARTS if name in options.parts}


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


BENCHMARK = Benchmark("serve-speed", __doc__, _arguments, measure, markdown, draw_plot, CAPTION)
