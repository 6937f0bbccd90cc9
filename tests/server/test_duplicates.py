"""Duplicates here and through a server, by the command line: pages, files, judgements and labels."""

import csv
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from photographs import COPIES, encoded, photograph
from terminal import done, reached, result_of, run

from crossview.engine.collections.home import Home
from crossview.engine.values.duplicate import DuplicatesRequest
from crossview.engine.values.item import IndexOptions, NewItem
from crossview.server.commands.backend import Backend
from crossview.server.wire import pages

PHOTOGRAPHS = 4


@pytest.fixture(scope="module")
def album(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Photographs, each with a smaller copy; two files contain the same photograph."""
    folder = tmp_path_factory.mktemp("album") / "photos"
    folder.mkdir()
    for seed in range(PHOTOGRAPHS):
        (folder / f"{seed}.jpg").write_bytes(encoded(photograph(seed)))
        (folder / f"{seed}-small.jpg").write_bytes(encoded(COPIES["resized"](photograph(seed))))
    (folder / "twin.jpg").write_bytes(encoded(photograph(0)))
    return folder


@pytest.fixture(scope="module")
def filled(album: Path) -> Iterator[Home]:
    home = Home(album.parent / "home")
    with home.create("album", ["color"]) as made:
        made.index([album], IndexOptions(workers=1))
        yield home


def test_a_server_finds_the_same_in_pages(backend: Backend, album: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "LARGEST_SIZE", 3)
    made = backend.create("paged", ["color"])
    made.index([album], IndexOptions(workers=1))
    found = made.duplicates(DuplicatesRequest())
    assert (found.pictures, len(found.groups)) == (2 * PHOTOGRAPHS + 1, PHOTOGRAPHS)
    keepers = {group.keeper.key: sorted(one.key for one in group.members) for group in found.groups}
    assert keepers["photos/1.jpg"] == ["photos/1-small.jpg"]
    assert keepers["photos/0.jpg"] == ["photos/0-small.jpg", "photos/twin.jpg"]
    judged = made.duplicate_judgements.judge("photos/1.jpg", "photos/1-small.jpg", False, person="ann")
    assert made.duplicate_judgements.list() == [judged]
    assert len(made.duplicates(DuplicatesRequest()).groups) == PHOTOGRAPHS - 1
    assert made.duplicate_judgements.undo("ann") == judged
    assert made.duplicate_judgements.list() == []
    made.close()


@pytest.mark.parametrize("place", ["local", "remote"])
def test_the_command_prints_and_writes_files(filled: Home, album: Path, tmp_path: Path, place: str) -> None:
    names = ("page.html", "sheet.png", "table.csv", "move.sh")
    with reached(filled, place) as where:
        outs = [word for name in names for word in ("--out", tmp_path / name)]
        output = done("duplicates", "album", *outs, "--to", tmp_path / "moved", *where)
    assert output.startswith("9 pictures: 5 copies in 4 groups take ")
    assert "identical" in output
    assert f"then run it with: sh {tmp_path / 'move.sh'}" in output
    page = (tmp_path / "page.html").read_text()
    assert page.count("<img ") == page.count('alt="') == 9
    assert "http:" not in page
    assert "https:" not in page
    assert (tmp_path / "sheet.png").stat().st_size > 10_000
    rows = list(csv.DictReader((tmp_path / "table.csv").read_text().splitlines()))
    assert [row["keeper"] for row in rows].count("True") == 4
    assert len(rows) == 9


def test_the_script_moves_the_copies_and_replaces_nothing(filled: Home, tmp_path: Path, album: Path) -> None:
    folder = tmp_path / "it's a copy"
    folder.mkdir()
    for path in album.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    home = Home(tmp_path / "home")
    with home.create("own", ["color"]) as made:
        made.index([folder], IndexOptions(workers=1))
    script, moved = tmp_path / "move.sh", tmp_path / "moved here"
    done("duplicates", "own", "--out", script, "--to", moved, "--home", home.path)
    before = sorted(folder.iterdir())
    for _ in range(2):  # the second run finds nothing to move
        subprocess.run(["sh", script], check=True, capture_output=True)
        assert sorted(path.name for path in folder.iterdir() if not path.stem.isdigit()) in ([], ["twin.jpg"])
        assert len(list(moved.iterdir())) == 5
    subprocess.run(["sh", script, "--undo"], check=True)
    assert sorted(folder.iterdir()) == before
    assert list(moved.iterdir()) == []


def test_judgements_by_the_command_line(filled: Home) -> None:
    where = ("--home", filled.path)
    pair = ("photos/2-small.jpg", "photos/2.jpg")
    assert "not the same photograph" in done("duplicates", "album", "--not", *pair, *where)
    assert "3 groups" in done("duplicates", "album", *where)
    assert result_of("duplicates", "album", "--judgements", *where)[0]["same"] is False
    assert done("duplicates", "album", "--undo", *where).startswith("undone: photos/2-small.jpg and")
    assert "no judgements" in done("duplicates", "album", "--judgements", *where)
    assert "no item 'none'" in run("duplicates", "album", "--same", "none", "photos/2.jpg", *where).stderr


def test_labels_spread_to_unlabelled_copies_alone(home: Home, tmp_path: Path) -> None:
    own = Home(tmp_path / "home")
    with own.create("labelled", ["color"]) as made:
        small = [encoded(COPIES["resized"](photograph(seed))) for seed in range(2)]
        made.items.put([NewItem(f"{seed}", image=encoded(photograph(seed)), labels=("a",)) for seed in range(2)])
        made.items.put([NewItem("copy-0", image=small[0]), NewItem("copy-1", image=small[1], labels=("b",))])
        where = ("--home", own.path)
        refused = run("duplicates", "labelled", "--spread-labels", *where)
        assert refused.exit_code == 1
        assert "copy-0: a" in refused.stdout
        assert "the copies of 1 have different labels" in refused.stdout
        assert made.items.get("copy-0").labels == ()
        assert "labelled 1 pictures" in done("duplicates", "labelled", "--spread-labels", "--yes", *where)
        assert made.items.get("copy-0").labels == ("a",)
        assert made.items.get("copy-1").labels == ("b",)


def test_wrong_uses_name_what_to_do(filled: Home, tmp_path: Path) -> None:
    where = ("--home", filled.path)
    for words, reason in (
        (["--relation", "alike"], "--relation is one of identical"),
        (["--out", tmp_path / "a.txt"], "is of an unknown kind"),
        (["--out", tmp_path / "none" / "a.csv"], "does not exist"),
        (["--out", tmp_path / "a.sh"], "give --to DIR"),
        (["--to", tmp_path], "give --out FILE.sh"),
        (["--undo", "--judgements"], "exclude each other"),
        (["--against", "none"], "no collection 'none'; there are: album"),
        (["--where", "year = "], "year ="),
    ):
        found = run("duplicates", "album", *words, *where)
        assert found.exit_code != 0
        assert reason in " ".join(found.stderr.replace("│", " ").split()), found.stderr
    assert "no collection 'nobody'" in run("duplicates", "nobody", *where).stderr


def test_a_collection_without_copies(home: Home, tmp_path: Path) -> None:
    own = Home(tmp_path / "home")
    with own.create("alone", ["color"]) as made:
        assert "no copies among 0 pictures" in done("duplicates", "alone", "--home", own.path)
        made.items.put([NewItem("a", image=encoded(photograph(1))), NewItem("b", image=encoded(photograph(2)))])
        assert "no copies among 2 pictures" in done("duplicates", "alone", "--home", own.path)
        assert result_of("duplicates", "alone", "--home", own.path)["groups"] == []
