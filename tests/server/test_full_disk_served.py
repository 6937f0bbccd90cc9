"""A server whose home is on a full or read-only disk starts, answers every read, and writes again by itself."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from disk import small_disk

from crossview.engine.collections.home import Home
from crossview.engine.values.errors import StorageError
from crossview.engine.values.item import NewItem
from crossview.engine.values.query import Query, SearchRequest
from crossview.engine.values.recipe import Recipe
from crossview.server.client.client import Client
from crossview.server.client.remote_collection import RemoteCollection
from crossview.server.edge.listen import RunningServer
from crossview.server.wire.settings import ServerSettings

NEW = [NewItem("new", rows={"v": [5, 5]})]


@contextmanager
def served(home: Path) -> Iterator[RemoteCollection]:
    """Yield a collection of a new server."""
    with RunningServer(ServerSettings(home=home, port=0)) as running, Client(running.address) as client:
        yield client.open("things")


def fill_home(home: Path) -> None:
    """Make a collection of three items."""
    with Home(home).create("things", ["v=vectors:dim=2"]) as collection:
        collection.items.put([NewItem(str(number), rows={"v": [1, number]}) for number in range(3)])


def check_reads(collection: RemoteCollection, items: int) -> None:
    """Read in many ways."""
    assert collection.count() == collection.info().items == items
    (hits,) = collection.search(SearchRequest([Query("v", vector=[1, 0])], k=2))
    assert [hit.key for hit in hits.hits] == ["0", "1"]
    assert len(collection.items.embed("v").vectors) == items


def test_a_server_starts_and_reads_on_a_full_disk(tmp_path: Path) -> None:
    """Writes and jobs name the disk, and succeed once it has space."""
    with small_disk(tmp_path / "disk") as full:
        home = tmp_path / "disk" / "home"
        fill_home(home)
        with full():
            collection = (opened := served(home)).__enter__()
            check_reads(collection, 3)
            with pytest.raises(StorageError, match="the disk is full"):
                collection.items.put(NEW)
            with pytest.raises(StorageError, match="the disk is full"):
                collection.train(Recipe(spec="pca", views=("v",), dim=1))
        collection.items.put(NEW)
        check_reads(collection, 4)
        collection.train(Recipe(spec="pca", views=("v",), dim=1))
        opened.__exit__(None, None, None)


def test_the_home_of_a_server_becomes_writable(tmp_path: Path) -> None:
    """It needs no restart."""
    with small_disk(tmp_path / "disk"):
        home = tmp_path / "disk" / "home"
        fill_home(home)
        subprocess.run(["mount", "-o", "remount,ro", home.parent], check=True)
        with served(home) as collection:
            check_reads(collection, 3)
            with pytest.raises(StorageError, match="read-only"):
                collection.items.put(NEW)
            subprocess.run(["mount", "-o", "remount,rw", home.parent], check=True)
            collection.items.put(NEW)
            check_reads(collection, 4)
            collection.train(Recipe(spec="pca", views=("v",), dim=1))
