"""Small collections for the engine's tests: pictures of squares, dots and noise, drawn from a seed."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from drawn import CLASSES, VIEWS, draw, encode, numbered
from once import Once

from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.values.item import IndexOptions, NewItem


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


@pytest.fixture(scope="session")
def once(tmp_path_factory: pytest.TempPathFactory) -> Once:
    """Collections that are made once and copied for each test."""
    return Once(tmp_path_factory.mktemp("once"))


@pytest.fixture
def pictures(tmp_path: Path, once: Once) -> Path:
    once.copy_pictures(tmp_path / "pictures")
    return tmp_path / "pictures"


@pytest.fixture
def collection(home: Home, once: Once, pictures: Path) -> Iterator[Collection]:
    """18 pictures in three classes, with colours and words, indexed with labels."""
    with once.copy_of_pictures(home, indexed, pictures) as made:
        yield made


@pytest.fixture
def vectors_only(home: Home, once: Once) -> Callable[[int], Collection]:
    """A factory of collections of the colour view whose items are ready rows with known answers."""
    return lambda count: once.copy(home, rows, count)


@pytest.fixture
def three(home: Home, once: Once) -> Iterator[Collection]:
    """18 labelled pictures in three classes, with colours, gist and words."""
    with once.copy(home, three_views) as made:
        yield made


def indexed(home: Home, pictures: Path) -> Collection:
    made = home.create("small", VIEWS)
    made.index([pictures], IndexOptions(labels="folder", workers=1))
    return made


def rows(home: Home, count: int) -> Collection:
    made = home.create("rows", ["color"])
    made.items.put([numbered(number) for number in range(count)])
    return made


def three_views(home: Home) -> Collection:
    drawn = [(label, number) for label in CLASSES for number in range(6)]
    made = home.create("three", ["color", "gist", "sift:words=8"])
    made.views.fit([encode(draw(*one)) for one in drawn], workers=1)
    made.items.put([NewItem(f"{one[0]}/{one[1]}", image=encode(draw(*one)), labels=(one[0],)) for one in drawn])
    return made
