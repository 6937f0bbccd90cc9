"""Contact sheets: a query on the left, its hits on the right, framed green or red where the classes are known."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path

from PIL import Image, ImageDraw

from engine.errors import InvalidInputError
from server.drawing.lettering import Lettering, unknown

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
LINE = 17
"""Height of a line of a text in a tile."""
LONGEST_TEXT = 1000
ROW_TITLE = 34
SHEET_TITLE = 56

FORMATS = {".png": "PNG", ".jpg": "JPEG", ".jpeg": "JPEG", ".webp": "WEBP", ".pdf": "PDF"}
"""Pillow's formats by file name extension."""
LARGEST = {"JPEG": 65_535, "WEBP": 16_383}
"""Largest width and height in pixels of a format; the others have no such limit."""

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
    """One picture of a sheet and its caption."""

    picture: bytes | None
    """Encoded picture; None draws an empty tile."""
    label: str = ""
    """Class label, or the key where it has none."""
    _: KW_ONLY
    distance: float | None = None
    correct: bool | None = None
    """Whether a hit has the query's class; None where the classes are not known."""
    text: str = ""
    """Shown in the tile where there is no picture."""


@dataclass(frozen=True)
class Strip:
    """One row of a sheet: a query and its hits, nearest first."""

    title: str
    """Names query and target, such as "color query -> sift database"."""
    query: Tile
    hits: Sequence[Tile]


def contact_sheet(strips: Sequence[Strip], title: str = "") -> Image.Image:
    """Returns the sheet, wide enough for the longest row of hits."""
    columns = max((len(strip.hits) for strip in strips), default=0)
    top = SHEET_TITLE if title else 0
    strip_height = ROW_TITLE + CELL + CAPTION + GAP
    width = 2 * MARGIN + CELL + QUERY_GAP + columns * (CELL + GAP) - GAP
    sheet = Image.new("RGB", (width, 2 * MARGIN + top + len(strips) * strip_height), PAPER)
    draw = ImageDraw.Draw(sheet)
    if title:
        Lettering(draw, 26).line((MARGIN, MARGIN), title, INK)
    for position, strip in enumerate(strips):
        _draw_strip(sheet, draw, strip, MARGIN + top + position * strip_height)
    return sheet


def check_sheet(path: Path) -> str:
    """Returns Pillow's format for a sheet's file; InvalidInputError where a sheet cannot be written there."""
    if path.suffix.lower() not in FORMATS:
        raise InvalidInputError(f"a contact sheet cannot be written to {path}: end the name in {', '.join(FORMATS)}")
    if not path.parent.is_dir():
        raise InvalidInputError(f"a contact sheet cannot be written to {path}: the folder {path.parent} does not exist")
    return FORMATS[path.suffix.lower()]


def write_sheet(path: Path, strips: Sequence[Strip], title: str = "") -> str:
    """Writes the sheet in the format of the file's name; returns the characters that no font has.

    Raises InvalidInputError for an unknown file type or too many pixels for it, OSError where the file cannot be
    written.
    """
    kind = check_sheet(path)
    sheet = contact_sheet(strips, title)
    if max(sheet.size) > LARGEST.get(kind, max(sheet.size)):
        raise InvalidInputError(
            f"the contact sheet has {sheet.width} x {sheet.height} pixels, but {kind} takes at most "
            f"{LARGEST[kind]} a side: write a .png, or ask for fewer hits"
        )
    sheet.save(path, format=kind, **({"optimize": True} if kind == "PNG" else {}))
    tiles = [tile for strip in strips for tile in (strip.query, *strip.hits)]
    texts = [tile.text[:LONGEST_TEXT] for tile in tiles if tile.picture is None]
    return unknown([title, *(strip.title for strip in strips), *(tile.label for tile in tiles), *texts])


