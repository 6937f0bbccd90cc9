"""A bad day: processes that are killed at any time and at the worst points, damaged and swapped files.

After each, all acknowledged changes are there, no deleted item comes back, every answer equals the plain model, and no
file is left over. CROSSVIEW_KILLS says how many processes of each kind are killed in the long tests, about three in a
second; a thousand of each:

CROSSVIEW_KILLS=1000 OMP_NUM_THREADS=1 .venv/bin/python -m pytest -q tests/engine/test_faults.py -k again_and_again
"""

import os
import random as chance
import shutil
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from living import Asked, Change, Items, after, drawn, make
from seeds import seed_of
from survival import check_order, found, survived, thirty
from victims import Victim, read, write

from crossview.engine.collections.home import Home
from crossview.engine.values.errors import InvalidInputError, NotFoundError, StorageError

POINTS = (
    "crossview.engine.catalog.catalog:Transaction.next_sequence",  # a change has begun
    "crossview.engine.catalog.rows:RowStore.put",  # in the middle of the change
    "crossview.engine.catalog.catalog:Transaction.purge",  # a snapshot is written and not yet known
    "crossview.index.snapshot:os.replace",  # or not yet in its place
    "crossview.engine.spaces.versions:Versions._save_index",
    "crossview.engine.spaces.snapshot_files:remove_unless_at_work",
    "crossview.engine.spaces.indexed:replayed",
)
KILLS = int(os.environ.get("CROSSVIEW_KILLS", "15"))
PATIENCE = 300
"""Maximum seconds of a change while readers are killed: a guard against a change that hangs."""
SECONDS = 0.4
"""Seconds within which a process is killed, from before it opens the collection to some changes later."""
TOKEN = "0123456789abcdef" * 2


@pytest.fixture
def bad(home: Home) -> Items:
    return thirty(home)


def changes(state: Items, random: np.random.Generator, count: int) -> tuple[list[Change], list[Items]]:
    """Changes one after another, and the states that they lead to."""
    made, states = list[Change](), [state]
    for _ in range(count):
        made.append(drawn(random, states[-1]))
        states.append(after(states[-1], made[-1]))
    return made, states


# -- writers


def kill_writers(home: Home, state: Items, cycles: int) -> Items:
    """Kill writers, one after another; return the last state, which was possible after each of them."""
    random = np.random.default_rng(seed_of(1))
    for cycle in range(cycles):
        made, states = changes(state, random, 40)
        victim = Victim(write, home.path, made)
        acknowledged = len(victim.killed(chance.Random(seed_of(cycle)).uniform(0, SECONDS)))
        state = survived(home, states[acknowledged : acknowledged + 2], random)
    return state


@pytest.mark.random
def test_a_writer_that_is_killed_at_any_time_loses_nothing(home: Home, bad: Items):
    """Writers are killed a few times."""
    left = kill_writers(home, bad, 3)
    assert survived(home, [left], np.random.default_rng(0)) == left


@pytest.mark.random
@pytest.mark.long
def test_a_writer_that_is_killed_again_and_again_loses_nothing(home: Home, bad: Items):
    """CROSSVIEW_KILLS says how many."""
    left = kill_writers(home, bad, KILLS)
    assert survived(home, [left], np.random.default_rng(0)) == left


@pytest.mark.long
@pytest.mark.parametrize("point", POINTS)
def test_a_writer_that_is_killed_at_the_worst_point_loses_nothing(home: Home, bad: Items, point: str):
    """They are named points of a commit, of a snapshot and of a compaction, at the first and at a later time."""
    random = np.random.default_rng(2)
    state = bad
    for count in (1, 3):
        made, states = changes(state, random, 40)
        acknowledged = len(Victim(write, home.path, made, point, count).killed())
        state = survived(home, states[acknowledged : acknowledged + 2], random)


# -- readers


def kill_readers(home: Home, state: Items, kills: int, at_once: int = 2) -> float:
    """Change a collection while readers come and are killed; check every answer that they gave before.

    Returns the seconds of the slowest change.
    """
    random, states = np.random.default_rng(seed_of(3)), [state]

    def killing() -> None:
        for number in range(0, kills, at_once):
            first = len(states) - 1
            readers = [Victim(read, home.path, number + own) for own in range(at_once)]
            for own, reader in enumerate(readers):
                asked = reader.killed(chance.Random(seed_of(number + own)).uniform(0, SECONDS))
                assert all(any(one.matches(state) for state in states[first:]) for one in asked)

    with home.open("bad") as collection, ThreadPoolExecutor(1) as threads:
        killer, slowest = threads.submit(killing), 0.0
        while len(states) == 1 or not killer.done():
            change = drawn(random, states[-1])
            states.append(after(states[-1], change))
            began = time.monotonic()
            make(collection, change)
            slowest = max(slowest, time.monotonic() - began)
        killer.result()
        found(collection, states[-1:], random)
    survived(home, states[-1:], random)
    return slowest


