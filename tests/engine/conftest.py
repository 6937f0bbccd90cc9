"""Small collections for the engine's tests: pictures of squares, dots and noise, drawn from a seed."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from drawn import CLASSES, VIEWS, draw, encode, numbered, write_pictures

from engine.collection import Collection
from engine.home import Home
from engine.item import IndexOptions, NewItem


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    write_pictures(tmp_path / "pictures", 6)
    return tmp_path / "pictures"


@pytest.fixture
def collection(home: Home, pictures: Path) -> Iterator[Collection]:
    """18 pictures in three classes, with colours and words, indexed with labels."""
    with home.create("small", VIEWS) as made:
        made.index([pictures], IndexOptions(labels="folder", workers=1))
        yield made


@pytest.fixture
def vectors_only(home: Home) -> Callable[[int], Collection]:
    """A factory of collections of the colour view whose items are ready rows with known answers."""

    def make(count: int) -> Collection:
        made = home.create("rows", ["color"])
        made.import_items([numbered(number) for number in range(count)])
        return made

    return make


@pytest.fixture
def three(home: Home) -> Iterator[Collection]:
    """18 labelled pictures in three classes, with colours, gist and words."""
    drawn = [(label, number) for label in CLASSES for number in range(6)]
    with home.create("three", ["color", "gist", "sift:words=8"]) as made:
        made.fit_views([encode(draw(*one)) for one in drawn], workers=1)
        made.import_items([NewItem(f"{one[0]}/{one[1]}", image=encode(draw(*one)), labels=(one[0],)) for one in drawn])
        yield made
