"""The audit command: findings with commands that can be pasted, here and through a server."""

import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from terminal import BOTH, done, reached, result_of, run

from crossview.engine.collections.home import Home
from crossview.engine.values.audit import KINDS
from crossview.engine.values.item import IndexOptions, ItemUpdate, NewItem
from crossview.engine.values.recipe import Recipe
from crossview.server.commands.audit import _COMMANDS


@pytest.fixture(params=BOTH)
def where(request: pytest.FixtureRequest, pictures: Path, tmp_path: Path) -> Iterator[list[str]]:
    """The options that choose the backend of a home with the trained collection ``pets``, which has faults."""
    folder, home = shutil.copytree(pictures, tmp_path / "files"), Home(tmp_path / "home")
    with home.create("pets", ("color", "sift:words=24")) as made:
        made.index([folder], IndexOptions(labels="folder", workers=1))
        made.train(Recipe(spec="cca", views=("color", "sift"), dim=4, holdout=0.2), space="made")
        made.items.update([ItemUpdate("files/dots/dots-01.jpg", labels=("waves",))])
        made.views.add("gist")
        sample = [path.read_bytes() for path in folder.rglob("*.jpg")]
        made.views.fit(sample, views=["sift"], refit=True)
    (folder / "dots" / "dots-02.jpg").unlink()
    (folder / "dots" / "dots-03.jpg").write_bytes(b"")
    with reached(home, request.param) as options:
        yield options


def test_each_finding_has_a_command_that_works(where: list[str], tmp_path: Path) -> None:
    """It is in the JSON and in the terminal; a server does not open files."""
    found = result_of("audit", "pets", *where)
    commands = {one["kind"]: one["command"] for one in found["findings"]}
    here = "--home" in where
    assert {"outdated_rows", "lacking_rows", "outdated_space"} <= commands.keys()
    assert ({"missing_files", "unreadable_files"} <= commands.keys()) == here
    assert any("not opened" in note for note in found["notes"]) == (not here)
    output = run("audit", "pets", *where)
    for one in found["findings"]:
        assert one["sentence"] in output.stdout
        assert one["command"] in output.stdout
    lacking = next(one for one in found["findings"] if one["kind"] == "lacking_rows")
    assert (lacking["count"], lacking["view"]) == (18, "gist")
    kinds = sorted(commands, key=lambda kind: (kind == "outdated_space", "files" in kind))
    for kind in kinds:  # index first: a space needs rows of the latest fit
        _, *words = shlex.split(commands[kind])
        words = [*words[:2], "--yes", *words[2:]] if words[:2] == ["item", "delete"] or "--prune" in words else words
        result = run(*words)
        assert result.exit_code == 0, (commands[kind], result.output)
    left = {one["kind"]: one["count"] for one in result_of("audit", "pets", *where)["findings"]}
    assert not left.keys() & {"outdated_space", "missing_files"}
    assert left.get("outdated_rows", 0) == (0 if here else 2)  # a server does not know that two files are gone


def test_the_page_contains_the_findings(where: list[str], tmp_path: Path) -> None:
    """They have thumbnails and commands, and keys that cannot become markup."""
    done("audit", "pets", "--out", tmp_path / "audit.html", "--limit", 3, *where)
    text = (tmp_path / "audit.html").read_text()
    assert "<title>Audit: pets</title>" in text
    assert "crossview index pets" in text
    assert "data:image/jpeg;base64," in text
    assert [path.name for path in tmp_path.glob("*.part")] == []


def test_mistakes_are_one_line(where: list[str]) -> None:
    for options, words in ((("nobody",), "no collection 'nobody'"), (("pets", "--space", "no"), "no space 'no'")):
        result = run("audit", *options, *where)
        assert result.exit_code == 1
        assert words in result.stderr
        assert result.stderr.count("\n") == 1


def test_every_kind_has_a_command() -> None:
    assert set(_COMMANDS) == set(KINDS)


def test_views_of_poor_rows_have_commands_that_work(tmp_path: Path) -> None:
    """One deletes a view of equal rows; the other adds rows that lie near 0."""
    rows, keys = np.random.default_rng(0).normal(size=(20, 3)), [f"{number}" for number in range(20)]
    home = Home(tmp_path / "home")
    with home.create("poor", ["good=vectors:dim=3", "equal=vectors:dim=2", "remote=vectors:dim=3"]) as made:
        named = zip(keys, rows, strict=True)
        made.items.put([NewItem(key, rows={"good": row, "equal": [1, 2], "remote": row + 1e7}) for key, row in named])
    np.save(tmp_path / "rows.npy", rows)
    (tmp_path / "keys.txt").write_text("".join(f"{key}\n" for key in keys))
    where = ("--home", str(home.path))
    commands = {finding["kind"]: finding["command"] for finding in result_of("audit", "poor", *where)["findings"]}
    centred = commands["remote_rows"].replace("FILE.npy", str(tmp_path / "rows.npy"))
    for command in (commands["equal_rows"] + " --yes", centred.replace("FILE.txt", str(tmp_path / "keys.txt"))):
        result = run(*shlex.split(command)[1:])
        assert result.exit_code == 0, (command, result.output)
    assert not {"equal_rows", "remote_rows"} & {one["kind"] for one in result_of("audit", "poor", *where)["findings"]}
