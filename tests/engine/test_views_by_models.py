"""Collections with views by models work on without the model, and give one row to an item with two inputs."""

import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
import tiny_models as tiny
from drawn import encode

from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.values.errors import CrossviewError, InvalidInputError, ModelError
from crossview.engine.values.item import IndexOptions, ItemUpdate, NewItem
from crossview.engine.values.query import Query, SearchRequest
from crossview.features.models.stored import StoredModels

pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
COLORS = {"red": (0, 0, 255), "green": (0, 255, 0), "blue": (255, 0, 0)}
ONE = IndexOptions(workers=1)
PICTURES = {name: encode(np.full((20, 30, 3), color, np.uint8)) for name, color in COLORS.items()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of two towers in one space, in which the words for colours are near the colours."""
    return tiny.clip_folder(tmp_path_factory.mktemp("model") / "clip")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, folder: Path) -> Path:
    """A home with the model ``clip``, and the collection ``art`` of pictures of one colour each."""
    home = Home(tmp_path_factory.mktemp("made") / "home")
    home.models.add("clip", folder)
    with home.create("art", ["color", "clip=onnx:clip"]) as art:
        art.items.put([NewItem(name, image=picture) for name, picture in PICTURES.items()])
    return home.path


@pytest.fixture
def home(made: Path, tmp_path: Path) -> Home:
    return Home(shutil.copytree(made, tmp_path / "home"))


@pytest.fixture
def art(home: Home) -> Iterator[Collection]:
    with home.open("art") as opened:
        yield opened


def nearest(collection: Collection, **query: object) -> str:
    """Return the first hit of a query of the view of the model."""
    return collection.search(SearchRequest([Query("clip", **query)], k=1))[0].hits[0].key  # type: ignore[arg-type]


def row(collection: Collection, key: str) -> tuple[float, ...]:
    """Return the stored row of an item."""
    (found,) = collection.embed([Query("clip", key=key)], targets=["clip"], space="raw")
    return tuple(np.asarray(found.vector).round(5).tolist())


def test_pictures_and_words_find_pictures(art: Collection) -> None:
    for name, picture in PICTURES.items():
        assert nearest(art, image=picture) == name
    assert nearest(art, text="red") == "red"
    assert nearest(art, text="green") == "green"


def copied(home: Home, _: Path) -> Home:
    home.copy("art", "again").close()
    home.delete("art")
    home.rename("again", "art")
    home.models.remove("clip")
    return home


def exported(home: Home, place: Path) -> Home:
    home.export("art", place / "export")
    other = Home(place / "other")
    other.import_("art", place / "export").close()
    return other


def restored(home: Home, place: Path) -> Home:
    other = Home(place / "other")
    other.restore("art", home.backup("art", place / "art.db")).close()
    return other


@pytest.mark.parametrize("away", [copied, exported, restored])
def test_a_collection_loses_nothing_without_its_model(
    home: Home, tmp_path: Path, folder: Path, away: Callable[[Home, Path], Home]
) -> None:
    """Work without rows goes on, other work names the remedy, and a model under any name is found."""
    with home.open("art") as art:
        before, neighbor = {name: row(art, name) for name in COLORS}, nearest(art, key="red")
    other = away(home, tmp_path)
    assert other.models.all() == []
    with other.open("art") as art:
        assert {name: row(art, name) for name in COLORS} == before
        assert nearest(art, key="red") == neighbor
        assert nearest(art, vector=np.array(before["blue"], np.float32)) == "blue"
        assert art.items.update([ItemUpdate("red", labels=("warm",))]).updated == 1
        assert art.items.update([ItemUpdate("red", text="red")]).updated == 1
        assert art.items.put([NewItem("red", image=PICTURES["red"])]).unchanged == 1
        for query in ({"text": "red"}, {"image": PICTURES["red"]}):
            with pytest.raises(ModelError, match=r"home\.models\.add\('clip', 'FOLDER'\)"):
                nearest(art, **query)
        with pytest.raises(ModelError, match=r"home\.models\.add"):
            art.items.put([NewItem("white", image=encode(np.full((20, 30, 3), 255, np.uint8)))])
        assert art.count() == len(COLORS)
        other.models.add("another-name", folder)
        assert nearest(art, text="red") == "red"
        assert nearest(art, image=PICTURES["green"]) == "green"


def test_known_files_are_indexed_without_the_model(home: Home, tmp_path: Path) -> None:
    """An unchanged file needs no row, nor does a moved one."""
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    for name, picture in PICTURES.items():
        (pictures / f"{name}.png").write_bytes(picture)
    with home.create("files", ["clip=onnx:clip"]) as files:
        assert files.index([pictures], ONE).added == 3
        home.models.remove("clip")
        assert files.index([pictures], ONE).unchanged == 3
        (pictures / "red.png").rename(pictures / "moved.png")
        assert files.index([pictures], ONE).moved == {"pictures/red.png": "pictures/moved.png"}
        assert nearest(files, key="pictures/moved.png") in ("pictures/blue.png", "pictures/green.png")


def captions(home: Home, pictures: Path, *, twice: bool) -> Collection:
    """Index pictures with captions, that of another colour for red: at once, or after the pictures."""
    collection = home.create("files", ["clip=onnx:clip"])
    if twice:
        collection.index([pictures], ONE)
    (pictures / "captions.csv").write_text("image,text\nred.png,green\n")
    collection.index([pictures], IndexOptions(workers=1, captions=pictures / "captions.csv"))
    return collection


def put_together(home: Home, pictures: Path) -> Collection:
    collection = home.create("files", ["clip=onnx:clip"])
    collection.items.put([NewItem("pictures/red.png", image=(pictures / "red.png").read_bytes(), text="green")])
    return collection


def put_picture_first(home: Home, pictures: Path) -> Collection:
    collection = home.create("files", ["clip=onnx:clip"])
    collection.items.put([NewItem("pictures/red.png", image=(pictures / "red.png").read_bytes())])
    collection.items.put([NewItem("pictures/red.png", text="green")])
    return collection


def put_text_first(home: Home, pictures: Path) -> Collection:
    collection = home.create("files", ["clip=onnx:clip"])
    collection.items.put([NewItem("pictures/red.png", text="green")])
    collection.items.put([NewItem("pictures/red.png", image=(pictures / "red.png").read_bytes())])
    return collection


def annotate(home: Home, pictures: Path) -> Collection:
    collection = home.create("files", ["clip=onnx:clip"])
    collection.index([pictures], ONE)
    collection.items.update([ItemUpdate("pictures/red.png", text="green")])
    return collection


def add_the_view_later(home: Home, pictures: Path) -> Collection:
    """Texts are placed when another view is fitted, before the next indexing reads the pictures again."""
    collection = home.create("files", ["color", "text"])
    (pictures / "captions.csv").write_text("image,text\nred.png,green\ngreen.png,a green\nblue.png,a green dog\n")
    collection.index([pictures], IndexOptions(workers=1, captions=pictures / "captions.csv"))
    collection.views.add("clip=onnx:clip")
    collection.views.fit([], views=["text"], refit=True)
    collection.index([pictures], ONE)
    return collection


@pytest.mark.parametrize(
    "way",
    [
        lambda home, pictures: captions(home, pictures, twice=False),
        lambda home, pictures: captions(home, pictures, twice=True),
        *(put_together, put_picture_first, put_text_first, annotate, add_the_view_later),
    ],
)
def test_the_row_of_an_item_with_both_is_that_of_its_picture(
    home: Home, art: Collection, tmp_path: Path, way: Callable[[Home, Path], Collection]
) -> None:
    """Picture and text come in either order; the text of an item without a picture is its row."""
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    for name, picture in PICTURES.items():
        (pictures / f"{name}.png").write_bytes(picture)
    with way(home, pictures) as collection:
        assert row(collection, "pictures/red.png") == row(art, "red")
        collection.items.put([NewItem("words", text="green")])
        assert row(collection, "words") != row(art, "red")
        assert nearest(collection, text="green") in ("words", "pictures/green.png")


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ("x=onnx", "needs the name of each model, such as onnx:NAME"),
        ("x=onnx:nothing", "no model 'nothing'; there are: clip"),
        ("x=onnx:/etc/passwd", "no model '/etc/passwd'"),
        ("x=onnx:../.models/clip", "no model '../.models/clip'"),
        ("x=onnx:https", "no model 'https'"),
        ("x=onnx:clip:digest=00", "no parameter 'digest'; it has: model, output"),
        ("x=onnx:clip:dim=2", "no parameter 'dim'"),
        ("x=onnx:clip:inputs=[]", "no parameter 'inputs'"),
        ("x=onnx:clip:output=hidden", "no other output 'hidden'; it has none"),
        ("x=onnx:clip:https://example.com/m.onnx", "write parameters as name:key=value"),
    ],
)
def test_a_view_names_a_registered_model_and_nothing_else(art: Collection, spec: str, reason: str) -> None:
    with pytest.raises(CrossviewError) as caught:
        art.views.add(spec)
    assert reason in str(caught.value)
    assert len(art.views()) == 2


def change(copy: Path, statement: str, *values: object) -> Path:
    """Return a copy with changed content, which its checksum does not show."""
    changed = copy.with_name("changed.db")
    with closing(sqlite3.connect(copy)) as database, database:
        database.execute(statement, values)
    with closing(sqlite3.connect(copy)) as database:
        database.execute("VACUUM INTO ?", [str(changed)])
    return changed


@pytest.mark.parametrize(
    "wrong",
    [
        {"digest": "short"},
        {"digest": 5},
        {"model": "../x"},
        {"dim": 5},
        {"dim": "4"},
        {"inputs": []},
        {"inputs": "image"},
        {"inputs": ["sound"]},
        {"inputs": None},
        {"more": 1},
    ],
)
def test_a_copy_with_other_parameters_is_refused(home: Home, tmp_path: Path, wrong: dict[str, object]) -> None:
    copy = home.backup("art", tmp_path / "art.db")
    with home.open("art") as art:
        params = json.dumps({**art.views()[1].params, **wrong})
    copy = change(copy, "UPDATE views SET params = ? WHERE name = 'clip'", params)
    with pytest.raises(InvalidInputError, match="view 'clip'"):
        home.restore("again", copy)


def test_a_copy_that_states_other_inputs_than_its_model_makes_no_row(home: Home, tmp_path: Path) -> None:
    copy = home.backup("art", tmp_path / "art.db")
    inputs = "json_set(params, '$.inputs', json('[\"image\"]'))"
    copy = change(copy, f"UPDATE views SET params = {inputs} WHERE name = 'clip'")
    with home.restore("again", copy) as again, pytest.raises(ModelError, match="states other inputs"):
        nearest(again, image=PICTURES["red"])


def test_the_users_of_a_model_are_its_views(home: Home) -> None:
    home.copy("art", "again").close()
    with home.open("again") as again:
        again.views.add("second=onnx:clip")
    home.create("others", ["color"]).close()
    (home.path / "broken").mkdir()
    (home.path / "broken" / "catalog.db").write_bytes(b"x" * 4096)
    assert home.models.users("clip") == {"again": ["clip", "second"], "art": ["clip"]}


def test_a_view_reads_the_manifest_of_its_own_model_first(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(3):
        shutil.copy(home.path / ".models/clip.json", home.path / f".models/a{number}.json")
    read, find = [], StoredModels.find
    monkeypatch.setattr(StoredModels, "find", lambda self, name: read.append(name) or find(self, name))
    with home.open("art") as art:
        nearest(art, text="red")
        nearest(art, image=PICTURES["red"])
    assert read == ["clip"]
