"""Important changes from the command line: folders and collections, labels, watching, and unusable folders."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from documented import unlike
from pages import DrawnPage
from terminal import BACKENDS, done, reached, result_of, run
from typer.testing import CliRunner

from crossview.engine.collections.home import Home
from crossview.engine.findings.changes.label_file import read_labels
from crossview.server.commands.cli import app
from crossview.server.commands.result_types import RESULTS

PAGE = DrawnPage(hours=40)
QUICK = ("--grid", 4)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


@pytest.fixture(params=BACKENDS)
def where(request: pytest.FixtureRequest, home: Home) -> Iterator[list[str]]:
    """The options by which commands reach it."""
    home.path.mkdir()
    with reached(home, request.param) as options:
        yield options


@pytest.fixture
def shots(tmp_path: Path) -> Path:
    """A folder of screenshots."""
    PAGE.save(tmp_path / "My Shots", html=True)
    return tmp_path / "My Shots"


def test_a_folder_is_told_in_words_and_numbers(where: list[str], shots: Path) -> None:
    text = done("changes", shots, *QUICK, *where)
    assert "40 versions from 2026-03-09 06:00 to 2026-03-10 21:00 by their names, period 4h" in text
    found = result_of("changes", shots, *QUICK, *where)
    assert list(unlike(found, RESULTS["changes"])) == []
    important = [change["important"] for change in found["changes"]]
    assert f"{sum(important)} of 39 changes are important" in text
    agree = sum(one == other for one, other in zip(important, PAGE.important, strict=True))
    assert agree >= 35
    assert done("list", *where).split() == ["my-shots-changes"]


def test_a_folder_is_read_once_and_its_new_pictures_later(where: list[str], shots: Path, tmp_path: Path) -> None:
    """Other folders of the same name have collections of their own; the collection may be named, too."""
    assert result_of("changes", shots, *QUICK, *where)["versions"] == 40
    DrawnPage(hours=44).save(shots, html=True, first=40)
    assert result_of("changes", shots, *QUICK, *where)["versions"] == 44
    other = tmp_path / "elsewhere" / "my shots"
    PAGE.save(other, last=12)
    assert result_of("changes", other, *QUICK, *where)["versions"] == 12
    assert result_of("changes", other, *QUICK, "--name", "mine", *where)["versions"] == 12
    assert sorted(done("list", *where).split()) == ["mine", "my-shots-changes", "my-shots-changes-2"]
    assert result_of("changes", "my-shots-changes", *where)["versions"] == 44
    assert len(result_of("changes", "my-shots-changes", "--no-html", *where)["learned"]["weights"]) == 1


def test_another_grid_is_another_view(where: list[str], shots: Path) -> None:
    done("changes", shots, *QUICK, *where)
    assert len(result_of("changes", shots, "--grid", 5, *where)["importance"]) == 25
    assert len(result_of("changes", "my-shots-changes", "--grid", 4, *where)["importance"]) == 16
    refused = run("changes", "my-shots-changes", "--grid", 6, *where)
    assert refused.exit_code == 1
    assert "crossview view add my-shots-changes gist6=gist:grid=6:size=336 --" in refused.output
    assert ", then index its pictures again" in refused.output


def test_labels_are_asked_for_kept_and_heeded(where: list[str], shots: Path, tmp_path: Path) -> None:
    """Answers are yes, no, cannot tell, undo, and quit; the file is the memory, and the next call continues."""
    labels, picture = tmp_path / "labels.csv", tmp_path / "pair.png"

    def pressing(keys: str, count: int) -> str:
        options = ("--important", labels, "--questions", count, "--image", picture, *QUICK, *where)
        arguments = [str(one) for one in ("changes", shots, *options)]
        result = CliRunner().invoke(app, arguments, input=keys, env={"COLUMNS": "200"})
        assert result.exit_code == 0, result.output
        return result.stdout

    text = pressing("uynxsun", 4)
    assert "this session has no answer to undo" in text
    assert "is the change important?" in text
    first = read_labels(labels)
    assert [label.important for label in first] == [True, False, False]
    assert len({(label.earlier, label.later) for label in first}) == 3
    assert picture.read_bytes().startswith(b"\x89PNG")
    pressing("q", 2)
    pressing("s", 1)
    assert read_labels(labels)[:3] == first
    assert read_labels(labels)[3].important is None
    found = result_of("changes", shots, "--important", labels, *QUICK, *where)
    assert found["learned"]["labels"] == 3
    labelled = {change["later"]: change["label"] for change in found["changes"] if change["label"] is not None}
    assert labelled == {label.later: label.important for label in first}


def test_a_report_is_written(where: list[str], shots: Path, tmp_path: Path) -> None:
    text = done("changes", shots, *QUICK, "--out", tmp_path / "report", *where)
    page = tmp_path / "report" / "index.html"
    assert str(page) in text
    assert "<html" in page.read_text(encoding="utf-8")
    assert json.loads((tmp_path / "report" / "changes.json").read_text(encoding="utf-8"))["versions"] == 40


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        ((), "contains no pictures"),
        (("2026-03-09.png",), "contains 1 pictures"),
        (("a.png", "b.png", "c.png"), "the order of 3 pictures is not known"),
    ],
)
def test_a_folder_that_cannot_be_used_leaves_nothing(
    home: Home, tmp_path: Path, names: tuple[str, ...], reason: str
) -> None:
    folder = tmp_path / "shots"
    folder.mkdir()
    for name in names:
        PAGE.picture(0).save(folder / name)
        os.utime(folder / name, (1e9, 1e9))
    result = run("changes", folder, "--home", home.path)
    assert result.exit_code == 1
    assert reason in result.output
    assert home.names() == []


def test_pictures_that_cannot_be_read_are_named_and_left_out(home: Home, shots: Path) -> None:
    (shots / "2026-03-12T00-00.png").write_bytes(b"no picture")
    result = run("changes", shots, *QUICK, "--home", home.path)
    assert result.exit_code == 0
    assert "2026-03-12T00-00.png: the file is not a picture" in result.output
    assert "40 versions" in result.output


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--questions", 3), "--important"),
        (("--image", "x.png"), "--questions"),
        (("--watch", "--out", "x"), "--watch"),
        (("--period", "soon"), "such as 4h or 4steps"),
        (("--grid", 1), "--grid"),
    ],
)
def test_options_that_contradict_each_other_are_refused(
    home: Home, shots: Path, options: tuple[object, ...], reason: str
) -> None:
    result = run("changes", shots, *options, "--home", home.path)
    assert result.exit_code in (1, 2)
    assert reason in result.output
    assert home.names() == []


@pytest.mark.parametrize(("source", "reason"), [("./nowhere", "no folder ./nowhere"), ("nobody", "nobody")])
def test_what_is_neither_folder_nor_collection_is_said(home: Home, source: str, reason: str) -> None:
    result = run("changes", source, "--home", home.path)
    assert result.exit_code == 1
    assert reason in result.output


@pytest.mark.long
def test_watching_tells_important_changes_as_they_come(home: Home, shots: Path) -> None:
    """The folder is watched from its first picture on."""
    later = DrawnPage(hours=48)
    options = ["changes", str(shots), "--grid", "4", "--watch", "--every", "0.2", "--json", "--home", str(home.path)]
    command = [sys.executable, "-m", "crossview.server.commands.cli", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as watching:
        try:
            assert watching.stdout is not None
            assert watching.stderr is not None
            while "40 versions" not in watching.stderr.readline():
                assert watching.poll() is None
            later.save(shots, html=True, first=40)
            wanted = {later.name(hour + 1) for hour in range(39, 47) if later.important[hour]}
            heard = json.loads(watching.stdout.readline())["result"]
            assert heard["important"]
            assert Path(heard["later"]).name in wanted
            for hour in range(40, 48):  # the last version that it knows of among them
                (shots / later.name(hour)).unlink()
            while "40 versions" not in watching.stderr.readline():
                assert watching.poll() is None
            watching.send_signal(signal.SIGINT)
            assert watching.wait(300) == 130
        finally:
            watching.kill()  # a failure above must not wait for it


@pytest.mark.long
def test_a_run_that_was_killed_is_finished_by_the_next(home: Home, shots: Path) -> None:
    options = ["changes", str(shots), "--home", str(home.path)]
    with subprocess.Popen(
        [sys.executable, "-m", "crossview.server.commands.cli", *options], stdout=subprocess.DEVNULL
    ) as killed:
        while home.names() != ["my-shots-changes"]:
            time.sleep(0.05)
        killed.kill()
    assert result_of(*options)["versions"] == 40
    assert home.names() == ["my-shots-changes"]
