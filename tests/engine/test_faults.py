"""A bad day: processes that are killed at any time and at the worst points, full disks, damaged and swapped files.

After each everything acknowledged is there, and nothing that was deleted comes back.
"""

import json
import os
import random as chance
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from living import DIM, Asked, Items, after, drawn, labels, make, row

from engine.collection import Collection
from engine.home import Home

WORK = """
import importlib, json, os, signal, sys
from pathlib import Path
path, point, count = sys.argv[1:]
if point:
    module, _, name = point.rpartition(":")
    *outer, last = name.split(".")
    holder = importlib.import_module(module)
    for part in outer:
        holder = getattr(holder, part)
    real, left = getattr(holder, last), [int(count)]
    def fatal(*arguments, **options):
        left[0] -= 1
        if left[0] <= 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*arguments, **options)
    setattr(holder, last, fatal)
from living import make
from engine.home import Home
with Home(path).open("bad") as collection:
    print("open", flush=True)
    for change in map(json.loads, sys.stdin):
        make(collection, change)
        print("made", flush=True)
"""
POINTS = (
    "engine.catalog.catalog:Transaction.next_sequence",  # a change has begun
    "engine.catalog.rows:Rows.put",  # in the middle of it
    "engine.catalog.catalog:Transaction.purge",  # a snapshot is written and not yet known
    "index.snapshot:os.replace",  # or not yet in its place
    "engine.spaces.versions:Versions._note",
    "engine.spaces.deletion:remove_snapshots",
    "engine.spaces.indexed:replayed",
)


def changes(state: Items, random: np.random.Generator, count: int) -> tuple[list, list[Items]]:
    """Changes one after another, and the states that they lead to."""
    made, states = [], [state]
    for _ in range(count):
        made.append(drawn(random, states[-1]))
        states.append(after(states[-1], made[-1]))
    return made, states


def killed(home: Home, made: list, point: str = "", count: int = 1, seconds: float | None = None) -> int:
    """Make changes in a process of its own that is killed, and return how many were acknowledged."""
    environment = dict(os.environ) | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, "-c", WORK, str(home.path), point, str(count)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, text=True, env=environment, **pipes) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        with suppress(BrokenPipeError):  # it was killed while it opened the collection
            child.stdin.write("".join(json.dumps(change) + "\n" for change in made))
            child.stdin.close()
        if seconds is not None:
            child.stdout.readline()
            time.sleep(seconds)
            child.kill()
        told = child.stdout.read().count("made")
        assert child.wait(120) in (0, -signal.SIGKILL)
    return told


def contents(collection: Collection) -> dict[str, tuple[str, ...]]:
    return {item.key: item.labels for item in collection.items(limit=1000)}


def survived(home: Home, states: list[Items], acknowledged: int, random: np.random.Generator) -> Items:
    """Check what is found after a kill against the states that are possible, and return the one that it is."""
    with home.open("bad") as collection:
        found = contents(collection)
        possible = [
            state
            for state in states[acknowledged : acknowledged + 2]
            if found == {key: of for key, (_, of) in sorted(state.items())}
        ]
        assert possible, f"{acknowledged} changes were acknowledged, and what is there is another state"
        for _ in range(3):
            asked = Asked.of(random)
            asked.find(collection)
            possible = [state for state in possible if asked.matches(state)]
            assert possible, asked
        assert all(space.name in ("raw", "other") for space in collection.spaces())
    return possible[0]


@pytest.fixture
def bad(home: Home) -> Items:
    """The state of a collection of thirty items."""
    random = np.random.default_rng(0)
    state = after({}, ("add", {f"item/{number:03}": (row(random), labels(random)) for number in range(30)}))
    with home.create("bad", [f"v=vectors:dim={DIM}"]) as collection:
        make(collection, ("add", state))
    return state


def kill_often(home: Home, state: Items, cycles: int) -> None:
    random = np.random.default_rng(1)
    for cycle in range(cycles):
        made, states = changes(state, random, 40)
        acknowledged = killed(home, made, seconds=chance.Random(cycle).uniform(0, 1.5))
        state = survived(home, states, acknowledged, random)


def test_a_writer_that_is_killed_at_any_time_loses_nothing(home: Home, bad: Items):
    """A few times."""
    kill_often(home, bad, 3)


@pytest.mark.slow
def test_a_writer_that_is_killed_again_and_again_loses_nothing(home: Home, bad: Items):
    """Many times; CROSSVIEW_KILLS says how many."""
    kill_often(home, bad, int(os.environ.get("CROSSVIEW_KILLS", "15")))


@pytest.mark.slow
@pytest.mark.parametrize("point", POINTS)
def test_a_writer_that_is_killed_at_the_worst_point_loses_nothing(home: Home, bad: Items, point: str):
    """Named points of a commit, of a snapshot and of a compaction, the first and a later time."""
    random = np.random.default_rng(2)
    state = bad
    for count in (1, 3):
        made, states = changes(state, random, 40)
        state = survived(home, states, killed(home, made, point, count), random)


def test_damaged_snapshots_are_built_again(home: Home, bad: Items):
    """Torn, emptied, with flipped bytes at any place, and those of two targets exchanged."""
    random = np.random.default_rng(3)
    with home.open("bad") as collection:
        make(collection, ("train", None))
        Asked.of(random).find(collection)
    folder = home.path / "bad" / "indexes"
    whole = {path: path.read_bytes() for path in folder.glob("*.idx")}
    assert len(whole) >= 2
    path, other = list(whole)[:2]
    for place in np.linspace(0, len(whole[path]) - 1, 12).astype(int).tolist():
        flipped = bytearray(whole[path])
        flipped[place] ^= 0x10
        for content in (whole[path][:place], bytes(flipped)):
            path.write_bytes(content)
            survived(home, [bad], 0, random)
            path.write_bytes(whole[path])
    path.write_bytes(whole[other])
    survived(home, [bad], 0, random)


def test_a_catalog_swapped_for_another_collections_answers_for_that(home: Home, bad: Items, tmp_path: Path):
    """With its snapshots left in place, which belong to the other one."""
    random = np.random.default_rng(4)
    survived(home, [bad], 0, random)
    state = after({}, ("add", {f"item/{number:03}": (row(random), labels(random)) for number in range(30)}))
    with home.create("other", [f"v=vectors:dim={DIM}"]) as collection:
        make(collection, ("add", state))
        Asked.of(random).find(collection)
    for name in ("catalog.db", "catalog.db-wal", "catalog.db-shm"):
        (home.path / "bad" / name).unlink(missing_ok=True)
        if (source := home.path / "other" / name).exists():
            shutil.copy(source, home.path / "bad" / name)
    survived(home, [state], 0, random)
