"""Notebooks of the documents: executed, and their outputs compared with those that are stored.

PYTHONPATH=tests/documents python tests/documents/notebooks.py NOTEBOOK ...    store the outputs of a run
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from comparing import not_printed
from lxml import html

_PROGRAM = (
    "import sys, nbformat; from nbclient import NotebookClient; book = nbformat.read(sys.argv[1], 4); "
    "NotebookClient(book, timeout=600, kernel_name='python3').execute(cwd=sys.argv[2]); "
    "nbformat.write(book, sys.argv[2] + '/executed.ipynb')"
)
_BLOCKS = "p", "tr", "figcaption", "h1", "h2", "h3", "h4", "li", "div", "td", "th"


def cells(path: Path) -> list[dict[str, Any]]:
    """Return the cells of code of a notebook."""
    found: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in found if cell["cell_type"] == "code"]


def execute(path: Path, folder: Path) -> Path:
    """Run a notebook in a fresh kernel and return the executed one; raises AssertionError if a cell fails.

    A separate process keeps the warnings of Jupyter out of the tests.
    """
    environment = {**os.environ, "TMPDIR": str(folder), "IPYTHONDIR": str(folder), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(path), str(folder)],
        capture_output=True,
        text=True,
        env=environment,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return folder / "executed.ipynb"


def difference(stored: Path, executed: Path) -> str:
    """Return the first line of a stored output that a run does not show, in its cell, or "".

    Numbers agree as in other outputs of the documents. Each cell shows as many pictures.
    """
    for number, (before, after) in enumerate(zip(cells(stored), cells(executed), strict=True)):
        shown = iter([line for output in after["outputs"] for line in _text(output)])
        wanted = "\n".join(line for output in before["outputs"] for line in _text(output))
        if missing := not_printed(wanted, shown):
            return f"cell {number}: {missing}"
        counts = [sum(map(_pictures, cell["outputs"])) for cell in (before, after)]
        if counts[0] != counts[1]:
            return f"cell {number}: {counts[0]} pictures are stored, {counts[1]} shown"
    return ""


def _text(output: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines that a person reads of an output, except the date when a collection was made."""
    data = output.get("data", {})
    if "text/html" not in data:
        yield from "".join(output.get("text", data.get("text/plain", ""))).splitlines()
        return
    page = html.fromstring("".join(data["text/html"]))
    for style in page.xpath("//style"):
        style.drop_tree()
    for element in page.iter(*_BLOCKS):
        element.tail = f"{element.tail or ''}\n"
    yield from (line for line in page.text_content().splitlines() if line.strip() and "created" not in line)


def _pictures(output: Mapping[str, Any]) -> int:
    data = output.get("data", {})
    return "".join(data.get("text/html", "")).count("<img") + any(kind.startswith("image/") for kind in data)


def store(path: Path, executed: Path) -> None:
    """Write the outputs of a run into a notebook: one form of each, which names no folder of this machine."""
    book = json.loads(path.read_text(encoding="utf-8"))
    found = iter(cells(executed))
    for cell in book["cells"]:
        if cell["cell_type"] == "code":
            cell["execution_count"], cell["outputs"] = None, next(found)["outputs"]
            for output in cell["outputs"]:
                if "execution_count" in output:
                    output["execution_count"] = None
                if output.get("data", {}).keys() & {"text/html", "image/png"}:
                    output["data"].pop("text/plain", None)
    path.write_text(json.dumps(book, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as folder:
            store(Path(name), execute(Path(name).resolve(), Path(folder)))
