"""A person with 300 photographs adds, relabels, copies, moves and deletes, and loses nothing."""

import shutil
import unicodedata
from pathlib import Path

import pytest
from story import DATA, done, refused, result_of

IMAGES = DATA / "corel1k/images"

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not IMAGES.is_dir(), reason="needs ../shared/data/corel1k"),
]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """300 photographs in ten folders."""
    for folder in sorted(IMAGES.iterdir()):
        (tmp_path / "photos" / folder.name).mkdir(parents=True)
        for picture in sorted(folder.glob("*.jpg"))[:30]:
            shutil.copy(picture, tmp_path / "photos" / folder.name / picture.name)
    return tmp_path / "photos"


def items(home: Path) -> dict[str, dict]:
    return {item["key"]: item for item in result_of("list", "trip", "--limit", 1000, home=home)}


def test_a_person_with_photographs(home: Path, photos: Path, tmp_path: Path):
    folders = sorted(folder.name for folder in photos.iterdir())
    done("create", "trip", "--views", "color,gist", home=home)
    index_in_two_steps(home, photos, folders)
    first = items(home)
    assert len(first) == 300
    assert all(item["labels"] == [Path(item["source"]).parent.name] for item in first.values())

    named, copy = add_copies(home, photos, folders, tmp_path / "sheet.png")
    relabel(home, tmp_path / "labels.csv", folders, named)
    now = items(home)
    changed = {item["source"]: item for key, item in now.items() if item["labels"] != first.get(key, item)["labels"]}
    assert changed == {}
    by_source = {item["source"]: item for item in now.values()}
    assert by_source[str(named)]["labels"] == ["city", "été"]
    assert by_source[str(named)]["attributes"] == {"year": 1999}
    assert by_source[str(copy)]["labels"] == []

    key = by_source[str(named)]["key"]
    delete_and_bring_back(home, photos, by_source[str(copy)]["key"], copy)
    assert items(home)[key]["labels"] == ["city", "été"]
    key = move(home, photos, named, photos / folders[1] / "moved.jpg")
    assert items(home)[key]["labels"] == ["city", "été"]
    learn_and_measure(home, key)
    assert len(items(home)) == 302


def index_in_two_steps(home: Path, photos: Path, folders: list[str]) -> None:
    """Index half of the folders by name, then all of them: each file is there once, under the key that it had first."""
    out = done("index", "trip", *(photos / name for name in folders[:5]), "--labels", "folder", home=home)
    assert out.startswith("150 added, 0 updated, 0 unchanged, 0 could not be used")
    (photos / "notes.txt").write_text("x")
    (photos / folders[0] / "raw.nef").write_bytes(b"x")
    out = done("index", "trip", photos, "--labels", "folder", home=home)
    assert out.startswith("150 added, 0 updated, 150 unchanged")
    assert "left out: 1 RAW, 1 other files" in out
    assert result_of("index", "trip", photos / folders[3], photos / folders[7], home=home)["unchanged"] == 60


def add_copies(home: Path, photos: Path, folders: list[str], sheet: Path) -> tuple[Path, Path]:
    """Add a copy with a name in other alphabets and another Unicode form, and a copy of that; both are found."""
    named = photos / folders[9] / unicodedata.normalize("NFD", "Été à Москва 北京.jpg")
    first = items(home)
    shutil.copy(photos / folders[9] / Path(first[max(first)]["source"]).name, named)
    copy = photos / folders[2] / "copy.jpg"
    shutil.copy(named, copy)
    assert result_of("index", "trip", photos, "--labels", "folder", home=home)["added"] == 2
    hits = result_of(
        "search", "trip", named, "--view", "color", "--targets", "color", "-k", 3, "--out", sheet, home=home
    )
    best = hits[0]["hits"]
    assert {hit["source"] for hit in best} >= {str(named), str(copy)}
    assert [hit["distance"] for hit in best] == [0, 0, 0]
    assert sheet.read_bytes().startswith(b"\x89PNG")
    return named, copy


def relabel(home: Path, table: Path, folders: list[str], named: Path) -> None:
    """Label by a CSV of paths below the root, in another Unicode form; lines that name no item are shown."""
    renamed = unicodedata.normalize("NFC", f"{folders[9]}/{named.name}")
    table.write_text(f"path,label,label,year\n{renamed},city,été,1999\n{folders[2]}/copy.jpg,,,\nnowhere.jpg,x,,\n")
    out = done("annotate", "trip", "--from", table, home=home)
    assert "2 updated" in out
    assert "nowhere.jpg: " in out
    assert "line 4" in out


def delete_and_bring_back(home: Path, photos: Path, key: str, path: Path) -> None:
    """Delete a picture: the ordinary command leaves it out, and brings it back by name."""
    done("item", "delete", "trip", key, "--yes", home=home)
    out = done("index", "trip", photos, "--labels", "folder", home=home)
    assert out.startswith("0 added, 0 updated, 301 unchanged")
    assert "files whose items were deleted: 1; they stay out" in out
    assert result_of("index", "trip", path, home=home)["added"] == 1


def move(home: Path, photos: Path, path: Path, target: Path) -> str:
    """Move a file, which its item follows; return the item's new key."""
    path.rename(target)
    out = done("index", "trip", photos, home=home)
    assert out.startswith("0 added, 0 updated, 1 moved, 302 unchanged")
    (item,) = result_of("list", "trip", "--where", f'path = "{target}"', home=home)
    assert f" -> {item['key']}\n" in out
    return item["key"]


def learn_and_measure(home: Path, key: str) -> None:
    """Find a space by attribute, measure it beside the raw views, and delete it."""
    done("train", "trip", "--views", "color,gist", "--learner", "sqrt,cca", "--dim", 20, "--holdout", 0.2, home=home)
    query = ("search", "trip", "--key", key, "--view", "color", "-k", 5)
    found = result_of(*query, "--targets", "gist", "--where", "year = 1999", home=home)[0]["hits"]
    assert found == []  # the item itself is left out of its own hits
    rows = result_of(
        "evaluate", "trip", "--space", "cca,raw", "--view", "color", "--targets", "color", "-k", 5, home=home
    )
    assert {row["space"] for row in rows["rows"]} == {"cca", "raw"}
    assert "needs --yes" in refused("delete", "trip", home=home)
    done("space", "delete", "trip", "cca", "--yes", home=home)
