"""A home is private, and gives no way to read, write or remove anything outside."""

import os
import stat
from pathlib import Path

import numpy as np
import pytest

from crossview.engine.catalog.snapshots import Snapshot
from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.values.errors import InvalidInputError, StorageError
from crossview.engine.values.item import NewItem
from crossview.engine.values.query import Query, SearchRequest
from crossview.engine.values.recipe import Recipe

HEX = "0123456789abcdef" * 2


def fill(collection: Collection) -> None:
    collection.items.put([NewItem(f"{n}", rows={"v": np.full(3, n, np.float32)}) for n in range(5)])
    collection.train(Recipe(spec="pca:2", views=("v",)), space="s")


@pytest.fixture
def precious(tmp_path: Path) -> Path:
    """A file of another user."""
    path = tmp_path / "precious"
    path.write_bytes(b"x" * 10_000)
    return path


@pytest.fixture
def one(home: Home) -> Path:
    """The folder of a collection that no process has open."""
    with home.create("one", ["v=vectors:dim=3"]) as made:
        fill(made)
    return home.path / "one"


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_only_the_user_can_read_what_is_made(tmp_path: Path, umask: int):
    """Folders have 0700 and files 0600, for any umask: catalogs with their logs, locks, snapshots and copies."""
    before = os.umask(umask)
    try:
        home = Home(tmp_path / "new" / "home")
        with home.create("one", ["v=vectors:dim=3"]) as made:
            fill(made)
            copy = home.backup("one", tmp_path / "copy.db")
            home.restore("two", copy).close()
            found = {path: path.stat().st_mode for path in (home.path, *home.path.rglob("*"))}
    finally:
        os.umask(before)
    names = {path.name for path in found}
    assert names >= {"catalog.db", "catalog.db-wal", "lock", "indexes", "two"}
    assert any(name.startswith("s-1-v-") and name.endswith(".idx") for name in names)
    assert {
        path: mode for path, mode in found.items() if mode & 0o7777 != (0o700 if stat.S_ISDIR(mode) else 0o600)
    } == {}
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600


@pytest.mark.parametrize("name", ["lock", "lock.next", "catalog.db", "catalog.db-wal", "indexes", "indexes/s-1-v.idx"])
def test_a_link_in_a_collection_is_refused_and_its_target_stays(home: Home, one: Path, precious: Path, name: str):
    """A copied folder could lead every write to a file of another user."""
    target = precious.parent / "others" if name == "indexes" else precious
    if name == "indexes":
        target.mkdir()
        (target / "a.idx").write_bytes(b"mine")
        (target / ".a.idx.12345678").write_bytes(b"mine")
    link = one / name
    if link.is_dir():
        link.rename(one.parent.parent / "moved")
    link.unlink(missing_ok=True)
    link.symlink_to(target)
    with pytest.raises(StorageError, match=f"'{link.name}' is a link: put the file or folder itself there") as refused:
        home.open("one")
    assert str(link) in str(refused.value)
    with pytest.raises(StorageError, match="is a link"):
        home.backup("one", precious.parent / "copy.db")
    assert precious.read_bytes() == b"x" * 10_000
    if name == "indexes":
        assert sorted(path.name for path in target.iterdir()) == [".a.idx.12345678", "a.idx"]


def test_a_lock_that_became_a_link_while_it_was_open_is_not_followed(home: Home, one: Path, precious: Path):
    with home.open("one") as made:
        (one / "lock").unlink()
        (one / "lock").symlink_to(precious)
        with pytest.raises(StorageError, match="a link is where a file or folder should be"):
            made.items.delete(["1"])
    assert precious.read_bytes() == b"x" * 10_000


@pytest.mark.parametrize("name", ["lock", "lock.next"])
def test_a_pipe_in_place_of_a_lock_is_refused(home: Home, one: Path, name: str):
    (one / name).unlink()
    os.mkfifo(one / name)
    with home.open("one") as made, pytest.raises(StorageError, match="a pipe or a device is where a file should be"):
        made.items.delete(["1"])


def test_a_pipe_in_place_of_a_snapshot_is_no_snapshot(home: Home, one: Path):
    """The index is built again, and no process waits for the pipe."""
    for snapshot in list((one / "indexes").iterdir()):
        snapshot.unlink()
        os.mkfifo(snapshot)
    with home.open("one") as made:
        query = Query("v", vector=np.full(3, 3, np.float32))
        assert made.search(SearchRequest([query], k=1))[0].hits[0].key == "3"


def test_only_own_names_are_left_overs(home: Home, one: Path, tmp_path: Path):
    """Other files stay, even if their names begin alike: a home may be made of any folder."""
    mine = [home.path / ".new-year", home.path / ".deleted-scenes", one / "indexes" / ".notes.idx.old"]
    for path in mine:
        path.mkdir()
        (path / "file").touch()
    copy = tmp_path / ".crossview-copy-notes"
    copy.touch()
    left = [home.path / f".new-{HEX}", home.path / f".deleted-{HEX}", one / "indexes" / ".s-1-v.idx.ab12_xyz"]
    for path in left:
        path.mkdir()
    (tmp_path / f".crossview-copy-{HEX}-wal").touch()
    home.backup("one", tmp_path / "copy.db")
    home.open("one").close()
    assert [path for path in (*mine, copy) if not path.exists()] == []
    assert [path for path in (*left, tmp_path / f".crossview-copy-{HEX}-wal") if path.exists()] == []


def test_a_linked_collection_is_used_but_not_deleted(home: Home, one: Path, tmp_path: Path):
    """Its folder may lie on another disk; deleting the link would leave the data there."""
    one.rename(tmp_path / "elsewhere")
    one.symlink_to(tmp_path / "elsewhere")
    with home.open("one") as made:
        assert made.count() == 5
    with pytest.raises(InvalidInputError, match="'one' is a link to a folder elsewhere: remove that folder and"):
        home.delete("one")
    assert home.names() == ["one"]


def test_no_name_leads_a_snapshot_out_of_its_folder():
    made = Snapshot("../../a/b", 1, "../c:d/e%2F", "0f", 3)
    assert made.file_name == "..%2F..%2Fa%2Fb-1-..%2Fc:d%2Fe%252F-0f.idx"
