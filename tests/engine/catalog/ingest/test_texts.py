"""Texts of items: captions, text-only items, queries in words, views added later, items that lack views."""

from pathlib import Path

import numpy as np
import pytest
from drawn import draw, encode, write_pictures
from once import Once

from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.values.errors import AlreadyExistsError, InvalidInputError, NotFoundError, NotReadyError
from crossview.engine.values.evaluation import EvaluationRequest
from crossview.engine.values.item import IndexOptions, NewItem
from crossview.engine.values.query import Query, SearchRequest
from crossview.engine.values.recipe import Recipe

CAPTIONS = {
    "red/0.png": "a crimson Rose",
    "red/1.png": "roses, red ones",
    "green/0.png": "green leaves",
    "green/1.png": "leaves of grass",
    "blue/0.png": "the blue sea",
    "blue/1.png": "sea and sky",
}


def table(path: Path, lines: dict[str, str]) -> Path:
    path.write_text("path,caption\n" + "".join(f"{name},{text}\n" for name, text in lines.items()))
    return path


def with_captions(home: Home, pictures: Path) -> Collection:
    made = home.create("captioned", ["color", "text:dim=6"])
    captions = table(home.path / "captions.csv", CAPTIONS)
    made.index([pictures], IndexOptions(labels="folder", workers=1, captions=captions))
    return made


@pytest.fixture
def captioned(home: Home, once: Once, pictures: Path, tmp_path: Path):
    """18 pictures in three classes, six of them with captions."""
    table(tmp_path / "captions.csv", CAPTIONS)
    with once.copy_of_pictures(home, with_captions, pictures) as made:
        yield made


def keys(collection, query: Query, **options: object) -> list[str]:
    (answer,) = collection.search(SearchRequest([query], space="raw", k=100, **options))
    return [hit.key for hit in answer.hits]


# -- captions


def test_captioned_pictures_are_found_by_words_and_others_are_not(captioned):
    item = captioned.items.get("pictures/red/0.png")
    assert (item.text, item.views, item.labels) == ("a crimson Rose", ("color", "text"), ("red",))
    assert captioned.items.get("pictures/red/2.png").views == ("color",)
    (answer,) = captioned.search(SearchRequest([Query("text", text="SEA")], k=2))
    assert {hit.key for hit in answer.hits} == {"pictures/blue/0.png", "pictures/blue/1.png"}
    assert {hit.text for hit in answer.hits} == {"the blue sea", "sea and sky"}
    assert len(keys(captioned, Query("text", text="rose"))) == 6
    assert len(keys(captioned, Query("color", key=item.key))) == 17


def test_running_again_changes_nothing(captioned, pictures, tmp_path):
    before = captioned.info().sequence
    for captions in (None, tmp_path / "captions.csv"):
        report = captioned.index([pictures], IndexOptions(labels="folder", workers=1, captions=captions))
        assert (report.updated, report.unchanged, report.failures) == (0, 18, ())
    assert captioned.info().sequence == before


def test_a_changed_caption_changes_the_text_row_and_reads_no_picture(captioned, pictures, tmp_path, monkeypatch):
    monkeypatch.setattr(
        "crossview.engine.catalog.ingest.extraction.decode", lambda data: pytest.fail("a picture was read")
    )
    changed = table(tmp_path / "changed.csv", {"red/0.png": "the sky", "red/2.png": "rose", "blue/0.png": ""})
    report = captioned.index([pictures], IndexOptions(workers=1, captions=changed))
    assert (report.added, report.updated, report.unchanged) == (0, 3, 15)
    assert captioned.items.get("pictures/red/0.png").text == "the sky"
    assert captioned.items.get("pictures/blue/0.png").views == ("color",)
    assert "pictures/red/0.png" in keys(captioned, Query("text", text="sky"))[:2]
    assert "pictures/red/2.png" in keys(captioned, Query("text", text="rose"))
    assert "pictures/blue/0.png" not in keys(captioned, Query("text", text="sea"))
    assert captioned.views()[1].revision == 1


def test_lines_of_one_picture_are_joined_and_commas_need_no_quotes(captioned, pictures, tmp_path):
    csv = tmp_path / "more.csv"
    csv.write_text(f'red/0.png,one, two\n{pictures}/red/0.png,four\nred/0.png,"three, still"\nred/1.png,\n')
    captioned.index([pictures], IndexOptions(workers=1, captions=csv))
    assert captioned.items.get("pictures/red/0.png").text == "one, two\nthree, still\nfour"
    assert captioned.items.get("pictures/red/1.png").text == ""


