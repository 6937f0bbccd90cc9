"""Contact sheets: a query on the left, its hits on the right, framed green or red where the classes are known."""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont, ImageOps

TILE = 132
"""Side of the square a picture is fitted into, in pixels."""
FRAME = 4
CELL = TILE + 2 * FRAME
GAP = 12
QUERY_GAP = 40
MARGIN = 28
CAPTION = 42
BADGE = 26
TEXT_LINES = 6
LONGEST_TEXT = 1000
ROW_TITLE = 34
SHEET_TITLE = 56

PAPER = (250, 250, 248)
INK = (38, 40, 44)
FAINT = (130, 134, 140)
RULE = (222, 223, 220)
EMPTY = (236, 236, 233)
RIGHT = (38, 148, 84)
WRONG = (205, 62, 56)
QUERY = (70, 92, 138)


@dataclass(frozen=True)
class Tile:
    """One picture of a sheet and what stands below it."""

    picture: bytes | None
    """Encoded picture; None draws an empty tile."""
    label: str = ""
    """Class label, or the key where it has none."""
    distance: float | None = None
    right: bool | None = None
    """Whether a hit has the query's class; None where that is not known."""
    text: str = ""
    """Stands in the tile where there is no picture."""


@dataclass(frozen=True)
class Strip:
    """One row of a sheet: a query and its hits, nearest first."""

    title: str
    """What was asked, such as "color query -> sift database"."""
    query: Tile
    hits: Sequence[Tile]


def contact_sheet(strips: Sequence[Strip], title: str = "") -> Image.Image:
    """The sheet, wide enough for the longest row of hits."""
    columns = max((len(strip.hits) for strip in strips), default=0)
    top = SHEET_TITLE if title else 0
    strip_height = ROW_TITLE + CELL + CAPTION + GAP
    width = 2 * MARGIN + CELL + QUERY_GAP + columns * (CELL + GAP) - GAP
    sheet = Image.new("RGB", (width, 2 * MARGIN + top + len(strips) * strip_height), PAPER)
    draw = ImageDraw.Draw(sheet)
    if title:
        draw.text((MARGIN, MARGIN), title, INK, _font(26))
    for position, strip in enumerate(strips):
        _draw_strip(sheet, draw, strip, MARGIN + top + position * strip_height)
    return sheet


def write_sheet(path: Path, strips: Sequence[Strip], title: str = "") -> None:
    """Writes the sheet as a PNG; raises OSError where the file cannot be written."""
    contact_sheet(strips, title).save(path, format="PNG", optimize=True)


def _draw_strip(sheet: Image.Image, draw: ImageDraw.ImageDraw, strip: Strip, top: int) -> None:
    draw.text((MARGIN, top + 4), strip.title, INK, _font(17))
    known = [hit.right for hit in strip.hits if hit.right is not None]
    if known:
        tally = f"{sum(known)} of {len(known)} of the query's class"
        draw.text((sheet.width - MARGIN, top + 6), tally, FAINT, _font(14), anchor="ra")
    draw.line((MARGIN, top + ROW_TITLE - 6, sheet.width - MARGIN, top + ROW_TITLE - 6), RULE)
    top += ROW_TITLE
    _draw_tile(sheet, draw, strip.query, (MARGIN, top), QUERY, "query")
    arrow = MARGIN + CELL + QUERY_GAP // 2
    middle = top + CELL // 2
    draw.polygon(((arrow - 7, middle - 9), (arrow + 7, middle), (arrow - 7, middle + 9)), FAINT)
    for rank, hit in enumerate(strip.hits):
        left = MARGIN + CELL + QUERY_GAP + rank * (CELL + GAP)
        colour = RULE if hit.right is None else (RIGHT if hit.right else WRONG)
        _draw_tile(sheet, draw, hit, (left, top), colour, f"{rank + 1}", _number(hit.distance))


def _draw_tile(
    sheet: Image.Image,
    draw: ImageDraw.ImageDraw,
    tile: Tile,
    corner: tuple[int, int],
    colour: tuple[int, int, int],
    badge: str,
    distance: str = "",
) -> None:
    left, top = corner
    draw.rounded_rectangle(
        (left, top, left + CELL - 1, top + CELL - 1), FRAME + 2, fill=EMPTY, outline=colour, width=FRAME
    )
    picture = _fitted(tile.picture)
    if picture is not None:
        offset = (CELL - picture.width) // 2, (CELL - picture.height) // 2
        sheet.paste(picture, (left + offset[0], top + offset[1]))
    elif tile.text:
        _draw_text(draw, tile.text, (left + FRAME + 4, top + FRAME + BADGE))
    _draw_badge(draw, badge, (left + FRAME + 3, top + FRAME + 3), colour)
    bottom = top + CELL + 4
    draw.text((left + 2, bottom), _shortened(draw, tile.label, CELL - 4), INK, _font(14))
    draw.text((left + 2, bottom + 18), distance, FAINT, _font(13))


def _draw_text(draw: ImageDraw.ImageDraw, text: str, corner: tuple[int, int]) -> None:
    """The words of a text in lines, as many as a tile holds; dots stand for the rest."""
    width, lines = TILE - 8, [""]
    for word in text[:LONGEST_TEXT].split():
        longer = f"{lines[-1]} {word}".strip()
        if draw.textlength(longer, _font(14)) <= width:
            lines[-1] = longer
        else:
            lines += [_shortened(draw, word, width)]
    shown = [line for line in lines if line]
    if len(shown) > TEXT_LINES:
        shown = [*shown[: TEXT_LINES - 1], _shortened(draw, f"{shown[TEXT_LINES - 1]} ...", width)]
    draw.multiline_text(corner, "\n".join(shown), INK, _font(14), spacing=3)


def _draw_badge(draw: ImageDraw.ImageDraw, text: str, corner: tuple[int, int], colour: tuple[int, int, int]) -> None:
    font = _font(13)
    width = int(draw.textlength(text, font)) + 10
    left, top = corner
    back, ink = (colour, PAPER) if colour is not RULE else (PAPER, INK)
    draw.rounded_rectangle((left, top, left + width, top + 18), 4, fill=back)
    draw.text((left + 5, top + 9), text, ink, font, anchor="lm")


def _fitted(data: bytes | None) -> Image.Image | None:
    """The picture shrunk or grown into a tile; None where there is none that can be drawn."""
    if data is None:
        return None
    try:
        opened = Image.open(io.BytesIO(data))
        opened.draft("RGB", (2 * TILE, 2 * TILE))
        picture = ImageOps.exif_transpose(opened).convert("RGB")
    except (OSError, ValueError, Image.DecompressionBombError):
        return None
    scale = TILE / max(picture.size)
    size = max(1, round(picture.width * scale)), max(1, round(picture.height * scale))
    return picture.resize(size, Image.Resampling.LANCZOS)


def _shortened(draw: ImageDraw.ImageDraw, text: str, width: int) -> str:
    """The text, its end replaced by dots where it is wider than ``width`` pixels."""
    font = _font(14)
    if draw.textlength(text, font) <= width:
        return text
    while text and draw.textlength(text + "...", font) > width:
        text = text[:-1]
    return text + "..."


def _number(distance: float | None) -> str:
    if distance is None:
        return ""
    return f"{distance:,.0f}" if distance >= 1000 else f"{distance:.4g}"


def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)
