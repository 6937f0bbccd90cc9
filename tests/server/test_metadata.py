"""The metadata of files is read when they are indexed or put, here and through a server, and apart from annotations."""

import os
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from terminal import done, reached, result_of, run

from crossview.engine.collections.home import Home
from crossview.engine.values.errors import InputWarning, InvalidInputError
from crossview.engine.values.item import Capture, IndexOptions, Item, ItemUpdate, NewItem, content_hash
from crossview.server.commands.backend import Backend, CollectionBackend

CAMERA, GPS = 0x8769, 0x8825
BASIC = IndexOptions(workers=1)


def picture(path: Path, model: str = "", year: int = 2021, keywords: str = "", colour: str = "red") -> Path:
    """Write a picture with EXIF data."""
    exif = Image.Exif()
    if model:
        exif[0x0110] = model
        exif[CAMERA] = {0x9003: f"{year}:06:01 12:00:00"}
        exif[GPS] = {1: "N", 2: (48.0, 0.0, 0.0), 3: "E", 4: (2.0, 0.0, 0.0)}
    if keywords:
        exif[0x9C9E] = tuple(keywords.encode("utf-16-le"))
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (30, 20), colour).save(path, exif=exif.tobytes())
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three pictures: two of a camera, one of them with keywords, and a bare one."""
    picture(tmp_path / "f/old.jpg", "Box", 1999)
    picture(tmp_path / "f/new.jpg", "Box", 2021, "sea; dog")
    picture(tmp_path / "f/bare.png", colour="blue")
    return tmp_path / "f"


@pytest.fixture
def made(backend: Backend) -> CollectionBackend:
    return backend.create("described", ["color"])


def items(made: CollectionBackend) -> dict[str, Item]:
    return {item.key.removeprefix("f/"): item for item in made.items()}


def indexed(made: CollectionBackend, folder: Path, **options: Any) -> dict[str, Item]:
    made.index([folder], IndexOptions(workers=1, **options))
    return items(made)


def test_new_files_have_their_facts_without_the_place(made: CollectionBackend, folder: Path) -> None:
    """They are beside the attributes, not among them."""
    found = indexed(made, folder)
    data = (folder / "new.jpg").read_bytes()
    assert found["new.jpg"].file == {
        "bytes": len(data),
        "camera": "Box",
        "format": "JPEG",
        "hash": content_hash(data),
        "height": 20,
        "keywords": ["sea", "dog"],
        "taken": "2021-06-01T12:00:00",
        "width": 30,
    }
    assert all(one.attributes == {} and one.labels == () for one in found.values())
    assert list(made.items.attribute_names()) == ["file"]
    assert made.count("file.taken < 2000-01") == 1
    assert [(one.value, one.items) for one in made.items.counts("file.camera")] == [("Box", 2)]
    assert [item.key for item in made.items(sort_by="file.taken")] == ["f/new.jpg", "f/old.jpg", "f/bare.png"]
    assert made.count("file.keywords = dog") == 1


def test_each_level_stays_until_another_is_given(made: CollectionBackend, folder: Path) -> None:
    """An unchanged file is read again only for a new level, and none of its views is computed."""
    assert indexed(made, folder, metadata="none")["new.jpg"].file == {}
    assert made.items.attribute_names() == ()
    assert indexed(made, folder)["new.jpg"].file == {}
    report = made.index([folder], IndexOptions(workers=1, metadata="all"))
    assert (report.added, report.updated, report.unchanged) == (0, 3, 0)
    assert items(made)["new.jpg"].file["latitude"] == 48
    assert made.index([folder], BASIC).unchanged == 3
    assert items(made)["new.jpg"].file["latitude"] == 48
    assert "latitude" not in indexed(made, folder, metadata="basic")["new.jpg"].file
    with pytest.warns(InputWarning, match="no item has the attribute 'file.latitude'$"):
        assert made.count("file.latitude exists") == 0


def test_a_changed_file_has_new_facts_at_the_level_of_its_item(made: CollectionBackend, folder: Path) -> None:
    indexed(made, folder, metadata="all")
    picture(folder / "old.jpg", "Phone", 2022)
    found = indexed(made, folder)["old.jpg"].file
    assert (found["camera"], found["taken"], found["latitude"]) == ("Phone", "2022-06-01T12:00:00", 48)
    assert [(one.value, one.items) for one in made.items.counts("file.camera")] == [("Box", 1), ("Phone", 1)]


def test_a_new_time_of_the_same_file_is_no_change(made: CollectionBackend, folder: Path) -> None:
    indexed(made, folder)
    os.utime(folder / "old.jpg", (1e9, 1e9))
    assert made.index([folder], BASIC).added == 0
    assert items(made)["old.jpg"].file["camera"] == "Box"


def test_an_attribute_of_this_name_is_the_user_s(made: CollectionBackend, folder: Path) -> None:
    """It is never replaced, and conditions read it; the facts stay beside it, and come back when it goes."""
    indexed(made, folder)
    made.items.update([ItemUpdate("f/old.jpg", attributes={"file": {"camera": "mine"}})])
    indexed(made, folder, metadata="all")
    assert items(made)["old.jpg"].attributes == {"file": {"camera": "mine"}}
    assert made.count("file.camera = mine") == 1
    assert made.count("file.camera = Box") == 1
    made.items.update([ItemUpdate("f/old.jpg", attributes={})])
    assert made.count("file.camera = Box") == 2
    assert items(made)["old.jpg"].file["camera"] == "Box"


def test_put_pictures_have_facts_on_request(made: CollectionBackend, folder: Path) -> None:
    """The bytes are enough; a new picture without a request has none, and never those of the former one."""
    data, other = (folder / "new.jpg").read_bytes(), (folder / "bare.png").read_bytes()
    made.items.put([NewItem("a", image=data), NewItem("b", image=data, metadata="all")])
    (bare, full) = made.items()
    assert (bare.file, full.file["latitude"], full.file["camera"]) == ({}, 48, "Box")
    assert made.items.put([NewItem("b", image=data, metadata="all")]).unchanged == 1
    assert made.items.put([NewItem("b", image=data)]).unchanged == 1
    assert made.items.get("b").file == full.file
    assert made.items.put([NewItem("b", image=data, metadata="basic")]).updated == 1
    assert "latitude" not in made.items.get("b").file
    assert made.items.put([NewItem("b", image=other)]).updated == 1
    assert made.items.get("b").file == {}
    (failure,) = made.items.put([NewItem("c", image=data, metadata="some")]).failures
    assert failure.reason == "metadata must be one of none, basic, all, not 'some'"
    (failure,) = made.items.update([ItemUpdate("b", capture=Capture(stamp="x", file={"n": float("nan")}))]).failures
    assert "nan" in failure.reason
    with pytest.raises(InvalidInputError, match="one of none, basic, all"):
        IndexOptions(metadata="gps")


def test_keywords_are_labels_that_nobody_chose(made: CollectionBackend, folder: Path) -> None:
    """This holds for any kept metadata; labels that a person chose stay, and keywords follow the file."""
    found = indexed(made, folder, labels="keywords", metadata="none")
    assert {key: one.labels for key, one in found.items()} == {"new.jpg": ("dog", "sea"), "old.jpg": (), "bare.png": ()}
    assert found["new.jpg"].file == {}
    made.items.update([ItemUpdate("f/old.jpg", labels=("chosen",))])
    picture(folder / "old.jpg", "Box", 1999, "beach")
    picture(folder / "new.jpg", "Box", 2021, "sky")
    found = indexed(made, folder, labels="keywords")
    assert (found["old.jpg"].labels, found["new.jpg"].labels) == (("chosen",), ("sky",))
    found = indexed(made, folder, labels="keywords", replace_labels=True)
    assert found["old.jpg"].labels == ("beach",)
    by_notion = indexed(made, folder, labels="keywords", label_notion="scene")
    assert by_notion["new.jpg"].notion_labels == {"scene": ("sky",)}


def test_damaged_metadata_makes_no_picture_unusable(made: CollectionBackend, tmp_path: Path) -> None:
    (tmp_path / "f").mkdir()
    Image.new("RGB", (30, 20)).save(tmp_path / "f/a.jpg", exif=b"Exif\0\0" + os.urandom(2_000))
    assert made.index([tmp_path / "f"], BASIC).added == 1
    assert items(made)["a.jpg"].file.keys() >= {"bytes", "format", "hash", "height", "width"}


def test_metadata_is_copied_with_a_collection(home: Home, folder: Path, tmp_path: Path) -> None:
    """A backup has it, and a restored collection answers conditions on it."""
    one = Home(tmp_path / "home")
    with one.create("first", ["color"]) as first:
        first.index([folder], BASIC)
    done("backup", "first", tmp_path / "first.db", "--home", one.path)
    done("restore", "second", tmp_path / "first.db", "--home", one.path)
    with one.open("second") as second:
        assert second.count("file.camera = Box") == 2


def test_commands_show_and_list_metadata(folder: Path, tmp_path: Path) -> None:
    """Listings have a column for them, which annotate does not read; a misspelt fact is named."""
    home = Home(tmp_path / "home")
    with reached(home, "remote") as where:
        done("create", "pets", "--views", "color", *where)
        assert done("index", "pets", folder, "--metadata", "all", *where).startswith("3 added")
        assert "camera = 'Box'" in done("item", "show", "pets", "f/new.jpg", *where)
        assert result_of("list", "pets", "--where", "file.taken >= 2021-05", *where)[0]["file"]["latitude"] == 48
        assert "Box" in done("list", "pets", "--count", "--per", "file.camera", *where)
        wrong = run("list", "pets", "--where", "file.camra = x", *where)
        assert "similar: file.camera" in wrong.stderr
        listing = tmp_path / "l.csv"
        listing.write_text(text := done("list", "pets", "--csv", *where).replace("Box", "Forged"))
        assert "0 could not be used" in done("annotate", "pets", "--from", listing, *where)
        assert "Forged" not in done("list", "pets", "--csv", *where)
        assert done("list", "pets", "--csv", *where).replace("Box", "Forged") == text
        refused = run("index", "pets", folder, "--metadata", "gps", *where)
        assert refused.exit_code == 2
        assert "'none', 'basic', 'all'" in refused.stderr
        vectors = run("index", "pets", "--view", "v", "--vectors", "x.npy", "--metadata", "all", *where)
        assert "--metadata" in vectors.stderr


def test_sidecars_complete_the_facts_and_the_keywords(made: CollectionBackend, folder: Path) -> None:
    """Either name works; a change is read at the next indexing, a damaged one is named, and none counts as skipped."""
    sidecar = (
        "<x:xmpmeta xmlns:x='adobe:ns:meta/'><rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'>"
        "<rdf:Description xmlns:dc='http://purl.org/dc/elements/1.1/' xmlns:xmp='http://ns.adobe.com/xap/1.0/' "
        "xmp:Rating='4' xmp:CreateDate='2019-05-04'><dc:subject><rdf:Bag><rdf:li>boat</rdf:li></rdf:Bag></dc:subject>"
        "</rdf:Description></rdf:RDF></x:xmpmeta>"
    )
    (folder / "bare.xmp").write_text(sidecar)
    (folder / "new.jpg.xmp").write_text(sidecar)
    (folder / "old.xmp").write_bytes(b"<x>")
    (folder / "other.xmp").write_text(sidecar)
    report = made.index([folder], IndexOptions(labels="keywords", workers=1))
    assert report.skipped == {"other files": 1}
    assert [(Path(one.key).name, one.reason[:18]) for one in report.failures] == [("old.xmp", "it is not an XMP f")]
    found = items(made)
    facts = {name: [one.file.get(fact) for fact in ("taken", "rating", "keywords")] for name, one in found.items()}
    assert facts == {
        "bare.png": ["2019-05-04", 4, ["boat"]],
        "new.jpg": ["2021-06-01T12:00:00", 4, ["sea", "dog", "boat"]],
        "old.jpg": ["1999-06-01T12:00:00", None, None],
    }
    assert {name: one.labels for name, one in found.items() if one.labels} == {
        "bare.png": ("boat",),
        "new.jpg": ("boat", "dog", "sea"),
    }
    assert made.count("file.taken < 2020-01") == 2
    (folder / "old.xmp").write_text(sidecar)
    (folder / "bare.xmp").write_text(sidecar.replace("boat", "ship"))
    again = made.index([folder], IndexOptions(workers=1))
    assert (again.updated, again.failures) == (2, ())
    assert items(made)["bare.png"].file["keywords"] == ["ship"]
