"""A picture or text that a model fails on is named and left out by every command; the others get their rows."""

from collections.abc import Iterator
from pathlib import Path

import hostile_models as hostile
import numpy as np
import pytest
import tiny_models as tiny
from drawn import encode

from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.publishing.publication import PublishRequest
from crossview.engine.publishing.publish import publish
from crossview.engine.publishing.spreading.executor import Here
from crossview.engine.publishing.spreading.extracting import ExtractRequest, extract_rows
from crossview.engine.values.errors import ImageError, InputWarning, ModelInputError
from crossview.engine.values.item import ImportReport, IndexOptions, ItemUpdate, NewItem
from crossview.engine.values.query import Query, SearchRequest

pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
SHADES = {"a": 100, "b": 255, "c": 120, "d": 140}
BRIGHT = "view 'b', model 'bright': the model returns numbers that are not finite"
WORD = "view 'w', model 'words': the model returns numbers that are not finite"


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A home with a model of pictures that fails on bright ones, and one of texts that fails on a word."""
    folder = tmp_path_factory.mktemp("failing")
    home = Home(folder / "home")
    home.models.add("bright", hostile.failing_pictures(folder / "bright"))
    home.models.add("words", hostile.failing_texts(folder / "words"))
    return home


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    """A folder with four pictures, of which the model fails on ``b``."""
    folder = tmp_path / "pictures"
    folder.mkdir()
    for number, (name, shade) in enumerate(SHADES.items()):
        data = np.full((20, 30 + number, 3), shade, np.uint8)
        (folder / f"{name}.png").write_bytes(encode(data))
    return folder


@pytest.fixture
def made(models: Home, request: pytest.FixtureRequest) -> Iterator[Collection]:
    """A collection with a view of each model, and one of colours."""
    with models.create("made", ["b=onnx:bright", "w=onnx:words", "color"]) as opened:
        yield opened
    models.delete("made")


def failed(report: ImportReport) -> dict[str, str]:
    return {Path(one.key).stem: one.reason for one in report.failures}


@pytest.mark.parametrize("workers", [1, 2])
def test_index_leaves_out_a_picture(made: Collection, pictures: Path, workers: int) -> None:
    """This process or others read the pictures; a later run names it again, and an unchanged one costs nothing."""
    for added in (3, 0):
        report = made.index([pictures], IndexOptions(workers=workers))
        assert (report.added, failed(report)) == (added, {"b": BRIGHT})
    assert sorted(Path(item.key).stem for item in made.items(limit=9)) == ["a", "c", "d"]


def test_index_leaves_out_a_caption(made: Collection, pictures: Path, tmp_path: Path) -> None:
    """The caption may be new, or a change of a known picture."""
    (pictures / "b.png").unlink()
    captions = tmp_path / "captions.csv"
    captions.write_text(f"key,text\npictures/a.png,red\npictures/c.png,{hostile.BAD}\npictures/d.png,dog\n")
    report = made.index([pictures], IndexOptions(workers=1, captions=captions))
    assert (report.added, failed(report)) == (2, {"c": WORD})
    captions.write_text("key,text\npictures/c.png,red\n")
    assert made.index([pictures], IndexOptions(workers=1, captions=captions)).added == 1
    captions.write_text(f"key,text\npictures/a.png,snow\npictures/c.png,{hostile.BAD}\npictures/d.png,red dog\n")
    report = made.index([pictures], IndexOptions(workers=1, captions=captions))
    assert (report.updated, failed(report)) == (2, {"c": WORD})
    assert {Path(item.key).stem: item.text for item in made.items(limit=9)} == {"a": "snow", "c": "red", "d": "red dog"}


def test_imports_and_updates_leave_out_what_fails(made: Collection) -> None:
    pictures = [NewItem(name, image=encode(np.full((9, 9, 3), shade, np.uint8))) for name, shade in SHADES.items()]
    report = made.items.put(pictures)
    assert (report.added, failed(report)) == (3, {"b": BRIGHT})
    report = made.items.put([NewItem(word, text=word) for word in ("red", hostile.BAD, "dog")])
    assert (report.added, failed(report)) == (2, {hostile.BAD: WORD})
    report = made.items.update([ItemUpdate("red", text=hostile.BAD), ItemUpdate("dog", text="snow")])
    assert (report.updated, report.unchanged, failed(report)) == (1, 0, {"red": WORD})
    assert {item.key: item.text for item in made.items("text exists", limit=9)} == {"red": "red", "dog": "snow"}


def test_texts_that_get_a_view_later_are_named(models: Home, pictures: Path) -> None:
    """The indexing that computes their rows names them, and so does a warning of a fit."""
    with models.create("late", ["color"]) as late:
        late.items.put([NewItem(word, text=word) for word in ("red", hostile.BAD, "dog")])
        late.views.add("w=onnx:words")
        late.views.add("text")
        with pytest.warns(InputWarning, match=f"without a row: {hostile.BAD}; the first one: {WORD}"):
            late.views.fit([])
        report = late.index([pictures], IndexOptions(workers=1))
        assert failed(report) == {hostile.BAD: WORD}
        rows = {item.key: item.views for item in late.items(limit=9)}
        assert ("w" in rows["red"], "w" in rows["dog"], "w" in rows[hostile.BAD]) == (True, True, False)
        assert "text" in rows[hostile.BAD]
        with pytest.warns(InputWarning, match=WORD):
            assert late.views.fit([], views=["text"], refit=True)
    models.delete("late")


def test_searches_state_what_failed(made: Collection) -> None:
    bright = encode(np.full((9, 9, 3), 255, np.uint8))
    made.items.put([NewItem("a", image=encode(np.full((9, 9, 3), 100, np.uint8)))])
    with pytest.raises(ImageError, match=BRIGHT):
        made.search(SearchRequest([Query("b", image=bright)], k=1))
    with pytest.raises(ModelInputError, match=WORD):
        made.search(SearchRequest([Query("w", text=hostile.BAD)], k=1))
    with pytest.raises(ModelInputError, match=f"query 1: {WORD}"):
        made.embed([Query("w", text=word) for word in ("red", hostile.BAD)])


def test_rows_for_object_storage_leave_out_a_picture(made: Collection, pictures: Path, tmp_path: Path) -> None:
    made.index([pictures], IndexOptions(workers=1))
    publish(made, PublishRequest(to=str(tmp_path / "bundles"), space="raw"))
    request = ExtractRequest(
        pictures=str(pictures), to=str(tmp_path / "rows"), bundle=str(tmp_path / "bundles"), published="made"
    )
    report = extract_rows(request, Here(1))
    assert (report.items, report.bad) == (3, 1)
    assert [(Path(one.key).stem, one.reason) for one in report.failures] == [("b", BRIGHT)]


def test_a_model_that_is_gone_still_stops_the_work(models: Home, tmp_path: Path, pictures: Path) -> None:
    """No picture is at fault."""
    models.models.add("away", tiny.picture_folder(tmp_path / "away", dim=11))
    with models.create("away", ["onnx:away"]) as away:
        models.models.remove("away")
        with pytest.raises(Exception, match="no model 'away'"):
            away.index([pictures], IndexOptions(workers=1))
    models.delete("away")
