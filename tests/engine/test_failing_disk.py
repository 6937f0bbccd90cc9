"""Disks that fail at any access, and full ones: an operation is done or refused with a remedy, and loses nothing.

CROSSVIEW_FAULTS says at how many places of each operation the disk fails in the long tests, of 24 to 135 (5 of a
deletion). Each run draws others, so that many runs together reach all; at every one:

CROSSVIEW_FAULTS=200 OMP_NUM_THREADS=1 .venv/bin/python -m pytest -q tests/engine/test_failing_disk.py
"""

import errno
import os
import resource
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from disk import SmallDisk, failing_disk, small_disk
from living import Change, Items, after, labels, make, row
from seeds import seed_of
from survival import REFUSALS, check_remedy, found, survived, thirty

from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home


@dataclass
class Day:
    """A collection ``bad`` that is open, in the state ``now``, and a copy of it in the state ``then``."""

    home: Home
    collection: Collection
    then: Items
    now: Items
    more: Change
    """A possible change."""

    @property
    def copy(self) -> Path:
        return self.home.path.parent / "copy.db"


def backup(day: Day) -> None:
    day.home.backup("bad", day.home.path.parent / "second.db")


def restore(day: Day, name: str = "bad") -> None:
    day.home.restore(name, day.copy, replace=True).close()


OPERATIONS: dict[str, Callable[[Day], object]] = {
    "import": lambda day: make(day.collection, day.more),
    "save": lambda day: day.collection._opened.versions().save(),
    "train": lambda day: make(day.collection, ("train", None)),
    "compact": lambda day: make(day.collection, ("compact", None)),
    "backup": backup,
    "restore": restore,
    "restore as another": lambda day: restore(day, "other"),
    "create": lambda day: day.home.create("other", ["v=vectors:dim=2"]).close(),
    "delete": lambda day: day.home.delete("second"),
}
FAULTS = int(os.environ.get("CROSSVIEW_FAULTS", "2"))
Made = tuple[Path, Items, Items]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A folder with a home and a copy, which are copied for each test, and the states that they are in."""
    folder, random = tmp_path_factory.mktemp("made"), np.random.default_rng(0)
    home = Home(folder / "home")
    then = thirty(home)
    home.create("second", ["v=vectors:dim=2"]).close()
    with home.open("bad") as collection:
        make(collection, ("train", None))
        found(collection, [then], random)
    home.backup("bad", folder / "copy.db")
    changes = ("delete", sorted(then)[:4]), ("row", {key: row(random) for key in sorted(then)[4:8]})
    now = then
    with home.open("bad") as collection:
        for change in changes:
            make(collection, change)
            now = after(now, change)
    return folder, then, now


@contextmanager
def a_day(made: Made, folder: Path) -> Iterator[Day]:
    """Return a day in a folder that does not exist yet; it is removed when the day is over."""
    shutil.copytree(made[0], folder)
    home, random = Home(folder / "home"), np.random.default_rng(1)
    more = ("add", {f"item/{number}": (row(random), labels(random)) for number in range(500, 520)})
    with home.open("bad") as collection:
        found(collection, [made[2]], random)
        yield Day(home, collection, made[1], made[2], more)
    shutil.rmtree(folder)


def attempt(work: Callable[[], object]) -> bool:
    """Return whether work was done; a refusal has a sentence with the remedy."""
    try:
        work()
    except REFUSALS as error:
        check_remedy(error)
        return False
    return True


def check_day(day: Day, name: str, done: bool) -> None:
    """Check that nothing is lost for this opening and the next one, and that the operation succeeds now."""
    random = np.random.default_rng(2)
    results = {"import": after(day.now, day.more), "restore": day.then}
    possible = [results[name]] if done and name in results else [day.now]
    if name == "restore":
        possible = [day.then, *possible]  # it may be done although the last sync of its name failed
    now = found(day.collection, possible, random)
    second = day.copy.with_name("second.db")
    if second.exists():  # whole or not at all
        day.home.restore("third", second).close()
        survived(day.home, [day.now], random, "third")
        second.unlink()
    if "other" in day.home.names():
        if name == "restore as another":
            survived(day.home, [day.then], random, "other")
        day.home.delete("other")
    if name != "delete" or "second" in day.home.names():
        OPERATIONS[name](day)
    now = results.get(name, now)
    found(day.collection, [now], random)
    survived_beside(day, now, random)


def survived_beside(day: Day, now: Items, random: np.random.Generator) -> None:
    day.collection.close()
    survived(day.home, [now], random)
    day.collection = day.home.open("bad")
    assert [path.name for path in day.home.path.parent.iterdir() if path.name.startswith(".")] == []


@pytest.fixture(scope="module")
def accesses(made: Made, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], int]:
    """Return the number of an operation's accesses, which does not depend on the kind of error."""

    @cache
    def counted(name: str) -> int:
        folder = tmp_path_factory.mktemp("counted") / "day"
        with failing_disk() as disk, a_day(made, folder) as day, disk.fail(10**9):
            OPERATIONS[name](day)
            return disk.count

    return counted


