"""Contact sheets: a query on the left, its hits on the right, each with a caption; and questions to a person."""

import io
import math
from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw

from crossview.engine.values.comparisons import Question
from crossview.engine.values.errors import InvalidInputError
from crossview.server.commands.drawing.lettering import Lettering, unknown
from crossview.server.commands.drawing.page import Fragments, Page, Section, write_at_once
from crossview.server.commands.drawing.search_results import Items, Strip, Tile, thumbnail_of

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
_CANDIDATES = 3
"""Maximum number of candidates in a row."""
NARROWEST = 520
"""Minimum width of a sheet, in pixels."""
_TITLE_SIZE, STRIP_SIZE, _SMALL_SIZE = 26, 17, 14
"""Sizes of letters in pixels: of the title of a sheet, of the title of a row, and of captions."""

FORMATS = {".png": "PNG", ".jpg": "JPEG", ".jpeg": "JPEG", ".webp": "WEBP", ".pdf": "PDF"}
"""Pillow's formats by file name extension."""
PAGE = ".html"
"""The ending of a self-contained page."""
LARGEST = {"JPEG": 65_535, "WEBP": 16_383}
"""Maximum width and height of a format in pixels; the other formats have no such limit."""

# The colours of ``page.css``.
PAPER = (250, 250, 248)
INK = (24, 26, 25)
FAINT = (93, 98, 94)
RULE = (222, 222, 218)
EMPTY = (240, 240, 236)
RIGHT = (10, 112, 104)
WRONG = (143, 59, 0)
QUERY = INK


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
    titles += [Lettering(draw, STRIP_SIZE).width(strip.title) + _tally_width(draw, strip) for strip in strips]
    columns = min(COLUMNS, max((len(strip.hits) for strip in strips), default=0))
    widest, hits = (HITS_LEFT + count * (CELL + GAP) - GAP + MARGIN for count in (COLUMNS, columns))
    return max(NARROWEST, hits, min(widest, math.ceil(max(titles)) + 2 * MARGIN))


def _height(strip: Strip) -> int:
    return ROW_TITLE + max(1, math.ceil(len(strip.hits) / COLUMNS)) * (CELL + CAPTION + GAP)


def check_sheet(path: Path) -> str:
    """Return Pillow's format for a sheet's file, or HTML; raise InvalidInputError if it cannot be a sheet."""
    formats = {**FORMATS, PAGE: "HTML"}
    if path.suffix.lower() not in formats:
        raise InvalidInputError(f"a contact sheet cannot be written to {path}: end the name in {', '.join(formats)}")
    if not path.parent.is_dir():
        raise InvalidInputError(f"a contact sheet cannot be written to {path}: the folder {path.parent} does not exist")
    return formats[path.suffix.lower()]


def write_sheet(path: Path, strips: Sequence[Strip], title: str = "", made: Mapping[str, Any] | None = None) -> str:
    """Write the sheet in the format of the file name; return the characters that no font contains.

    ``made`` is how the strips were made, which a page shows: command, version and so on.

    Raises InvalidInputError for an unknown file type, or more pixels than the type allows, and OSError if the file
    cannot be written.
    """
    if check_sheet(path) == "HTML":
        rows = Section("", Fragments()("strips.html", "strips", strips))
        write_page(path, Page("Contact sheet", title or "Search results", _counted(strips), [rows], made or {}))
        return ""
    save_sheet(path, contact_sheet(strips, title), "request fewer hits")
    tiles = [tile for strip in strips for tile in (strip.query, *strip.hits)]
    texts = [tile.text[:LONGEST_TEXT] for tile in tiles if tile.picture is None]
    captions = [caption for tile in tiles for caption in (tile.name, tile.label)]
    return unknown([title, *(strip.title for strip in strips), *captions, *texts])


def sheet_bytes(strips: Sequence[Strip], title: str = "") -> bytes:
    """Return a sheet as PNG."""
    data = io.BytesIO()
    contact_sheet(strips, title).save(data, format="PNG", optimize=True)
    return data.getvalue()


def save_sheet(path: Path, sheet: Image.Image, remedy: str) -> None:
    """Write a drawn sheet; the errors are those of ``write_sheet``, with a ``remedy`` for too many pixels."""
    kind = check_sheet(path)
    if max(sheet.size) > LARGEST.get(kind, max(sheet.size)):
        raise InvalidInputError(
            f"the contact sheet has {sheet.width} x {sheet.height} pixels, but {kind} takes at most "
            f"{LARGEST[kind]} per side: write a .png, or {remedy}"
        )
    options = {"optimize": True} if kind == "PNG" else {}
    write_at_once(path, lambda part: sheet.save(part, format=kind, **options))


def write_page(path: Path, page: Page) -> None:
    """Write a report, at once."""
    write_at_once(path, lambda part: part.write_text(page.html(), encoding="utf-8"))