def test_captions_of_no_picture_are_reported(captioned, pictures, tmp_path):
    csv = table(tmp_path / "more.csv", {"red/0.png": "a rose", "red/99.png": "nothing"})
    report = captioned.index([pictures], IndexOptions(workers=1, captions=csv))
    (failure,) = report.failures
    assert failure.key == "red/99.png"
    assert "more.csv, line 3: the indexed paths contain no such picture" in failure.reason
    with pytest.raises(InvalidInputError, match="names none of the 18 pictures"):
        captioned.index([pictures], IndexOptions(captions=table(csv, {"elsewhere.png": "a"})))
    with pytest.raises(InvalidInputError, match="captions cannot be read"):
        captioned.index([pictures], IndexOptions(captions=tmp_path / "absent.csv"))
    csv.write_text("red/0.png\n")
    with pytest.raises(InvalidInputError, match=r"line 1: expected path,caption"):
        captioned.index([pictures], IndexOptions(captions=csv))


def test_an_interrupted_run_is_finished_by_the_next(home: Home, pictures, tmp_path):
    captions = table(tmp_path / "captions.csv", CAPTIONS)
    with home.create("stopped", ["color", "text:dim=6"]) as collection:

        def stop(what: str, done: int, total: int) -> None:
            if what != "indexing":
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            collection.index([pictures], IndexOptions(workers=1, captions=captions), progress=stop)
        assert collection.items.get("pictures/red/0.png").text
        report = collection.index([pictures], IndexOptions(workers=1))
        assert report.unchanged == 18
        assert len(keys(collection, Query("text", text="rose"))) == 6


def test_captions_that_come_first_after_the_pictures_are_fitted_then(collection, pictures, tmp_path):
    collection.views.add("words=text:dim=4:model=lda")
    with pytest.raises(NotReadyError, match=r"`collection.index\(\['PATH'\], IndexOptions\(captions='FILE.csv'\)\)`"):
        collection.search(SearchRequest([Query("words", text="rose")]))
    assert collection.index([pictures], IndexOptions(workers=1)).unchanged == 18
    assert not collection.views()[-1].fitted
    collection.index([pictures], IndexOptions(workers=1, captions=table(tmp_path / "captions.csv", CAPTIONS)))
    assert collection.views()[-1].fitted
    assert len(keys(collection, Query("words", text="rose"))) == 6


# -- views added later, and named


def test_a_view_added_later_is_computed_for_the_items_that_are_there(captioned, pictures):
    captioned.views.add("gist")
    captioned.views.add("few=sift:words=4")
    query = Query("gist", key="pictures/red/0.png")
    with pytest.raises(InvalidInputError, match="no row"):
        captioned.search(SearchRequest([query], space="raw"))
    report = captioned.index([pictures], IndexOptions(workers=1))
    assert (report.added, report.updated) == (0, 18)
    assert captioned.items.get("pictures/red/0.png").views == ("color", "text", "gist", "few")
    assert captioned.items.get("pictures/red/0.png").text == "a crimson Rose"
    assert len(keys(captioned, query)) == len(keys(captioned, Query("few", key="pictures/red/0.png"))) == 17
    assert captioned.index([pictures], IndexOptions(workers=1)).unchanged == 18
    assert captioned.train(Recipe(spec="cca", views=("few", "gist"), dim=2)).targets == ("few", "gist")


def test_only_the_views_that_lack_are_computed(captioned, pictures, monkeypatch):
    captioned.views.add("gist")
    monkeypatch.setattr("crossview.features.color.Color.extract", lambda self, image: pytest.fail("color was there"))
    assert captioned.index([pictures], IndexOptions(workers=1)).updated == 18


@pytest.mark.parametrize(
    "spec", ["a b=color", "=color", "1x=color", "x=smell", "A=color", "x=color:y", "x=vectors", "x+y=gist"]
)
def test_views_that_cannot_be_are_refused(captioned, spec):
    before = captioned.info().sequence
    with pytest.raises(InvalidInputError):
        captioned.views.add(spec)
    assert captioned.info().sequence == before


def test_a_name_is_taken_once(captioned):
    with pytest.raises(AlreadyExistsError, match="text2=text"):
        captioned.views.add("text")
    assert captioned.views.add("text2=text").name == "text2"


# -- texts by import


def test_texts_without_pictures_are_items(home: Home):
    with home.create("notes", ["text:dim=4"]) as notes:
        texts = ("red rose", "red wine", "blue sea")
        items = [NewItem(f"note/{number}", text=text) for number, text in enumerate(texts)]
        items += [NewItem("empty", text=""), NewItem("long", text="a" * 1_000_001), NewItem("nul", text="a\0b")]
        items += [NewItem("half", text="\ud800"), NewItem("none")]
        report = notes.items.put(items)
        assert report.added == 4
        assert [failure.key for failure in report.failures] == ["long", "nul", "half", "none"]
        notes.views.fit(())
        assert keys(notes, Query("text", text="wine"))[0] == "note/1"
        assert len(keys(notes, Query("text", text="wine"))) == 3
        notes.items.put([NewItem("note/3", text="wine and roses"), NewItem("note/0", text="xyzzy")])
        assert "note/3" in keys(notes, Query("text", text="wine"))
        assert notes.items.get("note/0").views == ()


