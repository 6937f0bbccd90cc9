"""Drawn pictures in folders, their collection, and a bundle of its views."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from photographs import encoded, photograph

from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.publishing.publication import PublishRequest
from crossview.engine.publishing.publish import publish
from crossview.engine.values.item import IndexOptions

FOLDERS = {"cat": 9, "dog": 6, "owl": 3}


@pytest.fixture(scope="package")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the folder ``photos``: 18 pictures with three labels, and two bad ones."""
    folder = tmp_path_factory.mktemp("spread")
    seed = 0
    for name, count in FOLDERS.items():
        (folder / "photos" / name).mkdir(parents=True)
        for number in range(count):
            seed += 1
            (folder / "photos" / name / f"{number}.jpg").write_bytes(encoded(photograph(seed, (96, 72))))
    (folder / "photos" / "dog" / "bad.jpg").write_bytes(b"no picture")
    (folder / "photos" / "owl" / "empty.png").write_bytes(b"")
    (folder / "photos" / "owl" / "notes.txt").write_text("no picture, either")
    (folder / "photos" / ".hidden.jpg").write_bytes(b"")
    (folder / "photos" / "@eaDir").mkdir()
    (folder / "photos" / "@eaDir" / "SYNOPHOTO_THUMB_M.jpg").write_bytes(b"")
    return folder


@pytest.fixture(scope="package")
def home(place: Path) -> Home:
    """The home beside the pictures."""
    return Home(place / "home")


@pytest.fixture(scope="package")
def indexed(place: Path, home: Home) -> Iterator[Collection]:
    """The collection of the pictures, by crossview index, with codebooks; its bundle is published as ``pets``."""
    with home.create("pets", ["color", "sift:words=8", "gist"]) as made:
        report = made.index([place / "photos"], IndexOptions(labels="folder", workers=1))
        assert len(report.failures) == 2
        publish(made, PublishRequest(to=str(place / "bundles")))
        yield made
