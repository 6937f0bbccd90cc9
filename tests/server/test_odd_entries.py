"""An odd file, folder or line never ends a job over many, here or through a server, and is named."""

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from drawn import draw, encode
from file_system import ONE, write
from typer.testing import CliRunner

from crossview.engine.catalog.transfer.foreign import ForeignData
from crossview.engine.collections.home import Home
from crossview.engine.values.audit import AuditRequest
from crossview.engine.values.errors import InvalidInputError
from crossview.engine.values.item import NewItem
from crossview.server.commands.backend import Backend
from crossview.server.commands.cli import app

PNG = encode(draw("red", 0))


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    """A folder of two pictures among other files, each with the name of a picture."""
    folder = tmp_path / "odd"
    write(folder / "a.png", 0)
    write(folder / "z.png", 1)
    os.mkfifo(folder / "pipe.png")
    (folder / "loop.png").symlink_to("loop.png")
    (folder / "gone.png").symlink_to("nowhere.png")
    (folder / "empty.png").touch()
    (folder / "cut.png").write_bytes(PNG[: len(PNG) // 2])
    (folder / "folder.png").mkdir()
    (folder / "up").symlink_to("..")
    return folder


UNUSABLE = {
    "pipe.png": "not a regular file",
    "loop.png": "Too many levels of symbolic links",
    "gone.png": "No such file or directory",
    "empty.png": "the file is empty",
    "cut.png": "cut short or damaged",
}


def test_an_index_names_each(backend: Backend, odd: Path) -> None:
    with backend.create("odd", ["color"]) as made:
        report = made.index([odd], ONE)
    assert report.added == 2
    reasons = {Path(one.key).name: one.reason for one in report.failures}
    assert reasons.keys() == UNUSABLE.keys()
    assert [name for name, reason in UNUSABLE.items() if reason not in reasons[name]] == []


def test_a_file_in_too_many_folders_is_named(backend: Backend, odd: Path) -> None:
    """It is a new file, or one that moves there."""
    deep = odd.joinpath(*(letter * 200 for letter in "bcdefg"))
    write(deep / "x.png", 2)
    with backend.create("odd", ["color"]) as made:
        reasons = {Path(one.key).name: one.reason for one in made.index([odd], ONE).failures}
        assert "a key may have at most 1,024 characters" in reasons["x.png"]
        (odd / "a.png").rename(deep / "a.png")
        report = made.index([odd], ONE)
        assert (report.unchanged, report.missing, report.moved) == (1, ("odd/a.png",), {})
        assert str(deep / "a.png") in {one.key for one in report.failures}


def test_a_copy_with_the_long_keys_of_an_earlier_version_is_restored(
    home: Home, nothing_stays: None, odd: Path, tmp_path: Path
) -> None:
    with home.create("earlier", ["color"]) as made:
        made.index([odd], ONE)
    with closing(sqlite3.connect(home.path / "earlier/catalog.db", isolation_level=None)) as database:
        database.execute("UPDATE items SET key = ? WHERE key = 'odd/a.png'", [long := "odd/" + "a" * 1200])
    home.backup("earlier", tmp_path / "copy.db")
    home.restore("later", tmp_path / "copy.db")
    with home.open("later") as made:
        assert [item.key for item in made.items()] == [long, "odd/z.png"]


def test_vectors_that_no_distance_can_use_are_named(backend: Backend, tmp_path: Path) -> None:
    rows = np.arange(60, dtype=np.float64).reshape(20, 3)
    rows[3], rows[5, 2], rows[19, 0] = np.nan, np.inf, 1e300
    np.savez(tmp_path / "rows.npz", keys=np.array([f"k{number:02}" for number in range(20)]), vectors=rows)
    with backend.create("rows", ["v=vectors:dim=3"]) as made:
        report = made.items.index_vectors("v", tmp_path / "rows.npz")
        assert (report.added, [one.key for one in report.failures]) == (17, ["k03", "k05", "k19"])
        assert "row 4 of" in report.failures[0].reason
        assert "has NaN in column 1" in report.failures[0].reason
        (hits,) = made.search(view="v", key="k04", k=1)
        assert hits[0].key == "k06" or hits[0].key == "k02"


def test_an_import_names_each(backend: Backend, odd: Path) -> None:
    lines = [{"key": name, "picture": name} for name in ("a.png", *UNUSABLE, "folder.png", "no\0name.png", "z.png")]
    text = "\n".join([json.dumps(lines[0]), "{not json", *map(json.dumps, lines[1:]), "[]"])
    (odd / "data.jsonl").write_text(text, encoding="utf-8")
    with backend.create("odd", ["color"]) as made:
        report = ForeignData(odd / "data.jsonl", {"picture": "picture"}).import_into(made)
        assert (report.added, len(report.failures)) == (2, len(UNUSABLE) + 4)


def test_a_file_of_annotations_of_pictures_names_each(backend: Backend, odd: Path) -> None:
    content = {
        "images": [{"id": 1, "file_name": "a.png"}, {"id": 2, "file_name": "pipe.png"}, {"id": 3}, "x"],
        "categories": [{"id": 1, "name": "cat"}, {"id": 2}, 5],
        "annotations": [{"image_id": 1, "category_id": 1}, {"image_id": 1, "category_id": 2}, {"category_id": 1}, 7],
    }
    (odd / "coco.json").write_text(json.dumps(content), encoding="utf-8")
    with backend.create("odd", ["color"]) as made:
        report = ForeignData(odd / "coco.json").import_into(made)
        assert made.items.get("a.png").labels == ("cat",)
    named = {one.key for one in report.failures}
    assert {"annotation 2 of coco.json", "annotation 3 of coco.json", "annotation 4 of coco.json"} < named
    assert len(named) == 6


def test_views_are_fitted_on_the_other_pictures(home: Home, nothing_stays: None, odd: Path) -> None:
    home.create("odd", ["sift:words=8"]).close()
    for number in range(4):
        blocks = np.random.default_rng(number).integers(0, 255, (30, 40, 3), np.uint8)
        (odd / f"{number}.png").write_bytes(encode(blocks.repeat(8, 0).repeat(8, 1)))
    words = ["view", "fit", "odd", str(odd), "--home", str(home.path), "--workers", "1"]
    shown = CliRunner().invoke(app, words, env={"COLUMNS": "200"}).output
    for name in ("pipe.png", "loop.png", "gone.png"):
        assert f"left out: {odd / name}: {UNUSABLE[name]}" in shown
    assert "sift (revision 1)" in shown


def test_an_audit_opens_no_pipe(home: Home, nothing_stays: None, odd: Path) -> None:
    with home.create("odd", ["color"]) as made:
        made.index([odd], ONE)
        (odd / "a.png").unlink()
        os.mkfifo(odd / "a.png")
        (finding,) = [one for one in made.audit(AuditRequest()).findings if one.kind == "unreadable_files"]
    assert finding.details == (f"{odd / 'a.png'}: not a regular file",)


def test_a_program_cannot_name_a_pipe_as_a_picture(odd: Path) -> None:
    with pytest.raises(
        InvalidInputError, match=r"cannot be read \(not a regular file\): name a file, or give its bytes"
    ):
        NewItem("a", image=odd / "pipe.png")
