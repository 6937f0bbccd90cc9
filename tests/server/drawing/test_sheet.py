import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from server.drawing.sheet import CELL, RIGHT, WRONG, Strip, Tile, contact_sheet, write_sheet


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
    assert RIGHT in colours(contact_sheet([Strip("t", query, [Tile(blue, "cat", distance=0.5, correct=True)])]))
    assert WRONG in colours(contact_sheet([Strip("t", query, [Tile(blue, "dog", distance=0.5, correct=False)])]))
    unknown = colours(contact_sheet([Strip("t", query, [Tile(blue, "", distance=0.5, correct=None)])]))
    assert not {RIGHT, WRONG} & unknown
    assert (0, 0, 255) in unknown


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
