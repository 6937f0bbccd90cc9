"""Deletion of items whose files are missing or excluded, here and through a server, loses nothing of a disk."""

import json
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from file_system import ONE, write
from typer.testing import CliRunner, Result

from crossview.engine.collections.home import Home
from crossview.engine.values.any_collection import AnyCollection
from crossview.engine.values.comparisons import Answer
from crossview.engine.values.item import IndexOptions, ItemUpdate
from crossview.features.extras import install_command
from crossview.server.commands.backend import Backend
from crossview.server.commands.cli import app
from crossview.server.commands.following import Losses, _below
from crossview.server.edge.listen import RunningServer

COMMAND = (sys.executable, "-m", "crossview.server.commands.cli")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for number in range(6):
        write(tmp_path / f"tree/{'ab'[number % 2]}/{number}.png", number)
    return tmp_path / "tree"


@pytest.fixture
def followed(backend: Backend, tree: Path) -> Iterator[AnyCollection]:
    made = backend.create("followed", ["color"])
    made.index([tree], ONE)
    made.items.update([ItemUpdate(item.key, labels=(f"label of {item.key}",)) for item in made.items()])
    yield made
    made.close()


@pytest.fixture(params=[False, True], ids=["here", "served"])
def where(request: pytest.FixtureRequest, server: RunningServer, home: Home, nothing_stays: None) -> list[str]:
    """The options of a command for the home, on this machine or through its server."""
    return ["--server", server.address] if request.param else ["--home", str(home.path), "--workers", "1"]


@contextmanager
def unmounted(path: Path, tmp_path: Path) -> Iterator[None]:
    """Leave the empty mount point of a disk."""
    path.rename(tmp_path / "disk")
    path.mkdir()
    yield
    path.rmdir()
    (tmp_path / "disk").rename(path)


def test_prune_deletes_nothing_of_a_disk_that_is_not_mounted(home: Home, tmp_path: Path, where: list[str]) -> None:
    """A root is empty, or all of a folder that still exists; a folder that is gone with its files is deleted."""
    trees = [tmp_path / name for name in ("large", "small", "nas")]
    for number in range(120):
        write(trees[0] / f"{number % 10}/{number}.png", number)
    for number in range(2):
        write(trees[1] / f"{number}.png", 200 + number)
    for number in range(60):
        write(trees[2] / f"{'abc'[number % 3]}/deep/{number}.png", 300 + number)
    home.create("pets", ["color"]).close()

    def index(*options: str) -> Result:
        words = ["index", "pets", *map(str, trees), *options, *where]
        return CliRunner().invoke(app, words, env={"COLUMNS": "200"})

    assert "182 added" in index().output
    with unmounted(trees[1], tmp_path):
        refused = index("--prune", "--yes")
    assert refused.exit_code == 1
    assert f"error: all 2 files of {trees[1]} are missing: is a disk not mounted? The items stay." in refused.output
    assert "--prune-limit 2" in refused.output
    with unmounted(trees[2] / "b/deep", tmp_path):
        refused = index("--prune", "--yes")
    assert f"all 20 files of {trees[2] / 'b'} are missing, although the folder exists" in refused.output
    assert "182 unchanged" in index("--prune", "--yes").output
    shutil.rmtree(trees[0] / "3")
    assert "deleted 12 items, whose files are missing:" in index("--prune", "--yes").output
    shutil.rmtree(trees[1])
    trees[1].symlink_to(tmp_path / "away")
    assert index("--prune", "--yes").exit_code == 1
    with home.open("pets") as made:
        assert made.count() == 170


