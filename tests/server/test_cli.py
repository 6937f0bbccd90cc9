import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from terminal import BOTH, done, result_of, run

from crossview.engine.collections.home import Home
from crossview.server.client.client import Client
from crossview.server.core.exposure import is_loopback
from crossview.server.edge.listen import RunningServer

DOTS = "pictures/dots/dots-00.jpg"
COMMAND = (sys.executable, "-m", "crossview.server.commands.cli")
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(params=BOTH)
def where(request: pytest.FixtureRequest, server: RunningServer) -> list[str]:
    """The options that choose the backend; both lead to the same home."""
    if request.param == "local":
        return ["--home", str(server.collections.home.path)]
    return ["--server", server.address]


@pytest.mark.parametrize(("word", "own"), [("--version", set()), ("list", {"describe"}), ("stats", {"stats"})])
def test_a_command_imports_only_what_it_needs(word: str, own: set[str], tmp_path: Path) -> None:
    """The modules of all commands take longer to import than a short command runs."""
    code = (
        "import sys; from crossview.server.commands.cli import PANELS, main\n"
        "try: main()\n"
        "finally: print(*(name.rpartition('.')[2] for name in sys.modules if '.server.commands.' in name))"
    )
    command = [sys.executable, "-c", code, word]
    printed = subprocess.run(
        command,
        cwd=ROOT,
        capture_output=True,
        text=True,
        env=os.environ | {"CROSSVIEW_HOME": str(tmp_path)},
        check=False,
    )
    loaded = set(printed.stdout.splitlines()[-1].split())
    assert loaded & {"describe", "stats", "search", "serve", "index"} == own


def test_help_is_quick() -> None:
    """It loads none of the heavy libraries."""
    heavy = "{'numpy', 'grpc', 'cv2', 'sqlalchemy', 'faiss'}"
    code = f"import crossview.server.commands.cli, sys; print(sorted({heavy} & set(sys.modules)))"
    loaded = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == "[]"


def test_a_collection_from_beginning_to_end(where: list[str], pictures: Path, tmp_path: Path) -> None:
    """It is created, indexed, trained, activated, searched, evaluated, listed, shown and deleted."""
    (tmp_path / "bad.jpg").write_bytes(b"no picture")
    assert "created cli with views color, sift" in done("create", "cli", "--views", "color,sift:words=24", *where)
    try:
        failures = tmp_path / "failures.jsonl"
        output = done(
            "index", "cli", pictures, tmp_path, "--labels", "folder", "--failures", failures, "--workers", 1, *where
        )
        assert "18 added, 0 updated, 0 unchanged, 1 could not be used" in output
        assert f"{tmp_path / 'bad.jpg'}: " in output
        assert json.loads(failures.read_text())["key"] == str(tmp_path / "bad.jpg")
        train = ("train", "cli", "--learner", "cca", "--views", "color,sift", "--dim", 4, "--holdout", 0.2, "--seed", 3)
        assert "trained cca generation 1" in done(*train, *where)
        assert result_of(*train, *where)["generation"] == 2
        assert "active: cca generation 1" in done("space", "activate", "cli", "cca", "--generation", 1, *where)
        assert "dots-00.jpg" in done("search", "cli", pictures / "dots" / "dots-00.jpg", "--view", "color", *where)
        measured = result_of("evaluate", "cli", "--view", "color", "--targets", "sift", "-k", "2", *where)
        assert {row["database_view"] for row in measured["rows"]} == {"sift"}
        assert "color" in done("evaluate", "cli", "--view", "color", *where)
        assert done("list", *where).split() == ["cli", "drawn"]
        assert "3 of 6 items" in done("list", "cli", "--where", "label = dots", "--limit", 3, *where)
        assert "deleted 1 items; 1 did not exist" in done("item", "delete", "cli", DOTS, "no/such", "--yes", *where)
        shown = done("show", "cli", *where)
        assert "17 items" in shown
        assert "cca (active)" in shown
    finally:
        assert "deleted cli" in done("delete", "cli", "--yes", *where)
    assert done("list", *where).split() == ["drawn"]


