"""Markdown table and plot of the Hamming speed benchmark, what is wanted beside what was measured."""

from collections.abc import Mapping
from pathlib import Path

from benchmarks.frame.benchmark import Document
from benchmarks.frame.plots import panels
from benchmarks.frame.tables import figures_by, table

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


def markdown(document: Document) -> str:
    """Returns the report: a line per set and method, and the wanted figures beside the measured."""
    cases = figures_by(document["rows"], *_SET)
    head = ["codes", "bits", "method", "query, ms", "ratio", "in a batch of 64, ms", "ratio", "build, s"]
    lines = [[*head, "bytes a code", "of codes and ids", "recall", "equal answers"]]
    sets = [["codes", "bits", "repeated codes, %", "median distance of the tenth"]]
    for (distribution, bits, codes), methods in cases.items():
        data = methods["data"]
        name = [f"{codes:,} {distribution}", str(bits)]
        sets.append([*name, f"{100 * data['repeated']:.2f}", f"{data['distance of the last']:g}"])
        lines += [[*name, method, *_line(found, bits, codes)] for method, found in methods.items() if method != "data"]
    wanted = [["figure", "wanted", "measured"]]
    for method, distribution, codes, metric, most in WANTED:
        if (distribution, 64, codes) in cases:
            value = _value(cases[distribution, 64, codes][method], metric, 64)
            wanted.append([f"{method}, {codes:,} {distribution}, {metric}", f"<= {most}", f"{value:.2f}"])
    settings = document["settings"]
    about = (
        "Times are processor time on one thread, medians over queries; ratios are to FAISS's flat scan, medians of the "
        "ratios of single queries. Memory is what the process grew by, for a million codes and more. IVF has the "
        f"square root of n lists and probes {settings['nprobe']}, HNSW has M {settings['M']} and efSearch "
        f"{settings['efSearch']}. Recall counts ties by distance; answers are equal where id and distance are those of "
        "the flat scan. Clustered codes are signs of random projections of a mixture of "
        f"{settings['classes']:,} Gaussians (standard deviation {settings['sd']}) in {settings['latent']} dimensions."
    )
    return "\n\n".join(["# Exact Hamming search", about, table(wanted), table(sets), table(lines)])


def plot(path: Path, document: Document) -> None:
    """Draws milliseconds a query against the number of 64-bit codes, clustered and uniform."""
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


def _line(found: Mapping[str, float], bits: int, codes: int) -> list[str]:
    large = codes >= LEGIBLE
    return [
        f"{found['query, ms']:.3f}",
        f"{found['ratio']:.2f}",
        f"{found['query in a batch, ms']:.3f}",
        f"{found['ratio in a batch']:.2f}",
        f"{found['build, s']:.1f}",
        f"{found['bytes per code']:.0f}" if large else "",
        f"{_value(found, 'memory', bits):.2f}" if large else "",
        f"{found['recall']:.3f}",
        f"{found['equal answers']:.3f}",
    ]


def _value(found: Mapping[str, float], metric: str, bits: int) -> float:
    """A figure; memory is a multiple of what codes and their eight-byte ids take."""
    return found["bytes per code"] / (bits / 8 + 8) if metric == "memory" else found[metric]