@pytest.mark.random
def test_readers_that_are_killed_stop_no_writer_and_leave_nothing(home: Home, bad: Items):
    """A few readers open the collection, search it and save its indexes when they close it."""
    assert kill_readers(home, bad, 4) < PATIENCE


@pytest.mark.random
@pytest.mark.long
def test_readers_that_are_killed_again_and_again_stop_no_writer(home: Home, bad: Items):
    """Four are killed at once; CROSSVIEW_KILLS says how many in all."""
    assert kill_readers(home, bad, KILLS, 4) < PATIENCE


@pytest.mark.random
@pytest.mark.long
def test_readers_and_a_writer_that_are_killed_again_and_again_lose_nothing(home: Home, bad: Items):
    """They run at once, and each is killed at a time of its own."""
    random, state = np.random.default_rng(seed_of(4)), bad
    for cycle in range(KILLS):
        made, states = changes(state, random, 40)
        seconds = [chance.Random(f"{seed_of(cycle)}/{own}").uniform(0, SECONDS / 2) for own in range(3)]
        readers = [Victim(read, home.path, 2 * cycle + own) for own in range(2)]
        acknowledged = len(Victim(write, home.path, made).killed(seconds[0]))
        asked = [one for own, reader in enumerate(readers) for one in reader.killed(seconds[1 + own])]
        assert all(any(one.matches(state) for state in states[: acknowledged + 2]) for one in asked)
        state = survived(home, states[acknowledged : acknowledged + 2], random)


# -- what killed processes leave


def test_what_killed_processes_left_is_removed_by_the_next_opening(home: Home, bad: Items, tmp_path: Path):
    """They are halves of collections, of snapshots and of copies; they are never listed, and stay during work."""
    shutil.copytree(home.path / "bad", home.path / f".new-{TOKEN}")
    shutil.copytree(home.path / "bad", home.path / f".deleted-{TOKEN}")
    (home.path / "bad" / "indexes").mkdir(exist_ok=True)
    (home.path / "bad" / "indexes" / ".raw-1-v.idx.abcd1234").write_bytes(b"half")
    (tmp_path / f".crossview-copy-{TOKEN}").write_bytes(b"half")
    (tmp_path / f".crossview-copy-{TOKEN}-journal").write_bytes(b"half")
    assert home.names() == ["bad"]
    home.backup("bad", tmp_path / "copy.db")
    assert [path.name for path in tmp_path.iterdir() if "copy" in path.name] == ["copy.db"]
    with home.restore("other", tmp_path / "copy.db"):
        assert (home.path / f".new-{TOKEN}").is_dir()  # the restoring is at work in the home itself
    survived(home, [bad], np.random.default_rng(5))


def test_what_others_are_at_work_on_is_no_leftover(home: Home, bad: Items, tmp_path: Path, monkeypatch):
    """Another opening, copy or search takes nothing away from a restoring, a copy or a snapshot."""
    random = np.random.default_rng(6)
    home.backup("bad", tmp_path / "copy.db")
    replace, seen = os.replace, []

    def meanwhile(*arguments: object) -> None:
        survived_meanwhile()
        replace(*arguments)
        seen.append(str(arguments[0]))

    def survived_meanwhile() -> None:
        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", replace)
            with home.open("bad") as other:
                found(other, [bad], random)

    monkeypatch.setattr(os, "replace", meanwhile)
    with home.open("bad") as collection:
        found(collection, [bad], random)
        make(collection, ("compact", None))
    home.restore("other", tmp_path / "copy.db", progress=lambda *_: survived_meanwhile()).close()
    home.backup("bad", tmp_path / "second.db", lambda *_: home.backup("bad", tmp_path / f"{time.monotonic()}.db"))
    assert any(".idx." in path for path in seen)
    survived(home, [bad], random)
    survived(home, [bad], random, "other")


# -- damaged and swapped files


