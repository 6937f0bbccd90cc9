"""Time, memory and accuracy of learning metrics, beside metric-learn's and scikit-learn's learners.

Every fit runs in a process of its own with the same number of threads, so that its peak memory is its own, data
included; seconds are those of the fit alone, the median of three where it takes less than ten. A fit over
the time limit is stopped and reported as such, and not run with more data. Accuracy is that on rows outside the
training.
"""

import argparse
import multiprocessing
import queue
import statistics
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks import peers
from benchmarks.frame.benchmark import Benchmark, Document, positive
from benchmarks.frame.plots import panels
from benchmarks.frame.record import usable_cores
from benchmarks.frame.tables import figures_by, rows_with, table
from benchmarks.frame.workers import start_worker, thread_limit
from benchmarks.speed import metrics_methods as methods
from benchmarks.speed.metrics_methods import METHODS, Cell

SIZES: Mapping[str, Sequence[tuple[int, int]]] = {
    "quadruplets": tuple((width, count) for width in (50, 128, 512) for count in (10_000, 100_000, 1_000_000)),
    "pairs": ((50, 10_000), (50, 100_000), (512, 10_000)),
    "classes": ((50, 1_000), (50, 4_000), (512, 1_000)),
}
SHORT, REPEATS = 10.0, 3
MEMORY_MIB = 4_096  # tuples of rows larger than this are not given to metric-learn, which copies them several times
_SETUP = 120.0  # seconds beyond the limit that drawing data and measuring accuracy may take
Figures = Mapping[str, Any]
_PROBLEM = ("supervision", "width", "count")
TITLES = {"quadruplets": "quadruplets", "pairs": "pairs", "classes": "rows with classes"}
COLORS = ("#0072B2", "#56B4E9", "#009E73", "#D55E00", "#E69F00", "#CC79A7", "#555555", "#000000")


def measure_all(options: argparse.Namespace) -> dict[str, Any]:
    """Return settings, and rows of every problem and method; FileNotFoundError without metric-learn's environment."""
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
                about = {name: getattr(cell, name) for name in _PROBLEM}
                rows += [{"method": method, **about, "metric": m, "value": v} for m, v in figures.items()]
    return {"settings": _settings(options), "rows": rows}


def _print(method: str, cell: Cell, figures: Mapping[str, Any]) -> None:
    text = ", ".join(f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in figures.items())
    problem = f"{cell.supervision}, {cell.width} x {cell.count:,}"
    Console(stderr=True).print(f"{problem}: {method}: {text}", highlight=False)


def cells(options: argparse.Namespace) -> Iterator[Cell]:
    """Yield the problems that the options leave."""
    for supervision in options.supervision:
        for width, count in SIZES[supervision]:
            if width <= options.width and count <= options.count:
                rows = count if supervision == "classes" else options.rows
                yield Cell(supervision, width, count, rows, seed=options.seed)


def measure(method: str, cell: Cell, timeout: float) -> dict[str, Any]:
    """Return the figures of a method on a problem, or "failed": why there are none."""
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
    """Return what a fresh process measures; it is ended when it takes too long."""
    context = multiprocessing.get_context("spawn")
    answers = context.Queue()
    process = context.Process(target=_answer, args=(method, cell, timeout, answers))
    process.start()
    try:
        deadline = time.monotonic() + timeout + _SETUP
        while True:
            try:
                figures: dict[str, Any] = answers.get(timeout=1.0)
                break
            except queue.Empty:
                if time.monotonic() > deadline:
                    return {"failed": f"> {timeout:g} s"}
                if not process.is_alive() and answers.empty():
                    return {"failed": f"ended with status {process.exitcode}"}
    finally:
        process.kill()
        process.join()
    return {"failed": f"> {timeout:g} s"} if figures.get("seconds", 0.0) > timeout else figures


def _answer(method: str, cell: Cell, timeout: float, answers: Any) -> None:
    start_worker()
    try:
        answers.put(methods.fit(method, cell, timeout))
    except subprocess.TimeoutExpired:
        answers.put({"failed": f"> {timeout:g} s"})
    except (RuntimeError, ValueError, MemoryError) as error:
        answers.put({"failed": str(error)})


