"""Large indexes on one machine: their build, memory, opening, first answer and searches.

    python -m benchmarks large [--json OUT] [--report DIR] [--vectors 10000000] [--codes 10000000,100000000]

Vectors of 64 numbers lie around 1,000 centres, and are stored as half floats in inverted lists. Codes have 64 bits and
are ten copies on average of uniform ones, each bit changed with probability .04. An index is built and saved by one
process and opened by another, so that the peak memory of each is its own; the system may have the file in its cache.
"""

import argparse
import resource
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from benchmarks.frame.benchmark import Benchmark, Document, numbers
from benchmarks.frame.headlines import stated
from benchmarks.frame.tables import figures_by, table
from benchmarks.frame.workers import alone
from benchmarks.speed.near_pairs import BITS, codes
from crossview.index.base import EXACT, Index
from crossview.index.registry import IndexSpec

DIM, CENTRES, SPREAD = 64, 1_000, 0.65
VECTORS, CODES = (10_000_000,), (10_000_000, 100_000_000)
K, ASKED, TRUTH, RECALL = 10, 200, 50, 0.99
_BLOCK = 250_000
_LISTS = "lists of half floats"
_SCAN = "scan or tables of codes"
_NEAR = "lists of codes"


def measure_all(options: argparse.Namespace) -> dict[str, Any]:
    """Return settings, and the rows of every index."""
    console = Console(stderr=True)
    tasks = [(_LISTS, count) for count in options.vectors]
    tasks += [(method, count) for count in options.codes for method in (_SCAN, _NEAR)]
    rows = []
    with tempfile.TemporaryDirectory(prefix="crossview-large-") as folder:
        path = Path(folder, "index.idx")
        for method, count in tasks:
            console.print(f"{count:,} {method} ...", highlight=False)
            figures = alone(build, method, count, options.seed, path)
            figures |= alone(search, method, count, options.seed, path)
            rows += [
                {"method": method, "items": count, "metric": name, "value": value} for name, value in figures.items()
            ]
    return {"settings": {"seed": options.seed, "k": K, "asked": ASKED, "recall": RECALL}, "rows": rows}


def build(method: str, count: int, seed: int, path: Path) -> dict[str, float]:
    """Build and save an index; return the seconds and the memory that it took."""
    index, began = _empty(method), time.perf_counter()
    for start, rows in _blocks(method, count, seed):
        index = index.changed((), np.arange(start, start + len(rows)), rows)
    index = index.compacted()
    built = time.perf_counter()
    index.save(path, {})
    return {
        "build, s": built - began,
        "save, s": time.perf_counter() - built,
        "peak of the build, bytes": _peak(),
        "file, bytes": float(path.stat().st_size),
    }


def search(method: str, count: int, seed: int, path: Path) -> dict[str, float]:
    """Open an index and search it; return the times, the recall, and the memory until then."""
    queries = next(iter(_blocks(method, ASKED, seed + 1)))[1]
    began = time.perf_counter()
    index, _ = type(_empty(method)).load(path)
    opened = time.perf_counter()
    index.search(queries[:1], K, effort=_first(index))
    figures = {"open, s": opened - began, "first answer, s": time.perf_counter() - opened}
    effort, recall = _effort(index, queries[:TRUTH])
    seconds = [_seconds(partial(index.search, query[None], K, effort=effort)) for query in queries]
    return figures | {
        "recall": recall,
        "effort": float(effort),
        "search, median ms": 1e3 * float(np.median(seconds)),
        "search, 99 % ms": 1e3 * float(np.percentile(seconds, 99)),
        "peak of searches, bytes": _peak(),
    }


def _spec(method: str) -> IndexSpec:
    if method == _LISTS:
        return IndexSpec("ivf", {"vectors": "float16"})
    return IndexSpec("binary" if method == _SCAN else "binary-lists")


def _empty(method: str) -> Index:
    return _spec(method).empty(DIM if method == _LISTS else BITS)


def _blocks(method: str, count: int, seed: int) -> Iterator[tuple[int, NDArray[Any]]]:
    """Yield the number of the first row and the rows of each block."""
    centres = np.random.default_rng(0).normal(size=(CENTRES, DIM)).astype(np.float32)
    if method != _LISTS:
        step = 40 * _BLOCK
        for start in range(0, count, step):
            yield start, codes("clustered", min(step, count - start), seed + start)
        return
    for start in range(0, count, _BLOCK):
        random, size = np.random.default_rng((seed, start)), min(_BLOCK, count - start)
        spread = random.standard_normal((size, DIM), np.float32) * np.float32(SPREAD)
        yield start, centres[random.integers(CENTRES, size=size)] + spread


def _first(index: Index) -> int:
    """Return an effort for a first answer."""
    efforts = index.efforts(K)
    return efforts[len(efforts) // 3] if efforts else EXACT


def _effort(index: Index, queries: NDArray[Any]) -> tuple[int, float]:
    """Return the least effort that reaches the recall, and its recall; an exact search if none does."""
    farthest = index.search(queries, K).distances[:, -1:]
    for effort in index.efforts(K):
        recall = float((index.search(queries, K, effort=effort).distances <= farthest * (1 + 1e-5)).mean())
        if recall >= RECALL or len(index.efforts(K)) == 1:
            return effort, recall
    return EXACT, 1.0


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _peak() -> float:
    return 1024.0 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--vectors", type=numbers, default=VECTORS, help="numbers of vectors")
    parser.add_argument("--codes", type=numbers, default=CODES, help="numbers of codes")
    parser.add_argument("--seed", type=int, default=0)


def markdown(document: Document) -> str:
    """Return the report: a line for each index."""
    about = (
        f"{DIM} numbers a vector, {BITS} bits a code; {K} nearest, one query after another on a core. The effort is "
        f"the least that finds {RECALL:.0%} of the nearest; lists of codes have one effort, for near copies. Memory is "
        "the peak of the process that builds, and of the one that searches."
    )
    head = ["items", "index", "built", "memory", "file", "opened", "first", "recall", "median", "99 %", "memory"]
    lines = [head]
    for (count,), methods in figures_by(document["rows"], "items").items():
        lines += [_line(count, method, figures) for method, figures in methods.items()]
    return f"# Large indexes\n\n{about}\n\n{table(lines)}\n"


def _line(count: int, method: str, figures: Mapping[str, float]) -> list[str]:
    return [
        f"{count:,}",
        method,
        f"{figures['build, s'] + figures['save, s']:.0f} s",
        f"{figures['peak of the build, bytes'] / 1e9:.1f} GB",
        f"{figures['file, bytes'] / 1e9:.1f} GB",
        f"{figures['open, s']:.2f} s",
        f"{1e3 * figures['first answer, s']:.0f} ms",
        f"{figures['recall']:.3f}",
        f"{figures['search, median ms']:.2f} ms",
        f"{figures['search, 99 % ms']:.2f} ms",
        f"{figures['peak of searches, bytes'] / 1e9:.1f} GB",
    ]


BENCHMARK = Benchmark(
    "large",
    __doc__,
    _arguments,
    measure_all,
    markdown,
    headline=stated(
        "Search 10,000,000 vectors (recall 0.99) and 100,000,000 codes (exact), one core: ms",
        "{0:.2f} and {1:.1f}",
        "",
        {"method": "lists of half floats", "items": 10_000_000, "metric": "search, median ms"},
        {"method": "scan or tables of codes", "items": 100_000_000, "metric": "search, median ms"},
    ),
)
