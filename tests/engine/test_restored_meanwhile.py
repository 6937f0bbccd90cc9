"""A collection is restored from a copy during other work, which writes nothing on the wrong item, view or space.

After a restore the same ids, sequence numbers, revisions and generations may stand for something else.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from drawn import draw, encode, write_pictures
from meanwhile import before_next_commit

from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.values.errors import NotReadyError
from crossview.engine.values.item import IndexOptions, NewItem
from crossview.engine.values.query import CalibrationRequest
from crossview.engine.values.recipe import Recipe

PCA = Recipe(spec="pca:2", views=("v",))


def row(value: float) -> np.ndarray:
    return np.full(3, value, np.float32)


@pytest.fixture
def made(home: Home) -> Iterator[Collection]:
    with home.create("one", ["v=vectors:dim=3"]) as collection:
        collection.items.put([NewItem("a", rows={"v": row(1)}), NewItem("b", rows={"v": row(2)})])
        yield collection


def rows(collection: Collection) -> dict[str, float]:
    """Return the first value of each item's row, by key."""
    with collection._opened.catalog.read() as tx:
        (view,) = tx.views.all()
        found, keys = tx.rows.get(view), tx.items.keys()
        return {keys[item]: float(values[0]) for item, values in zip(found.ids.tolist(), found.rows, strict=True)}


def test_vectors_are_stored_by_their_keys(home: Home, made: Collection, tmp_path: Path, monkeypatch):
    """By then another item has the id and the number of the last change."""
    copy = home.backup("one", tmp_path / "copy.db")
    made.items.put([NewItem("c", rows={"v": row(3)})])

    def restore() -> None:
        with home.restore("one", copy, replace=True) as other:
            other.items.put([NewItem("d", rows={"v": row(4)})])

    before_next_commit(monkeypatch, made, restore)
    made.items.put_vectors("v", ["c"], row(30)[None])
    assert rows(made) == {"a": 1, "b": 2, "d": 4, "c": 30}


def test_times_of_files_are_stored_by_their_keys(home: Home, tmp_path: Path, monkeypatch):
    """A file with only another time has the new time noted, by the id of its item."""
    folder = tmp_path / "pictures"
    first, second = write_pictures(folder, 1)[:2]
    with home.create("one", ["color"]) as made:
        made.index([first], IndexOptions(workers=1))
        copy = home.backup("one", tmp_path / "copy.db")
        made.index([second], IndexOptions(workers=1))

        def restore() -> None:
            with home.restore("one", copy, replace=True) as other:
                other.items.put([NewItem("d", image=encode(draw("blue", 7)))])

        os.utime(second, ns=(1_000, 1_000))
        before_next_commit(monkeypatch, made, restore)
        made.index([second], IndexOptions(workers=1))
        with made._opened.catalog.read() as tx:
            stamps = {key: stored.modified_ns for key, stored in tx.items.known().items()}
        assert stamps.pop("d") == 0
        assert sorted(stamps.values()) == sorted([first.stat().st_mtime_ns, 1_000])


def test_rows_are_of_the_words_that_were_restored(home: Home, tmp_path: Path, monkeypatch):
    """By then the view may be fitted on other pictures under the same number of its revision."""

    def fit(collection: Collection, label: str) -> None:
        collection.views.fit([encode(draw(label, number)) for number in range(6)], workers=1)

    def stored(collection: Collection) -> np.ndarray:
        with collection._opened.catalog.read() as tx:
            (view,) = tx.views.all()
            return tx.rows.get(view).rows

    image = encode(draw("red", 3))
    with home.create("one", ["sift:words=8"]) as made, home.create("other", ["sift:words=8"]) as expected:
        copy = home.backup("one", tmp_path / "copy.db")
        fit(made, "red")

        def restore() -> None:
            with home.restore("one", copy, replace=True) as other:
                fit(other, "blue")

        before_next_commit(monkeypatch, made, restore)
        made.items.put([NewItem("a", image=image)])
        fit(expected, "blue")
        expected.items.put([NewItem("a", image=image)])
        np.testing.assert_array_equal(stored(made), stored(expected))


def test_a_space_of_what_was_restored_away_is_refused(home: Home, made: Collection, tmp_path: Path, monkeypatch):
    copy = home.backup("one", tmp_path / "copy.db")
    before_next_commit(monkeypatch, made, lambda: home.restore("one", copy, replace=True).close())
    with pytest.raises(NotReadyError, match="was restored during the training of space 's': train it again"):
        made.train(PCA, space="s")


@pytest.mark.parametrize("again", ["restored", "deleted"])
def test_a_threshold_stays_with_its_own_training(home: Home, made: Collection, tmp_path: Path, monkeypatch, again):
    """By then another space has the name and the number of the generation: restored, or deleted and trained again."""
    made.items.put(
        [
            NewItem(f"{label}{n}", labels=[label], rows={"v": row(at) + n / 100})
            for label, at in (("x", 10), ("y", 20))
            for n in range(8)
        ]
    )
    copy = home.backup("one", tmp_path / "copy.db")
    made.train(PCA, space="s")

    def replaced() -> None:
        if again == "restored":
            home.restore("one", copy, replace=True).close()
        with home.open("one") as other:
            if again == "deleted":
                other.spaces.delete("s")
            other.train(Recipe(spec="standardize", views=("v",)), space="s")

    before_next_commit(monkeypatch, made, replaced)
    with pytest.raises(NotReadyError, match="just deleted or restored: calibrate again"):
        made.spaces.calibrate(CalibrationRequest(view="v", space="s"))
    assert made.spaces.get("s").thresholds == ()
