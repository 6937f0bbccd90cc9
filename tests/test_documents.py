"""What the documents at the root refer to exists; ``make docs`` checks those of docs/."""

import re
from pathlib import Path

import pytest

from crossview.engine.ingest import vectors

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = (
    *("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "CODE_OF_CONDUCT.md"),
    "examples/README.md",
)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```$", re.M | re.S)
HEADING = re.compile(r"^#+ (.*)$", re.M)
PATH = re.compile(r"`((?:\w[\w.-]*/)+[\w.-]*)`")
FOLDERS = ("features", "index", "engine", "server", "crossview", "benchmarks", "docs", "proto", "tests", "tools")


def prose(document: Path) -> str:
    """A document without its blocks of code."""
    return FENCE.sub("", document.read_text(encoding="utf-8"))


def anchors(document: Path) -> set[str]:
    """The names that GitHub gives to a document's headings."""
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in HEADING.findall(prose(document))}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_links_lead_somewhere(name):
    """To a file of this project and, where they name one, to a heading of it; links to other sites are not followed."""
    broken = []
    for link in LINK.findall(prose(ROOT / name)):
        path, _, anchor = link.partition("#")
        target = (ROOT / name).parent / (path or (ROOT / name).name)
        if "://" not in link and not (target.exists() and (not anchor or anchor in anchors(target))):
            broken.append(link)
    assert broken == []


@pytest.mark.parametrize("name", ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_files_that_are_named_exist(name):
    """In backquotes, from the root; what the history names may be gone."""
    named = {path for path in PATH.findall(prose(ROOT / name)) if path.startswith(FOLDERS)}
    assert sorted(path for path in named if not (ROOT / path).exists()) == []


def test_the_guide_of_vectors_names_the_batches_that_are_committed():
    """How many rows are in one commit, as the code has it."""
    guide = prose(ROOT / "docs" / "guides" / "vectors.md")
    sizes = f"{vectors._ROWS_AT_ONCE:,}", f"{vectors._BYTES_AT_ONCE >> 20} MiB"
    assert "batches of {}, or of {} ".format(*sizes) in " ".join(guide.split())
