"""Views by extractors of other packages are found by name, described without an import, and known without them."""

import json
import re
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from drawn import write_pictures
from packages import install

from crossview.engine.collections.home import Home
from crossview.engine.values.errors import ExtractorError, InvalidInputError, NotInstalledError
from crossview.engine.values.item import IndexOptions
from crossview.engine.values.query import Query, SearchRequest
from crossview.features.color import Color
from crossview.features.registry import extractor_class, extractor_names, package_of

POINTS = {
    "light": "more_views:Light",
    "gone": "more_views.gone:Gone",
    "plain": "more_views:plain",
    "other": "more_views:Light",
    "color": "more_views:Light",
    "placed": "more_views:Placed",
    "broken": "more_views:Broken",
    "wide": "more_views:Wide",
}
CODE = """
import numpy as np
from crossview.extractors import ImageExtractor, check_image

plain = 3

class Light(ImageExtractor):
    name, dim, steps, robust = "light", 3, ("l1",), True

    def row(self, image):
        return check_image(image).mean(axis=(0, 1)).astype(np.float32) + 1

class Placed(Light):
    name = "placed"

    def __init__(self, grid=4):
        self.grid = grid

class Broken(Light):
    name = "broken"

    def row(self, image):
        raise KeyError("weights")

class Wide(Light):
    name = "wide"

    def row(self, image):
        return np.zeros(4, np.float32)
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], None]]:
    """Return an installed package with extractors, and entry points that lead to none; call it to uninstall it."""
    site = tmp_path / "site"
    install(site, "more-views", "crossview.extractors", POINTS, CODE)
    monkeypatch.syspath_prepend(site)

    def uninstall() -> None:
        sys.path.remove(str(site))
        sys.modules.pop("more_views", None)

    yield uninstall
    sys.modules.pop("more_views", None)


@pytest.fixture
def home(tmp_path: Path, package: Callable[[], None]) -> Home:
    """A home with the collection ``art`` of nine pictures."""
    made = Home(tmp_path / "home")
    write_pictures(tmp_path / "pictures", 3)
    with made.create("art", ["color", "light"]) as art:
        assert art.index([tmp_path / "pictures"], IndexOptions(labels="folder", workers=1)).added == 9
    return made


def test_names_are_known_without_an_import(package: Callable[[], None]) -> None:
    """Names of crossview have precedence."""
    assert {"color", "light", "gone", "wide"} < set(extractor_names())
    assert (package_of("light"), package_of("color"), package_of("absent")) == ("more-views 1.2", "", "")
    assert extractor_class("color") is Color
    assert "more_views" not in sys.modules
    assert extractor_class("light").__name__ == "Light"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("gone", r"'gone' of the package more-views 1.2 cannot be loaded .*No module .*repair or upgrade the package"),
        ("plain", "'plain' of the package more-views 1.2 must be a subclass of ImageExtractor or TextExtractor"),
        ("other", "'other' of the package more-views 1.2 has the name 'light'"),
        ("placed", "'placed' of the package more-views 1.2 is not a sound extractor: .* only parameters by keyword"),
        ("light:grid=2", "extractor 'light' has no parameter 'grid'; it has none"),
        ("absent", "no extractor 'absent'; there are: .*gone.*light"),
    ],
)
def test_an_extractor_that_cannot_be_used_is_refused_at_once(
    tmp_path: Path, package: Callable[[], None], spec: str, message: str
) -> None:
    with pytest.raises(InvalidInputError, match=message):
        Home(tmp_path / "home").create("art", ["color", f"mine={spec}"])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("broken", r"extractor 'broken' failed \(KeyError: 'weights'\): report it to the authors .* more_views"),
        ("wide", r"extractor 'wide' breaks its contract: rows must be \(1, 3\) float32, not \(1, 4\) float32"),
    ],
)
@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.long)])
def test_wrong_rows_are_refused_and_nothing_is_stored(
    tmp_path: Path, package: Callable[[], None], name: str, message: str, workers: int
) -> None:
    """This process refuses them, and so do the processes that read the pictures of a folder."""
    write_pictures(tmp_path / "pictures", 1)
    with Home(tmp_path / "home").create("art", ["color", name]) as art:
        with pytest.raises(ExtractorError, match=message):
            art.index([tmp_path / "pictures"], IndexOptions(workers=workers))
        assert art.count() == 0


def test_a_collection_stays_open_without_the_package(home: Home, package: Callable[[], None], tmp_path: Path) -> None:
    """It lists its views and finds by stored rows as before; messages that need the extractor name the package."""
    picture = (tmp_path / "pictures" / "red" / "0.png").read_bytes()

    def found() -> list[tuple[str, float]]:
        with home.open("art") as art:
            (hits,) = art.search(SearchRequest([Query("light", key="pictures/red/0.png")], k=4))
            return [(hit.key, hit.distance) for hit in hits.hits]

    before = found()
    package()
    assert found() == before
    with home.open("art") as art:
        light = next(view for view in art.views() if view.name == "light")
        assert (light.extractor, light.dim, light.inputs, light.fitted) == ("light", 3, ("image",), True)
        art.search(SearchRequest([Query("color", image=picture)]))
        missing = "view 'light' needs the extractor 'light' of the package more-views 1.2, which is not installed"
        with pytest.raises(NotInstalledError, match=missing):
            art.search(SearchRequest([Query("light", image=picture)]))
        write_pictures(tmp_path / "pictures", 4)
        with pytest.raises(NotInstalledError, match=missing):
            art.index([tmp_path / "pictures"], IndexOptions(workers=1))
        art.views.delete("light")
        assert art.index([tmp_path / "pictures"], IndexOptions(workers=1)).added == 3


def test_a_description_imports_nothing(home: Home) -> None:
    sys.modules.pop("more_views", None)
    with home.open("art") as art:
        assert len(art.views()) == 2
        art.search(SearchRequest([Query("light", key="pictures/red/0.png")]))
    assert "more_views" not in sys.modules


STATED = {"package": "more-views 1.2", "inputs": ["image"], "steps": [], "robust": True, "learns_labels": False}


@pytest.mark.parametrize(
    ("packaged", "message"),
    [
        (None, "does not name the package"),
        ({**STATED, "package": "run this; now"}, "invalid name"),
        ({**STATED, "inputs": ["text"]}, "does not have the inputs"),
        ({**STATED, "inputs": ["sound"]}, "described wrongly"),
        ({**STATED, "steps": ["cca"]}, "described wrongly"),
        ({**STATED, "robust": 1}, "described wrongly"),
        ({**STATED, "more": 1}, "described wrongly"),
    ],
)
def test_an_untrusted_copy_cannot_describe_an_extractor_wrongly(
    home: Home, tmp_path: Path, packaged: dict[str, object] | None, message: str
) -> None:
    """The description of a view by a package is checked when a copy is restored."""
    copy = tmp_path / "art.db"
    home.backup("art", copy)
    whole = copy.read_bytes()
    copy.write_bytes(whole[: len(whole) // 16384 * 16384])  # SQLite's pages without the checksum behind them
    with closing(sqlite3.connect(copy)) as database, database:
        database.execute("UPDATE views SET packaged = ? WHERE name = 'light'", (packaged and json.dumps(packaged),))
    with pytest.raises(InvalidInputError, match=message):
        home.restore("again", copy)


def test_a_copy_needs_the_package_that_it_names(home: Home, package: Callable[[], None], tmp_path: Path) -> None:
    """The rows of a restored collection can therefore be checked."""
    home.backup("art", tmp_path / "art.db")
    package()
    with pytest.raises(NotInstalledError, match=re.escape("package more-views 1.2, which is not installed")):
        home.restore("again", tmp_path / "art.db")
    assert "again" not in home.names()
