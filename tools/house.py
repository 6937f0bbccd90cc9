"""Prints the figures of a checkout, and what exceeds the limits that it must keep.

    python tools/house.py [DIR]                   a table of this checkout, or of the one in DIR
    python tools/house.py [DIR] --against OLD     the same with the figures of another checkout beside it
    python tools/house.py [DIR] --json            the figures as JSON
    python tools/house.py [DIR] --rooms           the files and lines of each room
    python tools/house.py [DIR] --files           the files to look at: one importer, few lines, a repeated name
    python tools/house.py [DIR] --check           print what exceeds a limit; exit 1 if anything does

``checkout.py`` defines the figures. Those of the last release are in ``tools/house.json``. The figures of RATCHET may
only fall, unless a line of the table in ``docs/decisions/house.md`` allows one a higher value and gives the reason.
"""

import argparse
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median_low

from checkout import FEW_LINES, HOUSES, MOST_LINES_OF_FUNCTION, OWN_LINES, SOURCES, Checkout, cycles, floors

TYPE_IGNORE = re.compile(r"#\s*type: ignore")
MOST_LINES_OF_FILE = 500
MOST_CLASSES_OF_LEARNER = 3
"""From a learner to its highest class of ours: deeper, a reader must hold several files in mind to follow one fit."""

PRODUCT = ("features", "index", "engine", "server", "crossview")
"""The folders that are installed."""
ALONE = f"source files with one importer and at most {OWN_LINES} lines"
RATCHET = (
    *(f"{house}: {figure}" for house in HOUSES for figure in ("rooms", "floors", "arrows")),
    *("source files with one importer", ALONE, "repeated names of source files", "type: ignore"),
    "lines of the product",
)
RELEASE, RISES = Path("tools/house.json"), Path("docs/decisions/house.md")


def figures(checkout: Checkout) -> dict[str, float]:
    """Return the figures of the table, by their names."""
    lines, functions = checkout.lines, [function.lines for function in checkout.functions if function.lines]
    files = [lines[path] for path in checkout.sources]
    tests = [lines[path] for path in checkout.tests]
    return {
        "source files": len(files),
        "source lines": sum(files),
        "lines of the product": sum(lines[path] for path in checkout.sources if path.parts[0] in PRODUCT),
        **{f"  {folder}": sum(lines[path] for path in lines if path.parts[0] == folder) for folder in SOURCES},
        "test files": len(tests),
        "test lines": sum(tests),
        "test lines per source line": round(sum(tests) / sum(files), 2),
        "median lines of a source file": median_low(files),
        "most lines of a source file": max(files),
        "most lines of a test file": max(tests, default=0),
        "source files with one importer": len(checkout.one_importer),
        ALONE: len(checkout.one_importer_few_lines),
        f"source files below {FEW_LINES} lines": len(checkout.short),
        "repeated names of source files": len(checkout.repeated),
        "files above the limit": sum(count > MOST_LINES_OF_FILE for count in lines.values()),
        "functions": len(functions),
        "median lines of a function": median_low(functions),
        "most lines of a function": max(functions),
        "functions above the limit": sum(count > MOST_LINES_OF_FUNCTION for count in functions),
        "most parameters of a public function": max(
            function.parameters for function in checkout.functions if function.public
        ),
        "most parameters of an estimator": max(
            [0, *(function.parameters for function in checkout.functions if function.estimator)]
        ),
        **{f"{house}: {figure}": value for house in HOUSES for figure, value in drawn(checkout, house).items()},
        "cycles of modules": len(cycles(checkout.imports)),
        "capabilities as class variables": len(checkout.capabilities),
        "deepest inheritance of the learners": max(checkout.depths.values(), default=0),
        "type: ignore": sum(len(TYPE_IGNORE.findall(text)) for text in (checkout.sources | checkout.tests).values()),
    }


def drawn(checkout: Checkout, house: str) -> dict[str, float]:
    """Return the figures of the drawing of the engine or of the server."""
    graph = checkout.drawing_of(house)
    return {
        "rooms": len(graph),
        "floors": max(floors(graph).values(), default=0),
        "arrows": sum(map(len, graph.values())),
        "cycles of rooms": len(cycles(graph)),
        "modules at its root": sum(path.parent == Path(house) for path in checkout.sources if path.stem != "__init__"),
    }


