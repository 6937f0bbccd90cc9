import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from crossview.server.commands.drawing.search_results import Strip, Tile
from crossview.server.commands.drawing.sheet import CELL, MARGIN, PAPER, RIGHT, WRONG, contact_sheet, write_sheet


def picture(colour: tuple[int, int, int], size: tuple[int, int] = (40, 20)) -> bytes:
    data = io.BytesIO()
    Image.new("RGB", size, colour).save(data, "PNG")
    return data.getvalue()


def colours(image: Image.Image) -> set[tuple[int, ...]]:
    return {tuple(pixel) for pixel in np.unique(np.asarray(image).reshape(-1, 3), axis=0).tolist()}


def test_hits_are_framed_by_their_class() -> None:
    """The frame is green for the right class, red for a wrong one, and absent for an unknown one."""
    blue = picture((0, 0, 255))
    query = Tile(blue, "cat")
    assert RIGHT in colours(contact_sheet([Strip("t", query, [Tile(blue, "cat", distance=0.5, correct=True)])]))
    assert WRONG in colours(contact_sheet([Strip("t", query, [Tile(blue, "dog", distance=0.5, correct=False)])]))
    unknown = colours(contact_sheet([Strip("t", query, [Tile(blue, "", distance=0.5, correct=None)])]))
    assert not {RIGHT, WRONG} & unknown
    assert (0, 0, 255) in unknown


def test_many_hits_go_into_rows() -> None:
    """A sheet of any number of hits therefore fits a screen."""
    tile = Tile(picture((0, 0, 255)), "dog", distance=0.5)
    wide = [contact_sheet([Strip("t", tile, [tile] * count)]) for count in (8, 20, 100)]
    assert {sheet.width for sheet in wide} == {1440}
    heights = [sheet.height for sheet in wide]
    assert heights[0] < 400
    assert heights[1] - heights[0] == 2 * (heights[2] - heights[0]) / 12


@pytest.mark.parametrize("hits", [0, 1, 3, 8])
@pytest.mark.parametrize("words", [4, 12, 80])
def test_nothing_is_clipped(hits: int, words: int) -> None:
    """Titles wider than a row of hits are shortened; margins stay empty."""
    title = " ".join(["gist query"] * words)
    tile = Tile(None, title, name=title, distance=0.5, correct=True)
    sheet = np.asarray(contact_sheet([Strip(title, tile, [tile] * hits)], title))
    assert sheet.shape[1] <= 1440
    for edge in (sheet[:, : MARGIN // 2], sheet[:, -MARGIN // 2 :], sheet[:8], sheet[-8:]):
        assert (edge == PAPER).all()


def test_the_name_of_the_file_is_below_its_picture() -> None:
    """The label is beside the name."""
    blue = picture((0, 0, 255))
    sheets = [
        np.asarray(contact_sheet([Strip("t", Tile(blue), [Tile(blue, "dog", name=name)])]))
        for name in ("a.jpg", "b.jpg")
    ]
    changed = np.argwhere((sheets[0] != sheets[1]).any(axis=2))
    bottom = np.argwhere((sheets[0] == (0, 0, 255)).all(axis=2)).max(axis=0)[0]
    assert len(changed)
    assert changed[:, 0].min() > bottom


def test_sheets_are_as_wide_as_the_longest_row() -> None:
    """Rows of different lengths, missing pictures and long names have room."""
    tile = Tile(None, "a/very/long/key/of/a/picture.jpg" * 5, distance=12345.6)
    short, long = Strip("one", tile, [tile]), Strip("two", tile, [tile] * 6)
    assert contact_sheet([short, long], "title").width == contact_sheet([long]).width > 7 * CELL
    assert contact_sheet([short, long]).height > contact_sheet([long]).height


@pytest.mark.parametrize(
    "data",
    [b"", b"no picture", picture((1, 2, 3))[:40], picture((1, 2, 3), (3, 900))],
    ids=["empty", "words", "cut", "narrow"],
)
def test_odd_pictures_do_not_stop_a_sheet(data: bytes, tmp_path: Path) -> None:
    """An image that cannot be drawn leaves its tile empty."""
    write_sheet(tmp_path / "sheet.png", [Strip("t", Tile(data), [Tile(data)])])
    assert (tmp_path / "sheet.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("text", ["red flowers", "word " * 400, "x" * 5000, "한국어 \n\t café"])
def test_a_tile_without_a_picture_shows_its_text(text: str) -> None:
    """The text fills the room of the tile and stays inside; a picture hides the text."""
    sheet, bare = (contact_sheet([Strip("t", Tile(None, text=words), [Tile(None)])]) for words in (text, ""))
    changed = np.argwhere(np.asarray(sheet) != np.asarray(bare))
    assert len(changed)
    assert np.ptp(changed[:, 0]) < CELL
    assert np.ptp(changed[:, 1]) < CELL
    pictured = [contact_sheet([Strip("t", Tile(picture((0, 0, 255)), text=words), [])]) for words in (text, "")]
    assert pictured[0].tobytes() == pictured[1].tobytes()