def test_json_is_for_machines(where: list[str]) -> None:
    """The printed fields are those of the engine's answer."""
    found = result_of("search", "drawn", "--key", DOTS, "--view", "color", "-k", 3, *where)
    assert [(one["query"], one["target"], len(one["hits"])) for one in found] == [
        (0, "color", 3),
        (0, "sift", 3),
    ]
    fields = {
        "key",
        "distance",
        "target",
        "labels",
        "attributes",
        "text",
        "source",
        "scores",
        "match",
        "similarity",
        "targets",
        "probability",
        "base_rate",
        "missing",
    }
    assert set(found[0]["hits"][0]) == fields
    assert result_of("show", "drawn", *where)["active_space"] == "cca"
    assert result_of("item", "show", "drawn", DOTS, *where)["labels"] == ["dots"]
    assert result_of("list", *where) == ["drawn"]
    assert len(result_of("list", "drawn", *where)) == 18


def test_searches_of_every_kind(where: list[str], tmp_path: Path) -> None:
    """Searches by vectors, merged, filtered, in another space, with a contact sheet."""
    np.save(tmp_path / "rows.npy", np.ones((2, 24)))
    rows = done("search", "drawn", "--vector", tmp_path / "rows.npy", "--view", "sift", "--targets", "color", *where)
    assert "query 0: sift query -> color" in rows
    assert "query 1: sift query -> color" in rows
    merged = done("search", "drawn", "--key", DOTS, "--view", "color", "--merge", *where)
    assert merged.startswith("Compared by colours and textures together. Probabilities come after a training with lab")
    assert "color query -> color, sift\nrank\tsimilarity\tkey\tlabels\ttargets\tsource\n" in merged
    shown = [float(line.split("\t")[1]) for line in merged.splitlines()[3:]]
    assert len(shown) == 10
    assert shown == sorted(shown, reverse=True)
    learned = done("search", "drawn", "--key", DOTS, "--space", "raw", "--fuse", "learn", *where)
    assert "Compared by colours and textures together.\n" in learned
    assert "every view query -> color, sift" in learned
    filters = ("--where", "label = waves and label != dots", "--where", "key prefix pictures/")
    filtered = done("search", "drawn", "--key", DOTS, "--view", "color", "--space", "raw", *filters, *where)
    assert "pictures/waves/" in filtered
    assert "pictures/bricks/" not in filtered
    none = run("search", "drawn", "--key", DOTS, "--view", "color", "--where", "year = 1999", *where)
    assert "no item has the attribute 'year'" in none.stderr
    sheet = tmp_path / "sheet.png"
    done("search", "drawn", "--key", DOTS, "--view", "color", "-k", 4, "--out", sheet, *where)
    with Image.open(sheet) as drawn:
        assert drawn.width > drawn.height > 200


def test_fit_prepares_words(where: list[str], pictures: Path) -> None:
    """Words can be fitted before anything is indexed, and again only on request."""
    done("create", "words", "--views", "sift:words=8", *where)
    try:
        fit = ("view", "fit", "words", pictures, "--sample", 4)
        assert "read 4 pictures; views: sift (revision 1)" in done(*fit, *where)
        assert "already fitted" in run(*fit, "--views", "sift", *where).stderr
        assert "sift (revision 2)" in done(*fit, "--views", "sift", "--refit", *where)
    finally:
        done("delete", "words", "--yes", *where)


def test_words_and_vectors_on_the_command_line(where: list[str], pictures: Path, tmp_path: Path) -> None:
    """Captions, a text search with its sheet, vectors in order and by key, a view added, a text view fitted."""
    captions, rows, sheet = tmp_path / "captions.csv", tmp_path / "rows.npy", tmp_path / "sheet.png"
    captions.write_text("dots/dots-00.jpg,a spotted thing\nwaves/waves-00.jpg,the sea\nno/such.jpg,nothing\n")
    done("create", "words", "--views", "color,text:dim=4", *where)
    try:
        indexed = done("index", "words", pictures, "--labels", "folder", "--captions", captions, *where)
        assert "18 added, 0 updated, 0 unchanged, 1 could not be used" in indexed
        assert "no/such.jpg: " in indexed
        asked = ("search", "words", "--text", "Sea", "--view", "text", "--out", sheet)
        assert "the sea" in done(*asked, *where)
        with Image.open(sheet) as drawn:
            assert drawn.width > drawn.height > 200
        (answer,) = result_of(*asked, *where)
        assert (answer["hits"][0]["key"], answer["hits"][0]["text"]) == ("pictures/waves/waves-00.jpg", "the sea")
        assert "a spotted thing" in done("list", "words", *where)
        assert "a spotted thing" in done("item", "show", "words", DOTS, *where)
        np.save(rows, np.eye(18))
        assert "18 updated" in done("index", "words", "--view", "clip", "--vectors", rows, *where)
        (tmp_path / "keys.txt").write_text(f"{DOTS}\nnew\n")
        np.save(rows, np.ones((2, 18)))
        keyed = ("index", "words", "--view", "clip", "--vectors", rows, "--keys", tmp_path / "keys.txt")
        assert "1 added, 1 updated" in done(*keyed, *where)
        assert "2 unchanged" in done(*keyed, *where)
        assert "added view tags: text, 100 numbers per row" in done("view", "add", "words", "tags=text", *where)
        assert "tags (revision 1)" in done("view", "fit", "words", *where)
        shown = done("show", "words", *where)
        assert "vectors(dim=18)" in shown
        assert "19 items" in shown
        for arguments, words in (
            (["--text", "xyzzy", "--view", "text"], "does not know any word of"),
            (["--text", "sea", "--view", "color"], "query by view text or tags, with color as the target"),
            ([pictures / "dots" / "dots-00.jpg", "--view", "clip"], "made by another program"),
        ):
            result = run("search", "words", *arguments, *where)
            assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
            assert words in result.stderr
    finally:
        done("delete", "words", "--yes", *where)


