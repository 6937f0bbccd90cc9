"""A collection follows its folder, as its user sees it: on this machine, over gRPC, and by the command line."""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from drawn import encode
from seeds import seed_of
from typer.testing import CliRunner, Result

from crossview.engine.collections.home import Home
from crossview.engine.values.any_collection import AnyCollection
from crossview.engine.values.item import IndexOptions, ItemUpdate, content_hash
from crossview.server.commands.backend import Backend
from crossview.server.commands.cli import app

ONE = IndexOptions(workers=1)
COMMAND = (sys.executable, "-m", "crossview.server.commands.cli")


def write(path: Path, seed: int) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(encode(np.random.default_rng(seed).integers(0, 255, (12, 16, 3), np.uint8)))
    return path


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


def test_items_follow_their_files_here_and_over_grpc(followed: AnyCollection, tree: Path):
    before = {item.content_hash: item.labels for item in followed.items()}
    (tree / "a/0.png").rename(tree / "moved.png")
    (tree / "b").rename(tree / "c")
    (tree / "a/2.png").unlink()
    write(tree / "a/4.png", 99)
    new = tree.rename(tree.parent / "other")
    supposed = followed.index([new], IndexOptions(workers=1, dry_run=True))
    report = followed.index([new], ONE)
    assert (report.added, report.updated, report.unchanged) == (0, 1, 4)
    assert report.moved == {
        "tree/a/0.png": "tree/moved.png",
        **{f"tree/b/{number}.png": f"tree/c/{number}.png" for number in (1, 3, 5)},
    }
    assert report.missing == ("tree/a/2.png",)
    assert report.notes == (f"{tree} is now {new}; 6 items follow it",)
    for name in ("added", "updated", "unchanged", "moved", "missing", "notes"):
        assert getattr(supposed, name) == getattr(report, name)
    items = {item.key: item for item in followed.items()}
    assert len(items) == 6
    for item in items.values():
        assert item.key == "tree/a/4.png" or item.labels == before[item.content_hash]
    assert items["tree/a/4.png"].labels == ("label of tree/a/4.png",)
    assert [key for key, item in items.items() if item.missing] == ["tree/a/2.png"]
    assert [item.key for item in followed.items("missing exists")] == ["tree/a/2.png"]
    (hits,) = followed.search(view="color", key="tree/moved.png", k=9)
    assert "tree/a/2.png" not in {hit.key for hit in hits}
    (every,) = followed.search(view="color", key="tree/moved.png", k=9, include_missing=True)
    assert {hit.key for hit in every if hit.missing} == {"tree/a/2.png"}
    again = followed.index([new], ONE)
    assert (again.unchanged, again.moved, again.missing) == (5, {}, ("tree/a/2.png",))


# -- files of equal sizes and times, such as uncompressed pictures from one archive


def unpack(path: Path, seed: int, time_ns: int = 10**18) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(encode(np.random.default_rng(seed).integers(0, 255, (12, 16, 3), np.uint8), ".bmp"))
    os.utime(path, ns=(time_ns, time_ns))
    return path


