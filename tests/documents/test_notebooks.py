"""The notebooks of the documents run, and show what they showed when they were stored."""

import json
import re
from pathlib import Path

import pytest
from blocks import ROOT
from notebooks import cells, difference, execute

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
IDS = [path.stem for path in NOTEBOOKS]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=IDS)
def test_notebooks_are_small_and_need_nothing_else(path: Path) -> None:
    """They have outputs and at least a title and an explanation of each step, and name no folder of a machine."""
    text = path.read_text(encoding="utf-8")
    assert len(text) < 200_000
    assert "<script" not in text
    assert not re.search(r"/(?:home|tmp|dev/shm)/", text)
    assert sum(bool(cell["outputs"]) for cell in cells(path)) >= len(cells(path)) // 2
    first = json.loads(text)["cells"][0]
    assert "".join(first["source"]).startswith("# ")


@pytest.mark.long
@pytest.mark.parametrize("path", NOTEBOOKS, ids=IDS)
def test_notebooks_show_what_is_stored(path: Path, tmp_path: Path) -> None:
    """Each cell shows it, in a fresh kernel."""
    assert difference(path, execute(path, tmp_path)) == ""
