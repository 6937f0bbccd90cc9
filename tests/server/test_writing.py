"""Writes that a server has carried out in a process of their own."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from long_jobs import until

from crossview.engine.values.errors import NotFoundError
from crossview.engine.values.item import NewItem
from crossview.engine.values.query import Query, SearchRequest
from crossview.server.client.client import Client
from crossview.server.client.remote_collection import RemoteCollection
from crossview.server.core.writing import process
from crossview.server.core.writing.process import WriteProcess
from crossview.server.edge.listen import RunningServer
from crossview.server.wire.errors import DeadlineExceededError, ServerStoppedError
from crossview.server.wire.settings import ServerSettings

ROOT = Path(__file__).parent.parent.parent
PATIENCE = 300.0
"""Seconds until the process is there, on a busy machine."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RunningServer]:
    with RunningServer(ServerSettings(home=tmp_path / "home", port=0)) as running:
        ready(running)
        yield running


def ready(server: RunningServer) -> None:
    """Let the server start the process, if it has none, and wait until it is there."""
    server.writing.start()
    until(lambda: server.writing.pid, PATIENCE)


@pytest.fixture
def rows(server: RunningServer) -> Iterator[RemoteCollection]:
    with Client(server.address, timeout=PATIENCE) as client:
        made = client.create("rows", views=("vectors:dim=4",))
        made.items.put([item(key) for key in "abc"])
        yield made


def item(key: str) -> NewItem:
    return NewItem(key, rows={"vectors": np.full(4, ord(key[0]), np.float32)}, labels=("made",))


def keys(rows: RemoteCollection) -> list[str]:
    return sorted(found.key for found in rows.items(limit=100))


def test_what_was_written_is_found_at_once(rows: RemoteCollection) -> None:
    """Items are imported, changed and deleted, by any process."""
    request = SearchRequest([Query("vectors", key="a")], k=10)
    assert [hit.key for hit in rows.search(request)[0].hits] == ["b", "c"]
    rows.items.put([item("d")])
    assert rows.items.delete(["b"]) == 1
    assert [hit.key for hit in rows.search(request)[0].hits] == ["c", "d"]


def test_errors_are_those_of_the_engine(server: RunningServer, rows: RemoteCollection) -> None:
    """The process passes them on as it would answer them."""
    report = rows.items.put([NewItem("x", rows={"vectors": np.full(3, 1.0, np.float32)})])
    assert [failure.key for failure in report.failures] == ["x"]
    with Client(server.address) as client:
        absent = RemoteCollection(client, "absent")
        with pytest.raises(NotFoundError, match="absent"):
            absent.items.put([item("a")])


def test_a_collection_made_anew_is_not_taken_for_the_old_one(server: RunningServer, rows: RemoteCollection) -> None:
    """The process has had the old one open."""
    with Client(server.address, timeout=PATIENCE) as client:
        client.delete("rows")
        again = client.create("rows", views=("vectors:dim=4",))
        again.items.put([item("z")])
        assert keys(again) == ["z"]


def test_a_process_that_was_killed_is_replaced(server: RunningServer, rows: RemoteCollection) -> None:
    """The write after it fails with the message that its outcome is unknown, and acknowledged writes are there."""
    os.kill(server.writing.pid, signal.SIGKILL)
    with pytest.raises(ServerStoppedError, match="check before"):
        rows.items.put([item("d")])
    written = set(keys(rows))
    assert {"a", "b", "c"} <= written
    rows.items.put([item("x")])
    assert set(keys(rows)) == written | {"x"}
    ready(server)


def test_writes_of_many_take_turns(rows: RemoteCollection) -> None:
    """They are more than the process carries out at once."""
    threads = [threading.Thread(target=rows.items.put, args=([item(key)],)) for key in "defghijklmnop"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert "".join(keys(rows)) == "abcdefghijklmnop"


def test_a_write_that_nobody_waits_for_is_given_up(
    server: RunningServer, rows: RemoteCollection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another program holds the lock; the caller's time runs out, and nothing is written when the lock is free."""
    begun, ended, answer = list[Any](), list[Any](), process._Process.answer

    def noted(*given: Any) -> Any:
        begun.append(given)
        try:
            return answer(*given)
        finally:
            ended.append(given)

    monkeypatch.setattr(process._Process, "answer", noted)
    with server.collections.home.open("rows") as collection:
        with collection._opened.catalog.write():
            for seconds in (0.5, 5.0, 40.0, PATIENCE):  # a busy machine may begin it only after the deadline
                with Client(server.address, timeout=seconds) as hasty, pytest.raises(DeadlineExceededError):
                    hasty.open("rows").items.put([item("x")])
                if begun:
                    break
            until(lambda: len(ended) == len(begun) > 0)
        rows.items.put([item("y")])
    assert keys(rows) == ["a", "b", "c", "y"]


def test_the_end_does_not_wait_for_a_process_that_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine a start may last longer than a server has to end; the process ends as soon as it is there."""
    imported, ended = threading.Event(), threading.Event()

    class Slow:
        def __init__(self, *_: object) -> None:
            imported.wait(PATIENCE)

        def end(self) -> str:
            ended.set()
            return "ended"

    monkeypatch.setattr(process, "_Process", Slow)
    writing = WriteProcess(tmp_path, 1, idle_seconds=PATIENCE)
    writing.start()
    writing.close()
    assert not ended.is_set()
    imported.set()
    assert ended.wait(PATIENCE)
    assert writing.pid is None


SHARED = """
import gc
from crossview.server.core.forks import CONTEXT
with CONTEXT.Pool(1) as pool:
    print(pool.apply(gc.get_freeze_count))
"""


def test_the_memory_that_processes_share_is_left_alone() -> None:
    """The garbage collections of each process do not visit the imports of their origin."""
    # In a program of its own: an origin of processes that other tests have started imports other modules.
    found = subprocess.run([sys.executable, "-c", SHARED], cwd=ROOT, capture_output=True, text=True, check=True)
    assert int(found.stdout) > 0
