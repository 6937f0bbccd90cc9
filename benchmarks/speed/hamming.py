"""Exact Hamming search against FAISS's flat scan, binary HNSW and IVF, on uniform and clustered codes.

``python -m benchmarks hamming-speed [--json OUT] [--report DIR] [--sizes 100000,1000000,10000000]``

Clustered codes are what random hyperplanes make of embeddings in classes: the signs of random projections of points in
32 dimensions, each near one of 1,000 standard normal class centres with standard deviation 0.3. Queries come from the
same generator and are not in the set. The share of codes that repeat an earlier one is printed for every set.

Each set has a process of its own, in which the methods take turns query by query on one thread. Times are processor
time, so that other work on the machine counts little; the ratio to FAISS's flat scan is a median over queries.
"""

import argparse
import functools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import faiss
import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from benchmarks.frame.benchmark import Benchmark, Document, numbers
from benchmarks.frame.headlines import stated
from benchmarks.frame.plots import panels
from benchmarks.frame.resident_memory import resident
from benchmarks.frame.tables import figures_by, table
from benchmarks.frame.workers import alone
from crossview.index.binary_flat import BinaryFlatIndex
from crossview.index.multi_index import AutoBinaryIndex, MultiIndexHashing

SIZES, BITS = (100_000, 1_000_000, 10_000_000), 64
OTHER_BITS, OTHER_SIZE = (32, 128, 256), 1_000_000
CLASSES, LATENT, SPREAD = 1_000, 32, 0.3
QUERIES, K, BATCHES = 64, 10, 3
NEIGHBORS, PROBES = 16, 64  # of a node of the graph; lists or nodes that a query visits
SCAN = "FAISS flat"
OURS: Mapping[str, type[BinaryFlatIndex]] = {
    "flat": BinaryFlatIndex,
    "multi-index hashing": MultiIndexHashing,
    "automatic": AutoBinaryIndex,
}
# Distinct in the common kinds of colour blindness.
COLORS = {
    "FAISS flat": "#555555",
    "flat": "#E69F00",
    "multi-index hashing": "#0072B2",
    "automatic": "#009E73",
    "FAISS IVF": "#CC79A7",
    "FAISS HNSW": "#D55E00",
}
WANTED = (
    ("flat", "clustered", 1_000_000, "ratio", 1.1),
    ("flat", "uniform", 1_000_000, "ratio", 1.1),
    ("automatic", "clustered", 1_000_000, "ratio", 1.1),
    ("automatic", "uniform", 1_000_000, "ratio", 1.1),
    ("automatic", "clustered", 10_000_000, "ratio", 0.5),
    ("flat", "clustered", 10_000_000, "memory", 1.3),
    ("multi-index hashing", "clustered", 10_000_000, "memory", 6.0),
    ("multi-index hashing", "uniform", 10_000_000, "memory", 6.0),
)
LEGIBLE = 1_000_000  # codes below which a process's own buffers hide what an index takes

_SET = ("distribution", "bits", "codes")

Codes = NDArray[np.uint8]
Search = Callable[[Codes], tuple[NDArray[Any], NDArray[Any]]]


def measure_all(options: argparse.Namespace) -> dict[str, Any]:
    """Return settings, and rows of every set of codes, each measured in a process of its own."""
    console = Console(stderr=True)
    rows: list[dict[str, Any]] = []
    for case in _cases(options.sizes, options.other_bits):
        console.print(f"{case['codes']:,} {case['distribution']} codes of {case['bits']} bits ...", highlight=False)
        approximate = case["bits"] == BITS and case["codes"] <= options.approximate
        measurements = alone(measure, case, options.seed, approximate, threads=1)
        rows += [{**case, **row} for row in measurements]
    settings = {"seed": options.seed, "k": K, "queries": QUERIES, "classes": CLASSES, "latent": LATENT}
    settings |= {"sd": SPREAD, "M": NEIGHBORS, "efSearch": PROBES, "nprobe": PROBES}
    return {"settings": settings, "rows": rows}