@pytest.fixture
def unpacked(backend: Backend, tmp_path: Path) -> Iterator[AnyCollection]:
    """Four pictures of equal size, three of them of equal time, each with its content as its label."""
    for number in range(4):
        unpack(tmp_path / f"tree/{'ab'[number % 2]}/{number // 2}.bmp", number, 10**18 + number // 3)
    made = backend.create("unpacked", ["color"])
    made.index([tmp_path / "tree"], ONE)
    made.items.update([ItemUpdate(item.key, labels=(item.content_hash,)) for item in made.items()])
    yield made
    made.close()


def exchange(one: Path, other: Path) -> None:
    between = one.rename(one.with_name("between"))
    other.rename(one)
    between.rename(other)


def swap_known(tree: Path) -> Path:
    exchange(tree / "a/0.bmp", tree / "b/0.bmp")
    return tree


def copy_another_in_place_of_a_missing_file(tree: Path) -> Path:
    (tree / "c").mkdir()
    shutil.copy2(tree / "b/0.bmp", tree / "c/0.bmp")
    (tree / "a/0.bmp").unlink()
    return tree


def replace_by_another_archive(tree: Path) -> Path:
    for number in range(4):
        unpack(tree.parent / f"other/{'ab'[number % 2]}/{number // 2}.bmp", 10 + number)
    shutil.rmtree(tree)
    return tree.parent / "other"


def rename_folders(tree: Path) -> Path:
    (tree / "a").rename(tree / "c")
    return tree.rename(tree.parent / "renamed")


@pytest.mark.parametrize(
    "change", [swap_known, copy_another_in_place_of_a_missing_file, replace_by_another_archive, rename_folders]
)
def test_equal_sizes_and_times_identify_no_file(unpacked: AnyCollection, tmp_path: Path, change) -> None:
    """Annotations stay with their pictures."""
    before = {item.labels for item in unpacked.items()}
    unpacked.index([change(tmp_path / "tree")], ONE)
    assert {item.labels for item in unpacked.items() if item.labels} == before
    for item in unpacked.items():
        assert item.labels in ((), (item.content_hash,))
        path = Path(item.source)
        assert not path.exists() or item.content_hash == content_hash(path.read_bytes()) == item.file["hash"]
    assert change != rename_folders or {item.source.split("/")[-3] for item in unpacked.items()} == {"renamed"}


def test_another_picture_of_equal_size_and_time_has_its_own_rows_and_metadata(unpacked, tmp_path: Path) -> None:
    """It replaces a picture: a new one, one that another item has, and one that exchanges the places."""
    paths = known, new, exchanged = [tmp_path / "tree" / name for name in ("a/0.bmp", "a/1.bmp", "b/1.bmp")]
    shutil.copy2(tmp_path / "tree/b/0.bmp", known)
    unpack(new, 8)
    exchange(exchanged, unpack(tmp_path / "tree/c/1.bmp", 9, exchanged.stat().st_mtime_ns))
    report = unpacked.index([tmp_path / "tree"], ONE)
    assert (report.added, report.updated, report.unchanged) == (1, 3, 1)
    items = {item.source: item for item in unpacked.items()}
    for path in paths:
        item = items[str(path)]
        assert item.content_hash == item.file["hash"] == content_hash(path.read_bytes())
        (hits,) = unpacked.search(view="color", image=path.read_bytes(), k=2)
        assert item.key in {hit.key for hit in hits if hit.distance < 1e-6}


# -- the command line


@pytest.fixture
def own(tmp_path: Path) -> Path:
    return tmp_path / "home"


def run(own: Path, *arguments: object) -> Result:
    words = [*map(str, arguments), "--home", str(own)]
    return CliRunner().invoke(app, words, env={"COLUMNS": "200"})


def keys(own: Path) -> list[str]:
    with Home(own).open("pets") as made:
        return [item.key for item in made.items()]


def test_index_creates_the_collection_and_says_so(own: Path, tmp_path: Path):
    """Visual words need pictures with many corners."""
    for number in range(6):
        blocks = np.random.default_rng(number).integers(0, 255, (30, 40, 3), np.uint8)
        (tmp_path / f"{number}.png").write_bytes(encode(blocks.repeat(8, 0).repeat(8, 1)))
    made = run(own, "index", "pets", tmp_path, "--workers", 1)
    assert made.exit_code == 0, made.output
    assert "created pets with views color, sift, gist" in made.output
    assert "6 added" in made.output


def test_index_creates_nothing_for_a_wrong_name_or_folder(own: Path, tree: Path):
    assert run(own, "index", "pets", tree / "no").exit_code == 1
    assert run(own, "index", "pets", tree, "--no-create").exit_code == 1
    assert run(own, "index", "pets", tree, "--dry-run").exit_code == 1
    assert Home(own).names() == []
    run(own, "create", "pets", "--views", "color")
    near = run(own, "index", "pest", tree)
    assert "no collection 'pest', but 'pets'. Create the new one with: crossview create" in near.output
    assert Home(own).names() == ["pets"]


@pytest.fixture
def pets(own: Path, tree: Path) -> Path:
    run(own, "create", "pets", "--views", "color")
    assert "6 added" in run(own, "index", "pets", tree, "--workers", 1).output
    return tree


def test_the_report_names_what_moved_and_what_is_missing(own: Path, pets: Path):
    (pets / "a/0.png").unlink()
    (pets / "b").rename(pets / "c")
    shown = run(own, "index", "pets", pets, "--workers", 1).output
    assert "0 added, 0 updated, 3 moved, 5 unchanged" in shown
    assert "tree/b/ -> tree/c/ (3 items)" in shown
    assert "files that are missing: 1; their items stay, and searches leave them out" in shown
    assert "  tree/a/0.png" in shown
    assert "missing since" in run(own, "list", "pets").output
    assert "missing since" in run(own, "item", "show", "pets", "tree/a/0.png").output
    table = run(own, "search", "pets", "--key", "tree/a/2.png", "--view", "color", "--include-missing").output
    assert [line.endswith("missing") for line in table.splitlines() if "tree/a/0.png" in line] == [True]


def test_prune_lists_and_asks_and_has_a_limit(own: Path, pets: Path, monkeypatch):
    (pets / "a/0.png").unlink()
    refused = run(own, "index", "pets", pets, "--prune", "--workers", 1)
    assert refused.exit_code == 1
    assert "tree/a/0.png" in refused.output
    assert "1 files are missing; deleting their items needs --yes" in refused.output
    assert len(keys(own)) == 6
    supposed = run(own, "index", "pets", pets, "--prune", "--dry-run").output
    assert "would be: 0 added" in supposed
    assert len(keys(own)) == 6
    done = run(own, "index", "pets", pets, "--prune", "--yes", "--workers", 1)
    assert "deleted 1 items, whose files are missing:" in done.output
    assert keys(own) == ["tree/a/2.png", "tree/a/4.png", "tree/b/1.png", "tree/b/3.png", "tree/b/5.png"]
    monkeypatch.setattr("crossview.server.commands.following._FEWEST", 2)
    shutil.rmtree(pets / "b")
    too_many = run(own, "index", "pets", pets, "--prune", "--yes", "--workers", 1)
    assert too_many.exit_code == 1
    assert f"3 of the 5 files of {pets} are missing, more than --yes deletes (2); all 3" in too_many.output
    assert "--prune-limit 3" in too_many.output
    assert len(keys(own)) == 5
    json_report = run(own, "index", "pets", pets, "--prune", "--yes", "--prune-limit", 3, "--json")
    assert json.loads(json_report.output)["result"]["pruned"] == ["tree/b/1.png", "tree/b/3.png", "tree/b/5.png"]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--watch", "--prune"), "--watch cannot ask"),
        (("--watch", "--dry-run"), "leave one of them out"),
        (("--yes",), "--yes answers the question of --prune"),
        (("--prune", "--prune-limit", "3"), "--prune-limit is the limit of --prune --yes"),
        (("--watch", "--failures", "x"), "leave out --failures"),
    ],
)
def test_options_that_exclude_each_other_are_refused(own: Path, pets: Path, options, reason):
    refused = run(own, "index", "pets", pets, *options)
    assert refused.exit_code == 2
    assert reason in " ".join(refused.output.split())


