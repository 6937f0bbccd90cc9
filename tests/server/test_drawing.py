import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from engine.query import Query, SearchRequest
from server.backend import CollectionBackend
from server.client import Client
from server.listen import RunningServer
from server.pictures import SIZE, STYLES, draw, write_pictures
from server.results import strips
from server.sheet import CELL, RIGHT, WRONG, Strip, Tile, contact_sheet, write_sheet


def picture(colour: tuple[int, int, int], size: tuple[int, int] = (40, 20)) -> bytes:
    data = io.BytesIO()
    Image.new("RGB", size, colour).save(data, "PNG")
    return data.getvalue()


def colours(image: Image.Image) -> set[tuple[int, ...]]:
    return {tuple(pixel) for pixel in np.unique(np.asarray(image).reshape(-1, 3), axis=0).tolist()}


def test_hits_are_framed_by_their_class() -> None:
    """Green where the class is right, red where it is wrong, neither where it is not known."""
    blue = picture((0, 0, 255))
    query = Tile(blue, "cat")
    assert RIGHT in colours(contact_sheet([Strip("t", query, [Tile(blue, "cat", 0.5, True)])]))
    assert WRONG in colours(contact_sheet([Strip("t", query, [Tile(blue, "dog", 0.5, False)])]))
    unknown = colours(contact_sheet([Strip("t", query, [Tile(blue, "", 0.5, None)])]))
    assert not {RIGHT, WRONG} & unknown
    assert (0, 0, 255) in unknown


def test_sheets_are_as_wide_as_the_longest_row() -> None:
    """Rows of different lengths, missing pictures and long names have room."""
    tile = Tile(None, "a/very/long/key/of/a/picture.jpg" * 5, 12345.6)
    short, long = Strip("one", tile, [tile]), Strip("two", tile, [tile] * 6)
    assert contact_sheet([short, long], "title").width == contact_sheet([long]).width > 7 * CELL
    assert contact_sheet([short, long]).height > contact_sheet([long]).height


@pytest.mark.parametrize(
    "data",
    [b"", b"no picture", picture((1, 2, 3))[:40], picture((1, 2, 3), (3, 900))],
    ids=["empty", "words", "cut", "narrow"],
)
def test_odd_pictures_do_not_stop_a_sheet(data: bytes, tmp_path: Path) -> None:
    """Whatever cannot be drawn leaves its tile empty."""
    write_sheet(tmp_path / "sheet.png", [Strip("t", Tile(data), [Tile(data)])])
    assert (tmp_path / "sheet.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("text", ["red flowers", "word " * 400, "x" * 5000, "한국어 \n\t café"])
def test_a_tile_without_a_picture_shows_its_text(text: str) -> None:
    """As much of it as there is room for, and nothing beside the tile; a picture hides it."""
    sheet, bare = (contact_sheet([Strip("t", Tile(None, text=words), [Tile(None)])]) for words in (text, ""))
    changed = np.argwhere(np.asarray(sheet) != np.asarray(bare))
    assert len(changed)
    assert np.ptp(changed[:, 0]) < CELL
    assert np.ptp(changed[:, 1]) < CELL
    pictured = [contact_sheet([Strip("t", Tile(picture((0, 0, 255)), text=words), [])]) for words in (text, "")]
    assert pictured[0].tobytes() == pictured[1].tobytes()


def test_answers_become_rows(server: RunningServer) -> None:
    """One row per list, with the thumbnails of the hits; an item's own class is known."""
    with Client(server.address) as client:
        collection: CollectionBackend = client.open("drawn")
        query = Query("color", key="pictures/dots/dots-00.jpg")
        color, sift = strips(collection, [query], collection.search(SearchRequest([query], k=4)))
    assert (color.title, sift.title) == ("color query -> color database", "color query -> sift database")
    assert color.query.label == "dots"
    assert [hit.right for hit in color.hits] == [hit.label == "dots" for hit in color.hits]
    assert all(hit.picture and hit.picture.startswith(b"\xff\xd8") for hit in color.hits)


def test_pictures_are_drawn_from_their_seed(tmp_path: Path) -> None:
    """The same seed draws the same pictures, another seed others, one file per picture in the folder of its class."""
    for folder, seed in (("a", 0), ("b", 0), ("c", 1)):
        assert write_pictures(tmp_path / folder, 1, seed) == len(STYLES)
    names = sorted(path.relative_to(tmp_path / "a") for path in (tmp_path / "a").rglob("*.jpg"))
    assert [name.parent.name for name in names] == sorted(STYLES)
    for name in names:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
        assert (tmp_path / "a" / name).read_bytes() != (tmp_path / "c" / name).read_bytes()


@pytest.mark.parametrize("name", sorted(STYLES))
def test_every_class_varies(name: str) -> None:
    """Two pictures of a class differ, and each shows a pattern."""
    rng = np.random.default_rng(0)
    first, second = draw(name, rng), draw(name, rng)
    assert first.size == SIZE
    assert np.abs(np.asarray(first, float) - np.asarray(second, float)).mean() > 5
    assert np.asarray(first.convert("L"), float).std() > 5