def some_of(accesses: int, most: int) -> list[int]:
    """Draw a number of the accesses from the first to the last, one of each of as many equal parts."""
    edges = np.linspace(1, accesses + 1, min(most, accesses) + 1).astype(int)
    return np.random.default_rng(seed_of(accesses)).integers(edges[:-1], edges[1:]).tolist()


def fail_some(made: Made, folder: Path, name: str, error: int, lasting: bool, times: list[int]) -> None:
    """Let some of an operation's accesses fail, each in a day of its own."""
    assert times
    for time in times:
        print("access", time)  # pytest shows it with a failure, which can be repeated
        with failing_disk() as disk, a_day(made, folder) as day:
            with disk.fail(time, error, lasting=lasting):
                done = attempt(lambda day=day: OPERATIONS[name](day))
            assert disk.failed
            check_day(day, name, done)


@pytest.mark.random
@pytest.mark.parametrize("name", ["import", "save", "backup", "restore"])
def test_an_operation_that_the_disk_fails_under_loses_nothing(
    made: Made, accesses: Callable[[str], int], tmp_path: Path, name: str
):
    """The access writes, syncs, renames or makes a file."""
    fail_some(made, tmp_path / "day", name, errno.EIO, False, some_of(accesses(name), 2))


@pytest.mark.random
@pytest.mark.long
@pytest.mark.parametrize("lasting", [False, True], ids=["once", "from_then_on"])
@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC], ids=["broken", "full"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_that_the_disk_fails_under_at_any_access_loses_nothing(
    made: Made, accesses: Callable[[str], int], tmp_path: Path, name: str, error: int, lasting: bool
):
    """Each access fails with two errors, once or from then on; CROSSVIEW_FAULTS says at how many places."""
    fail_some(made, tmp_path / "day", name, error, lasting, some_of(accesses(name), FAULTS))


# -- full disks


@contextmanager
def limited_files(folder: Path) -> Iterator[Callable[[], AbstractContextManager[None]]]:
    """Make a folder, and yield a function that stops the growth of its files for a block."""
    folder.mkdir()

    @contextmanager
    def full() -> Iterator[None]:
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    yield full


ONLY_ROOM = {"save", "delete"}
"""Operations that succeed on a full disk: the files that they cannot write save only time or room."""


def fill(made: Made, tmp_path: Path, disk: SmallDisk, names: Iterable[str]) -> set[str]:
    """Begin operations while the disk is full, and check what they leave; with space again they succeed.

    Returns those that succeeded at once.
    """
    succeeded = set()
    with disk(tmp_path / "disk") as full:
        for name in names:
            with a_day(made, tmp_path / "disk" / "day") as day:
                with full():
                    done = attempt(lambda day=day, name=name: OPERATIONS[name](day))
                    succeeded |= {name} if done else set()
                    found(day.collection, [day.now], np.random.default_rng(3))
                check_day(day, name, done)
    return succeeded


def test_on_a_full_disk_everything_is_found_and_what_was_refused_succeeds_later(made: Made, tmp_path: Path):
    """The files cannot grow."""
    names = {"import", "save", "backup", "restore", "compact"}
    assert fill(made, tmp_path, limited_files, sorted(names)) == names & ONLY_ROOM


@pytest.mark.long
@pytest.mark.parametrize("disk", [limited_files, small_disk])
def test_whatever_is_done_on_a_full_disk_loses_nothing(made: Made, tmp_path: Path, disk: SmallDisk):
    """These are all operations, also on a file system without space, which needs the right to mount one."""
    assert fill(made, tmp_path, disk, OPERATIONS) == OPERATIONS.keys() & ONLY_ROOM