def _draw_strip(sheet: Image.Image, draw: ImageDraw.ImageDraw, strip: Strip, top: int) -> None:
    Lettering(draw, 17).line((MARGIN, top + 4), strip.title, INK)
    known = [hit.correct for hit in strip.hits if hit.correct is not None]
    if known:
        tally = f"{sum(known)} of {len(known)} of the query's class"
        letters = Lettering(draw, 14)
        letters.line((sheet.width - MARGIN - letters.width(tally), top + 6), tally, FAINT)
    draw.line((MARGIN, top + ROW_TITLE - 6, sheet.width - MARGIN, top + ROW_TITLE - 6), RULE)
    top += ROW_TITLE
    draw_tile(sheet, draw, strip.query, (MARGIN, top), QUERY, "query")
    arrow = MARGIN + CELL + QUERY_GAP // 2
    middle = top + CELL // 2
    draw.polygon(((arrow - 7, middle - 9), (arrow + 7, middle), (arrow - 7, middle + 9)), FAINT)
    for rank, hit in enumerate(strip.hits):
        left = MARGIN + CELL + QUERY_GAP + rank * (CELL + GAP)
        colour = RULE if hit.correct is None else (RIGHT if hit.correct else WRONG)
        draw_tile(sheet, draw, hit, (left, top), colour, f"{rank + 1}", _number(hit.distance))


def draw_tile(
    sheet: Image.Image,
    draw: ImageDraw.ImageDraw,
    tile: Tile,
    corner: tuple[int, int],
    colour: tuple[int, int, int],
    badge: str,
    distance: str = "",
) -> None:
    """Draws a tile at its upper left corner, framed, with a badge in the picture and a caption below."""
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
    letters = Lettering(draw, 14)
    letters.line((left + 2, bottom), letters.shortened(tile.label, CELL - 4), INK)
    Lettering(draw, 13).line((left + 2, bottom + 18), distance, FAINT)


def _draw_text(draw: ImageDraw.ImageDraw, text: str, corner: tuple[int, int]) -> None:
    """Draws the words of a text in lines, as many as fit the tile; dots stand for the rest."""
    width, lines, letters = TILE - 8, [""], Lettering(draw, 14)
    for word in text[:LONGEST_TEXT].split():
        longer = f"{lines[-1]} {word}".strip()
        if letters.width(longer) <= width:
            lines[-1] = longer
        else:
            lines += [letters.shortened(word, width)]
    shown = [line for line in lines if line]
    if len(shown) > TEXT_LINES:
        shown = [*shown[: TEXT_LINES - 1], letters.shortened(f"{shown[TEXT_LINES - 1]} ...", width)]
    for number, line in enumerate(shown):
        letters.line((corner[0], corner[1] + number * LINE), line, INK)


def _draw_badge(draw: ImageDraw.ImageDraw, text: str, corner: tuple[int, int], colour: tuple[int, int, int]) -> None:
    letters = Lettering(draw, 13)
    width = int(letters.width(text)) + 10
    left, top = corner
    back, ink = (colour, PAPER) if colour is not RULE else (PAPER, INK)
    draw.rounded_rectangle((left, top, left + width, top + 18), 4, fill=back)
    letters.line((left + 5, top + 2), text, ink)


def _fitted(data: bytes | None) -> Image.Image | None:
    """Returns the picture scaled to a tile; None where there is none, or it cannot be decoded."""
    picture = None if data is None else decoded(data, 2 * TILE)
    if picture is None:
        return None
    scale = TILE / max(picture.size)
    size = max(1, round(picture.width * scale)), max(1, round(picture.height * scale))
    return picture.resize(size, Image.Resampling.LANCZOS)


def decoded(data: bytes, side: int) -> Image.Image | None:
    """Returns a picture with its longest side at most so long, upright; None where it cannot be read.

    It may come from anyone, as thumbnails of a server do, so it is read as pictures of collections are.
    """
    from features.decode import decode
    from features.errors import ImageError

    try:
        return Image.fromarray(decode(data, max_side=side).image[:, :, ::-1])
    except ImageError:
        return None


def _number(distance: float | None) -> str:
    if distance is None:
        return ""
    return f"{distance:,.0f}" if distance >= 1000 else f"{distance:.4g}"
