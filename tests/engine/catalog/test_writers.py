"""Writers take turns: threads in the order of their arrival, processes all of them, and none waits for ever."""

import json
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from crossview.engine.catalog.lock import WriterLock
from crossview.engine.collections.home import Home
from crossview.engine.values.errors import BusyError, NotFoundError

HOLD = """
import sys
from pathlib import Path
from crossview.engine.catalog.lock import WriterLock
with WriterLock(Path(sys.argv[1])).hold():
    print("held", flush=True)
    sys.stdin.read()
"""
GREEDY = """
import sys, threading
from pathlib import Path
from crossview.engine.catalog.lock import WriterLock
def work():
    while True:
        with WriterLock(Path(sys.argv[1]), patience=600).hold():
            threading.Event().wait(0.01)
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
print("started", flush=True)
sys.stdin.read()
"""
WRITE = """
import json, sys
from concurrent.futures import ThreadPoolExecutor
import numpy as np
from crossview.engine.collections.home import Home
from crossview.engine.values.item import NewItem
home, mine = sys.argv[1:]
def put(part):
    keys = [f"{mine}/{part}/{number}" for number in range(50)] + ["shared"]
    return collection.items.put_vectors("v", keys, np.full((51, 3), float(part), np.float32)).added
def add(part):
    return collection.items.put([NewItem(f"{mine}/one/{part}", rows={"v": [1, 2, 3]}, labels=(mine,))]).added
with Home(home).open("a") as collection, ThreadPoolExecutor(4) as pool:
    print(json.dumps(sum(pool.map(put, range(8))) + sum(pool.map(add, range(8)))))
"""


def run(script: str, *arguments: object) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize("processes", ["xy", pytest.param("wxyz", marks=pytest.mark.long)])
def test_threads_and_processes_that_write_at_once_all_succeed_and_lose_nothing(home: Home, processes: str):
    """Each process has four threads; an item that all of them write is there once, and new only once."""
    with home.create("a", ["v=vectors:dim=3"]) as collection:
        others = [run(WRITE, home.path, name) for name in processes]
        added = [json.loads(other.communicate()[0]) for other in others]
        assert collection.count() == sum(added) == len(processes) * (8 * 50 + 8) + 1
        assert [item.labels for item in collection.items(limit=9999) if item.key == "y/one/3"] == [("y",)]
        with collection._opened.catalog.read() as tx:
            assert len(tx.rows.ids(tx.views.all()[0])) == sum(added)


def test_who_waits_longer_than_its_patience_is_told_who_holds_the_lock(tmp_path: Path):
    with run(HOLD, tmp_path / "lock") as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with (
            pytest.raises(BusyError, match=rf"0\.1 seconds for it: try again later \(process {other.pid} \(-c "),
            WriterLock(tmp_path / "lock", patience=0.1).hold(),
        ):
            pass
        other.kill()
        other.wait()
        with WriterLock(tmp_path / "lock", patience=600).hold():
            pass


def test_threads_get_the_lock_in_the_order_in_which_they_came(tmp_path: Path):
    """This holds also for several locks of one path, as two openings of a collection have."""
    order: list[int] = []

    def work(number: int) -> None:
        with WriterLock(tmp_path / "lock").hold():
            order.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    first = WriterLock(tmp_path / "lock")
    with first.hold():
        for number, thread in enumerate(threads):
            thread.start()
            while len(first._queue._waiting) < number + 2:
                time.sleep(0.001)
    for thread in threads:
        thread.join()
    assert order == list(range(6))


def test_a_process_whose_threads_hold_the_lock_all_the_time_starves_no_other(tmp_path: Path):
    with run(GREEDY, tmp_path / "lock") as greedy:
        assert greedy.stdout is not None
        assert greedy.stdout.readline() == "started\n"
        for _ in range(5):
            with WriterLock(tmp_path / "lock", patience=600).hold():
                pass
        greedy.kill()


def test_who_waited_for_a_collection_that_was_deleted_writes_nothing(home: Home):
    """No other collection is made in its place."""
    collection, refused = home.create("a", ["v=vectors:dim=3"]), []

    def write() -> None:
        try:
            collection.items.put_vectors("v", ["x"], np.zeros((1, 3), np.float32))
        except NotFoundError as error:
            refused.append(str(error))

    waiting = threading.Thread(target=write)
    lock = WriterLock(home.path / "a" / "lock")
    with lock.hold():
        waiting.start()
        while len(lock._queue._waiting) < 2:
            time.sleep(0.001)
        (home.path / "a").rename(home.path.parent / "gone")
    waiting.join()
    assert refused == ["collection 'a' has been deleted or renamed"]
    assert home.names() == []
    collection.close()
