"""Compaction frees the room of deleted items while others read, and a refusal changes nothing."""

import shutil
import uuid
from collections import namedtuple
from pathlib import Path

import numpy as np
import pytest
from once import Once

from crossview.engine.catalog import database_copies
from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.spaces.target import SKETCH
from crossview.engine.values.errors import StorageError
from crossview.engine.values.query import Query, SearchRequest
from crossview.engine.values.recipe import Recipe

COUNT, DIM = 2_000, 50
KEYS = [f"item/{number:04}" for number in range(COUNT)]
ROWS = np.random.default_rng(0).normal(size=(COUNT, DIM)).astype(np.float32)
LEARNED = [f"standardize-{generation}-{name}" for generation in (1, 2) for name in ("v", f"v:{SKETCH}")]
Usage = namedtuple("Usage", "total used free")


def half_deleted(home: Home) -> Collection:
    """Delete every second item after all were searched: each page of the catalog is half empty."""
    with home.create("half", [f"v=vectors:dim={DIM}"]) as made:
        made.items.put_vectors("v", KEYS, ROWS)
        for _ in range(2):
            made.train(Recipe(spec="standardize", views=("v",)))
        assert nearest(made, 0) == nearest(made, 0, "raw") == KEYS[0]
    with home.open("half") as made:
        made.items.delete(KEYS[::2])
    return made


@pytest.fixture
def half(home: Home, once: Once) -> Path:
    """The folder of a collection that no process has open."""
    with once.copy(home, half_deleted) as made:
        return made._opened.folder.path


def nearest(collection: Collection, number: int, space: str = "") -> str:
    (found,) = collection.search(SearchRequest([Query("v", vector=ROWS[number])], k=1, space=space))
    return found.hits[0].key


def sizes(folder: Path) -> dict[str, int]:
    """Return the bytes of the catalog and of the snapshots, by the names of the files without their random parts."""
    found = {"catalog": (folder / "catalog.db").stat().st_size}
    return found | {path.name.rpartition("-")[0]: path.stat().st_size for path in folder.glob("indexes/*")}


def check(home: Home) -> None:
    with home.open("half") as later:
        assert later.count() == COUNT // 2
        for space in ("", "raw"):
            assert nearest(later, 1, space) == KEYS[1]
            assert nearest(later, 0, space) != KEYS[0]


def test_no_index_need_be_in_memory(home: Home, half: Path):
    """It compacts snapshots of the views, of the answering generation and of an earlier one; rows, and tombstones."""
    before = sizes(half)
    assert before.keys() == {"catalog", "raw-1-v", *LEARNED}
    with home.open("half") as collection:
        collection.storage.compact()
        with collection._opened.catalog.read() as tx:
            assert tx.items.changed_since(-1).deleted == []
    after = sizes(half)
    shares = {name: round(after[name] / size, 1) for name, size in before.items() if name != "catalog"}
    assert shares == dict.fromkeys(("raw-1-v", *LEARNED), 0.5)
    with home.create("empty", [f"v=vectors:dim={DIM}"]):
        empty = sizes(home.path / "empty")["catalog"]  # each table and index takes a page
    assert after["catalog"] - empty < 0.7 * (before["catalog"] - empty)
    check(home)


def test_a_snapshot_that_cannot_be_used_is_removed(home: Home, half: Path):
    """The compaction does not build it."""
    path = next(half.glob("indexes/raw-1-v-*"))
    path.write_bytes(path.read_bytes()[:100])
    with home.open("half") as collection:
        collection.storage.compact()
    assert sizes(half).keys() == {"catalog", *LEARNED}
    check(home)


def test_who_reads_meanwhile_is_answered_as_before(home: Home, half: Path):
    """The next compaction gives back the space that this one cannot."""
    with home.open("half") as reader, home.open("half") as collection:
        assert nearest(reader, 1) == KEYS[1]
        with reader._opened.catalog.read() as tx:
            deleted = tx.items.changed_since(-1).deleted
            collection.storage.compact()
            assert tx.items.changed_since(-1).deleted == deleted != []
        assert nearest(reader, 1) == nearest(reader, 1, "raw") == KEYS[1]
        collection.storage.compact()
        assert collection.info().bytes_on_disk < 1.2 * sum(sizes(half).values())
    check(home)


@pytest.mark.parametrize("free", [[0], [1 << 30, 0]])
def test_without_room_the_catalog_stays_as_it_is(home: Home, half: Path, monkeypatch, free: list[int]):
    """The room lacks for the copy or, later, for the exchange; the message says how much the compaction needs."""
    monkeypatch.setattr(database_copies.shutil, "disk_usage", lambda _: Usage(1 << 30, 1 << 30, free.pop(0)))
    before = sizes(half)["catalog"]
    with home.open("half") as collection, pytest.raises(StorageError, match=r"needs \d\.\d MB of free .* free some"):
        collection.storage.compact()
    assert sizes(half)["catalog"] > 0.8 * before
    assert not list(half.glob(".*"))
    check(home)


def test_a_copy_that_fails_leaves_the_catalog_as_it_was(home: Home, half: Path, monkeypatch):
    """It fails in the middle of the exchange."""

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(database_copies, "checkpoint", full)
    with home.open("half") as collection, pytest.raises(StorageError, match="disk is full"):
        collection.storage.compact()
    assert not list(half.glob(".*"))
    monkeypatch.undo()
    check(home)
    with home.open("half") as collection:
        collection.storage.compact()
    check(home)


def test_a_catalog_without_waste_is_not_written_anew(home: Home, half: Path, monkeypatch):
    """No writer waits for it."""
    with home.open("half") as collection:
        collection.storage.compact()
        written = []
        monkeypatch.setattr(database_copies, "copy_database", lambda *_: written.append(1))
        collection.storage.compact()
    assert written == []


def test_what_a_compaction_that_was_killed_left_is_removed_by_the_next_opening(home: Home, half: Path):
    shutil.copy(half / "catalog.db", half / f".crossview-copy-{uuid.uuid4().hex}")
    home.open("half").close()
    assert not list(half.glob(".*"))
