"""One process writes at a time and says so to others; storage that refuses is a clear error."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest
from drawn import numbered

from crossview.engine.catalog.lock import WriterLock
from crossview.engine.collections.home import Home
from crossview.engine.values.errors import BusyError, StorageError

_HOLD = """
import sys
from pathlib import Path
from crossview.engine.catalog.lock import WriterLock
with WriterLock(Path(sys.argv[1])).hold():
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_second_process_is_told_who_writes_and_gets_its_turn_when_the_first_is_killed(
    home: Home, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("crossview.engine.catalog.lock.PATIENCE", 1.0)
    with home.create("a", ["color"]) as collection:
        command = [sys.executable, "-c", _HOLD, str(home.path / "a" / "lock")]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
            assert other.stdout is not None
            assert other.stdout.readline() == "held\n"
            with pytest.raises(BusyError, match=rf"process {other.pid}"):
                collection.items.delete(["x"])
            assert collection.info().items == 0  # reading goes on
            other.kill()
            other.wait()
        assert collection.items.delete(["x"]) == 0


def test_threads_of_one_process_wait_for_each_other(tmp_path: Path):
    lock, order = WriterLock(tmp_path / "lock"), []

    def work(name: str) -> None:
        with lock.hold():
            order.append(name)
            order.append(name)

    threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(order[i] == order[i + 1] for i in range(0, 8, 2))


def _mount(target: Path, *options: str) -> bool:
    target.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", *options, "tmpfs", str(target)], capture_output=True, check=False)
    return done.returncode == 0


def test_a_full_disk_loses_nothing_and_says_so(tmp_path: Path):
    disk = tmp_path / "disk"
    if not _mount(disk, "-o", "size=2m"):
        pytest.skip("needs the right to mount a small file system")
    try:
        collection = Home(disk / "home").create("a", ["color"])
        kept = 0
        refused = ""
        while not refused:
            try:
                collection.items.put([numbered(number) for number in range(kept, kept + 100)])
                kept += 100
            except StorageError as error:
                refused = str(error)
        assert "disk is full" in refused
        assert collection.count() == kept > 0
        collection.close()
        with Home(disk / "home").open("a") as again:
            assert again.count() == kept
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def test_a_read_only_home_answers_and_refuses_to_be_written(tmp_path: Path):
    disk = tmp_path / "disk"
    if not _mount(disk, "-o", "size=8m"):
        pytest.skip("needs the right to mount a small file system")
    try:
        with Home(disk / "home").create("a", ["color"]) as collection:
            collection.items.put([numbered(number) for number in range(5)])
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        with Home(disk / "home").open("a") as collection:
            assert collection.count() == 5
            with pytest.raises(StorageError, match="read-only"):
                collection.items.put([numbered(7)])
        with pytest.raises(StorageError, match="read-only"):
            Home(disk / "home").create("b", ["color"])
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)
