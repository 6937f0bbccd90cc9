"""Contact sheets: a query on the left, its hits in rows on the right, each with a caption."""

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path

from PIL import Image, ImageDraw

from crossview.engine.errors import InvalidInputError
from crossview.server.drawing.lettering import Lettering, unknown

TILE = 132
"""Side of the square that a picture is fitted into, in pixels."""
FRAME = 4
CELL = TILE + 2 * FRAME
GAP = 12
QUERY_GAP = 40
MARGIN = 28
CAPTION_LINE = 18
CAPTION = 3 * CAPTION_LINE + 6
"""Height of the caption below a picture: the name of its file, its labels, its match and its distance."""
BADGE = 26
TEXT_LINES = 6
LINE = 17
"""Height of a line of text in a tile."""
LONGEST_TEXT = 1000
"""Maximum number of characters of a text to lay out in a tile."""
ROW_TITLE = 34
SHEET_TITLE = 56
COLUMNS = 8
"""Maximum number of hits in a row."""
HITS_LEFT = MARGIN + CELL + QUERY_GAP
NARROWEST = 520
"""Minimum width of a sheet, in pixels."""
_TITLE_SIZE, STRIP_SIZE, _SMALL_SIZE = 26, 17, 14
"""Sizes of letters in pixels: of the title of a sheet, of the title of a row, and of captions."""

FORMATS = {".png": "PNG", ".jpg": "JPEG", ".jpeg": "JPEG", ".webp": "WEBP", ".pdf": "PDF"}
"""Pillow's formats by file name extension."""
LARGEST = {"JPEG": 65_535, "WEBP": 16_383}
"""Maximum width and height of a format in pixels; the other formats have no such limit."""

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
    """A picture of a sheet with its caption."""

    picture: bytes | None
    """Encoded picture; None for an empty tile."""
    label: str = ""
    """Class label."""
    _: KW_ONLY
    name: str = ""
    """Name of the file or the item."""
    match: float | None = None
    distance: float | None = None
    correct: bool | None = None
    """Whether a hit has the class of the query: True marks it green, False red, None not at all."""
    text: str = ""
    """Text to show if the tile has no picture."""


@dataclass(frozen=True)
class Strip:
    """A row of a sheet: a query and its hits, the nearest first."""

    title: str
    """Title with the query and the target, such as "color query -> sift database"."""
    query: Tile
    hits: Sequence[Tile]
    badge: str = "query"
    """The word in the picture on the left."""

    @property
    def tally(self) -> str:
        """The number of marked hits that have the class of the query, in words; "" if no hit is marked."""
        known = [hit.correct for hit in self.hits if hit.correct is not None]
        return f"{sum(known)} of {len(known)} of the query's class" if known else ""


def contact_sheet(strips: Sequence[Strip], title: str = "") -> Image.Image:
    """Return the sheet; hits beyond ``COLUMNS`` continue in further lines of the row."""
    width = _width(strips, title)
    top = SHEET_TITLE if title else 0
    sheet = Image.new("RGB", (width, 2 * MARGIN + top + sum(map(_height, strips))), PAPER)
    draw = ImageDraw.Draw(sheet)
    if title:
        letters = Lettering(draw, _TITLE_SIZE)
        letters.line((MARGIN, MARGIN), letters.shortened(title, width - 2 * MARGIN), INK)
    top += MARGIN
    for strip in strips:
        _draw_strip(sheet, draw, strip, top)
        top += _height(strip)
    return sheet


def _width(strips: Sequence[Strip], title: str) -> int:
    """Return the width that the hits and the titles need; titles do not widen a sheet beyond ``COLUMNS`` hits."""
    draw = ImageDraw.Draw(Image.new("RGB", (1, 1)))
    titles = [Lettering(draw, _TITLE_SIZE).width(title)]
    titles += [Lettering(draw, STRIP_SIZE).width(one.title) + _tally_width(draw, one) for one in strips]
    columns = min(COLUMNS, max((len(strip.hits) for strip in strips), default=0))
    widest, hits = (HITS_LEFT + count * (CELL + GAP) - GAP + MARGIN for count in (COLUMNS, columns))
    return max(NARROWEST, hits, min(widest, math.ceil(max(titles)) + 2 * MARGIN))


def _height(strip: Strip) -> int:
    return ROW_TITLE + max(1, math.ceil(len(strip.hits) / COLUMNS)) * (CELL + CAPTION + GAP)


def check_sheet(path: Path) -> str:
    """Return Pillow's format for a sheet's file; raise InvalidInputError if a sheet cannot be written there."""
    if path.suffix.lower() not in FORMATS:
        raise InvalidInputError(f"a contact sheet cannot be written to {path}: end the name in {', '.join(FORMATS)}")
    if not path.parent.is_dir():
        raise InvalidInputError(f"a contact sheet cannot be written to {path}: the folder {path.parent} does not exist")
    return FORMATS[path.suffix.lower()]


