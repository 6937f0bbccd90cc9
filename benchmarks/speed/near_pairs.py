"""All near pairs of binary codes: the exact join against FAISS's flat scan and its multi-index hashing.

    python -m benchmarks near-pairs [--json OUT] [--report DIR] [--sizes 100000,1000000]

Codes have 64 bits, pairs differ in at most 8 of them. Uniform codes are independent; clustered codes are ten copies on
average of uniform ones, each bit changed with probability .04. The rivals search for the first 10,000 codes among all,
and their times are those of all codes by proportion; the join must find the same pairs of these codes. FAISS's
multi-index hashing (``IndexBinaryMultiHash``) has three tables of 21 bits and looks up values within two bits, which
also finds all pairs.
"""

import argparse
import functools
import resource
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import faiss
import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from benchmarks.frame.benchmark import Benchmark, Document, numbers
from benchmarks.frame.headlines import stated
from benchmarks.frame.resident_memory import resident
from benchmarks.frame.tables import figures_by, table
from benchmarks.frame.workers import alone
from crossview.index.near_pairs import near_pairs

SIZES, BITS, RADIUS = (100_000, 1_000_000), 64, 8
COPIES, CHANGED = 10, 0.04
ASKED = 10_000
OURS, FLAT, HASHING = "join", "FAISS flat", "FAISS multi-index hashing"
DISTRIBUTIONS = ("uniform", "clustered")
WANTED = 90.0
"""Most seconds of a million codes on two processors."""
_TABLES, _FLIPS = 3, 2

Codes = NDArray[np.uint8]


def measure_all(options: argparse.Namespace) -> dict[str, Any]:
    """Return settings, and rows of every set of codes, each measured in a process of its own."""
    console = Console(stderr=True)
    rows: list[dict[str, Any]] = []
    for size in options.sizes:
        for distribution in DISTRIBUTIONS:
            console.print(f"{size:,} {distribution} codes ...", highlight=False)
            case = {"distribution": distribution, "codes": size}
            measurements = alone(measure, distribution, size, options.seed, threads=None)
            rows += [{**case, **row} for row in measurements]
    settings = {"seed": options.seed, "bits": BITS, "radius": RADIUS, "asked": ASKED, "copies": COPIES}
    settings |= {"changed": CHANGED, "threads": faiss.omp_get_max_threads()}
    return {"settings": settings, "rows": rows}


def codes(distribution: str, count: int, seed: int) -> Codes:
    """Return packed codes, shape (count, 8)."""
    random = np.random.default_rng(seed)
    if distribution == "uniform":
        return random.integers(0, 256, (count, BITS // 8), np.uint8)
    centres = random.integers(0, 256, (max(1, count // COPIES), BITS // 8), np.uint8)
    packed = centres[random.integers(len(centres), size=count)]
    for start in range(0, count, ASKED):
        changed = random.random((min(ASKED, count - start), BITS)) < CHANGED
        packed[start : start + ASKED] ^= np.packbits(changed, axis=1)
    return packed


def measure(distribution: str, size: int, seed: int) -> list[dict[str, Any]]:
    """Return the figures of every method on one set, as rows."""
    base = codes(distribution, size, seed)
    queries = base[:ASKED]
    rows = []
    before = resident()
    pairs, *seconds = _timed(lambda: near_pairs(base, RADIUS))
    peak = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    rows += _rows(OURS, seconds, {"pairs": len(pairs.first), "memory, bytes": max(0, peak - before)})
    among = np.concatenate([pairs.first[pairs.first < ASKED], pairs.second[pairs.second < ASKED]])
    true = len(among) + len(queries)  # both directions, and every code with itself
    for method, search in _rivals(base).items():
        (limits, _, _), *seconds = _timed(functools.partial(search, queries))
        if int(limits[-1]) != true:
            raise AssertionError(f"{method} finds {limits[-1]:,} codes near the first {len(queries):,}, not {true:,}")
        rows += _rows(method, [value * size / len(queries) for value in seconds], {})
    return rows


def _timed(work: Callable[[], Any]) -> tuple[Any, float, float]:
    """Return the result, and the seconds by the clock and of processors."""
    began, used = time.perf_counter(), time.process_time()
    result = work()
    return result, time.perf_counter() - began, time.process_time() - used


def _rows(method: str, seconds: Sequence[float], extra: Mapping[str, float]) -> list[dict[str, Any]]:
    figures = {"clock, s": seconds[0], "processors, s": seconds[1], **extra}
    return [{"method": method, "metric": name, "value": value} for name, value in figures.items()]


def _rivals(base: Codes) -> Mapping[str, Callable[[Codes], Any]]:
    """Return searches for all codes within the radius; FAISS leaves out those at the radius that it is given."""
    flat = faiss.IndexBinaryFlat(BITS)
    hashing = faiss.IndexBinaryMultiHash(BITS, _TABLES, BITS // _TABLES)
    hashing.nflip = _FLIPS
    for index in (flat, hashing):
        index.add(base)
    return {
        FLAT: lambda queries: flat.range_search(queries, RADIUS + 1),
        HASHING: lambda queries: hashing.range_search(queries, RADIUS + 1),
    }


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sizes", type=numbers, default=SIZES, help="numbers of codes")
    parser.add_argument("--seed", type=int, default=0)


def markdown(document: Document) -> str:
    """Return the report: a line per set and method."""
    settings = document["settings"]
    about = (
        f"All pairs of {settings['bits']}-bit codes that differ in at most {settings['radius']} bits. Clustered codes "
        f"are {settings['copies']} copies on average of uniform codes, each bit changed with probability "
        f"{settings['changed']}. The join uses one processor, FAISS {settings['threads']}. Seconds of FAISS are "
        f"extrapolated from {settings['asked']:,} codes. A million codes may take {WANTED:.0f} s."
    )
    head = ["codes", "method", "seconds by the clock", "seconds of processors", "pairs", "memory beside the codes, MB"]
    lines = [head]
    for (distribution, size), methods in figures_by(document["rows"], "distribution", "codes").items():
        for method, figures in methods.items():
            pairs = f"{figures['pairs']:,}" if "pairs" in figures else ""
            memory = f"{figures['memory, bytes'] / 1e6:,.0f}" if "pairs" in figures else ""
            seconds = [f"{figures[name]:,.1f}" for name in ("clock, s", "processors, s")]
            lines.append([f"{size:,} {distribution}", method, *seconds, pairs, memory])
    return "\n\n".join(["# All near pairs of binary codes", about, table(lines)])


BENCHMARK = Benchmark(
    "near-pairs",
    __doc__,
    _arguments,
    measure_all,
    markdown,
    headline=stated(
        "Find all pairs of 1,000,000 codes that differ in at most 8 of 64 bits: s",
        "{0:.0f}",
        "{1:.0f} (FAISS flat)",
        {"distribution": "uniform", "codes": 1_000_000, "method": "join", "metric": "clock, s"},
        {"distribution": "uniform", "codes": 1_000_000, "method": "FAISS flat", "metric": "clock, s"},
    ),
)
