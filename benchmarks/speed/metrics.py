"""Time, memory and accuracy of learning metrics, beside metric-learn's and scikit-learn's learners.

Every fit runs in a process of its own with the same number of threads, so that its peak memory is its own, data
included; seconds are those of the fit alone, the median of three where it takes less than ten. What takes longer than
the time limit is stopped and reported as such, and not run from more. Accuracy is that on rows that were not learned
from.
"""

import argparse
import multiprocessing
import queue
import statistics
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console

from benchmarks import peers
from benchmarks.frame.benchmark import Benchmark, positive
from benchmarks.frame.record import usable_cores
from benchmarks.frame.workers import start_worker, thread_limit
from benchmarks.speed import metrics_methods as methods
from benchmarks.speed import metrics_report as report
from benchmarks.speed.metrics_methods import METHODS, Cell

SIZES: Mapping[str, Sequence[tuple[int, int]]] = {
    "quadruplets": tuple((width, count) for width in (50, 128, 512) for count in (10_000, 100_000, 1_000_000)),
    "pairs": ((50, 10_000), (50, 100_000), (512, 10_000)),
    "classes": ((50, 1_000), (50, 4_000), (512, 1_000)),
}
SHORT, REPEATS = 10.0, 3
MEMORY_MIB = 4_096  # tuples of rows larger than this are not given to metric-learn, which copies them several times
_SETUP = 120.0  # seconds beyond the limit that drawing data and measuring accuracy may take


def measure_all(options: argparse.Namespace) -> dict[str, Any]:
    """Returns settings, and rows of every problem and method.

    Raises:
        FileNotFoundError: if metric-learn's environment is not there.
    """
    if not peers.available():
        raise FileNotFoundError("metric-learn's environment is missing; make it with: make peers")
    rows: list[dict[str, Any]] = []
    late: set[tuple[str, int]] = set()
    with thread_limit(options.threads):
        for cell in cells(options):
            for method in methods.methods(cell.supervision):
                if (method, cell.width) in late:
                    figures: dict[str, Any] = {"failed": f"not run: > {options.timeout:g} s from less"}
                else:
                    figures = measure(method, cell, options.timeout)
                if figures.get("failed", "").startswith(">"):
                    late.add((method, cell.width))
                _print(method, cell, figures)
                rows += [_row(method, cell, metric, value) for metric, value in figures.items()]
    return {"settings": _settings(options), "rows": rows}


def _print(method: str, cell: Cell, figures: Mapping[str, Any]) -> None:
    shown = ", ".join(f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in figures.items())
    problem = f"{cell.supervision}, {cell.width} x {cell.count:,}"
    Console(stderr=True).print(f"{problem}: {method}: {shown}", highlight=False)


def cells(options: argparse.Namespace) -> Iterator[Cell]:
    """Yields the problems that the options leave."""
    for supervision in options.supervision:
        for width, count in SIZES[supervision]:
            if width <= options.width and count <= options.count:
                rows = count if supervision == "classes" else options.rows
                yield Cell(supervision, width, count, rows, seed=options.seed)


def measure(method: str, cell: Cell, timeout: float) -> dict[str, Any]:
    """Returns the figures of a method on a problem, or "failed": why there are none."""
    tuples = {"quadruplets": 4, "pairs": 2, "classes": 0}[cell.supervision] * cell.count * cell.width * 8 / 2**20
    if METHODS[method].peer and tuples > MEMORY_MIB:
        return {"failed": f"not run: its tuples of rows alone take {tuples / 1024:.0f} GiB"}
    runs = [_alone(method, cell, timeout)]
    while "failed" not in runs[-1] and runs[0]["seconds"] < SHORT and len(runs) < REPEATS:
        runs.append(_alone(method, cell, timeout))
    if "failed" in runs[-1]:
        return runs[-1]
    return {**runs[0], "seconds": statistics.median(run["seconds"] for run in runs)}


def _alone(method: str, cell: Cell, timeout: float) -> dict[str, Any]:
    """Returns what a fresh process measures; it is ended when it takes too long."""
    context = multiprocessing.get_context("spawn")
    answers = context.Queue()
    process = context.Process(target=_answer, args=(method, cell, timeout, answers))
    process.start()
    try:
        deadline = time.monotonic() + timeout + _SETUP
        while True:
            try:
                found: dict[str, Any] = answers.get(timeout=1.0)
                break
            except queue.Empty:
                if time.monotonic() > deadline:
                    return {"failed": f"> {timeout:g} s"}
                if not process.is_alive() and answers.empty():
                    return {"failed": f"ended with status {process.exitcode}"}
    finally:
        process.kill()
        process.join()
    late = found.get("seconds", 0.0) > timeout
    return {"failed": f"> {timeout:g} s"} if late else found


def _answer(method: str, cell: Cell, timeout: float, answers: Any) -> None:
    start_worker()
    try:
        answers.put(methods.fit(method, cell, timeout))
    except subprocess.TimeoutExpired:
        answers.put({"failed": f"> {timeout:g} s"})
    except (RuntimeError, ValueError, MemoryError) as error:
        answers.put({"failed": str(error)})


def _row(method: str, cell: Cell, metric: str, value: Any) -> dict[str, Any]:
    place = {"supervision": cell.supervision, "width": cell.width, "count": cell.count}
    return {"method": method, **place, "metric": metric, "value": value}


def _settings(options: argparse.Namespace) -> dict[str, Any]:
    return {
        "seed": options.seed,
        "threads": options.threads,
        "timeout": options.timeout,
        "rows": options.rows,
        "methods": {name: {"learner": m.learner, "settings": dict(m.settings)} for name, m in METHODS.items()},
        "data": {"rank": methods.RANK, "classes": methods.CLASSES, "flipped": methods.FLIPPED},
    }


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--supervision", nargs="+", choices=list(SIZES), default=list(SIZES))
    parser.add_argument("--width", type=int, default=512, help="widest rows")
    parser.add_argument("--count", type=int, default=1_000_000, help="most quadruplets, pairs or rows with classes")
    parser.add_argument("--rows", type=int, default=10_000, help="rows that quadruplets and pairs are of")
    parser.add_argument("--timeout", type=float, default=150.0, help="most seconds of a fit")
    parser.add_argument("--threads", type=positive, default=usable_cores(), help="of every method")
    parser.add_argument("--seed", type=int, default=0)


BENCHMARK = Benchmark("metric-speed", __doc__, _arguments, measure_all, report.markdown, report.plot, "time")