def test_a_view_that_cannot_be_added_does_not_keep_others_out(tmp_path: Path) -> None:
    """Each fault is named, and the status is that of an error."""
    home = Home(tmp_path)
    home.create("several", ["color"]).close()
    where = ("--home", tmp_path)
    result = run("view", "add", "several", "color", "text", "smell", "gist", *where)
    assert result.exit_code == 1
    assert [line for line in result.stdout.splitlines() if "added view" in line] == [
        "added view text: text, 100 numbers per row",
        "added view gist: gist, 512 numbers per row",
    ]
    assert "color2=color" in result.stderr
    assert "there are: color" in result.stderr
    with home.open("several") as collection:
        assert [view.name for view in collection.views()] == ["color", "text", "gist"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["view", "add", "drawn", "color"], "color2=color"),
        (["view", "add", "drawn", "smell"], "there are: color"),
        (["index", "drawn", "--view", "clip", "--vectors", "/no/such.npy"], "/no/such.npy: No such file"),
        (["index", "drawn", "--view", "clip", "--vectors", __file__], "is not an array"),
        (["show", "no"], "no collection 'no'; there are: drawn"),
        (["create", "drawn"], "exists already"),
        (["create", "twice", "--views", "color,color"], "two views are named 'color': give one another name"),
        (["create", "../up"], "../up"),
        (["index", "drawn", "/no/such/folder"], "/no/such/folder"),
        (["search", "drawn", "/no/such.jpg", "--view", "color"], "/no/such.jpg cannot be read (No such file"),
        (["search", "drawn", "--key", "x", "--view", "color"], "no item 'x'"),
        (["search", "drawn", "--key", DOTS, "--view", "smell"], "smell"),
        (["search", "drawn", "--key", DOTS, "--view", "color", "-k", "0"], "k must be at least 1"),
        (["search", "drawn", __file__, "--view", "color"], "not a picture"),
        (["search", "drawn", "--vector", __file__, "--view", "color"], "is not an array"),
        (["train", "drawn", "--learner", "guess", "--views", "color"], "multi-npp"),
        (["train", "drawn", "--learner", "cca", "--views", "color,sift", "--set", "foo=1"], "foo"),
        (["space", "activate", "drawn", "no"], "no space 'no'"),
        (["delete", "no", "--yes"], "no collection 'no'"),
        (["delete", "drawn"], "needs --yes"),
        (["view", "fit", "drawn", "/no/such/folder"], "/no/such/folder"),
    ],
)
def test_errors_are_one_line(where: list[str], arguments: list[str], words: str) -> None:
    """The line is on stderr, with a remedy, and the exit code is 1."""
    result = run(*arguments, *where)
    assert result.exit_code == 1, result.output
    assert result.stderr.startswith("error: ")
    assert words in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert result.stdout == ""


