"""Labels, captions and attributes from the command line, here and through a server."""

import shlex
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from drawn import write_pictures
from terminal import BACKENDS, done, reached, result_of, run

from crossview.engine.catalog.ingest import annotations
from crossview.engine.collections.home import Home
from crossview.engine.runtime.progress import Progress


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


@pytest.fixture(params=BACKENDS)
def where(request: pytest.FixtureRequest, home: Home, tmp_path: Path):
    """The options by which commands reach a home with six pictures in three folders."""
    write_pictures(tmp_path / "photos", 2)
    home.create("pets", ["color"]).close()
    with reached(home, request.param) as options:
        yield options


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    return tmp_path / "photos"


def labels(where: list[str]) -> dict[str, list[str]]:
    return {item["key"]: item["labels"] for item in result_of("list", "pets", *where)}


def test_vectors_are_labelled_as_they_come(where, tmp_path):
    np.save(tmp_path / "rows.npy", np.eye(3, dtype=np.float32))
    (tmp_path / "keys.txt").write_text("a\nb\nc\n")
    (tmp_path / "labels.csv").write_text("key,label,year\na,first,1999\nb,,\nx,nothing,\n")
    rows = ["--view", "clip", "--vectors", tmp_path / "rows.npy", "--keys", tmp_path / "keys.txt"]
    out = done("index", "pets", *rows, "--labels", tmp_path / "labels.csv", *where)
    assert out.startswith("3 added")
    assert "x: " in out
    assert "labels.csv, line 4" in out
    assert labels(where) == {"a": ["first"], "b": [], "c": []}
    assert result_of("item", "show", "pets", "a", *where)["attributes"] == {"year": 1999}


@pytest.fixture
def rows(tmp_path: Path) -> list[object]:
    """The options by which three vectors are indexed, and labelled."""
    np.save(tmp_path / "rows.npy", np.eye(3, dtype=np.float32))
    (tmp_path / "keys.txt").write_text("a\nb\nc\n")
    (tmp_path / "labels.csv").write_text("key,label\na,first\nb,second\nc,third\n")
    files = ["--vectors", tmp_path / "rows.npy", "--keys", tmp_path / "keys.txt", "--labels", tmp_path / "labels.csv"]
    return ["--view", "clip", *files]


def test_the_printed_time_is_that_of_the_whole_command(home, rows, tmp_path, monkeypatch):
    """A clock that leaps here makes labels take long; the time includes them."""
    clock, annotate, leaps = time.monotonic, annotations.annotate, []

    def slowly(*arguments, **options):
        leaps.append(1000)
        return annotate(*arguments, **options)

    monkeypatch.setattr(time, "monotonic", lambda: clock() + sum(leaps))
    monkeypatch.setattr(annotations, "annotate", slowly)
    home.create("pets", ["color"]).close()
    here = "--home", home.path
    assert 1000 <= result_of("index", "pets", *rows, *here)["seconds"] < 2000
    (tmp_path / "labels.csv").write_text("key,label\na,other\n")
    assert 1000 <= result_of("annotate", "pets", "--from", tmp_path / "labels.csv", *here)["seconds"] < 2000
    assert result_of("annotate", "pets", "a", "--label", "third", *here)["seconds"] > 0


def test_progress_covers_labels(where, rows, tmp_path, monkeypatch):
    """Each phase of a command counts up to its end."""
    steps: list[tuple[str, int, int]] = []

    @contextmanager
    def bar(*_: object) -> Iterator[Progress]:
        yield lambda what, done, total, note="": steps.append((what, done, total))

    for command in ("index", "annotate"):
        monkeypatch.setattr(f"crossview.server.commands.{command}.progress_bar", bar)
    done("index", "pets", *rows, *where)
    assert steps == [("checking", 3, 3), ("indexing", 3, 3), ("updating", 3, 3)]
    steps.clear()
    (tmp_path / "labels.csv").write_text("key,label\na,other\nnobody,other\n")
    done("annotate", "pets", "--from", tmp_path / "labels.csv", *where)
    assert steps == [("updating", 2, 2)]


def test_ctrl_c_among_the_labels_keeps_the_vectors(home, rows, monkeypatch):
    """The command says so."""

    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(annotations, "annotate", stopped)
    home.create("pets", ["color"]).close()
    result = run("index", "pets", *rows, "--home", home.path)
    assert result.exit_code == 130
    assert "3 items were committed and are kept" in result.stderr
    assert len(result_of("list", "pets", "--home", home.path)) == 3


