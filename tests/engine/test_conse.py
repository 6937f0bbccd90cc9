"""Pictures by words with two models that share no space: the view conse, alone and beside learned pairs."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import tiny_models as tiny
from drawn import CLASSES, draw, encode

from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.values.errors import CrossviewError, ModelError
from crossview.engine.values.item import IndexOptions, NewItem
from crossview.engine.values.query import Query, SearchRequest
from crossview.engine.values.recipe import Recipe
from crossview.features.conse import Conse
from crossview.features.decode import decode

pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
NAMES = ("red", "green, leaf", "dog")
"""The classes of the model of pictures, one for each colour channel; the first words of a line name a class."""
PICTURES = {name: encode(draw(name, 0)) for name in CLASSES}
NEW = {"pictures": "looks", "texts": "words", "digest": "0" * 64, "texts_digest": "1" * 64, "dim": tiny.DIM}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a model of pictures, whose classes have names, one of texts, and one of both."""
    folder = tmp_path_factory.mktemp("models")
    home = Home(folder / "home")
    home.models.add("looks", tiny.picture_folder(folder / "looks", dim=3, classes=NAMES))
    (folder / "words").mkdir()
    home.models.add("words", tiny.text_folder(folder / "words"))
    home.models.add("clip", tiny.clip_folder(folder / "clip"))
    return home.path


@pytest.fixture
def home(made: Path, tmp_path: Path) -> Home:
    return Home(shutil.copytree(made, tmp_path / "home"))


@pytest.fixture
def art(home: Home) -> Iterator[Collection]:
    """A collection of pictures without captions."""
    with home.create("art", ["looks=onnx:looks", "names=conse:looks:words:temperature=2"]) as made:
        made.items.put([NewItem(name, image=picture) for name, picture in PICTURES.items()])
        yield made


def row(collection: Collection, view: str, **query: object) -> np.ndarray:
    """Return the row of a query, of unit length."""
    return collection.embed([Query(view, **query)], targets=[view], space="raw")[0].vector  # type: ignore[arg-type]


def test_rows_are_mean_vectors_of_names_by_the_probabilities_of_a_picture() -> None:
    """They follow the docstring, with the logits and the vectors given."""
    generator = np.random.default_rng(0)
    names, logits = generator.normal(size=(5, tiny.DIM)).astype(np.float32), generator.normal(size=5)

    class Model:
        manifest = type("", (), {"logits": "logits"})

    class Towers:
        name = "looks"

        def find(self) -> type:
            return Model

        def row(self, sample: object, output: str = "") -> np.ndarray:
            return names[0] + 1 if isinstance(sample, str) else logits.astype(np.float32)

    view = Conse(**NEW, temperature=2.0).with_names(names)
    view.towers = (Towers(), Towers())  # type: ignore[assignment]
    weights = np.exp(logits / 2) / np.exp(logits / 2).sum()
    np.testing.assert_allclose(view.row(object()), weights @ names - names.mean(axis=0), rtol=1e-5)
    np.testing.assert_allclose(view.row("a word"), names[0] + 1 - names.mean(axis=0), rtol=1e-6)


def test_words_find_pictures_that_have_no_caption(art: Collection) -> None:
    """The word for a class is nearest to the picture of the class, and the view states its models."""
    (hits,) = art.search(SearchRequest([Query("names", text="red")], k=3))
    assert hits.hits[0].key == "red"
    assert {view.name: view.inputs for view in art.views()}["names"] == ("image", "text")
    assert row(art, "names", image=PICTURES["red"]) == pytest.approx(row(art, "names", key="red"), abs=1e-6)


def test_the_vectors_of_names_are_stored_with_the_view(art: Collection, home: Home, tmp_path: Path) -> None:
    """A copy of the collection has them, and a view that is added later gets its own."""
    names = row(art, "names", image=PICTURES["green"])
    with home.copy("art", "second") as copy:
        assert np.array_equal(row(copy, "names", image=PICTURES["green"]), names)
    art.views.add("sharp=conse:looks:words:temperature=0.5")
    write(tmp_path / "pictures")
    art.index([tmp_path / "pictures"], IndexOptions(workers=1))
    assert not np.allclose(row(art, "sharp", image=PICTURES["green"]), names)