def test_a_watching_command_follows_until_it_is_stopped(own: Path, pets: Path):
    words = ["index", "pets", str(pets), "--watch", "--workers", "1", "--json", "--home", str(own)]
    command = [*COMMAND, *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as watching:
        try:
            assert json.loads(watching.stdout.readline())["result"]["unchanged"] == 6
            write(pets / "new.png", 50)
            assert json.loads(watching.stdout.readline())["result"]["added"] == 1
            (pets / "new.png").rename(pets / "newer.png")
            assert json.loads(watching.stdout.readline())["result"]["moved"] == {"tree/new.png": "tree/newer.png"}
            (pets / "newer.png").unlink()
            assert json.loads(watching.stdout.readline())["result"]["missing"] == ["tree/newer.png"]
            watching.send_signal(signal.SIGINT)
            assert watching.wait(300) == 130
        finally:
            watching.kill()


# -- accidents


@pytest.mark.random
@pytest.mark.long
def test_a_run_that_is_killed_at_any_moment_loses_nothing_and_ends_the_same(own: Path, tmp_path: Path):
    """Files change, move and go, the root too; a run is killed, and the next one finishes the work."""
    chance = np.random.default_rng(seed_of(0))
    root = tmp_path / "tree"
    for number in range(60):
        write(root / f"{number % 3}/{number}.png", number)
    run(own, "create", "pets", "--views", "color")
    run(own, "index", "pets", root, "--workers", 1)
    with Home(own).open("pets") as made:
        made.items.update([ItemUpdate(item.key, labels=(item.content_hash,)) for item in made.items(limit=100)])
    for turn in range(15):
        files = sorted(root.glob("*/*.png"))
        picked = [files[place] for place in chance.permutation(len(files))[:8]]
        for number, path in enumerate(picked[:6]):
            path.rename(root / f"{number % 3}/moved-{turn}-{number}.png")
        away = [(path, path.read_bytes()) for path in picked[6:]]
        for path, _ in away:
            path.unlink()
        write(root / f"0/new-{turn}.png", 1_000 + turn)
        new = root.rename(tmp_path / f"tree-{turn}")
        words = ["index", "pets", str(new), "--workers", "1", "--home", str(own)]
        running = subprocess.Popen([*COMMAND, *words], stdout=subprocess.DEVNULL)
        time.sleep(chance.uniform(0.2, 1.5))
        running.kill()
        running.wait()
        root = new
        assert run(own, "index", "pets", root, "--workers", 1).exit_code == 0
        with Home(own).open("pets") as made:
            items = made.items(limit=1_000)
            here = {item.source for item in items if not item.missing}
            assert here == {str(path) for path in root.glob("*/*.png")}
            assert {item.labels[0] for item in items if item.labels} == {
                item.content_hash for item in items if item.labels
            }
            assert len([item for item in items if item.labels]) == 60
        for path, data in away:  # files that come back are the items of before
            (root / path.relative_to(path.parents[1])).write_bytes(data)
        run(own, "index", "pets", root, "--workers", 1)
        with Home(own).open("pets") as made:
            assert not any(item.missing for item in made.items(limit=1_000))


@pytest.mark.long
def test_two_followers_and_a_search_at_once_are_correct(own: Path, tmp_path: Path):
    root = tmp_path / "tree"
    for number in range(40):
        write(root / f"{number % 4}/{number}.png", number)
    run(own, "create", "pets", "--views", "color")
    run(own, "index", "pets", root, "--workers", 1)
    with Home(own).open("pets") as made:
        made.items.update([ItemUpdate(item.key, labels=(item.content_hash,)) for item in made.items(limit=100)])
    words = [
        sys.executable,
        "-m",
        "crossview.server.commands.cli",
        "index",
        "pets",
        str(root),
        "--workers",
        "1",
        "--home",
        str(own),
    ]
    with Home(own).open("pets") as made:
        for turn in range(4):
            for number, path in enumerate(sorted(root.glob("*/*.png"))[:15]):
                path.rename(root / f"{number % 4}/t{turn}-{number}.png")
            followers = [subprocess.Popen(words, stdout=subprocess.DEVNULL) for _ in range(2)]
            while any(one.poll() is None for one in followers):
                (hits,) = made.search(view="color", vector=np.full(made.views()[0].dim, 0.01), k=60)
                assert len(hits) == len({hit.key for hit in hits}) == 40
                assert all(hit.labels for hit in hits)
                time.sleep(0.05)  # otherwise the searches keep the processor from the followers
            assert [one.returncode for one in followers] == [0, 0]
            items = made.items(limit=100)
            assert {item.source for item in items} == {str(path) for path in root.glob("*/*.png")}
            assert all(item.labels == (item.content_hash,) for item in items)


@pytest.mark.parametrize("what", ["warn", "skip"])
def test_copies_are_noticed_as_they_arrive(own: Path, tmp_path: Path, what: str):
    """They are listed, or left out, also by later runs."""
    tree = tmp_path / "photos"
    for number in range(12):
        blocks = np.random.default_rng(number).integers(0, 255, (6, 8, 3), np.uint8)
        tree.mkdir(exist_ok=True)
        (tree / f"{number}.png").write_bytes(encode(blocks.repeat(24, 0).repeat(24, 1)))
    run(own, "create", "pets", "--views", "color")
    assert "12 added" in run(own, "index", "pets", tree, "--workers", 1).output
    shutil.copy(tree / "0.png", tree / "copy.png")
    (tree / "other.png").write_bytes(encode(np.full((60, 80, 3), 90, np.uint8)))
    shown = run(own, "index", "pets", tree, "--workers", 1, "--on-import", what).output
    assert "new pictures that are copies: 1; " in shown
    assert "photos/copy.png is a copy of photos/0.png" in shown
    assert ("photos/copy.png" in keys(own)) == (what == "warn")
    assert "photos/other.png" in keys(own)
    if what == "skip":
        assert "0 added" in run(own, "index", "pets", tree, "--workers", 1).output


def test_a_folder_that_cannot_be_read_is_named_and_its_items_stay(
    backend: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This holds from the first run on, and later; the other folders are followed."""
    tree = tmp_path / "tree"
    for number in range(4):
        write(tree / f"{number % 2}" / f"{number}.png", number)
    scandir, stat = os.scandir, Path.stat

    def closed(path: object) -> bool:
        return str(path).startswith(str(tree / "1"))

    def refuse(path: object) -> None:
        if closed(path):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))

    def close() -> None:
        monkeypatch.setattr(os, "scandir", lambda path=".": (refuse(path), scandir(path))[1])
        monkeypatch.setattr(Path, "stat", lambda path, **options: (refuse(path), stat(path, **options))[1])

    options = IndexOptions(workers=1)
    with backend.create("pets", ["color"]) as made:
        close()
        first = made.index([tree], options)
        assert (first.added, first.missing) == (2, ())
        assert [(one.key, one.reason) for one in first.failures] == [
            (str(tree / "1"), "the folder cannot be read: Permission denied")
        ]
        monkeypatch.undo()
        assert made.index([tree], options).added == 2
        (tree / "0" / "0.png").unlink()
        close()
        later = made.index([tree], options)
        assert later.missing == ("tree/0/0.png",)
        assert [one.key for one in later.failures] == [str(tree / "1")]
        monkeypatch.undo()
        assert [item.key for item in made.items() if item.missing] == ["tree/0/0.png"]
