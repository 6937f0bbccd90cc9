"""On a disk without a free byte, and on a read-only one, reads work, and writes state the fault."""

import os
import signal
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing
from pathlib import Path

import numpy as np
import pytest
from disk import small_disk

from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.values.conditions.filter import EVERY_ITEM
from crossview.engine.values.errors import BusyError, StorageError
from crossview.engine.values.evaluation import EvaluationRequest
from crossview.engine.values.item import NewItem
from crossview.engine.values.query import Query, SearchRequest

Full = tuple[Path, Callable[[], AbstractContextManager[None]]]
FULL = "the disk is full: free some space"


def fill_home(home: Home) -> None:
    """Make a collection of twelve items with a space."""
    random = np.random.default_rng(0)
    with home.create("things", ["v=vectors:dim=3"]) as collection:
        rows = random.normal(size=(12, 3)).tolist()
        collection.items.put(
            [NewItem(f"{number:02}", rows={"v": row}, labels=["ab"[number % 2]]) for number, row in enumerate(rows)]
        )


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Full]:
    """A small disk with a home, and a way to fill it; it skips without the right to mount."""
    with small_disk(tmp_path / "disk") as full:
        fill_home(Home(tmp_path / "disk" / "home"))
        yield tmp_path / "disk" / "home", full


@pytest.mark.parametrize("name", ["SQLITE_IOERR_READ", "SQLITE_IOERR_CORRUPTFS", "SQLITE_IOERR_FSYNC"])
def test_a_disk_that_fails_to_read_is_an_error_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A connection without a log waited a minute for those of its own program, at each further read."""

    def failing(*_: object, **__: object) -> object:
        error = sqlite3.OperationalError("disk I/O error")
        error.sqlite_errorname = name  # type: ignore[misc]  # SQLite sets it
        raise error

    fill_home(Home(tmp_path))
    with Home(tmp_path).open("things") as things:
        assert things.count() == 12
        with monkeypatch.context() as patch:
            patch.setattr("crossview.engine.catalog.database.frozen", lambda path: pytest.fail("it would wait"))
            patch.setattr(things._opened.catalog._database._engine, "connect", failing)
            with pytest.raises(StorageError, match="check that it works"):
                things.items.page(EVERY_ITEM, "", 20)
        check_reads(things)


def check_reads(collection: Collection, items: int = 12) -> None:
    """Read a collection in many ways."""
    assert collection.count() == items
    assert collection.info().items == items
    assert len(collection.items.page(EVERY_ITEM, "", 20)[0]) == items
    (hits,) = collection.search(SearchRequest([Query("v", key="01")], k=3))
    assert len(hits.hits) == 3
    assert len(collection.items.embed("v").vectors) == items
    assert collection.storage.findings() == ()
    measured = collection.evaluate(EvaluationRequest(spaces=("raw",), view="v", targets=("v",), test_size=0.5))
    assert measured.rows


def test_a_new_process_reads_a_full_disk(disk: Full, tmp_path: Path) -> None:
    """No file of SQLite beside the catalog exists; a copy goes elsewhere; writes work again with space."""
    path, full = disk
    with full(), Home(path).open("things") as collection:
        check_reads(collection)
        for _ in range(2):
            with pytest.raises(StorageError, match=FULL) as refused:
                collection.items.put([NewItem("new", rows={"v": [1, 2, 3]})])
            assert str(path.parent) in str(refused.value.detail)
        with pytest.raises(StorageError, match=FULL):
            Home(path).create("more", ["v=vectors:dim=3"])
        Home(path).backup("things", tmp_path / "copy.db")
        check_reads(collection)
    with Home(path).restore("again", tmp_path / "copy.db") as collection:
        check_reads(collection)


def test_an_open_collection_goes_on_with_space(disk: Full) -> None:
    """It was opened on the full disk, and sees its own and others' writes as soon as space is free."""
    path, full = disk
    with full():
        collection = Home(path).open("things")
        check_reads(collection)
    with closing(collection), Home(path).open("things") as other:
        collection.items.put([NewItem("12", rows={"v": [1, 2, 3]})])
        check_reads(collection, 13)
        other.items.put([NewItem("13", rows={"v": [1, 2, 3]})])
        check_reads(collection, 14)


def test_the_log_of_a_killed_process_is_read(disk: Full) -> None:
    """This holds also without the index of the log, for which the disk has no space."""
    path, full = disk
    child = os.fork()
    if not child:
        collection = Home(path).open("things")
        collection.items.put([NewItem("12", rows={"v": [1, 2, 3]})])
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    assert (path / "things" / "catalog.db-wal").stat().st_size
    (path / "things" / "catalog.db-shm").unlink()
    with full(), Home(path).open("things") as collection:
        assert collection.count() == 13
        (hits,) = collection.search(SearchRequest([Query("v", key="12")], k=3))
        assert len(hits.hits) == 3
    with Home(path).open("things") as collection:
        check_reads(collection, 13)


def test_a_change_under_a_frozen_reader_is_an_error(disk: Full) -> None:
    """It would mix two states."""
    path, full = disk

    def change_during(before: int) -> None:
        with collection._opened.catalog.read() as tx:
            for step in range(2):
                if step == before:
                    os.utime(path / "things" / "catalog.db", ns=(0, before))
                tx.sequence()

    with full(), Home(path).open("things") as collection:
        for before in (0, 1):
            with pytest.raises(BusyError, match="try again"):
                change_during(before)
        assert collection.count() == 12


def test_a_read_only_home_can_become_writable(tmp_path: Path) -> None:
    """It needs no other Home or Collection, and can change back."""
    with small_disk(tmp_path / "disk"):
        path = tmp_path / "disk" / "home"
        fill_home(Home(path))
        mounted("ro", path)
        with Home(path).open("things") as collection:
            check_reads(collection)
            with pytest.raises(StorageError, match="read-only"):
                collection.items.put([NewItem("12", rows={"v": [1, 2, 3]})])
            mounted("rw", path)
            collection.items.put([NewItem("12", rows={"v": [1, 2, 3]})])
            check_reads(collection, 13)


def mounted(mode: str, path: Path) -> None:
    """Mount the disk of a home again, for reading only or for writing."""
    subprocess.run(["mount", "-o", f"remount,{mode}", str(path.parent)], check=True)