def test_losses_count_roots_folders_and_shares(tmp_path: Path) -> None:
    root, other = str(tmp_path), str(tmp_path / "other")
    below, existing = f"{root}/disk", tmp_path / "there/mount"
    existing.mkdir(parents=True)

    def reasons(roots: list[str], missing: dict[str, int], items: dict[str, int]) -> list[str]:
        return list(Losses(roots, _below(Counter(missing)), _below(Counter(items))).reasons())

    assert reasons([root], {}, {root: 9}) == []
    assert reasons([root], {root: 9}, {root: 9}) == [f"all 9 files of {root} are missing"]
    assert reasons([root], {root: 20}, {root: 100}) == []
    (share,) = reasons([root], {root: 21}, {root: 100})
    assert share == f"21 of the 100 files of {root} are missing, more than --yes deletes (20)"
    assert reasons([root], {below: 20}, {below: 20, root: 1000}) == []
    assert reasons([root], {below: 21}, {below: 21, root: 1000}) == [f"all 21 files of {below} are missing"]
    assert reasons([root], {f"{below}/deep": 21}, {f"{below}/deep": 21, below: 1, root: 1000}) == []
    assert reasons([root], {str(existing): 4}, {str(existing): 4, root: 1000}) == []
    (mount,) = reasons([root], {str(existing): 5}, {str(existing): 5, str(existing.parent): 1, root: 1000})
    assert mount == f"all 5 files of {existing} are missing, although the folder exists"
    assert reasons([root, other], {other: 3}, {other: 3, root: 1000}) == [f"all 3 files of {other} are missing"]


