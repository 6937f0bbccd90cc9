"""Clocks jump by years: numbers give the order, content identifies files, and a steady clock bounds waiting."""

import os
import threading
import time
from datetime import UTC, datetime, timedelta
from itertools import cycle
from pathlib import Path

import numpy as np
import pytest
from drawn import draw, encode, write_pictures
from living import Items, after, drawn, make
from survival import found, survived, thirty

from crossview.engine.catalog import catalog
from crossview.engine.catalog.lock import WriterLock
from crossview.engine.collections.home import Home
from crossview.engine.values.errors import BusyError
from crossview.engine.values.item import IndexOptions

YEARS = (20, -30, 0, 5, -12)
LABELLED = IndexOptions(labels="folder", workers=1)


@pytest.fixture
def jumping(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each reading of the time of day differ by years from the last."""
    shifts, real = cycle(timedelta(365 * years) for years in YEARS), time.time

    class Jumping(datetime):
        @classmethod
        def now(cls, tz=None) -> datetime:
            return datetime.now(tz) + next(shifts)

    monkeypatch.setattr(catalog, "datetime", Jumping)
    monkeypatch.setattr(time, "time", lambda: real() + next(shifts).total_seconds())
    monkeypatch.setattr(time, "time_ns", lambda: int(1e9 * time.time()))


@pytest.mark.usefixtures("jumping")
def test_changes_and_generations_are_in_the_order_in_which_they_were_made(home: Home):
    """Everything equals the plain model, and the newest trainings are kept, at any time of day."""
    random, state = np.random.default_rng(1), thirty(home)
    with home.open("bad") as collection, home.open("bad") as other:
        for number in range(12):
            change = drawn(random, state) if number % 2 else ("train", None)
            make(collection, change)
            state: Items = after(state, change)
            found(other, [state], random)
        space = collection.spaces.get("other")
        newest = space.generations[-1]
        assert (space.generation, *space.generations[1:]) == (1, newest - 2, newest - 1, newest)
    copy = home.backup("bad", home.path.parent / "copy.db")
    home.restore("bad", copy, replace=True).close()
    survived(home, [state], random)


def test_files_go_by_what_is_in_them_wherever_their_time_has_jumped(home: Home, tmp_path: Path):
    """Times jump by years, before 1970 too: equal content stays, other content is read, deleted files stay away."""
    paths = write_pictures(tmp_path / "pictures", 2)
    with home.create("a", ["color"]) as collection:
        collection.index([tmp_path / "pictures"], LABELLED)
        sequence = collection.info().sequence
        for years in (30, -60, -1):
            for path in paths:
                os.utime(path, (0, (datetime.now(UTC) + timedelta(365 * years)).timestamp()))
            report = collection.index([tmp_path / "pictures"], LABELLED)
            assert (report.added, report.updated, report.unchanged) == (0, 0, len(paths))
        assert collection.info().sequence == sequence
        changed, gone = paths[0], paths[1]
        before = collection.items()
        changed.write_bytes(encode(draw("green", 40)))
        os.utime(changed, (0, 0))
        collection.items.delete([one.key for one in before if one.source == str(gone)])
        os.utime(gone, (0, time.time() + 1e9))
        report = collection.index([tmp_path / "pictures"], LABELLED)
        assert (report.added, report.updated, report.unchanged) == (0, 1, len(paths) - 2)


@pytest.mark.usefixtures("jumping")
def test_a_writer_waits_as_long_as_it_says(tmp_path: Path):
    """It gets its turn when the other one is done, even if years seem to have passed."""
    order, waiting = list[str](), threading.Event()
    lock = WriterLock(tmp_path / "lock", patience=600)

    def second() -> None:
        waiting.set()
        with lock.hold():
            order.append("second")

    thread = threading.Thread(target=second)
    with lock.hold():
        began = time.monotonic()
        with pytest.raises(BusyError, match=r"0\.3 seconds"), WriterLock(tmp_path / "lock", patience=0.3).hold():
            pass
        assert 0.3 <= time.monotonic() - began < 300  # not the years that seem to pass
        thread.start()
        waiting.wait()
        order.append("first")
    thread.join(300)
    assert order == ["first", "second"]