def test_damaged_snapshots_are_built_again(home: Home, bad: Items):
    """They are torn, emptied, changed by bytes at any place, or those of two targets exchanged."""
    random = np.random.default_rng(7)
    with home.open("bad") as collection:
        make(collection, ("train", None))
        found(collection, [bad], random)
    folder = home.path / "bad" / "indexes"
    for share in np.linspace(0, 1, 4, endpoint=False).tolist():
        for damage in (lambda content, place: content[:place], flipped):
            path = next(folder.glob("raw-*.idx"))
            content = path.read_bytes()
            path.write_bytes(damage(content, int(share * len(content))))
            survived(home, [bad], random)
    path, other = next(folder.glob("raw-*.idx")), next(folder.glob("other-*.idx"))
    path.write_bytes(other.read_bytes())
    survived(home, [bad], random)


def flipped(content: bytes, place: int) -> bytes:
    changed = bytearray(content)
    changed[place] ^= 0x10
    return bytes(changed)


def test_a_damaged_copy_is_refused_and_changes_nothing(home: Home, bad: Items, tmp_path: Path):
    """It is torn at any place or has a changed byte anywhere, in a row too, where no database would notice."""
    random = np.random.default_rng(8)
    copy = home.backup("bad", tmp_path / "copy.db")
    whole = copy.read_bytes()
    with home.open("bad") as collection:
        make(collection, change := ("delete", sorted(bad)[:3]))
    state = after(bad, change)
    places = [*np.linspace(0, len(whole) - 1, 40).astype(int).tolist(), *range(len(whole) - 32, len(whole))]
    for place in places:
        for content in (whole[:place], flipped(whole, place)):
            copy.write_bytes(content)
            for name in ("bad", "new"):
                with pytest.raises(InvalidInputError, match=r"copy.db is (damaged: .*; use another copy|not a copy)"):
                    home.restore(name, copy, replace=True)
    assert home.names() == ["bad"]
    survived(home, [state], random)
    copy.write_bytes(whole)
    home.restore("bad", copy, replace=True).close()
    survived(home, [bad], random)


def test_a_database_without_a_checksum_is_a_copy_too(home: Home, bad: Items, tmp_path: Path):
    """It is that of a closed collection, copied by hand; a torn one is refused."""
    with closing(sqlite3.connect(home.path / "bad" / "catalog.db")) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    content = (home.path / "bad" / "catalog.db").read_bytes()
    (tmp_path / "copy.db").write_bytes(content)
    home.restore("other", tmp_path / "copy.db").close()
    survived(home, [bad], np.random.default_rng(9), "other")
    for length in np.linspace(0, len(content) - 1, 30).astype(int).tolist():
        (tmp_path / "copy.db").write_bytes(content[:length])
        with pytest.raises(InvalidInputError, match=r"damaged|not a copy"):
            home.restore("third", tmp_path / "copy.db")
    check_order(home)


def test_a_damaged_catalog_is_refused_and_brought_back_from_a_copy(home: Home, bad: Items, tmp_path: Path):
    """It is torn, or has zeros instead of a page; its own copy is refused, and an earlier copy restores it."""
    random = np.random.default_rng(10)
    copy, catalog = home.backup("bad", tmp_path / "copy.db"), home.path / "bad" / "catalog.db"
    whole = catalog.read_bytes()
    for number, content in enumerate((whole[: len(whole) // 2], bytes(32768) + whole[32768:], b"")):
        catalog.write_bytes(content)
        for refused in (lambda: opened(home), lambda: home.backup("bad", tmp_path / "damaged.db")):
            with pytest.raises(StorageError, match=r"catalog is damaged.* restore the collection from"):
                refused()
        assert not (tmp_path / "damaged.db").exists()
        home.restore(f"again{number}", copy).close()
        survived(home, [bad], random, f"again{number}")


def opened(home: Home) -> None:
    with home.open("bad") as collection:
        collection.items()


def test_a_catalog_swapped_for_another_collections_answers_for_that(home: Home, bad: Items):
    """Index snapshots of the earlier catalog are not used, and a collection that was open raises NotFoundError."""
    random = np.random.default_rng(11)
    survived(home, [bad], random)
    state = thirty(home, "other", seed=12)
    survived(home, [state], random, "other")
    with home.open("bad") as before:
        found(before, [bad], random)
        for name in ("catalog.db", "catalog.db-wal", "catalog.db-shm"):
            (home.path / "bad" / name).unlink(missing_ok=True)
            if (source := home.path / "other" / name).exists():
                shutil.copy(source, home.path / "bad" / name)
        with pytest.raises(NotFoundError, match="deleted"):
            make(before, ("delete", ["item/001"]))
        with pytest.raises(NotFoundError, match="deleted"):
            Asked.of(random).find(before)
    survived(home, [state], random)
