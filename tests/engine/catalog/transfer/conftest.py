"""A collection that has some of everything, and its export."""

import shutil
from pathlib import Path

import mutations
import pytest

from crossview.engine.collections.home import Home


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the collection ``base``, which has some of everything, and its export."""
    folder = tmp_path_factory.mktemp("made")
    home = Home(folder / "home")
    mutations.make(home)
    with home.open("base") as base:
        base.items.delete(["a/03"])
    home.export("base", folder / "export")
    return folder


@pytest.fixture
def export(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made / "export", tmp_path / "export"))
