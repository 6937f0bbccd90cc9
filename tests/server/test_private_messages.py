"""Messages to clients name no path of the home, no process and no command: these are in the server's log."""

import json
import logging
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from crossview.engine.collections.home import Home
from crossview.engine.values.errors import BusyError, CrossviewError, NotFoundError, StorageError
from crossview.engine.values.item import NewItem
from crossview.server.client.client import Client
from crossview.server.core.jobs.slot import settled
from crossview.server.edge.listen import RunningServer
from crossview.server.wire.errors import JobStoppedError
from crossview.server.wire.settings import ServerSettings
from crossview.server.wire.status import Code, refusal
from crossview.v1 import collections_pb2 as pb
from crossview.v1.jobs_pb2 import SubmitJobRequest


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home-of-secrets")


@pytest.fixture
def client(home: Home) -> Iterator[Client]:
    with RunningServer(ServerSettings(home=home.path, port=0)) as running, Client(running.address) as made:
        yield made


def no_lock(folder: Path) -> None:
    (folder / "lock").symlink_to("/dev/null")


def no_catalog(folder: Path) -> None:
    (folder / "catalog.db").write_bytes(b"x" * 5_000)


def a_pipe(folder: Path) -> None:
    (folder / "lock").unlink()
    os.mkfifo(folder / "lock")


@pytest.mark.parametrize("fault", [no_lock, no_catalog, a_pipe])
def test_a_storage_error_names_no_path(
    home: Home, client: Client, caplog: pytest.LogCaptureFixture, fault: Callable[[Path], None]
) -> None:
    """This holds for any kind; the log has the path."""
    with home.create("one", ["v=vectors:dim=2"]) as made:
        made.items.put([NewItem("a", rows={"v": [1, 2]})])
    if fault is no_lock:
        (home.path / "one/lock").unlink()
    fault(home.path / "one")
    with pytest.raises(StorageError) as refused:
        client.open("one").items.put_vectors("v", ["b"], np.ones((1, 2), np.float32))
    check(refused.value)
    if fault is not no_catalog:
        assert str(home.path) in caplog.text


def test_a_busy_collection_names_no_process(caplog: pytest.LogCaptureFixture) -> None:
    """It does not name the command either, which may hold secrets."""
    error = BusyError("others write it; try again", detail=f"process {os.getpid()} ({' '.join(sys.argv)})")
    with caplog.at_level(logging.WARNING):
        refused = refusal(error)
    assert refused.message == "others write it; try again"
    assert (refused.code, refused.retry_seconds) == (Code.ABORTED, 1.0)
    check(refused.message, refused.status)
    assert f"process {os.getpid()}" in caplog.text


def test_a_missing_collection_names_no_home(home: Home, client: Client) -> None:
    with pytest.raises(NotFoundError, match="no collection 'x'; there are none") as refused:
        client.open("x")
    check(refused.value)
    with pytest.raises(NotFoundError, match="home-of-secrets"):
        home.open("x")


def test_records_of_jobs_name_no_path(home: Home, client: Client, caplog: pytest.LogCaptureFixture) -> None:
    (home.path / ".jobs").mkdir(parents=True)
    (home.path / ".jobs/jobs.db").write_bytes(b"x" * 5_000)
    with pytest.raises(StorageError, match="the records of jobs cannot be read") as refused:
        client.jobs.get("some")
    check(refused.value)
    assert "home-of-secrets/.jobs/jobs.db" in caplog.text
    (home.path / ".jobs/jobs.db").unlink()


def test_the_end_of_a_job_names_no_path(home: Home) -> None:
    """It names none even if its process is dead, and the collection cannot be opened."""
    home.create("one", ["v=vectors:dim=2"]).close()
    (home.path / "one/lock").symlink_to("/dev/null")
    request = SubmitJobRequest(train=pb.TrainRequest(parent="collections/one"))
    status = settled(home, request, JobStoppedError("its process died"))
    assert "its process died. Whether it made a space is unknown: 'lock' is a link" in status.message
    check(status)


def check(*values: object) -> None:
    for one in values:
        text = str(one) if not isinstance(one, CrossviewError) else json.dumps([str(one), repr(one.args), one.message])
        for secret in ("home-of-secrets", f"process {os.getpid()}", sys.argv[0]):
            assert secret not in text, text
