"""Snapshot files have one writer at a time, and the catalog and the files agree after any interruption."""

import os
from collections.abc import Iterator

import numpy as np
import pytest

from crossview.engine.catalog import lock
from crossview.engine.catalog.catalog import Catalog
from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.spaces import versions
from crossview.engine.spaces.snapshot_files import SnapshotFiles
from crossview.engine.spaces.target import SKETCH
from crossview.engine.values.item import NewItem
from crossview.engine.values.query import Query, SearchRequest
from crossview.engine.values.recipe import Recipe
from crossview.index.flat import FlatIndex

DIM = 4
REBUILT = "rebuilding an index"


def row(number: int) -> np.ndarray:
    return np.full(DIM, number, np.float32)


def add(collection: Collection, *numbers: int) -> None:
    collection.items.put([NewItem(f"item/{number:03}", rows={"v": row(number)}) for number in numbers])


def nearest(collection: Collection, number: int) -> str:
    (found,) = collection.search(SearchRequest([Query("v", vector=row(number))], k=1))
    return found.hits[0].key


@pytest.fixture
def line(home: Home) -> Iterator[Collection]:
    with home.create("line", [f"v=vectors:dim={DIM}"]) as made:
        add(made, *range(40))
        yield made


def check_files(home: Home, caplog: pytest.LogCaptureFixture) -> None:
    """Check that the one snapshot of vectors is that of the catalog, so that the next opening builds no index."""
    with home.open("line") as later:
        assert len([name for name in os.listdir(later._opened.folder.indexes) if SKETCH not in name]) == 1
        caplog.clear()
        assert nearest(later, 7) == "item/007"
        assert REBUILT not in caplog.text


def test_a_training_writes_each_snapshot_once(home: Home, line: Collection, monkeypatch, caplog):
    """Enough has changed that the background would save it, too."""
    monkeypatch.setattr(versions, "_FEWEST_SAVED", 20)
    written, save = [], FlatIndex.save

    def counted(index, path, meta) -> None:
        written.append(path)
        save(index, path, meta)

    monkeypatch.setattr(FlatIndex, "save", counted)
    line.train(Recipe(spec="standardize", views=("v",)))
    line.close()
    assert len(written) == 1
    check_files(home, caplog)


@pytest.mark.parametrize("point", ["before the file", "before the catalog"])
def test_two_that_write_a_snapshot_at_once_leave_the_one_that_the_catalog_names(
    home: Home, line: Collection, monkeypatch, caplog, point: str
):
    """The second comes while the first has written nothing yet, or its file but not its name."""
    monkeypatch.setattr(lock, "PATIENCE", 0.05)
    with home.open("line") as other:
        for one in (line, other):
            assert nearest(one, 7) == "item/007"
        holder, name = (FlatIndex, "save") if point == "before the file" else (Catalog, "write")
        real, second = getattr(holder, name), [other._opened.versions().save]

        def meanwhile(*arguments):
            if second:
                second.pop()()
            return real(*arguments)

        monkeypatch.setattr(holder, name, meanwhile)
        line._opened.versions().save()
        assert not second
    line.close()
    check_files(home, caplog)


def test_a_snapshot_that_is_replaced_while_it_is_read_is_read_anew(home: Home, line: Collection, monkeypatch, caplog):
    """It is not built again: the catalog names the other one by then."""
    assert nearest(line, 7) == "item/007"
    line._opened.versions().save()
    real, replacing = FlatIndex.load.__func__, [True]

    def replaced(kind, path):
        if replacing:
            replacing.pop()
            add(line, *range(40, 80))
            assert nearest(line, 50) == "item/050"
            line._opened.versions().save()
            assert not path.exists()
        return real(kind, path)

    monkeypatch.setattr(FlatIndex, "load", classmethod(replaced))
    followed = []
    monkeypatch.setattr(versions.IndexedSpace, "with_target", _noted(followed, versions.IndexedSpace.with_target))
    with home.open("line") as later:
        assert nearest(later, 70) == "item/070"
    assert [len(stored.index) for stored in followed] == [80]
    assert REBUILT not in caplog.text


def _noted(followed, real):
    def with_target(space, tx, target, stored):
        followed.append(stored)
        return real(space, tx, target, stored)

    return with_target


def test_what_is_written_and_not_named_is_removed_by_the_next_opening(
    home: Home, line: Collection, monkeypatch, caplog
):
    """A process that is killed between the two leaves it; the former snapshot is used."""
    assert nearest(line, 7) == "item/007"
    line._opened.versions().save()
    folder = line._opened.folder.indexes
    (path,) = folder.iterdir()
    (folder / path.name.replace("raw", "raw2")).write_bytes(path.read_bytes())
    line.close()
    check_files(home, caplog)
    assert os.listdir(folder) == [path.name]


def test_a_refused_commit_leaves_the_former_snapshot(home: Home, line: Collection, monkeypatch, caplog):
    """It leaves nothing of the new one."""
    assert nearest(line, 7) == "item/007"
    line._opened.versions().save()
    before = os.listdir(line._opened.folder.indexes)
    add(line, *range(40, 80))
    assert nearest(line, 50) == "item/050"

    def refused(_versions, _space) -> None:
        raise OSError("no space left on the device")

    with monkeypatch.context() as patch:
        patch.setattr(versions, "_exists", refused)
        line._opened.versions().save()
    assert os.listdir(line._opened.folder.indexes) == before
    line.close()
    check_files(home, caplog)


def test_a_snapshot_of_an_earlier_version_is_replaced_without_a_word(home: Home, line: Collection, caplog):
    """A collection that the version before has written opens, answers, and is closed with a snapshot of this one."""
    assert nearest(line, 7) == "item/007"
    line.close()
    (path,) = line._opened.folder.indexes.iterdir()
    path.write_bytes(b'crossview-index 2\n01234567{"kind": "flat-l2"}\n')
    check_files(home, caplog)
    assert [one.name for one in line._opened.folder.indexes.iterdir()] != [path.name]
    check_files(home, caplog)


def test_who_has_nothing_to_save_takes_no_lock(home: Home, line: Collection, monkeypatch):
    """A collection on a read-only file system is searched and closed without a warning."""
    assert nearest(line, 7) == "item/007"
    line.close()

    def refused(_files) -> None:
        pytest.fail("it holds the lock of those who write snapshots")

    monkeypatch.setattr(SnapshotFiles, "writing", refused)
    with home.open("line") as later:
        assert nearest(later, 7) == "item/007"
