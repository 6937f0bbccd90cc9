"""The documents name files that exist, and figures as the code has them; tools/style.py checks links."""

import re
from pathlib import Path

import pytest

from crossview.engine.catalog.ingest import vectors

ROOT = Path(__file__).resolve().parent.parent
FENCE = re.compile(r"^```.*?^```$", re.M | re.S)
PATH = re.compile(r"`((?:\w[\w.-]*/)+[\w.-]*)`")
FOLDERS = ("features", "index", "engine", "server", "crossview", "benchmarks", "docs", "proto", "tests", "tools")


def prose(document: Path) -> str:
    """Return a document without its blocks of code."""
    return FENCE.sub("", document.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_files_that_are_named_exist(name):
    """They are in backquotes, from the root; files that the history names may be gone."""
    named = {path for path in PATH.findall(prose(ROOT / name)) if path.startswith(FOLDERS)}
    assert sorted(path for path in named if not (ROOT / path).exists()) == []


def test_the_guide_of_vectors_names_the_batches_that_are_committed():
    """It states how many rows one commit has, as the code does."""
    guide = prose(ROOT / "docs" / "guides" / "vectors.md")
    sizes = f"{vectors._ROWS_AT_ONCE:,}", f"{vectors._BYTES_AT_ONCE >> 20} MiB"
    assert "batches of {}, or of {} ".format(*sizes) in " ".join(guide.split())
