"""Markdown tables and plot of the metric speed benchmark."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.frame.benchmark import Document
from benchmarks.frame.plots import panels
from benchmarks.frame.tables import figures_by, table
from benchmarks.speed.metrics_methods import METHODS

Figures = Mapping[str, Any]
_PROBLEM = ("supervision", "width", "count")
TITLES = {"quadruplets": "quadruplets", "pairs": "pairs", "classes": "rows with classes"}
COLORS = ("#0072B2", "#56B4E9", "#009E73", "#D55E00", "#E69F00", "#CC79A7", "#555555", "#000000")


def markdown(document: Document) -> str:
    """Returns the report: a table per kind of supervision, and how many times faster ours is at equal accuracy."""
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
        lines = list(_lines(document, supervision))
        if lines:
            parts.append(f"## From {title}\n\n{table([_head(title), *lines])}")
    return "\n\n".join(parts)


def faster(document: Document) -> dict[tuple[str, tuple[Any, ...]], float]:
    """Returns how many times faster ours is than each peer, by peer and problem, where one of ours is as accurate."""
    found = {}
    for problem, figures in figures_by(document["rows"], *_PROBLEM).items():
        ours = [f for name, f in figures.items() if not METHODS[name].peer and "seconds" in f]
        for name, peer in figures.items():
            if METHODS[name].peer and "seconds" in peer:
                equal = [f["seconds"] for f in ours if f["accuracy"] >= peer["accuracy"]]
                if equal:
                    found[name, problem] = peer["seconds"] / min(equal)
    return found


def plot(path: Path, document: Document) -> None:
    """Draws seconds against constraints, a panel per supervision and width; crosses at the limit were stopped there."""
    problems = figures_by(document["rows"], *_PROBLEM)
    shown = list(dict.fromkeys((supervision, width) for supervision, width, _ in problems))
    columns = min(len(shown), 3)
    rows = -(-len(shown) // columns)
    with panels(path, rows, columns, (4.5 * columns, 3.6 * rows), squeeze=False) as figure:
        for axis in figure.axes[len(shown) :]:
            axis.set_visible(False)
        for axis, (supervision, width) in zip(figure.axes, shown, strict=False):
            counts = {count: found for (*panel, count), found in problems.items() if panel == [supervision, width]}
            _draw(axis, counts, document["settings"]["timeout"])
            axis.set_title(f"{supervision}, {width} columns", fontsize=10)
            axis.set_xlabel(TITLES[supervision])
            axis.set_ylabel("seconds")
            axis.legend(frameon=False, fontsize=7)


def _draw(axis: Any, counts: Mapping[int, Mapping[str, Figures]], timeout: float) -> None:
    names = list(dict.fromkeys(name for figures in counts.values() for name in figures))
    for name, color in zip(names, COLORS, strict=False):
        done = [(count, found[name]["seconds"]) for count, found in counts.items() if "seconds" in found.get(name, {})]
        style = "--" if METHODS[name].peer else "-"
        axis.plot(*zip(*done, strict=True) if done else ([], []), style, marker="o", color=color, label=name)
        late = [count for count, found in counts.items() if found.get(name, {}).get("failed", "").startswith(">")]
        axis.plot(late, [timeout] * len(late), "x", color=color)
    axis.set_xscale("log")
    axis.set_yscale("log")


def _lines(document: Document, supervision: str) -> Iterator[list[str]]:
    times = faster(document)
    for problem, figures in figures_by(document["rows"], *_PROBLEM).items():
        kind, width, count = problem
        if kind != supervision:
            continue
        for name, found in figures.items():
            start = [str(width), f"{count:,}", name if METHODS[name].peer else f"**{name}**"]
            if "failed" in found:
                yield [*start, found["failed"], "", "", "", _bound(figures, found, document["settings"]["timeout"])]
                continue
            ratio = times.get((name, problem))
            shown = "" if not METHODS[name].peer else "ours less accurate" if ratio is None else f"{ratio:.1f}"
            measured = [f"{found['seconds']:.2f}", f"{found.get('steps', '')}", f"{found['peak memory, MiB']:.0f}"]
            yield [*start, *measured, f"{100 * found['accuracy']:.2f}", shown]


def _bound(figures: Mapping[str, Figures], found: Figures, timeout: float) -> str:
    """How many times longer a peer that was stopped took than the slowest of ours."""
    ours = [f["seconds"] for name, f in figures.items() if not METHODS[name].peer and "seconds" in f]
    return f"> {timeout / max(ours):.1f}" if ours and found["failed"].startswith(">") else ""


def _head(title: str) -> list[str]:
    return ["columns", title, "method", "seconds", "steps", "memory, MiB", "accuracy, %", "times faster"]
