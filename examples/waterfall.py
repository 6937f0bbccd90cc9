"""Draws the spans of one trace as a waterfall, in SVG.

    python examples/waterfall.py traces.jsonl [TRACE_ID] > trace.svg

The file is that of `crossview serve --trace-file`. Without an id, it draws the last trace with a search.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from datetime import datetime
from html import escape
from pathlib import Path
from typing import Any, TextIO

Span = dict[str, Any]
WIDTH, NAMES, LINE = 960, 330, 24
"""Pixels of the drawing, of the column of names, and of a line."""
SHADES = ("#1f4e79", "#2e75b6", "#5b9bd5", "#9dc3e6", "#c9dff2")
"""Colours by depth."""


def below(spans: Sequence[Span], root: Span, depth: int = 0) -> Iterator[tuple[Span, int]]:
    """Yield a span and all spans below it with their depth, in the order of their starts."""
    yield root, depth
    for one in sorted(spans, key=lambda span: span["start"]):
        if one["parent_id"] == root["span_id"]:
            yield from below(spans, one, depth + 1)


def drawn(lines: Sequence[tuple[Span, int]]) -> Iterator[str]:
    """Yield the elements of the drawing."""
    whole = lines[0][0]
    began, scale = datetime.fromisoformat(whole["start"]), (WIDTH - NAMES - 90) / max(whole["ms"], 1e-3)
    height = LINE * len(lines) + 12
    box, font = f'viewBox="0 0 {WIDTH} {height}"', 'font-family="sans-serif" font-size="13"'
    yield f'<svg xmlns="http://www.w3.org/2000/svg" {box} {font}>'
    yield f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>'
    for number, (span, depth) in enumerate(lines):
        after = (datetime.fromisoformat(span["start"]) - began).total_seconds() * 1e3
        x, y, wide = NAMES + after * scale, 6 + LINE * number, max(span["ms"] * scale, 1.5)
        facts = [f"{name.rpartition('.')[2]} {value}" for name, value in span["attributes"].items() if depth]
        name = escape(", ".join([span["name"].rpartition("/")[2], *facts]))
        if number % 2:
            yield f'<rect y="{y}" width="{WIDTH}" height="{LINE}" fill="#f5f7fa"/>'
        yield f'<text x="{10 + 18 * depth}" y="{y + 16}" fill="#222222">{name}</text>'
        yield f'<rect x="{x:.1f}" y="{y + 5}" width="{wide:.1f}" height="14" fill="{SHADES[min(depth, 4)]}"/>'
        yield f'<text x="{x + wide + 5:.1f}" y="{y + 16}" fill="#555555">{span["ms"]:.2f} ms</text>'
    yield "</svg>"


def main(file: Path, trace: str = "", out: TextIO = sys.stdout) -> None:
    """Write the drawing of a trace."""
    spans = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    searches = [one["trace_id"] for one in spans if one["name"].endswith("SearchService/Search")]
    wanted = trace or (searches[-1] if searches else "")
    spans = [one for one in spans if one["trace_id"] == wanted]
    ids = {one["span_id"] for one in spans}
    roots = [one for one in spans if one["parent_id"] not in ids]
    if not roots:
        sys.exit(f"{file} has no trace {wanted or 'with a search'}")
    print(*drawn(list(below(spans, roots[0]))), sep="\n", file=out)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:3])