@pytest.mark.parametrize(
    "arguments",
    [
        ["search", "drawn", "--view", "color"],
        ["search", "drawn", "a.jpg", "--key", "b", "--view", "color"],
        ["search", "drawn", "a.jpg", "--text", "b", "--view", "color"],
        ["index", "drawn"],
        ["index", "drawn", "a", "--view", "color"],
        ["index", "drawn", "--vectors", "a.npy"],
        ["index", "drawn", "a", "--view", "clip", "--vectors", "a.npy"],
        ["index", "drawn", "--view", "clip", "--vectors", "a.npy", "--labels", "folder"],
        ["embed", "drawn", "--key", "a"],
        ["annotate", "drawn"],
        ["annotate", "drawn", "a.jpg"],
        ["annotate", "drawn", "a.jpg", "--label", "b", "--clear", "labels"],
        ["annotate", "drawn", "a.jpg", "--label", "b", "--from", "a.csv"],
        ["annotate", "drawn", "--label", "b"],
        ["delete", "drawn", "a.jpg"],
        ["item", "delete", "drawn"],
        ["item", "show", "drawn"],
        ["train", "drawn", "--learner", "cca", "--views", "color", "--set", "novalue"],
        ["evaluate", "drawn", "--view", "color", "-k", "five"],
        ["list", "--home", "a", "--server", "b"],
        ["nonsense"],
    ],
)
def test_misuse_exits_with_two(arguments: list[str]) -> None:
    """A wrong command line has another status than a command that failed."""
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert "Traceback" not in result.output


def test_no_server_is_said_with_the_remedy() -> None:
    """The message is not a stack of connection errors."""
    result = run("list", "--server", "127.0.0.1:1")
    assert result.exit_code == 1
    assert result.stderr.startswith("error: no server at 127.0.0.1:1; start one with: crossview serve")


def test_surprises_are_one_line_too(monkeypatch: pytest.MonkeyPatch, home: Home) -> None:
    """A bug prints no traceback unless the user asks for it."""
    monkeypatch.setattr(Home, "names", lambda self: 1 / 0)
    result = run("list", "--home", home.path)
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    assert "ZeroDivisionError" in result.stderr
    assert isinstance(run("--debug", "list", "--home", home.path).exception, ZeroDivisionError)


def test_ctrl_c_says_how_to_go_on(monkeypatch: pytest.MonkeyPatch, home: Home, pictures: Path) -> None:
    """The exit code is 130, as in shells."""

    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("crossview.engine.collections.collection.Collection.index", stop)
    result = run("index", "drawn", pictures, "--home", home.path)
    assert result.exit_code == 130
    assert "Run the same command again" in result.stderr


def test_loopback_is_known() -> None:
    """Only addresses that reach this machine need no warning."""
    assert all(map(is_loopback, ("127.0.0.1", "127.8.9.1", "::1", "[::1]", "localhost")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "192.168.1.4", "example.org")))


@pytest.fixture
def serving(home: Home) -> Iterator["subprocess.Popen[str]"]:
    command = [*COMMAND, "serve", "--home", str(home.path), "--port", "0"]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        yield process
        process.kill()


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.long)])
def test_serve_is_ready_when_it_says_so_and_stops_when_told(
    serving: "subprocess.Popen[str]", home: Home, number: int
) -> None:
    """One line with the address; SIGTERM and Ctrl-C end it with exit code 0."""
    assert serving.stdout is not None
    assert serving.stderr is not None
    line = serving.stdout.readline()
    assert line.startswith(f"crossview serves {home.path} on 127.0.0.1:")
    with Client(line.split()[-1]) as client:
        assert client.names() == ["drawn"]
    os.kill(serving.pid, number)
    assert serving.wait(300) == 0
    assert "Traceback" not in serving.stderr.read()


def test_serve_stops_when_nobody_reads_what_it_says(serving: "subprocess.Popen[str]") -> None:
    """This happens after ``crossview serve 2>&1 | head -1``, or without the terminal that started it."""
    assert serving.stdout is not None
    assert serving.stderr is not None
    assert serving.stdout.readline().startswith("crossview serves")
    serving.stdout.close()
    serving.stderr.close()
    os.kill(serving.pid, signal.SIGTERM)
    assert serving.wait(300) == 0


def test_the_command_works_as_a_process(home: Home) -> None:
    """Output, errors and exit codes as scripts see them; the environment names the home."""
    environment = {**os.environ, "CROSSVIEW_HOME": str(home.path)}
    good = subprocess.run([*COMMAND, "list"], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert (good.returncode, good.stdout, good.stderr) == (0, "drawn\n", "")
    bad = subprocess.run([*COMMAND, "show", "no"], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert (bad.returncode, bad.stdout) == (1, "")
    assert bad.stderr.startswith("error: no collection 'no'")
