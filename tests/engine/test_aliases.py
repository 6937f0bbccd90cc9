"""Names of collections change in one step, also if the process that changes them is killed."""

import os
import random
import threading
from pathlib import Path

import numpy as np
import pytest
import victims

from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.values.errors import BusyError, NotFoundError, StorageError
from crossview.engine.values.item import NewItem
from crossview.engine.values.query import Query, SearchRequest
from crossview.engine.values.recipe import Recipe

VECTORS = np.eye(4, dtype=np.float32)


def filled(home: Home, name: str) -> None:
    """Make a collection of four items whose keys begin with its name."""
    with home.create(name, ["v=vectors:dim=4"]) as made:
        made.items.put([NewItem(f"{name}/{number}", rows={"v": row}) for number, row in enumerate(VECTORS)])


def origin(collection: Collection) -> str:
    """Return the beginning of the keys that a search finds, which all of them share."""
    (found,) = collection.search(SearchRequest([Query("v", vector=VECTORS[0])], k=4))
    (name,) = {hit.key.partition("/")[0] for hit in found.hits}
    assert len(found.hits) == 4
    return name


def test_readers_of_an_alias_see_the_old_or_the_new_collection(home: Home) -> None:
    """Readers meet no error in 200 switches, after some of which the old collection is deleted."""
    filled(home, "old-0")
    home.set_alias("live", "old-0")
    stop, failed, seen = threading.Event(), [], set()

    def read() -> None:
        while not stop.is_set():
            try:
                with home.open("live") as found:
                    seen.add(found.name)
                    assert found.count() >= 0
            except NotFoundError as error:
                if "has been deleted" not in str(error):  # the collection that was open, not the name
                    failed.append(error)
            except StorageError:  # SQLite opened a further connection to a deleted collection
                pass
            except Exception as error:  # noqa: BLE001 - any error fails the test
                failed.append(error)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for one in readers:
        one.start()
    try:
        for number in range(10):
            home.copy(f"old-{number}", f"old-{number + 1}").close()
            for _ in range(10):
                home.set_alias("live", f"old-{number + 1}")
                home.set_alias("live", f"old-{number}")
            home.set_alias("live", f"old-{number + 1}")
            home.delete(f"old-{number}")
    finally:
        stop.set()
        for one in readers:
            one.join()
    assert failed == []
    assert len(seen) > 3
    with home.open("live") as last:
        assert (last.name, origin(last)) == ("old-10", "old-0")


def test_another_process_that_is_killed_leaves_one_of_the_two(home: Home) -> None:
    """A switch is done or not; no process sees a name without a collection."""
    for name in ("a", "b"):
        filled(home, name)
    home.set_alias("live", "a")
    for turn in range(6):
        victim = victims.Victim(victims.switch, home.path, "live", ("a", "b"))
        threading.Timer(random.Random(turn).uniform(0.02, 0.2), victim._process.kill).start()
        while victim._process.is_alive():
            with home.open("live") as found:
                assert origin(found) == found.name
        reports = victim.killed()
        with home.open("live") as found:
            assert not reports or found.name in (reports[-1], "b" if reports[-1] == "a" else "a")
        home.set_alias("live", "a")
        assert not [path.name for path in home.path.iterdir() if path.name.startswith(".link")]


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize(
    ("point", "count"),
    [("os.symlink", 1), ("os.rename", 1), ("os.symlink", 2), ("os.replace", 1), ("sync_folder", 1), ("sync_folder", 2)],
)
def test_a_rename_that_is_killed_is_done_or_not(home: Home, keep: bool, point: str, count: int) -> None:
    """Its aliases lead to the collection before and after; the next change of a name ends the rename."""
    filled(home, "old")
    filled(home, "other")
    home.set_alias("live", "old")
    victim = victims.Victim(
        victims.rename, home.path, "old", "new", keep, f"crossview.engine.catalog.names:{point}", count
    )
    assert victim.killed() == []
    (name,) = set(home.names()) - {"other"}
    for _ in range(2):
        with home.open("live") as found:
            assert (found.name, origin(found)) == (name, "old")
        if keep:
            with home.open("old") as found:
                assert found.name == name
        home.set_alias("more", "other")
    expected = {"live": name, "more": "other"} | ({"old": name} if keep and name == "new" else {})
    assert home.aliases() == expected
    assert not [path.name for path in home.path.iterdir() if path.name.startswith((".renamed", ".link"))]


def test_a_rename_waits_for_no_training_and_stops_none(home: Home) -> None:
    """The rename is refused; the training ends, and then the rename succeeds."""
    filled(home, "old")
    begun, go = threading.Event(), threading.Event()

    def progress(*_: object) -> None:
        begun.set()
        go.wait(300)

    with home.open("old") as opened:
        training = threading.Thread(target=lambda: opened.train(Recipe(spec="pca", views=("v",)), progress=progress))
        training.start()
        assert begun.wait(300)
        with pytest.raises(BusyError, match="uses collection 'old': rename it afterwards"):
            home.rename("old", "new")
        go.set()
        training.join()
        assert [space.name for space in opened.spaces()] == ["pca", "raw"]
    home.rename("old", "new")
    with home.open("new") as found:
        assert found.info().name == "new"
        assert origin(found) == "old"


def test_an_open_collection_states_that_it_was_renamed(home: Home) -> None:
    """A collection that is created under the old name is another one."""
    filled(home, "old")
    with home.open("old") as opened:
        assert origin(opened) == "old"
        home.rename("old", "new")
        with pytest.raises(NotFoundError, match="'old' has been deleted or renamed"):
            opened.count()
        filled(home, "old")
        with pytest.raises(NotFoundError, match="'old' has been deleted or renamed"):
            opened.items.delete(["old/1"])
    with home.open("old") as other, home.open("new") as renamed:
        assert other.count() == renamed.count() == 4


def test_a_copy_shares_nothing_with_its_original(home: Home) -> None:
    """It has the items, spaces and labels, and later changes of one do not change the other."""
    filled(home, "old")
    with home.open("old") as old:
        old.train(Recipe(spec="pca", views=("v",)))
        before = old.items(limit=10)
        assert origin(old) == "old"
        with home.copy("old", "new") as new:
            assert new.info().name == "new"
            assert new.items(limit=10) == before
            assert [space.name for space in new.spaces()] == [space.name for space in old.spaces()]
            assert origin(new) == "old"
            new.items.delete(["old/0"])
            assert (old.count(), new.count()) == (4, 3)


def test_a_link_to_a_folder_elsewhere_is_a_collection(home: Home, tmp_path: Path) -> None:
    """It is one as before; only a link to a name of the same home is an alias."""
    filled(home, "old")
    os.rename(home.path / "old", tmp_path / "elsewhere")
    os.symlink(tmp_path / "elsewhere", home.path / "old")
    assert (home.names(), home.aliases()) == (["old"], {})
    home.set_alias("live", "old")
    home.rename("old", "new")
    with home.open("live") as found:
        assert (found.name, origin(found)) == ("new", "old")


def test_an_alias_of_a_removed_folder_states_so(home: Home) -> None:
    """The message has the command that points it to another collection."""
    filled(home, "old")
    filled(home, "new")
    home.set_alias("live", "old")
    os.rename(home.path / "old", home.path.parent / "away")
    with pytest.raises(NotFoundError, match="alias 'live' stands for collection 'old', which does not exist"):
        home.open("live")
    home.set_alias("live", "new")
    home.open("live").close()