def write(folder: Path) -> None:
    folder.mkdir()
    for name, picture in PICTURES.items():
        (folder / f"{name}.png").write_bytes(picture)


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ("x=conse", "needs the name of each model, such as conse:PICTURE_MODEL:TEXT_MODEL"),
        ("x=conse:looks", "needs the name of each model"),
        ("x=conse:words:looks", "'words' names no classes: its folder needs classes.txt"),
        ("x=conse:looks:looks", "'looks' has no tower for texts"),
        ("x=conse:looks:words:temperature=0", "temperature must be a number above 0, up to 1000, not 0"),
        ("x=conse:looks:words:temperature=nan", "temperature must be a number above 0"),
        ("x=conse:looks:words:temperature=hot", "temperature must be a number, not 'hot'"),
        ("x=conse:looks:words:dim=3", "no parameter 'dim'; it has: pictures, texts, temperature, rows"),
        ("x=conse:looks:nothing", "no model 'nothing'; there are: clip, looks, words"),
        ("x=onnx:looks:rows=text", "rows can come from image, not from text"),
        ("x=onnx:words:rows=sound", "rows of items can come from image or text, not from 'sound'"),
    ],
)
def test_a_wrong_spec_names_the_reason(art: Collection, spec: str, reason: str) -> None:
    with pytest.raises(CrossviewError, match=r".") as caught:
        art.views.add(spec)
    assert reason in str(caught.value)


def test_a_fit_is_refused_and_a_view_without_names_says_what_to_do(art: Collection) -> None:
    """Items teach it nothing, so a refit changes no row."""
    with pytest.raises(CrossviewError, match="view 'names' learns nothing"):
        art.views.fit([PICTURES["red"]] * 3, ["names"], refit=True)
    view = Conse(**NEW)
    assert not view.fitted
    with pytest.raises(ModelError, match="delete it, and add it again"):
        view.row(decode(PICTURES["red"]).image)
    with pytest.raises(ValueError, match=r"shape \(2, 3\), not \(classes, 4\)"):
        view.load_state({"names": np.zeros((2, 3), np.float32)})


def test_rows_from_texts_leave_pictures_to_queries(home: Home) -> None:
    """With rows=text only texts describe items; a picture can still be a query."""
    with home.create("texts", ["clip=onnx:clip:rows=text", "color"]) as made:
        made.items.put([NewItem("both", image=PICTURES["red"], text="green"), NewItem("bare", image=PICTURES["red"])])
        (found,) = made.search(SearchRequest([Query("clip", image=PICTURES["green"])], k=9, space="raw"))
        assert [hit.key for hit in found.hits] == ["both"]


def test_the_default_keeps_the_space_of_words(home: Home) -> None:
    """The views of one space are found by default; a text asks once in this space, by its own view."""
    views = ["looks=onnx:looks", "names=conse:looks:words", "captions=onnx:words"]
    with home.create("captioned", views) as made:
        words = ("red dog", "green snow", "red snow", "green dog")
        made.items.put(
            [NewItem(f"{n}", image=encode(draw(list(CLASSES)[n % 3], n)), text=words[n % 4]) for n in range(40)]
        )
        trained = made.train(Recipe())
        assert trained.settings["shared"] == ["captions", "names"]
        (fused,) = made.search(SearchRequest([Query(text="red")], k=3))
        assert "looks" in fused.target
        plain = made.train(Recipe(views=("looks", "captions")), space="plain")
        assert "shared" not in plain.settings


def test_a_text_has_no_match_in_a_view_that_pictures_calibrated(home: Home) -> None:
    """Pictures were the queries of the calibration, so a match of a text would mean nothing."""
    generator = np.random.default_rng(0)
    shown = generator.normal(size=(150, 3)).astype(np.float32)
    names = np.hstack([shown, shown[:, :1]]) + 0.1 * generator.normal(size=(150, tiny.DIM)).astype(np.float32)
    with home.create("many", ["looks=onnx:looks", "names=conse:looks:words"]) as made:
        made.items.put([NewItem(f"{n}", rows={"looks": shown[n], "names": names[n]}) for n in range(150)])
        made.train(Recipe())
        (by_picture,) = made.search(SearchRequest([Query("names", image=PICTURES["red"])], targets=["looks"], k=3))
        (by_text,) = made.search(SearchRequest([Query("names", text="red")], targets=["looks"], k=3))
        (fused,) = made.search(SearchRequest([Query(text="red")], k=3))
        assert all(hit.match is not None for hit in by_picture)
        assert all(hit.match is None for hit in (*by_text, *fused))


def test_words_for_what_no_picture_shows_are_doubtful(home: Home) -> None:
    """A list by words states whether the nearest pictures are nearer than chance would have it, at every door."""
    with home.create("art", ["names=conse:looks:words:temperature=0.1"]) as art:
        art.items.put(
            [NewItem(f"{name}/{n}", image=encode(draw(name, n))) for name in ("red", "green") for n in range(6)]
        )
        doubtful = {word: art.search(text=word)[0].is_doubtful for word in ("red", "green", "dog")}
    assert doubtful == {"red": False, "green": False, "dog": True}
