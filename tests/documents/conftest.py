"""Commands that have their imports already, and the stages that several documents share and that are made once."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from play import DEMO, TOUR
from preparations import copy_of, write_attributes
from quick_commands import quick_commands
from session import Session


@pytest.fixture(scope="session")
def commands() -> Iterator[Path]:
    """The folder of the command ``crossview`` whose process has its imports already."""
    with quick_commands() as folder:
        yield folder


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory, commands: Path) -> Path:
    """The folder in which the first line of several documents ran; its output is in a file."""
    folder = tmp_path_factory.mktemp("demo")
    with Session(folder, commands, {}) as session:
        session.shell(DEMO)
    (folder / "output.txt").write_text(session.output)
    return folder


@pytest.fixture(scope="session")
def toured(tmp_path_factory: pytest.TempPathFactory, commands: Path, demo: Path) -> Path:
    """The folder of a reader who took the tour."""
    folder = tmp_path_factory.mktemp("toured")
    copy_of(demo / "tour", folder / "tour")
    write_attributes(folder)
    with Session(folder, commands, {}) as session:
        session.shell(TOUR)
    return folder
