"""The report of changes has frames at the places of the shares, needs nothing else, and is never half written."""

import json
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from pages import DrawnPage
from PIL import Image

from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.values.changes import Changes, ChangesRequest
from crossview.engine.values.item import IndexOptions
from crossview.server.commands.drawing.change_report import pair_sheet, write_pair, write_report
from crossview.server.commands.drawing.region_pictures import (
    FRAME,
    STRONG,
    framed,
    importance_map,
    largest_regions,
    version_picture,
)
from crossview.server.commands.drawing.sheet import EMPTY
from crossview.server.commands.drawing.timeline import SIZE, timeline_picture

GRID = 4


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    folder = tmp_path_factory.mktemp("report")
    DrawnPage(hours=40).save(folder / "shots")
    with Home(folder / "home").create("page", ["regions=gist:grid=4:size=64"]) as opened:
        opened.index([folder / "shots"], IndexOptions(workers=1))
        yield opened


@pytest.fixture(scope="module")
def found(collection: Collection) -> Changes:
    return collection.changes(ChangesRequest())


def coloured(picture: Image.Image, colour: tuple[int, int, int]) -> np.ndarray:
    """Return the pixels of a colour in a picture, (height, width)."""
    return (np.asarray(picture) == colour).all(axis=2)


@pytest.mark.parametrize("place", [0, 5, 15])
def test_a_frame_is_around_the_region_that_made_the_change(place: int) -> None:
    shares = [0.0] * GRID**2
    shares[place] = 1.0
    marked = coloured(framed(Image.new("RGB", (400, 200)), shares), FRAME)
    rows, columns = np.flatnonzero(marked.any(axis=1)), np.flatnonzero(marked.any(axis=0))
    row, column = divmod(place, GRID)
    assert abs(rows.mean() - 50 * (row + 0.5)) < 8
    assert abs(columns.mean() - 100 * (column + 0.5)) < 8
    assert columns.max() - columns.min() > 80


def test_regions_beside_each_other_have_one_frame() -> None:
    shares = [0.0] * GRID**2
    shares[5] = shares[6] = 0.5
    picture = framed(Image.new("RGB", (400, 400)), shares)
    assert picture.getpixel((200, 150)) != FRAME  # between the two
    assert picture.getpixel((150, 100)) == FRAME


def test_the_fewest_regions_that_made_most_of_a_change_are_framed() -> None:
    assert largest_regions([0.1, 0.5, 0.3, 0.1]) == {1, 2}
    assert largest_regions([0.0, 0.0]) == set()
    assert largest_regions([1.2, -0.2]) == {0}


def test_the_map_is_strongest_where_importance_is() -> None:
    importance = np.arange(GRID**2) / np.arange(GRID**2).sum()
    drawn = importance_map(Image.new("RGB", (400, 400), "white"), importance.tolist())
    cells = np.asarray(drawn, dtype=float)[50:400:100, 50:400:100]
    away = np.abs(cells - np.array(STRONG)).sum(axis=2).ravel()
    assert (np.diff(away) < 0).all()
    assert drawn.height > 400  # the legend


def test_no_importance_at_all_has_a_map(collection: Collection, found: Changes) -> None:
    picture = version_picture(collection.items, found.changes[0].later)
    assert importance_map(picture, [0.0] * GRID**2).width == picture.width


class _Seen(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.images: list[dict[str, str | None]] = []
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        if tag == "img":
            self.images.append(named)
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href")]


def test_the_page_needs_nothing_else(tmp_path: Path, collection: Collection, found: Changes) -> None:
    """Every picture is in it, with words for it; a label and a note of hostile text change nothing of its form."""
    hostile = '"><script>alert(1)</script>'
    noted = replace(found, notes=(hostile,))
    text = write_report(tmp_path / "report", collection.items, noted).read_text(encoding="utf-8")
    seen = _Seen()
    seen.feed(text)
    assert "<script" not in text
    assert all(image["alt"] for image in seen.images)
    assert all(address.startswith("data:image/jpeg;base64,") for address in seen.addresses if address[0] != "#")
    important = sum(change.important for change in found.changes)
    assert len(seen.images) == 1 + 2 * min(important, 12), "the newest version, and both of each pair"
    assert f"{important} of 39 changes are important" in text


def test_files_are_beside_it_and_none_is_half_written(tmp_path: Path, collection: Collection, found: Changes) -> None:
    folder = tmp_path / "report"
    write_report(folder, collection.items, found)
    names = {path.name for path in folder.iterdir()}
    assert {"index.html", "map.png", "newest.png", "timeline.png", "change-01.png", "changes.json"} <= names
    assert not [name for name in names if name.startswith(".")]
    written = json.loads((folder / "changes.json").read_text(encoding="utf-8"))
    assert [one["later"] for one in written["changes"]] == [one.later for one in found.changes]
    for name in names:
        if name.endswith(".png"):
            with Image.open(folder / name) as picture:
                picture.load()


def test_a_report_on_no_important_change_says_so(tmp_path: Path, collection: Collection, found: Changes) -> None:
    calm = replace(found, changes=[replace(change, important=False, importance=0.5) for change in found.changes])
    text = write_report(tmp_path, collection.items, calm).read_text(encoding="utf-8")
    assert "No change is important" in text


def test_the_time_line_marks_every_change(collection: Collection, found: Changes) -> None:
    labelled = [replace(change, label=place % 2 == 0) for place, change in enumerate(found.changes)]
    plain, marked = timeline_picture(collection.items, found.changes), timeline_picture(collection.items, labelled)
    assert plain.size == marked.size
    assert plain.width == SIZE[0]
    assert coloured(marked, FRAME).sum() != coloured(plain, FRAME).sum()


def test_a_single_change_has_a_time_line(collection: Collection, found: Changes) -> None:
    assert timeline_picture(collection.items, found.changes[:1]).width == SIZE[0]


def test_a_picture_that_is_gone_or_broken_is_drawn_by_its_thumbnail_or_a_grey_tile(
    tmp_path: Path, found: Changes
) -> None:
    class Items:
        def __init__(self, source: str, thumbnail: bytes) -> None:
            self._source, self._thumbnail = source, thumbnail

        def get(self, key: str) -> object:
            return type("Item", (), {"source": self._source})()

        def thumbnail(self, key: str) -> bytes:
            return self._thumbnail

    broken = tmp_path / "broken.png"
    broken.write_bytes(b"no picture")
    small = tmp_path / "small.png"
    Image.new("RGB", (4, 4), (9, 9, 9)).save(small)
    for source in (str(broken), str(tmp_path / "gone.png"), ""):
        assert version_picture(Items(source, small.read_bytes()), "x").getpixel((0, 0)) == (9, 9, 9)  # type: ignore[arg-type]
        assert version_picture(Items(source, b"nothing"), "x").getpixel((0, 0)) == EMPTY  # type: ignore[arg-type]
    write_pair(tmp_path / "pair.png", Items("", b""), found.changes[0])  # type: ignore[arg-type]
    assert (tmp_path / "pair.png").exists()


def test_a_pair_shows_both_versions_beside_each_other(collection: Collection, found: Changes) -> None:
    change = next(change for change in found.changes if change.important)
    sheet = pair_sheet(collection.items, change)
    assert sheet.width > 2 * 480
    marked = coloured(sheet, FRAME)
    assert marked[:, :480].any()
    assert marked[:, 480:].any()
