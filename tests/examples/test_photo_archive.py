"""The script of the archive reads folders of photographs, and writes its pages."""

import csv
import re
import shlex
from pathlib import Path

import pytest
from programs import started

from crossview.server.commands.demo.dataset import write_pictures

pytestmark = pytest.mark.long
ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "examples" / "photo-archive" / "archive.sh"
KODAK = ROOT / ".." / "shared" / "data" / "kodak24" / "images"


def archive(folder: Path, *arguments: Path | str) -> str:
    """Return what the script prints; the command at its end works."""
    output = started(["bash", SCRIPT, *arguments], folder)
    (where,) = re.findall(r"^    crossview open archive (--home .*)$", output, re.M)
    assert "archive" in started(["crossview", "list", *shlex.split(where)], folder)
    return output


def test_folders_name_subjects(tmp_path: Path, pictures: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Copies are found, and unsorted photographs get the label of their subject; no photograph changes."""
    monkeypatch.setattr("crossview.server.commands.demo.dataset.SIZE", (112, 84))
    write_pictures(tmp_path / "unsorted", 1, seed=7)
    before = {path: path.stat().st_mtime_ns for path in pictures.rglob("*.jpg")}
    output = archive(tmp_path, pictures, tmp_path / "unsorted", "my out")
    assert "111 added" in output
    page = (tmp_path / "my out" / "copies.html").read_text(encoding="utf-8")
    assert "leaves/copy.jpg" in page
    assert "leaves-01.jpg" in (tmp_path / "my out" / "move.sh").read_text(encoding="utf-8") + page
    assert (tmp_path / "my out" / "like-the-first.html").exists()
    with (tmp_path / "my out" / "labels.csv").open(encoding="utf-8") as file:
        right = [Path(row["key"]).parent.name == row["label"] for row in csv.DictReader(file)]
    assert sum(right) >= 5
    assert before == {path: path.stat().st_mtime_ns for path in pictures.rglob("*.jpg")}
    again = archive(tmp_path, pictures, "", "my out")
    assert "0 added, 0 updated, 111 unchanged" in again


@pytest.mark.skipif(not KODAK.is_dir(), reason="needs the photographs of ../shared/data/kodak24")
def test_photographs_without_subfolders(tmp_path: Path) -> None:
    """The script learns from the photographs alone, and suggests no labels."""
    output = archive(tmp_path, KODAK.resolve())
    assert "24 added" in output
    assert re.search(r"^trained default generation 1", output, re.M)
    assert not (tmp_path / "archive-out" / "labels.csv").exists()


def test_the_usage_is_printed(tmp_path: Path) -> None:
    """Without a folder the script prints it."""
    assert "usage: bash archive.sh PHOTOS" in started(["bash", SCRIPT], tmp_path, status=1)