def _counted(strips: Sequence[Strip]) -> str:
    """Return the number of hits and lists in words."""
    hits = sum(len(strip.hits) for strip in strips)
    lists = f" in {len(strips):,} lists" if len(strips) > 1 else ""
    return f"{hits:,} hit{'' if hits == 1 else 's'}{lists}, the nearest first."


def _draw_strip(sheet: Image.Image, draw: ImageDraw.ImageDraw, strip: Strip, top: int) -> None:
    letters, right = Lettering(draw, STRIP_SIZE), sheet.width - MARGIN
    room = right - MARGIN - math.ceil(_tally_width(draw, strip))
    letters.line((MARGIN, top + 4), letters.shortened(strip.title, room), INK)
    small = Lettering(draw, _SMALL_SIZE)
    small.line((right - small.width(strip.tally), top + 6), strip.tally, FAINT)
    draw.line((MARGIN, top + ROW_TITLE - 6, right - 1, top + ROW_TITLE - 6), RULE)
    top += ROW_TITLE
    _draw_tile(sheet, draw, strip.query, (MARGIN, top), QUERY, strip.badge)
    arrow = MARGIN + CELL + QUERY_GAP // 2
    middle = top + CELL // 2
    draw.polygon(((arrow - 7, middle - 9), (arrow + 7, middle), (arrow - 7, middle + 9)), FAINT)
    if not strip.hits:
        small.line((HITS_LEFT, middle - 8), "no hits", FAINT)
    for rank, hit in enumerate(strip.hits):
        row, column = divmod(rank, COLUMNS)
        corner = HITS_LEFT + column * (CELL + GAP), top + row * (CELL + CAPTION + GAP)
        colour = RULE if hit.correct is None else (RIGHT if hit.correct else WRONG)
        _draw_tile(sheet, draw, hit, corner, colour, f"{rank + 1}")


def _tally_width(draw: ImageDraw.ImageDraw, strip: Strip) -> float:
    return Lettering(draw, _SMALL_SIZE).width(strip.tally) + GAP if strip.tally else 0.0


def _draw_tile(
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
    if tile.correct is not None:
        _draw_verdict(draw, tile.correct, (left + CELL - FRAME - 25, top + FRAME + 3))
    letters, room = Lettering(draw, _SMALL_SIZE), CELL - 4
    lines = [text for text in ((tile.name, INK), (tile.label, INK), (tile.figures, FAINT)) if text[0]]
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


def _draw_verdict(draw: ImageDraw.ImageDraw, right: bool, corner: tuple[int, int]) -> None:
    """Draw a tick or a cross, because colours alone do not tell everyone which hits are right."""
    left, top = corner
    draw.ellipse((left, top, left + 21, top + 21), RIGHT if right else WRONG, PAPER)
    lines = [[(6, 11), (10, 15), (16, 7)]] if right else [[(7, 7), (14, 14)], [(14, 7), (7, 14)]]
    for line in lines:
        draw.line([(left + x, top + y) for x, y in line], PAPER, 2, joint="curve")


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


def question_sheet(items: Items, question: Question, chosen: Set[int] = frozenset()) -> Image.Image:
    """Return the picture of a question, with a green frame around the candidates at the chosen positions, from 0."""
    count = len(question.candidates)
    columns, rows = min(_CANDIDATES, count), math.ceil(count / _CANDIDATES)
    left = MARGIN + CELL + QUERY_GAP
    which = "which of both is" if count == 2 else "which are"
    title = f"By {question.notion}: {which} like the one on the left?"
    needed = Lettering(ImageDraw.Draw(Image.new("RGB", (1, 1))), STRIP_SIZE).width(title)
    width = max(left + columns * (CELL + GAP) - GAP + MARGIN, math.ceil(needed) + 2 * MARGIN)
    sheet = Image.new("RGB", (width, 2 * MARGIN + ROW_TITLE + rows * (CELL + GAP) - GAP), PAPER)
    draw = ImageDraw.Draw(sheet)
    Lettering(draw, STRIP_SIZE).line((MARGIN, MARGIN - 8), title, INK)
    top = MARGIN + ROW_TITLE
    _draw_tile(sheet, draw, _candidate(items, question.anchor), (MARGIN, top), QUERY, "A")
    for place, key in enumerate(question.candidates):
        corner = left + place % _CANDIDATES * (CELL + GAP), top + place // _CANDIDATES * (CELL + GAP)
        colour = RIGHT if place in chosen else RULE
        _draw_tile(sheet, draw, _candidate(items, key), corner, colour, str(place + 1))
    return sheet


def write_question(path: Path, items: Items, question: Question) -> None:
    """Write the picture of a question, atomically, because a viewer may show the file."""
    write_at_once(path, lambda part: question_sheet(items, question).save(part, format="PNG"))


def _candidate(items: Items, key: str) -> Tile:
    """Return the tile of an item without its labels, because these could give away the answer."""
    picture = thumbnail_of(items, key)
    return Tile(picture, text="" if picture else items.get(key).text or key)
