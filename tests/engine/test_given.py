"""Programs give values in more than one form: pictures by their files, and one name instead of several."""

import dataclasses
import io
import pickle
from pathlib import Path

import numpy as np
import pytest
from drawn import draw, encode
from PIL import Image

from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.values.conditions.filter import Filter
from crossview.engine.values.errors import CrossviewError, ImageError, InvalidInputError
from crossview.engine.values.evaluation import EvaluationRequest
from crossview.engine.values.item import ItemUpdate, NewItem, one_or_several
from crossview.engine.values.query import Query, SearchRequest, SuggestRequest
from crossview.engine.values.recipe import Recipe
from crossview.features.decode import decode


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "red.png"
    path.write_bytes(encode(draw("red", 1)))
    return path


@pytest.mark.parametrize("form", [Path, str, lambda path: path.read_bytes(), lambda path: bytearray(path.read_bytes())])
def test_a_picture_is_given_by_its_bytes_or_its_file(file: Path, form):
    """A query and a new item take both; the file is read at once."""
    for given in (Query("color", image=form(file)), NewItem("red", image=form(file))):
        assert given.image == file.read_bytes()
        for same in (dataclasses.replace(given), pickle.loads(pickle.dumps(given))):  # noqa: S301 - its own bytes
            assert same == given


def test_a_picture_in_memory_is_that_of_its_file(file: Path):
    """It is an image of Pillow, or an array in the order of its channels."""
    with Image.open(file) as opened:
        forms = [opened, np.asarray(opened), opened.convert("RGBA"), opened.convert("CMYK").convert("RGB")]
        for form in forms:
            for given in (Query("color", image=form), NewItem("red", image=form)):
                assert given.image is not None
                np.testing.assert_array_equal(decode(given.image).image, decode(file.read_bytes()).image)
        grey = np.asarray(opened.convert("L"))
    found = decode(Query("color", image=grey).image or b"").image
    np.testing.assert_array_equal(found[..., 0], grey)


def test_a_picture_in_memory_is_turned_upright(file: Path):
    """A picture in a file is, too."""
    with Image.open(file) as opened:
        exif = opened.getexif()
        exif[0x0112] = 6
        turned = Image.open(io.BytesIO(_jpeg(opened, exif)))
    assert decode(Query("color", image=turned).image or b"").image.shape == (turned.width, turned.height, 3)


def _jpeg(image: Image.Image, exif: Image.Exif) -> bytes:
    file = io.BytesIO()
    image.resize((30, 20)).save(file, "JPEG", exif=exif)
    return file.getvalue()


@pytest.mark.parametrize("shape", [(2, 2, 2), (2,), (0, 2, 3)])
def test_an_array_that_is_no_picture_is_refused(shape: tuple[int, ...]):
    with pytest.raises(ImageError, match=r"an array is a picture if .* not \(.* of uint8"):
        Query("color", image=np.zeros(shape, np.uint8))
    with pytest.raises(CrossviewError, match="of float64"):
        Query("color", image=np.zeros((2, 2, 3)))


def test_without_a_picture_there_is_none():
    assert Query("color").image is None
    assert NewItem("a").image is None
    assert Query("color", key="a").inputs() == ("key",)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (Path("nowhere.jpg"), r"the picture nowhere.jpg cannot be read \(No such file or directory\): name a file"),
        (Path("/"), "the picture / cannot be read"),
        (7, "as the path or the bytes of its file, as an image of Pillow or as an array, not as int"),
    ],
)
def test_what_is_no_picture_is_refused_by_name(given, words):
    for kind in (Query, NewItem):
        with pytest.raises(InvalidInputError, match=words):
            kind("a", image=given)


@pytest.mark.parametrize(
    ("kind", "needed", "fields"),
    [
        (SearchRequest, {"queries": ()}, ("targets", "hold")),
        (SuggestRequest, {"queries": ()}, ("targets",)),
        (Filter, {}, ("labels", "without_labels", "keys")),
        (EvaluationRequest, {"view": "v"}, ("spaces", "targets")),
        (Recipe, {}, ("views",)),
        (NewItem, {"key": "a"}, ("labels",)),
        (ItemUpdate, {"key": "a"}, ("labels", "removed_attributes")),
    ],
)
def test_one_name_stands_for_itself_and_not_for_its_letters(kind, needed, fields):
    """An empty name stands for no name."""
    assert kind(**needed, **dict.fromkeys(fields, "sift")) == kind(**needed, **dict.fromkeys(fields, ("sift",)))
    assert kind(**needed, **dict.fromkeys(fields, "")) == kind(**needed, **dict.fromkeys(fields, ()))


def test_methods_take_one_name_too(home: Home):
    """A deletion of one key does not delete items that have its letters as names."""
    with home.create("one", "v=vectors:dim=2") as made:
        made.items.put_vectors("v", "ab", np.ones((1, 2)))
        made.items.put_vectors("v", ["a", "b"], np.ones((2, 2)))
        assert made.items.delete("ab") == 1
        assert [item.key for item in made.items()] == ["a", "b"]
        assert [found.target for found in made.embed([Query("v", key="a")], targets="v")] == ["v"]
    assert one_or_several(iter("ab")) == ("a", "b")


def test_a_picture_by_its_file_finds_what_its_bytes_find(collection: Collection, file: Path):
    """The search has one target, which is a name."""
    found = [
        collection.search(SearchRequest([Query("color", image=one)], targets="color", space="raw"))
        for one in (file, file.read_bytes())
    ]
    assert found[0] == found[1] != []
