"""A change writes all of its values, even if another change has replaced equal ones since it read.

After two changes of the same items at once, the collection therefore has the whole of the last commit.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from drawn import draw, encode, write_pictures
from meanwhile import before_next_commit

from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.values.item import IndexOptions, ItemUpdate, NewItem


@pytest.fixture
def made(home: Home) -> Iterator[Collection]:
    with home.create("one", ["v=vectors:dim=2"]) as collection:
        collection.items.put([NewItem(key, rows={"v": [1, 1]}, labels=["red"]) for key in "ab"])
        yield collection


def put(collection: Collection, keys: str, values: Sequence[float]) -> None:
    collection.items.put_vectors("v", list(keys), np.array([[value, value] for value in values], np.float32))


def rows(collection: Collection) -> dict[str, float]:
    page = collection.items.embed("v", space="raw")
    return dict(zip(page.keys, page.vectors[:, 0].tolist(), strict=True))


def test_rows_that_others_replace_are_put_again(home: Home, made: Collection, monkeypatch):
    """Otherwise one item has the row of one change, and the other that of the other."""
    with home.open("one") as other:
        before_next_commit(monkeypatch, made, lambda: put(other, "ab", [7, 7]))
        put(made, "ab", [1, 5])
    assert rows(made) == {"a": 1, "b": 5}


def test_rows_of_items_that_others_delete_are_put_again(home: Home, made: Collection, monkeypatch):
    with home.open("one") as other:
        before_next_commit(monkeypatch, made, lambda: other.items.delete(["a"]))
        put(made, "ab", [1, 5])
    assert rows(made) == {"a": 1, "b": 5}


def test_labels_that_others_replace_are_set_again(home: Home, made: Collection, monkeypatch):
    """One item has a new attribute, and the other nothing new."""
    with home.open("one") as other:
        before_next_commit(
            monkeypatch, made, lambda: other.items.update([ItemUpdate(key, labels=("blue",)) for key in "ab"])
        )
        report = made.items.update(
            [ItemUpdate("a", labels=("red",), attributes={"n": 1}), ItemUpdate("b", labels=("red",))]
        )
    assert [(one.key, one.labels, one.attributes) for one in made.items()] == [
        ("a", ("red",), {"n": 1}),
        ("b", ("red",), {}),
    ]
    assert (report.updated, report.unchanged) == (2, 0)


def test_an_item_that_others_make_is_updated_too(home: Home, made: Collection, monkeypatch):
    """An update that finds one of its items in the commit finds all."""
    with home.open("one") as other:
        before_next_commit(monkeypatch, made, lambda: put(other, "c", [3]))
        report = made.items.update([ItemUpdate(key, labels=("blue",)) for key in "ac"])
    assert [(one.key, one.labels) for one in made.items()] == [("a", ("blue",)), ("b", ("red",)), ("c", ("blue",))]
    assert report.failures == ()


def test_a_picture_that_others_replace_is_imported_again(home: Home, monkeypatch):
    first, second = (encode(draw("red", number)) for number in range(2))
    with home.create("pictures", ["color"]) as made, home.open("pictures") as other:
        made.items.put([NewItem("a", image=first)])
        stored = made.items.get("a").content_hash
        before_next_commit(monkeypatch, made, lambda: other.items.put([NewItem("a", image=second)]))
        made.items.put([NewItem("a", image=first), NewItem("b", image=first)])
        assert {one.content_hash for one in made.items()} == {stored}


def test_labels_of_files_that_others_replace_are_set_again(home: Home, tmp_path: Path, monkeypatch):
    """The indexing reads no picture again."""
    (path, *_) = write_pictures(tmp_path / "pictures", 1)
    with home.create("pictures", ["color"]) as made, home.open("pictures") as other:
        made.index([path], IndexOptions(workers=1))
        (item,) = made.items()
        made.items.update([ItemUpdate(item.key, labels=("red",))])
        table = tmp_path / "labels.csv"
        table.write_text(f"key,label,n\n{item.key},red,1\n")
        before_next_commit(monkeypatch, made, lambda: other.items.update([ItemUpdate(item.key, labels=("blue",))]))
        made.index([path], IndexOptions(labels=table, workers=1))
        (item,) = made.items()
        assert (item.labels, item.attributes) == (("red",), {"n": 1})