def write_sheet(path: Path, strips: Sequence[Strip], title: str = "") -> str:
    """Write the sheet in the format of the file name; return the characters that no font contains.

    Raises InvalidInputError for an unknown file type, or more pixels than the type allows, and OSError if the file
    cannot be written.
    """
    save_sheet(path, contact_sheet(strips, title), "request fewer hits")
    tiles = [tile for strip in strips for tile in (strip.query, *strip.hits)]
    texts = [tile.text[:LONGEST_TEXT] for tile in tiles if tile.picture is None]
    captions = [caption for tile in tiles for caption in (tile.name, tile.label)]
    return unknown([title, *(strip.title for strip in strips), *captions, *texts])


def save_sheet(path: Path, sheet: Image.Image, remedy: str) -> None:
    """Write a drawn sheet; the errors are those of ``write_sheet``, with a ``remedy`` for too many pixels."""
    kind = check_sheet(path)
    if max(sheet.size) > LARGEST.get(kind, max(sheet.size)):
        raise InvalidInputError(
            f"the contact sheet has {sheet.width} x {sheet.height} pixels, but {kind} takes at most "
            f"{LARGEST[kind]} per side: write a .png, or {remedy}"
        )
    sheet.save(path, format=kind, **({"optimize": True} if kind == "PNG" else {}))


def _draw_strip(sheet: Image.Image, draw: ImageDraw.ImageDraw, strip: Strip, top: int) -> None:
    letters, right = Lettering(draw, STRIP_SIZE), sheet.width - MARGIN
    room = right - MARGIN - math.ceil(_tally_width(draw, strip))
    letters.line((MARGIN, top + 4), letters.shortened(strip.title, room), INK)
    small = Lettering(draw, _SMALL_SIZE)
    small.line((right - small.width(strip.tally), top + 6), strip.tally, FAINT)
    draw.line((MARGIN, top + ROW_TITLE - 6, right - 1, top + ROW_TITLE - 6), RULE)
    top += ROW_TITLE
    draw_tile(sheet, draw, strip.query, (MARGIN, top), QUERY, strip.badge)
    arrow = MARGIN + CELL + QUERY_GAP // 2
    middle = top + CELL // 2
    draw.polygon(((arrow - 7, middle - 9), (arrow + 7, middle), (arrow - 7, middle + 9)), FAINT)
    if not strip.hits:
        small.line((HITS_LEFT, middle - 8), "no hits", FAINT)
    for rank, hit in enumerate(strip.hits):
        row, column = divmod(rank, COLUMNS)
        corner = HITS_LEFT + column * (CELL + GAP), top + row * (CELL + CAPTION + GAP)
        colour = RULE if hit.correct is None else (RIGHT if hit.correct else WRONG)
        draw_tile(sheet, draw, hit, corner, colour, f"{rank + 1}")


def _tally_width(draw: ImageDraw.ImageDraw, strip: Strip) -> float:
    return Lettering(draw, _SMALL_SIZE).width(strip.tally) + GAP if strip.tally else 0.0


def draw_tile(
    sheet: Image.Image,
    draw: ImageDraw.ImageDraw,
    tile: Tile,
    corner: tuple[int, int],
    colour: tuple[int, int, int],
    badge: str,
) -> None:
    """Draw a tile at its upper left corner, framed, with a badge in the picture and a caption below."""
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
    letters, room = Lettering(draw, _SMALL_SIZE), CELL - 4
    lines = [one for one in ((tile.name, INK), (tile.label, INK), (_numbers(tile), FAINT)) if one[0]]
    for number, (line, ink) in enumerate(lines):
        letters.line((left + 2, top + CELL + 4 + number * CAPTION_LINE), letters.shortened(line, room), ink)


def _draw_text(draw: ImageDraw.ImageDraw, text: str, corner: tuple[int, int]) -> None:
    """Draw the first words of a text, as many lines as fit into the tile; dots replace the rest."""
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
    """Return the picture scaled to a tile; None without a picture that can be decoded."""
    picture = None if data is None else decoded(data, 2 * TILE)
    if picture is None:
        return None
    scale = TILE / max(picture.size)
    size = max(1, round(picture.width * scale)), max(1, round(picture.height * scale))
    return picture.resize(size, Image.Resampling.LANCZOS)


def decoded(data: bytes, side: int) -> Image.Image | None:
    """Return an upright picture whose longest side has at most ``side`` pixels; None for an unreadable picture.

    Decodes pictures as safely as collections do, because thumbnails of a server are untrusted.
    """
    from crossview.features.decode import decode
    from crossview.features.errors import ImageError

    try:
        return Image.fromarray(decode(data, max_side=side).image[:, :, ::-1])
    except ImageError:
        return None


def _numbers(tile: Tile) -> str:
    """Return the match of a hit and its distance; a tile without a match shows the distance alone."""
    distance = _number(tile.distance)
    return distance if tile.match is None else f"match {tile.match:.2f}, {distance}"


def _number(distance: float | None) -> str:
    if distance is None:
        return ""
    return f"{distance:,.0f}" if distance >= 1000 else f"{distance:.4g}"
