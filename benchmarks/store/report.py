"""The report: ours, the cheapest peer in process and the limit of their ratio; our other figures; the stores."""

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from benchmarks.frame.benchmark import Document
from benchmarks.frame.tables import figures_by, rows_with, table
from benchmarks.store.timing import OURS


class Limit(NamedTuple):
    """Most that ours may take: so many times the cheapest peer's figure, and a little more, in ms."""

    ratio: float
    more: float = 0.0

    def __str__(self) -> str:
        return f"{self.ratio:g} x" + (f" + {self.more:g} ms" if self.more else "")


QUERY, FILTER, BATCHES = Limit(1.15, 0.1), Limit(1.3, 0.1), Limit(1.05)
LIMITS: Mapping[str, Limit] = {
    "a query by vector": QUERY,
    "a batch of 64": BATCHES,
    "64-bit codes: a query by vector": QUERY,
    "64-bit codes: a batch of 64": BATCHES,
    "a filter that keeps 0.01 %": FILTER,
    "a filter that keeps 0.1 %": FILTER,
    "a filter that keeps 1 %": FILTER,
    "a filter that keeps 10 %": FILTER,
    "a filter that keeps 50 %": FILTER,
    "a filter that keeps 99 %": FILTER,
    "a durable write of one vector": Limit(5.0),
    "the first search after a write": Limit(1.0, 3.0),
    "opening, to the first answer": Limit(1.0, 1_000.0),
    "memory after opening": Limit(2.0),
}
"""At 100,000 vectors and more."""
LEGIBLE = 100_000  # vectors below which what a call costs by itself hides the rest
_SINGLE = ("ms", "bytes per item")
_METRICS = ("query", "filter 1 %", "filter 50 %", "write", "search after a write", "opening")


def markdown(document: Document) -> str:
    """Return the report."""
    settings = document["settings"]
    about = (
        f"Medians; {settings['queries']} queries of each kind, {settings['trials']} trials. A ratio is the median over "
        "turns: how many times longer ours takes than the cheapest peer. Ours starts from the public methods of a "
        "collection; the peers have the vectors in memory, and the filtered items as a ready list. Limits are for "
        "100,000 vectors and more."
    )
    beside = (
        "In brackets the multiple that ours takes, below 1 where ours is faster. Milliseconds, but imports and bytes; "
        "opening goes from a new process to the first answer, imports included. All are exact but Chroma, whose only "
        "index is a graph."
    )
    parts = rows_with(document["rows"], part="engine"), rows_with(document["rows"], part="stores")
    return "\n\n".join(
        [
            "# Stores of vectors",
            about,
            table([["vectors", "task", "ours", "peer", "its figure", "ratio", "limit"], *_ratios(parts[0])]),
            table([["vectors", "task", "figure", "ours"], *_alone(parts[0]), *_recalls(parts[0])]),
            "## Beside other stores",
            beside,
            table([[*_HEAD, *_METRICS, "B an item", "recall"], *_stores(parts[1])]),
        ]
    )


_HEAD = ("vectors", "store", "import, items/s")


def _ratios(rows: Any) -> Iterator[list[str]]:
    for (items, task), methods in figures_by(rows, "items", "task").items():
        peers = {name: figures for name, figures in methods.items() if "ratio" in figures}
        if not peers:
            continue
        cheapest = max(peers, key=lambda name: peers[name]["ratio"])
        metric = next(metric for metric in _SINGLE if metric in methods[OURS])
        limit, beside = LIMITS.get(task), peers[cheapest]
        allowed = math.inf if limit is None or items < LEGIBLE else limit.ratio + limit.more / beside[metric]
        over = beside["ratio"] > allowed
        ratio = f"{peers[cheapest]['ratio']:.2f}"
        yield [
            f"{items:,}",
            task,
            f"{_short(methods[OURS][metric])} {'B' if metric != 'ms' else metric}",
            cheapest,
            _short(peers[cheapest][metric]),
            f"**{ratio}**" if over else ratio,
            "" if limit is None else str(limit),
        ]


def _alone(rows: Any) -> Iterator[list[str]]:
    for row in rows_with(rows, method=OURS):
        if row["metric"] not in (*_SINGLE, "recall"):
            yield [f"{row['items']:,}", row["task"], row["metric"], _short(row["value"])]


def _recalls(rows: Any) -> Iterator[list[str]]:
    for (items,), tasks in figures_by(rows_with(rows, metric="recall"), "items").items():
        yield [
            f"{items:,}",
            "all searches",
            "least recall",
            f"{min(figures['recall'] for figures in tasks.values()):.3f}",
        ]


def _stores(rows: Any) -> Iterator[list[str]]:
    for (items,), stores in figures_by(rows, "items").items():
        for name, figures in stores.items():
            start = [f"{items:,}", f"**{name}**" if name == OURS else name]
            cells = [_cell(figures, "import, rows/s", "import, ratio")]
            cells += [_cell(figures, f"{metric}, ms", f"{metric}, ratio") for metric in _METRICS]
            recalls = [figures.get(f"{metric}, recall") for metric in _METRICS[:2]]
            cells.append(_short(figures["bytes per item"]) if "bytes per item" in figures else "")
            cells.append(", ".join(f"{recall:.3f}" for recall in recalls if recall is not None))
            if "failed" in figures:
                cells[0] = f"{cells[0]} failed: {figures['failed']}".strip()
            yield [*start, *cells]


def _cell(figures: Mapping[str, Any], metric: str, ratio: str) -> str:
    if metric not in figures:
        return ""
    return f"{_short(figures[metric])} ({figures[ratio]:.2g})" if ratio in figures else _short(figures[metric])


def _short(value: float) -> str:
    """Return three significant digits, and whole numbers in full."""
    digits = max(0, 2 - math.floor(math.log10(abs(value)))) if value else 0
    return f"{value:,.{min(digits, 4)}f}"