def test_a_text_joins_the_picture_of_its_item(captioned):
    before = captioned.items.get("pictures/red/5.png")
    captioned.items.put([NewItem(before.key, text="a rose", labels=before.labels, source=before.source)])
    after = captioned.items.get(before.key)
    assert (after.content_hash, after.source, after.width) == (before.content_hash, before.source, before.width)
    assert (after.text, after.views) == ("a rose", ("color", "text"))
    image = encode(draw("red", 5))
    assert captioned.items.put([NewItem(before.key, image=image, labels=before.labels)]).unchanged == 1
    assert captioned.items.get(before.key).text == "a rose"
    captioned.items.put([NewItem(before.key, text="", labels=before.labels)])
    assert captioned.items.get(before.key).views == ("color",)


def test_a_refit_places_the_texts_again(captioned):
    captioned.items.put([NewItem("new", text="violet")])
    assert captioned.items.get("new").views == ()
    with pytest.raises(InvalidInputError, match="already fitted"):
        captioned.views.fit((), ["text"])
    captioned.views.fit((), ["text"], refit=True)
    assert captioned.views()[1].revision == 2
    assert keys(captioned, Query("text", text="violet"))[0] == "new"


# -- queries


@pytest.mark.parametrize(
    ("query", "words"),
    [
        (Query("text", text=""), "empty"),
        (Query("text", text=" \n"), "empty"),
        (Query("text", text="xyzzy"), "does not know any word of 'xyzzy'"),
        (Query("text", text="?!" * 99), r"does not know any word of .*\.\.\."),
        (Query("text", text="rose" * 250_001), "at most 1,000,000 characters"),
        (Query("text", text="rose", key="a"), "exactly one"),
        (Query("color", text="rose"), "query by view text, with color as the target"),
        (Query("text", image=b"x"), "query by view color, with text as the target"),
        (Query("clip", text="rose"), "view 'clip' is made by another program.*a vector of 3 numbers"),
        (Query("clip", image=b"x"), "query by view color"),
        (Query("text", key="pictures/red/5.png"), "no row of view 'text'"),
    ],
)
def test_a_query_in_the_wrong_view_says_where_to_ask(captioned, query, words):
    captioned.views.add("clip=vectors:dim=3")
    with pytest.raises(InvalidInputError, match=words):
        captioned.search(SearchRequest([query]))


def test_a_collection_without_texts_says_how_to_get_them(collection):
    with pytest.raises(InvalidInputError, match=r"`collection.views.add\(.text.\)`"):
        collection.search(SearchRequest([Query("color", text="rose")]))
    with pytest.raises(NotFoundError):
        collection.views.fit((), ["text"])
    collection.views.add("text")
    with pytest.raises(NotReadyError, match="no item has a text"):
        collection.views.fit((), ["text"])
    collection.views.fit(())
    assert not collection.views()[-1].fitted


# -- missing views


def test_items_that_lack_a_view_are_found_in_those_they_have_and_only_there(home: Home, tmp_path: Path):
    """Pictures without captions and texts without pictures live beside captioned pictures, in learned spaces too."""
    write_pictures(tmp_path / "photos", 8)
    own = {"red": "rose", "green": "leaf", "blue": "sea"}
    lines = {f"{label}/{number}.png": f"{word} {number % 3}" for label, word in own.items() for number in range(6)}
    with home.create("mixed", ["color", "text:dim=8"]) as mixed:
        captions = table(tmp_path / "captions.csv", lines)
        mixed.index([tmp_path / "photos"], IndexOptions(labels="folder", workers=1, captions=captions))
        mixed.items.put([NewItem(f"notes/{label}", text=word, labels=(label,)) for label, word in own.items()])
        info = mixed.train(Recipe(spec="cca", views=("text", "color"), dim=4))
        assert info.trained_items == 18
        by_color, by_text = mixed.search(SearchRequest([Query("text", text="rose")], targets=["color", "text"], k=100))
        without_caption = {f"photos/{label}/{number}.png" for label in own for number in (6, 7)}
        without_picture = {f"notes/{label}" for label in own}
        colored, worded = ({hit.key for hit in found.hits} for found in (by_color, by_text))
        assert without_caption <= colored
        assert not without_picture & colored
        assert without_picture <= worded
        assert not without_caption & worded
        assert {hit.labels for hit in by_color.hits[:8]} == {("red",)}
        (across,) = mixed.search(SearchRequest([Query("color", key="photos/blue/7.png")], targets=["text"], k=7))
        assert {hit.labels for hit in across.hits} == {("blue",)}
        assert "notes/blue" in {hit.key for hit in across.hits}
        (merged,) = mixed.search(SearchRequest([Query("text", text="rose")], k=100, merge=True))
        assert {hit.key for hit in merged.hits} == colored | worded


def test_evaluation_says_what_the_text_view_was_fitted_on(captioned):
    captioned.train(Recipe(spec="cca", views=("text", "color"), dim=2, holdout=0.4, seed=1))
    measured = captioned.evaluate(EvaluationRequest(view="text", targets=("color",), k=(1,)))
    assert "text: revision 1, fitted with no labels on 6 texts, 2 queries among them" in measured.codebook
    assert np.isfinite([row.value for row in measured.rows]).all()
