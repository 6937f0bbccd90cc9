"""Messages of commands that were stopped or misled state the known facts, and the remedy."""

import os
import signal
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from terminal import BOTH, done, fill_rows, reached, run

from crossview.engine.collections.home import Home
from crossview.server.client.client import Client
from crossview.server.commands.progress_bar import duration

ROOT = Path(__file__).resolve().parents[2]
COMMAND = (sys.executable, "-m", "crossview.server.commands.cli")


def stopping(after: int):
    """Return progress that is interrupted when so many steps of indexing are done."""

    def stop(what: str, done: int, total: int, note: str = "") -> None:
        if what == "indexing" and done >= after:
            raise KeyboardInterrupt

    return stop


@pytest.mark.parametrize("backend", BOTH)
def test_an_interrupted_index_says_what_was_committed(
    tmp_path: Path, pictures: Path, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It states how many items, here and through a server; and the same command continues."""
    home = Home(tmp_path / "home")
    home.create("some", ["color"]).close()
    monkeypatch.setattr("crossview.engine.catalog.ingest.indexing._COMMIT_ITEMS", 4)
    monkeypatch.setattr("crossview.server.client.remote_index.batches.__defaults__", (4,))
    with reached(home, backend) as where:
        bar = "crossview.server.commands.following.progress_bar"
        with monkeypatch.context() as patch:
            patch.setattr(bar, lambda *_: nullcontext(stopping(10)))
            result = run("index", "some", pictures, "--workers", 1, *where)
        assert result.exit_code == 130
        with home.open("some") as collection:
            kept = collection.count()
        assert 0 < kept < 18
        assert f"stopped; {kept} items were committed and are kept" in result.stderr
        assert "Run the same command again" in result.stderr
        assert f"{18 - kept} added, 0 updated, {kept} unchanged" in done(
            "index", "some", pictures, "--workers", 1, *where
        )


@pytest.mark.parametrize("backend", BOTH)
def test_interrupted_vectors_say_what_was_committed(
    tmp_path: Path, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It counts the batches that were done."""
    home = Home(tmp_path / "home")
    fill_rows(home, 10)
    np.save(tmp_path / "rows.npy", np.ones((20, 3), np.float32))
    monkeypatch.setattr("crossview.engine.catalog.ingest.vectors._ROWS_AT_ONCE", 8)
    bar = "crossview.server.commands.index.progress_bar"
    monkeypatch.setattr(bar, lambda *_: nullcontext(stopping(16)))
    with reached(home, backend) as where:
        result = run("index", "rows", "--view", "clip", "--vectors", tmp_path / "rows.npy", *where)
    assert result.exit_code == 130
    assert "stopped; 16 items were committed and are kept" in result.stderr


@pytest.mark.parametrize("backend", BOTH)
def test_an_index_that_is_interrupted_at_once_says_that_nothing_was_committed(
    tmp_path: Path, pictures: Path, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The interruption comes while it still looks for files."""
    home = Home(tmp_path / "home")
    home.create("none", ["color"]).close()

    def stop(*_: object) -> list[object]:
        raise KeyboardInterrupt

    monkeypatch.setattr("crossview.engine.catalog.ingest.indexing.walk", stop)
    monkeypatch.setattr("crossview.server.client.remote_index.walk", stop)
    with reached(home, backend) as where:
        result = run("index", "none", pictures, *where)
    assert result.exit_code == 130
    assert "stopped; nothing was committed" in result.stderr
    assert "is kept" not in result.stderr


def test_a_home_that_does_not_exist_is_said_so(tmp_path: Path) -> None:
    """Commands that look for a collection say so, and the list of all; an empty collection gets another message."""
    missing = tmp_path / "mistyped"
    for command in (("show", "rows"), ("search", "rows", "--key", "a", "--view", "color"), ("delete", "rows", "--yes")):
        result = run(*command, "--home", missing)
        assert result.exit_code == 1
        assert f"the folder {missing} does not exist" in result.stderr
    for form in ((), ("--json",)):
        assert f"the folder {missing} does not exist" in run("list", "--home", missing, *form).stderr
    assert not missing.exists()
    missing.mkdir()
    assert f"there are none in {missing}" in run("show", "rows", "--home", missing).stderr


def test_indexing_into_a_missing_collection_names_the_command_that_creates_it(tmp_path: Path, pictures: Path) -> None:
    """The message is about the collection, in any home; a name that no collection can have gets no command."""
    for there in ("missing", "empty"):
        home = tmp_path / there
        if there == "empty":
            home.mkdir()
        result = run("index", "pics", pictures, "--no-create", "--home", home)
        assert result.exit_code == 1
        assert result.stderr.startswith("error: no collection 'pics'; ")
        assert "; create the collection with: crossview create pics --home" in result.stderr
    assert "crossview create" not in run("show", "My Pics", "--home", tmp_path / "empty").stderr


def test_a_home_is_no_file(tmp_path: Path) -> None:
    """It can neither be read nor written nor served."""
    file = tmp_path / "file"
    file.write_text("")
    for command in (("list",), ("create", "a"), ("show", "a"), ("serve", "--port", 0)):
        result = run(*command, "--home", file)
        assert (result.exit_code, result.stderr) == (
            1,
            f"error: {file} is a file; a home is a folder of collections\n",
        )


@pytest.mark.long
@pytest.mark.parametrize("there", ["missing", "empty", "filled"])
def test_serving_an_empty_home_is_said_so(tmp_path: Path, there: str) -> None:
    """It starts all the same, because a home is made with its first collection; the log has a line for each call."""
    home = Home(tmp_path / "home")
    if there != "missing":
        home.path.mkdir()
    if there == "filled":
        home.create("a", ["color"]).close()
    command = [*COMMAND, "serve", "--home", str(home.path), "--port", "0", "--log-requests"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        with Client(process.stdout.readline().split()[-1]) as client:
            client.create("b", ["color"])
        process.send_signal(signal.SIGTERM)
        assert process.wait(300) == 0
        printed = process.stderr.read()
    assert (f"warning: no collections to serve: the folder {home.path} does not exist" in printed) == (
        there == "missing"
    )
    assert (f"warning: no collections to serve: there are none in {home.path}" in printed) == (there == "empty")
    assert "CreateCollection collection=b status=OK ms=" in printed


@pytest.mark.parametrize("backend", BOTH)
def test_tuning_shows_every_candidate(tmp_path: Path, backend: str) -> None:
    """Each comes with its score and the remaining time, on stderr, during the tuning, without a terminal too."""
    home = Home(tmp_path / "home")
    fill_rows(home, 10)
    tune = ("tune", "rows", "--learner", "cca", "--views", "color,gist", "--dim", 2, "--folds", 2)
    values = ("--try", "kernel=none", "--try", "power=[0, 1]", "--try", 'shrinkage=["auto", [1.0, 1.0, 1.0]]')
    with reached(home, backend) as where:
        result = run(*tune, *values, *where)
        quiet = run(*tune, *values, "--json", *where)
    assert result.exit_code == 0
    estimate, *lines = result.stderr.splitlines()
    assert estimate.startswith("training: learns from ")
    assert [line.partition(":")[0] for line in lines] == ["tuning 1 of 3", "tuning 2 of 3", "tuning 3 of 3"]
    assert all("kernel=none, power=" in line for line in lines)
    assert sum(": map " in line for line in lines) == 2
    assert sum("cannot be used: " in line for line in lines) == 1
    assert sum(" left" in line for line in lines) == 2
    assert quiet.stderr == ""


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0 s"), (80.0, "80 s"), (200.0, "3 min"), (5000.0, "83 min"), (7300.0, "2 h")]
)
def test_durations_read_well(seconds: float, text: str) -> None:
    """They are in the unit that suits them."""
    assert duration(seconds) == text


@pytest.mark.parametrize("arguments", [("--timeout", "0"), ("--timeout", "-2"), ("--timeout", "nan")])
def test_a_timeout_that_cannot_be_meant(arguments: tuple[str, str]) -> None:
    """It is a usage error, and so is one without a server."""
    assert run("list", "--server", "127.0.0.1:1", *arguments).exit_code == 2
    assert "give --server as well" in run("list", "--timeout", "3").stderr


def test_a_command_gives_up_after_its_timeout(tmp_path: Path) -> None:
    """It prints one line with the method and the seconds, with exit code 1; the next command has no timeout again.

    The shorter calls before the training have time enough on a busy machine, too.
    """
    long = ("--learner", "multi-npp", "--dim", 4, "--set", "batch_size=8", "--set", "max_iter=1000000")
    home = Home(tmp_path / "home")
    fill_rows(home, 10)
    with reached(home, "remote") as where:
        result = run("train", "rows", *long, "--views", "color,gist", "--timeout", "4", *where)
        assert result.exit_code == 1
        assert result.stderr.splitlines()[-1].startswith("error: Train had no answer from "), result.stderr
        assert "within 4 seconds" in result.stderr
        assert "rows" in done("list", *where)
        assert run("evaluate", "rows", "--view", "color", "--timeout", "300", *where).exit_code == 0


@pytest.mark.parametrize("backend", BOTH)
def test_arguments_that_are_no_utf_8(tmp_path: Path, backend: str) -> None:
    """A shell passes them on so: the error shows the argument, not the codec that failed."""
    home = Home(tmp_path / "home")
    fill_rows(home, 2)
    with reached(home, backend) as where:
        for command in (("search", "rows", "--view", "color", "--key", "\udcff"), ("item", "show", "rows", "\udcff")):
            result = run(*command, *where)
            assert result.exit_code == 1
            assert "no item '\\\\xff'" in result.stderr
