"""A model sees a content once in a home: other collections, and collections that are made again, get its kept rows."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
import tiny_models as tiny
from drawn import write_pictures

from crossview.engine.catalog.extractors import find_view
from crossview.engine.catalog.folder import CollectionFolder
from crossview.engine.collections.home import Home
from crossview.engine.values.item import IndexOptions, NewItem
from crossview.features.models import towers

pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
TEXTS = ("a red dog", "snow", "green")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return tiny.text_folder(tiny.picture_folder(tmp_path / "both", classes=("red", "green", "blue")))


@pytest.fixture
def home(tmp_path: Path, model: Path) -> Home:
    made = Home(tmp_path / "home")
    made.models.add("both", model)
    return made


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    write_pictures(tmp_path / "pictures", 2)
    return tmp_path / "pictures"


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The kinds of inputs that went through a model."""
    seen: list[str] = []
    for place, name, kind in ((towers, "row_of_picture", "picture"), (towers.TEXTS, "row", "text")):
        plain = getattr(place, name)
        monkeypatch.setattr(place, name, lambda *given, _plain=plain, _kind=kind: seen.append(_kind) or _plain(*given))
    return seen


def rows(home: Home, name: str, folder: Path, views: Sequence[str] = ("clip=onnx:both",)) -> list[np.ndarray]:
    """Return the rows of a new collection of a folder, by item, for each view."""
    with home.create(name, views) as collection:
        collection.index([folder], IndexOptions(workers=1))
        collection.items.put([NewItem(text, text=text) for text in TEXTS])
    with closing(CollectionFolder(home.path / name).open_catalog()) as catalog, catalog.read() as tx:
        return [tx.rows.get(find_view(tx, view.partition("=")[0])).rows for view in views]


def test_other_collections_get_the_rows_that_the_model_computed_once(
    home: Home, pictures: Path, runs: list[str]
) -> None:
    """They are equal to the bit, also in a collection that is made again, and of files with other names."""
    (computed,) = rows(home, "one", pictures)
    assert (runs.count("picture"), runs.count("text"), computed.shape) == (6, 3, (9, tiny.DIM))
    home.delete("one")
    moved = pictures.rename(pictures.with_name("moved"))
    for name in ("one", "two"):
        assert np.array_equal(rows(home, name, moved)[0], computed)
    assert len(runs) == 9


def test_each_output_has_its_rows(home: Home, pictures: Path, runs: list[str]) -> None:
    views = ("color", "clip=onnx:both", "classes=onnx:both:output=logits")
    first = rows(home, "one", pictures, views)
    assert runs.count("picture") == 12
    assert [one.shape[1] for one in first] == [64, tiny.DIM, 3]
    again = rows(home, "two", pictures, views)
    assert runs.count("picture") == 12
    assert all(map(np.array_equal, first, again))


def test_texts_that_get_a_view_later_have_kept_rows_as_well(home: Home, pictures: Path, runs: list[str]) -> None:
    (computed,) = rows(home, "one", pictures)
    with home.create("late", ["color"]) as collection:
        collection.items.put([NewItem(text, text=text) for text in TEXTS])
        collection.views.add("clip=onnx:both")
        collection.index([pictures], IndexOptions(workers=1))
    assert len(runs) == 9
    with closing(CollectionFolder(home.path / "late").open_catalog()) as catalog, catalog.read() as tx:
        late = tx.rows.get(find_view(tx, "clip")).rows
    assert np.array_equal(np.concatenate([late[3:], late[:3]]), computed)  # here, the texts came first


def test_a_model_takes_its_kept_rows_along_unless_another_has_them(
    home: Home, model: Path, pictures: Path, runs: list[str]
) -> None:
    home.models.add("same", model)
    rows(home, "one", pictures)
    assert len(kept(home)) == 1
    home.models.remove("both")
    assert len(kept(home)) == 1
    home.models.remove("same")
    assert kept(home) == []


def test_views_without_models_keep_nothing(home: Home, pictures: Path) -> None:
    """Their rows are quick to compute."""
    rows(home, "one", pictures, ["color", "gist"])
    assert kept(home) == []


def kept(home: Home) -> list[Path]:
    return list((home.path / ".models").glob("*.rows"))