def codes(distribution: str, count: int, bits: int, seed: int) -> Codes:
    """Return packed codes; the class centres and hyperplanes are the same for every seed."""
    shared, generator = np.random.default_rng(0), np.random.default_rng(seed)
    if distribution == "uniform":
        return generator.integers(0, 256, size=(count, bits // 8), dtype=np.uint8)
    centers = shared.standard_normal((CLASSES, LATENT), np.float32)
    planes = shared.standard_normal((LATENT, bits), np.float32)
    packed = np.empty((count, bits // 8), np.uint8)
    for start in range(0, count, 100_000):
        size = min(100_000, count - start)
        points = centers[generator.integers(CLASSES, size=size)]
        points += np.float32(SPREAD) * generator.standard_normal((size, LATENT), np.float32)
        packed[start : start + size] = np.packbits(points @ planes > 0, axis=1)
    return packed


def measure(case: Mapping[str, Any], seed: int, approximate: bool) -> list[dict[str, Any]]:
    """Return the figures of every method on one set, as rows."""
    faiss.omp_set_num_threads(1)
    base = codes(case["distribution"], case["codes"], case["bits"], seed)
    queries = codes(case["distribution"], QUERIES, case["bits"], seed + 1)
    searches, rows = {}, []
    for method, build in _methods(base, case["bits"], approximate):
        before, began = resident(), time.thread_time()
        searches[method] = build()
        seconds = time.thread_time() - began
        rows.append({"method": method, "metric": "build, s", "value": seconds})
        rows.append({"method": method, "metric": "bytes per code", "value": (resident() - before) / len(base)})
    single, answers = _times(searches, [queries[row : row + 1] for row in range(QUERIES)])
    batch, _ = _times(searches, [queries] * BATCHES)
    true_ids, true_distances = answers[SCAN]
    for method, (ids, distances) in answers.items():
        figures = {
            "query, ms": 1000 * float(np.median(single[method])),
            "query in a batch, ms": 1000 * float(np.median(batch[method])) / QUERIES,
            "ratio": float(np.median(single[method] / single[SCAN])),
            "ratio in a batch": float(np.median(batch[method] / batch[SCAN])),
            "recall": float(np.mean((ids >= 0) & (distances <= true_distances[:, -1:]))),
            "equal answers": float(np.mean((ids == true_ids) & (distances == true_distances))),
        }
        rows += [{"method": method, "metric": metric, "value": value} for metric, value in figures.items()]
    rows.append({"method": "data", "metric": "repeated", "value": _repeated(base)})
    rows.append({"method": "data", "metric": "distance of the last", "value": float(np.median(true_distances[:, -1]))})
    return rows


def _methods(base: Codes, bits: int, approximate: bool) -> Iterator[tuple[str, Callable[[], Search]]]:
    def faiss_search(index: Any) -> Search:
        index.train(base)
        index.add(base)
        return lambda queries: index.search(queries, K)[::-1]

    def own_search(kind: type[BinaryFlatIndex]) -> Search:
        index = kind(bits).changed([], np.arange(len(base)), base).compacted()
        return lambda queries: index.search(queries, K)

    yield SCAN, lambda: faiss_search(faiss.IndexBinaryFlat(bits))
    for name, kind in OURS.items():
        yield name, functools.partial(own_search, kind)
    if approximate:
        quantizer = faiss.IndexBinaryFlat(bits)
        lists = faiss.IndexBinaryIVF(quantizer, bits, int(np.sqrt(len(base))))
        lists.nprobe = PROBES
        yield "FAISS IVF", lambda: faiss_search(lists)
        graph = faiss.IndexBinaryHNSW(bits, NEIGHBORS)
        graph.hnsw.efSearch = PROBES
        yield "FAISS HNSW", lambda: faiss_search(graph)


def _times(searches: Mapping[str, Search], batches: Sequence[Codes]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return seconds of every search, shape (batches,), and the answers one below the other; the methods take turns."""
    seconds: dict[str, list[float]] = {method: [] for method in searches}
    answers: dict[str, list[Any]] = {method: [] for method in searches}
    for before, batch in zip([batches[-1], *batches], batches, strict=False):
        for method, search in searches.items():
            faiss.omp_set_num_threads(1)
            search(before)  # so that the caches are the method's own, and not those of the one before it
            began = time.thread_time()
            answer = search(batch)
            seconds[method].append(time.thread_time() - began)
            answers[method].append(answer)
    return (
        {method: np.array(values) for method, values in seconds.items()},
        {
            method: [np.concatenate(parts) for parts in zip(*of_batches, strict=True)]
            for method, of_batches in answers.items()
        },
    )


def _repeated(base: Codes) -> float:
    """Return the share of codes that are equal to an earlier one."""
    words = base.view(np.uint64 if base.shape[1] % 8 == 0 else np.uint32)
    order = words[np.lexsort(words.T)]
    return float((order[1:] == order[:-1]).all(axis=1).sum() / len(base))


def _cases(sizes: Sequence[int], other_bits: Sequence[int]) -> list[dict[str, Any]]:
    kinds = [(size, BITS) for size in sizes] + [(min(OTHER_SIZE, max(sizes)), bits) for bits in other_bits]
    return [
        {"distribution": distribution, "bits": bits, "codes": size}
        for distribution in ("clustered", "uniform")
        for size, bits in kinds
    ]


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sizes", type=numbers, default=SIZES, help="numbers of 64-bit codes")
    parser.add_argument("--other-bits", type=numbers, default=OTHER_BITS, help="further code lengths, at a million")
    parser.add_argument("--approximate", type=int, default=1_000_000, help="most codes that HNSW and IVF are built on")
    parser.add_argument("--seed", type=int, default=0)


def markdown(document: Document) -> str:
    """Return the report: a line per set and method, and the wanted figures beside the measured."""
    cases = figures_by(document["rows"], *_SET)
    head = ["codes", "bits", "method", "query, ms", "ratio", "in a batch of 64, ms", "ratio", "build, s"]
    lines = [[*head, "bytes a code", "of codes and ids", "recall", "equal answers"]]
    sets = [["codes", "bits", "repeated codes, %", "median distance of the tenth"]]
    for (distribution, bits, codes), methods in cases.items():
        data = methods["data"]
        name = [f"{codes:,} {distribution}", str(bits)]
        sets.append([*name, f"{100 * data['repeated']:.2f}", f"{data['distance of the last']:g}"])
        lines += [
            [*name, method, *_line(figures, bits, codes)] for method, figures in methods.items() if method != "data"
        ]
    goals = [["figure", "wanted", "measured"]]
    for method, distribution, codes, metric, most in WANTED:
        if (distribution, 64, codes) in cases:
            value = _value(cases[distribution, 64, codes][method], metric, 64)
            goals.append([f"{method}, {codes:,} {distribution}, {metric}", f"<= {most}", f"{value:.2f}"])
    settings = document["settings"]
    about = (
        "Processor time on one thread, medians over queries; ratios are to FAISS's flat scan. IVF has the square root "
        f"of n lists and probes {settings['nprobe']}, HNSW has M {settings['M']} and efSearch {settings['efSearch']}. "
        "Recall counts ties by distance. Clustered codes are signs of random projections of a mixture of "
        f"{settings['classes']:,} Gaussians (standard deviation {settings['sd']}) in {settings['latent']} dimensions."
    )
    return "\n\n".join(["# Exact Hamming search", about, table(goals), table(sets), table(lines)])


def plot(path: Path, document: Document) -> None:
    """Draw milliseconds a query against the number of 64-bit codes, clustered and uniform."""
    cases = figures_by(document["rows"], *_SET)
    with panels(path, 1, 2, (10, 4.5), sharey=True) as figure:
        for axis, distribution in zip(figure.axes, ("clustered", "uniform"), strict=True):
            for method, color in COLORS.items():
                points = [
                    (codes, methods[method]["query, ms"])
                    for (kind, bits, codes), methods in sorted(cases.items())
                    if kind == distribution and bits == 64 and method in methods
                ]
                if points:
                    axis.loglog(*zip(*points, strict=True), "o-", color=color, label=method)
            axis.set_title(f"{distribution} codes of 64 bits")
            axis.set_xlabel("codes")
        figure.axes[0].set_ylabel("ms a query, one thread")
        figure.axes[0].legend(frameon=False)


def _line(figures: Mapping[str, float], bits: int, codes: int) -> list[str]:
    large = codes >= LEGIBLE
    return [
        f"{figures['query, ms']:.3f}",
        f"{figures['ratio']:.2f}",
        f"{figures['query in a batch, ms']:.3f}",
        f"{figures['ratio in a batch']:.2f}",
        f"{figures['build, s']:.1f}",
        f"{figures['bytes per code']:.0f}" if large else "",
        f"{_value(figures, 'memory', bits):.2f}" if large else "",
        f"{figures['recall']:.3f}",
        f"{figures['equal answers']:.3f}",
    ]


def _value(figures: Mapping[str, float], metric: str, bits: int) -> float:
    """Return a figure; memory is a multiple of what codes and their eight-byte ids take."""
    return figures["bytes per code"] / (bits / 8 + 8) if metric == "memory" else figures[metric]


BENCHMARK = Benchmark(
    "hamming-speed",
    __doc__,
    _arguments,
    measure_all,
    markdown,
    plot,
    "time against size",
    headline=stated(
        "Find the 10 nearest of 1,000,000 codes of 64 bits exactly, one thread: ms",
        "{0:.2f}",
        "{1:.2f} (FAISS flat)",
        {"distribution": "clustered", "codes": 1_000_000, "bits": 64, "method": "automatic", "metric": "query, ms"},
        {"distribution": "clustered", "codes": 1_000_000, "bits": 64, "method": "FAISS flat", "metric": "query, ms"},
    ),
)