@pytest.mark.long
def test_a_watch_says_why_it_deletes_nothing_and_goes_on(home: Home, pets_of_home: Path, where: list[str]) -> None:
    words = ["index", "pets", str(pets_of_home), "--watch", "--prune", "--yes", "--json", *where]
    with subprocess.Popen([*COMMAND, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as watching:
        try:
            assert json.loads(watching.stdout.readline())["result"]["unchanged"] == 6
            for path in pets_of_home.glob("*/*.png"):
                path.rename(pets_of_home.parent / path.name)
            assert len(json.loads(watching.stdout.readline())["result"]["missing"]) == 6
            assert f"error: all 6 files of {pets_of_home} are missing" in watching.stderr.readline()
            for path in pets_of_home.parent.glob("*.png"):
                path.rename(pets_of_home / "a" / path.name)
            assert json.loads(watching.stdout.readline())["result"]["moved"]
        finally:
            watching.kill()
    with home.open("pets") as made:
        assert made.count() == 6


@pytest.fixture
def pets_of_home(home: Home, nothing_stays: None, tree: Path) -> Path:
    with home.create("pets", ["color"]) as made:
        made.index([tree], ONE)
    return tree


def test_what_people_gave_comes_back_with_the_files(backend: Backend, tree: Path, tmp_path: Path) -> None:
    """The content of the files identifies them, with all that people gave: a new folder or label hides nothing."""
    captions = {f"tree/a/{number}.png": f"a cat number {number}" for number in (0, 2, 4)}
    with backend.create("pets", ["color", "text"]) as made:
        made.index([tree], IndexOptions(labels="folder", workers=1))
        made.items.update([ItemUpdate(key, text=text) for key, text in captions.items()])
        made.views.fit([], ["text"])
        first, second, third = captions
        fields = {"labels": ("cat", "tabby"), "attributes": {"year": 1999}, "notion_labels": {"mood": ("calm",)}}
        made.items.update([ItemUpdate(first, **fields)])
        made.items.update([ItemUpdate(second, labels=())])
        made.questions.answer(Answer(person="p", notion="n", anchor=first, near=(second,), far=(third,)))
        made.feedback.judge("mine", [first], [third], person="p")
        before = {key: made.items.get(key) for key in captions}
        with unmounted(tree / "a", tmp_path):
            missing = made.index([tree], ONE).missing
            assert sorted(missing) == sorted(captions)
            made.items.delete(missing)
        (tree / "a/4.png").rename(tree / "moved.png")
        report = made.index([tree], IndexOptions(labels="folder", workers=1))
        assert (report.added, report.moved) == (3, {})
        assert made.items.get(first) == before[first]
        assert made.items.get(second) == before[second]
        assert made.items.get("tree/moved.png").text == captions[third]
        assert [one.anchor for one in made.questions.answers()] == [first]
        assert {one.key for one in made.feedback.get("mine")} == {first, third}
        (hits,) = made.search(view="text", text=captions[first], k=2)
        assert hits[0].key == first
        made.items.update([ItemUpdate(first, labels=("dog",))])
        made.items.delete([second])  # what a person deletes, although its file exists, does not come back
        again = made.index([tree / "a/2.png"], ONE)
        assert (again.added, made.items.get(second).text) == (1, "")


def test_a_table_of_labels_and_later_labels_have_precedence_over_what_comes_back(
    followed: AnyCollection, tree: Path, tmp_path: Path
) -> None:
    followed.items.update([ItemUpdate("tree/a/0.png", attributes={"year": 1999, "place": "here"})])
    for turn, labels in enumerate([("new",), ("newer",)]):
        with unmounted(tree / "a", tmp_path):
            followed.items.delete(followed.index([tree], ONE).missing)
        table = tmp_path / "labels.csv"
        table.write_text(f"path,label,year\na/0.png,{labels[0]},{turn}\n", encoding="utf-8")
        followed.index([tree], IndexOptions(labels=table, workers=1, new_attributes=True))
        item = followed.items.get("tree/a/0.png")
        assert (item.labels, item.attributes) == (labels, {"year": turn, "place": "here"})
        assert followed.items.get("tree/a/2.png").labels == ("label of tree/a/2.png",)


def test_excluded_files_count_as_missing_until_the_pattern_is_gone(followed: AnyCollection, tree: Path) -> None:
    """Their items stay with their labels, are named, and can be pruned as those of missing files."""
    without = IndexOptions(workers=1, exclude=("a/",))
    excluded = ("tree/a/0.png", "tree/a/2.png", "tree/a/4.png")
    for dry_run in (True, False, False):
        report = followed.index([tree], replace(without, dry_run=dry_run))
        assert (report.unchanged, sorted(report.missing), report.skipped) == (3, sorted(excluded), {"excluded": 1})
        assert report.notes == ("3 items count as missing, because patterns exclude their files",)
    assert [item.key for item in followed.items("missing exists")] == list(excluded)
    assert followed.index([tree], ONE).unchanged == 6
    assert followed.items("missing exists") == []
    (tree / ".crossviewignore").write_text("b/[13].png\n", encoding="utf-8")
    pruned = followed.index([tree], ONE).missing
    assert sorted(pruned) == ["tree/b/1.png", "tree/b/3.png"]
    followed.items.delete(pruned)
    (tree / ".crossviewignore").unlink()
    assert followed.index([tree], ONE).added == 2
    assert followed.items.get("tree/b/1.png").labels == ("label of tree/b/1.png",)


def test_a_run_that_can_use_nothing_fails_and_names_the_extra(
    home: Home, tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: list[str]
) -> None:
    monkeypatch.setattr("crossview.engine.catalog.ingest.walk.SUFFIXES", frozenset({".png"}))
    phone = tmp_path / "phone"
    phone.mkdir()
    for number in range(3):
        (phone / f"IMG_{number}.HEIC").write_bytes(b"x")
    home.create("pets", ["color"]).close()

    def index(*words: object) -> Result:
        return CliRunner().invoke(app, ["index", "pets", *map(str, words), *where], env={"COLUMNS": "200"})

    for options in ([], ["--dry-run"]):
        refused = index(phone, *options)
        assert refused.exit_code == 1
        assert f"error: none of 3 files could be used: 3 HEIC left out, such as {phone}/IMG_0.HEIC: " in refused.output
        assert install_command("heic") in refused.output
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "0.png").write_bytes(b"x")
    assert index(broken, "--failures", tmp_path / "failed.jsonl").exit_code == 1
    assert json.loads((tmp_path / "failed.jsonl").read_text())["key"] == str(broken / "0.png")
    assert index(tree, phone, broken).exit_code == 0
    (tmp_path / "nothing").mkdir()
    assert index(tmp_path / "nothing").exit_code == 0


def test_thumbnails_of_a_storage_system_are_no_items(home: Home, tree: Path, where: list[str]) -> None:
    """Items of an earlier version are missing, and pruned without a note on a disk."""
    words = ["index", "pets", str(tree), "--exclude", "*.tmp.png", "--exclude", "old/"]
    home.create("pets", ["color"]).close()
    write(tree / "old/9.png", 9)
    write(tree / "0.tmp.png", 10)
    for number in range(6):
        write(tree / f"a/@eaDir/{number}.png/SYNOPHOTO_THUMB_M.png", 20 + number)
    shown = CliRunner().invoke(app, [*words, *where], env={"COLUMNS": "200"}).output
    assert "6 added" in shown
    assert "left out: 3 excluded" in shown
    assert "folders that systems make are left out: 1 @eaDir; to index one, name it as a path" in shown
    with home.open("pets") as made:
        made.index([tree / "a/@eaDir"], ONE)
    again = CliRunner().invoke(app, [*words, "--prune", "--yes", *where], env={"COLUMNS": "200"})
    assert "deleted 6 items, whose files are missing" in again.output