def test_a_bad_table_is_refused_before_anything_is_written(where, tmp_path):
    np.save(tmp_path / "rows.npy", np.eye(1, dtype=np.float32))
    (tmp_path / "keys.txt").write_text("a\n")
    (tmp_path / "bad.csv").write_text("key,label,year\na,x,1\na,y,2\n")
    rows = ["--view", "clip", "--vectors", tmp_path / "rows.npy", "--keys", tmp_path / "keys.txt"]
    assert run("index", "pets", *rows, "--labels", tmp_path / "bad.csv", *where).exit_code == 1
    assert labels(where) == {}
    done("index", "pets", *rows, *where)
    (tmp_path / "good.csv").write_text("a,x\n")
    result = run("annotate", "pets", "--from", tmp_path / "good.csv", "--captions", tmp_path / "bad.csv", *where)
    assert result.exit_code == 1
    assert labels(where) == {"a": []}


def test_any_item_is_labelled_from_a_file_or_by_name(where, photos, tmp_path):
    done("index", "pets", photos, "--labels", "folder", *where)
    (tmp_path / "l.csv").write_text("path,label,caption\nred/0.png,rose,a rose\ngreen/0.png,,\n")
    assert done("annotate", "pets", "--from", tmp_path / "l.csv", *where).startswith("0 added, 2 updated, 0 unchanged")
    red, green = ("photos/red/0.png", "photos/green/0.png")
    done("annotate", "pets", red, "--attribute", "year=1999", "--attribute", "by=me", *where)
    done("annotate", "pets", green, "--label", "leaf", "--label", "tree", "--text", "a tree", *where)
    done("annotate", "pets", red, "--clear", "by", "--clear", "text", *where)
    found = {item["key"]: item for item in result_of("list", "pets", *where)}
    assert (found[red]["labels"], found[red]["attributes"], found[red]["text"]) == (["rose"], {"year": 1999}, "")
    assert (found[green]["labels"], found[green]["text"]) == (["leaf", "tree"], "a tree")
    assert found["photos/blue/0.png"]["labels"] == ["blue"]


def test_the_next_index_undoes_no_label_and_no_deletion(where, photos, tmp_path):
    done("index", "pets", photos, "--labels", "folder", *where)
    done("annotate", "pets", "photos/red/0.png", "--label", "rose", *where)
    done("item", "delete", "pets", "photos/red/1.png", "--yes", *where)
    before = labels(where)
    out = done("index", "pets", photos, "--labels", "folder", *where)
    assert out.startswith("0 added, 0 updated, 5 unchanged")
    assert labels(where) == before
    assert "files whose items were deleted: 1; they stay out" in out
    assert "  photos/red/1.png\n" in out
    (remedy,) = [line.partition("Index them with: ")[2] for line in out.splitlines() if "--include-deleted" in line]
    program, *words = shlex.split(remedy)
    assert program == "crossview"
    assert done(*words).startswith("1 added")
    assert labels(where) == {**before, "photos/red/1.png": ["red"]}
    done("index", "pets", photos, "--labels", "folder", "--replace-labels", *where)
    assert labels(where)["photos/red/0.png"] == ["red"]


def test_folders_themselves_and_single_files_are_labelled_once(where, photos):
    done("index", "pets", photos / "red", photos / "green/0.png", "--labels", "folder", *where)
    assert labels(where) == {"red/0.png": ["red"], "red/1.png": ["red"], "green/0.png": ["green"]}
    out = done("index", "pets", photos, "--labels", "folder", *where)
    assert out.startswith("3 added, 0 updated, 3 unchanged")


def test_what_is_gone_and_what_is_no_picture_is_said(where, photos):
    (photos / "scan.pdf").write_bytes(b"%PDF")
    done("index", "pets", photos, *where)
    (photos / "red/0.png").rename(photos / "green/new.png")
    out = done("index", "pets", photos, *where)
    assert "left out: 1 PDF" in out
    assert "photos/red/0.png -> photos/green/new.png" in out
    (photos / "green/new.png").unlink()
    assert "Delete the items with: crossview index pets" in done("index", "pets", photos, *where)


def test_what_cannot_be_labelled_is_an_error(where, tmp_path):
    (tmp_path / "l.csv").write_text("nobody,x\n")
    result = run("annotate", "pets", "--from", tmp_path / "l.csv", *where)
    assert (result.exit_code, "does not name any item" in result.stderr) == (1, True)
    result = run("annotate", "pets", "nobody", "--label", "x", *where)
    assert (result.exit_code, result.stderr) == (1, "error: nobody: no item has this key\n")


def test_a_training_that_finds_nothing_similar_warns(where, photos):
    done("create", "two", "--views", "color,gist", *where)
    done("index", "two", photos, *where)
    result = run("train", "two", "--learner", "multi-npp", "--views", "color,gist", "--dim", "2", *where)
    assert "warning: no two training items" in result.stderr
    assert result.exit_code == 0