def excesses(checkout: Checkout) -> list[str]:
    """Return the violations of a limit, one line each."""
    long = {path: lines for path, lines in checkout.lines.items() if lines > MOST_LINES_OF_FILE}
    files = [f"{path}: {lines} lines, at most {MOST_LINES_OF_FILE}" for path, lines in long.items()]
    most = MOST_CLASSES_OF_LEARNER
    deep = [f"{name}: {depth} classes deep, at most {most}" for name, depth in checkout.depths.items() if depth > most]
    functions = [message for function in checkout.functions for message in function.excesses()]
    return [*rises(checkout), *files, *deep, *functions]


def rises(checkout: Checkout) -> Iterator[str]:
    """Yield a line for each figure of RATCHET above that of the last release and above what a decision allows."""
    if not (checkout.root / RELEASE).is_file():
        return
    now, release = figures(checkout), json.loads((checkout.root / RELEASE).read_text(encoding="utf-8"))
    decisions = checkout.root / RISES
    allowed = _allowed(decisions.read_text(encoding="utf-8")) if decisions.is_file() else {}
    for name in RATCHET:
        most = max(release[name], allowed.get(name, 0))
        if now[name] > most:
            yield f"{name}: {now[name]:,}, at most {most:,}; lower it, or give the value and the reason in {RISES}"


def _allowed(text: str) -> dict[str, float]:
    """Return the values of the table of a page, whose lines are | figure | value | reason |."""
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("|")]
    return {row[0]: float(row[1].replace(",", "")) for row in rows if row[0] in RATCHET}


def room_table(checkout: Checkout) -> str:
    """Return the files and lines of each room, as aligned columns."""
    rows = ([room, f"{files:,}", f"{lines:,}"] for room, (files, lines) in checkout.rooms.items())
    return _aligned([["", "files", "lines"], *rows])


def file_list(checkout: Checkout) -> str:
    """Return lines for files with one importer, for those of them with few lines, short files, and repeated names."""
    few = checkout.one_importer_few_lines
    return "\n".join(
        [
            *(f"one importer: {path}: {module}" for path, module in checkout.one_importer.items()),
            *(f"one importer and at most {OWN_LINES} lines: {path}: {module}" for path, module in few.items()),
            *(f"below {FEW_LINES} lines: {path}: {lines}" for path, lines in checkout.short.items()),
            *(f"repeated name: {name}: {' '.join(map(str, paths))}" for name, paths in checkout.repeated.items()),
        ]
    )


def table(columns: Mapping[str, Mapping[str, float]]) -> str:
    """Return the figures of one or several checkouts as aligned columns under the checkouts' names."""
    names = list(next(iter(columns.values())))
    rows = ([name, *(f"{column[name]:,}" for column in columns.values())] for name in names)
    return _aligned([["", *columns], *rows])


def _aligned(rows: list[list[str]]) -> str:
    """Return rows of cells as columns: the first to the left, the others to the right."""
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip() for row in rows
    )


def main() -> int:
    """Print the figures, the rooms, the files to look at, or what exceeds a limit; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=Path(__file__).resolve().parent.parent, metavar="DIR")
    parser.add_argument("--against", type=Path, metavar="OLD", help="another checkout, whose figures come first")
    parser.add_argument("--json", action="store_true", help="the figures as JSON, by checkout")
    parser.add_argument("--rooms", action="store_true", help="the files and lines of each room")
    parser.add_argument("--files", action="store_true", help="files with one importer, few lines or a repeated name")
    parser.add_argument("--check", action="store_true", help="print what exceeds a limit; exit 1 if any does")
    arguments = parser.parse_args()
    if arguments.rooms or arguments.files:
        checkout = Checkout(arguments.folder)
        print("\n\n".join([room_table(checkout)] * arguments.rooms + [file_list(checkout)] * arguments.files))
        return 0
    if arguments.check:
        lines = excesses(Checkout(arguments.folder))
        print("\n".join(lines) or "within the limits")
        return bool(lines)
    now, before = arguments.folder, arguments.against
    folders = {"before": before, "after": now} if before else {"now": now}
    columns = {name: figures(Checkout(folder)) for name, folder in folders.items()}
    print(json.dumps(columns, indent=2) if arguments.json else table(columns))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