def _settings(options: argparse.Namespace) -> dict[str, Any]:
    return {
        **{name: getattr(options, name) for name in ("seed", "threads", "timeout", "rows")},
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


def markdown(document: Document) -> str:
    """Return the report: a table per kind of supervision, and how many times faster ours is at equal accuracy."""
    settings = document["settings"]
    data = settings["data"]
    intro = (
        f"{settings['threads']} threads for every method, {settings['timeout']:g} s at most for a fit. Quadruplets and "
        f"pairs are of {settings['rows']:,} rows. Rows of {data['classes']} classes lie around their centres in "
        f"{data['rank']} hidden dimensions among dimensions of noise; the target metric weighs the hidden ones and "
        f"orders the quadruplets, of which {100 * data['flipped']:g} % are turned round to be learned from. Accuracy, "
        "on rows not learned from: the share of quadruplets in the right order, of pairs those of a similar and a "
        "dissimilar one, and for classes that of the 3 nearest neighbours. Seconds are of the fit alone, memory of its "
        "process, data included. **Times faster** divides a peer's seconds by those of the fastest of ours that is at "
        "least as accurate; of a peer that was stopped, whose accuracy nobody knows, the limit by the slowest of ours."
    )
    parts = ["# Learning metrics: time, memory and accuracy", intro]
    for supervision, title in TITLES.items():
        if lines := list(_lines(document, supervision)):
            head = ["columns", title, "method", "seconds", "steps", "memory, MiB", "accuracy, %", "times faster"]
            parts.append(f"## From {title}\n\n{table([head, *lines])}")
    return "\n\n".join(parts)


def faster(document: Document) -> dict[tuple[str, tuple[Any, ...]], float]:
    """Return how many times faster ours is than each peer, by peer and problem, where one of ours is as accurate."""
    times = {}
    for problem, figures in figures_by(document["rows"], *_PROBLEM).items():
        ours = [f for name, f in figures.items() if not METHODS[name].peer and "seconds" in f]
        for name, peer in figures.items():
            if METHODS[name].peer and "seconds" in peer:
                equal = [f["seconds"] for f in ours if f["accuracy"] >= peer["accuracy"]]
                if equal:
                    times[name, problem] = peer["seconds"] / min(equal)
    return times


def plot(path: Path, document: Document) -> None:
    """Draw seconds against constraints, a panel per supervision and width; crosses at the limit were stopped there."""
    problems = figures_by(document["rows"], *_PROBLEM)
    kinds = list(dict.fromkeys((supervision, width) for supervision, width, _ in problems))
    columns = min(len(kinds), 3)
    rows = -(-len(kinds) // columns)
    with panels(path, rows, columns, (4.5 * columns, 3.6 * rows), squeeze=False) as figure:
        for axis in figure.axes[len(kinds) :]:
            axis.set_visible(False)
        for axis, (supervision, width) in zip(figure.axes, kinds, strict=False):
            counts = {count: figures for (*panel, count), figures in problems.items() if panel == [supervision, width]}
            _draw(axis, counts, document["settings"]["timeout"])
            axis.set_title(f"{supervision}, {width} columns", fontsize=10)
            axis.set_xlabel(TITLES[supervision])
            axis.set_ylabel("seconds")
            axis.legend(frameon=False, fontsize=7)


def _draw(axis: Any, counts: Mapping[int, Mapping[str, Figures]], timeout: float) -> None:
    names = list(dict.fromkeys(name for figures in counts.values() for name in figures))
    for name, color in zip(names, COLORS, strict=False):
        done = [
            (count, figures[name]["seconds"]) for count, figures in counts.items() if "seconds" in figures.get(name, {})
        ]
        style = "--" if METHODS[name].peer else "-"
        axis.plot(*zip(*done, strict=True) if done else ([], []), style, marker="o", color=color, label=name)
        late = [count for count, figures in counts.items() if figures.get(name, {}).get("failed", "").startswith(">")]
        axis.plot(late, [timeout] * len(late), "x", color=color)
    axis.set_xscale("log")
    axis.set_yscale("log")


def _lines(document: Document, supervision: str) -> Iterator[list[str]]:
    times = faster(document)
    for problem, figures in figures_by(rows_with(document["rows"], supervision=supervision), *_PROBLEM).items():
        _, width, count = problem
        for name, own in figures.items():
            start = [str(width), f"{count:,}", name if METHODS[name].peer else f"**{name}**"]
            if "failed" in own:
                yield [*start, own["failed"], "", "", "", _bound(figures, own, document["settings"]["timeout"])]
                continue
            ratio = times.get((name, problem))
            comparison = "" if not METHODS[name].peer else "ours less accurate" if ratio is None else f"{ratio:.1f}"
            measured = [f"{own['seconds']:.2f}", f"{own.get('steps', '')}", f"{own['peak memory, MiB']:.0f}"]
            yield [*start, *measured, f"{100 * own['accuracy']:.2f}", comparison]


def _bound(figures: Mapping[str, Figures], own: Figures, timeout: float) -> str:
    """Return how many times longer a stopped peer took than the slowest of ours."""
    ours = [f["seconds"] for name, f in figures.items() if not METHODS[name].peer and "seconds" in f]
    return f"> {timeout / max(ours):.1f}" if ours and own["failed"].startswith(">") else ""


BENCHMARK = Benchmark("metric-speed", __doc__, _arguments, measure_all, markdown, plot, "time")
