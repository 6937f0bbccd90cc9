"""All blocks of each document run, in order, and print what it states."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import messy_tree
import pytest
from open_homes import copy_home
from play import play
from stages import STAGES
from terminal import result_of

from crossview.server.edge.listen import RunningServer
from crossview.server.wire.settings import ServerSettings

pytestmark = pytest.mark.long
Played = Callable[[str], Path]


@pytest.fixture
def played(tmp_path: Path, commands: Path, demo: Path, toured: Path) -> Played:
    """Run a document and return the folder that it leaves."""

    def run(document: str) -> Path:
        play(document, STAGES[document], tmp_path / "work", commands, demo, toured)
        return tmp_path / "work"

    return run


@pytest.mark.parametrize(
    "document", sorted(STAGES.keys() - {f"docs/guides/{name}.md" for name in ("changes", "metadata")})
)
def test_the_blocks_run(document: str, played: Played) -> None:
    """They print what the document states, and each search with --out draws a picture."""
    for drawn in played(document).glob("*.png"):
        assert drawn.read_bytes().startswith(b"\x89PNG")


def test_the_report_of_changes_is_complete(played: Played) -> None:
    """Its page has all pictures, each with a text, and needs no other address."""
    page = (played("docs/guides/changes.md") / "why" / "index.html").read_text(encoding="utf-8")
    assert page.count("<img ") == page.count('alt="') >= 4
    assert "://" not in page


def test_metadata_of_files_are_those_that_were_written(played: Played, tmp_path: Path) -> None:
    """After the guide, each picture of the tree has all of its facts."""
    folder = played("docs/guides/metadata.md")
    facts = messy_tree.build(tmp_path / "again")
    listed = result_of("list", "trip", "--where", "file exists", "--limit", 1000, "--home", folder / "home")
    assert len(listed) > 10
    for item in listed:
        stated = facts.metadata.get(item["key"].removeprefix("PICTURES/"), {})
        assert item["file"].items() >= stated.items()


def test_the_guide_of_searches_runs_through_a_server(tmp_path: Path, commands: Path, demo: Path, toured: Path) -> None:
    """The same lines and programs run with the address of a server instead of the home."""
    home = copy_home(toured / "tour", tmp_path / "served") / "mine"
    document = "docs/guides/search.md"
    with RunningServer(ServerSettings(home=home, port=0)) as running:
        here = 'crossview.open("art", home="tour/mine")'
        there = f'crossview.connect("{running.address}").open("art")'
        served = replace(STAGES[document], replaced={here: there})
        play(document, served, tmp_path / "work", commands, demo, toured, {"CROSSVIEW_SERVER": running.address})
