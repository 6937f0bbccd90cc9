"""The state of a collection called ``bad`` after a bad day: whole, possible, and without leftovers."""

import fcntl
import os
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace

import numpy as np
from living import DIM, Asked, Items, after, labels, make, row

from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.values.errors import BusyError, InvalidInputError, StorageError
from crossview.engine.values.query import Query, SearchRequest

REFUSALS: tuple[type[Exception], ...] = (StorageError, BusyError, InvalidInputError)
_REMEDIES = (
    "try again",
    "check that",
    "let this user",
    "use another",
    "restore the collection from",
    "free some space",
    "ulimit",
)
_LOCKS = {"lock", "lock.next", "snapshots.lock", "snapshots.lock.next"}
_FILES = {"catalog.db", "catalog.db-wal", "catalog.db-shm", "indexes", *_LOCKS}


def thirty(home: Home, name: str = "bad", seed: int = 0) -> Items:
    """Make a collection of thirty items, and return its state."""
    random = np.random.default_rng(seed)
    state = after({}, ("add", {f"item/{number:03}": (row(random), labels(random)) for number in range(30)}))
    with home.create(name, [f"v=vectors:dim={DIM}"]) as collection:
        make(collection, ("add", state))
    return state


def found(collection: Collection, possible: Sequence[Items], random: np.random.Generator) -> Items:
    """Return the one possible state that every answer fits."""
    kept = {item.key: item.labels for item in collection.items(limit=1000)}
    left = [state for state in possible if kept == {key: of for key, (_, of) in sorted(state.items())}]
    assert left, "the collection is not in one of the possible states"
    everything = SearchRequest([Query("v", vector=np.zeros(DIM, np.float32))], k=1000, space="raw")
    norms = {hit.key: hit.distance for hit in collection.search(everything)[0].hits}
    left = [state for state in left if np.allclose([np.linalg.norm(state[key][0]) for key in norms], [*norms.values()])]
    assert left, "the rows that are there are of none of the states that are possible"
    for _ in range(3):
        asked = Asked.of(random)
        asked.find(collection)
        left = [state for state in left if asked.matches(state)]
        assert left, asked
    for space in collection.spaces():
        (hits,) = collection.search(replace(everything, space=space.name))
        assert {hit.key for hit in hits.hits} == left[0].keys(), space
    return left[0]


def survived(home: Home, possible: Sequence[Items], random: np.random.Generator, name: str = "bad") -> Items:
    """Return the state that the next opening of the collection finds; no other process has it open."""
    with home.open(name) as collection:
        state = found(collection, possible, random)
    check_order(home, name)
    return state


def check_order(home: Home, name: str = "bad") -> None:
    """Check that no unfinished file is left, and no process holds a lock."""
    assert [path.name for path in home.path.iterdir() if path.name not in home.names()] == []
    folder = home.path / name
    assert {path.name for path in folder.iterdir()} <= _FILES
    assert [path.name for path in folder.glob("indexes/*") if path.name.startswith(".") or path.suffix != ".idx"] == []
    for lock in _LOCKS & {path.name for path in folder.iterdir()}:
        descriptor = os.open(folder / lock, os.O_RDWR)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.close(descriptor)
    with closing(sqlite3.connect(folder / "catalog.db")) as database:
        assert database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone() == (0, 0, 0)
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def check_remedy(error: Exception) -> None:
    """Check that the message has a remedy."""
    assert any(words in str(error) for words in _REMEDIES), str(error)
