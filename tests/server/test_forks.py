"""If the process that starts worker processes is killed at the worst moment, another one takes its place."""

import logging
import os
import signal
from multiprocessing import forkserver as _forkserver
from pathlib import Path
from typing import Any

import pytest
from terminal import fill_rows

from crossview.engine.collections.home import Home
from crossview.engine.values.errors import BusyError
from crossview.engine.values.recipe import Recipe
from crossview.server.client.client import Client
from crossview.server.core.forks import started
from crossview.server.edge.listen import RunningServer
from crossview.server.wire.settings import ServerSettings

forkserver: Any = _forkserver
FORKSERVER = forkserver._forkserver


def kill_server() -> None:
    """Kill the fork server, without the knowledge of multiprocessing."""
    os.kill(FORKSERVER._forkserver_pid, signal.SIGKILL)
    os.waitid(os.P_PID, FORKSERVER._forkserver_pid, os.WEXITED | os.WNOWAIT)


def killing(monkeypatch: pytest.MonkeyPatch, moment: str, times: int) -> None:
    """Kill the fork server so many times: right before or right after a process is requested."""
    owner: Any = FORKSERVER if moment == "connect" else forkserver.reduction
    name = "ensure_running" if moment == "connect" else "sendfds"
    real, left = getattr(owner, name), times

    def called(*arguments: Any) -> Any:
        nonlocal left
        left -= 1
        if left >= 0 and moment == "before":
            kill_server()
        result = real(*arguments)
        if left >= 0 and moment != "before":
            kill_server()
        return result

    monkeypatch.setattr(owner, name, called)


@pytest.mark.parametrize("moment", ["connect", "before", "after"])
def test_a_job_starts_although_the_fork_server_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, moment: str
) -> None:
    """The caller notices nothing; the log has a line and no traceback."""
    home = Home(tmp_path / "home")
    fill_rows(home, 4)
    with RunningServer(ServerSettings(home=home.path, port=0)) as running, Client(running.address) as client:
        killing(monkeypatch, moment, 1)
        made = client.open("rows").train(Recipe(spec="pca", views=("color",), dim=2))
    assert made.name
    lines = [one for one in caplog.records if one.levelno >= logging.WARNING]
    assert [one.exc_info for one in lines if "starts worker processes has ended" in one.message] == [None]


def test_a_fork_server_that_is_always_killed_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error is a state that can end, not a fault of crossview."""
    killing(monkeypatch, "after", 10**6)
    with pytest.raises(BusyError, match="try again"):
        started(os.getpid, ())
