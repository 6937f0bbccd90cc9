"""Drawn explanations: a query beside each hit, with the key points, cells and bins that agree most in both."""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from PIL import Image, ImageDraw, ImageOps

from crossview.engine.values.explanation import AgreeingPart, Agreement, Explanation, Place
from crossview.engine.values.markup import data_uri
from crossview.engine.values.query import Query
from crossview.server.commands.drawing.lettering import Colour, Lettering, unknown
from crossview.server.commands.drawing.page import Fragments, Page, Section
from crossview.server.commands.drawing.region_pictures import encoded, version_picture
from crossview.server.commands.drawing.search_results import Items
from crossview.server.commands.drawing.sheet import (
    EMPTY,
    FAINT,
    INK,
    MARGIN,
    PAPER,
    QUERY,
    RULE,
    check_sheet,
    decoded,
    save_sheet,
    write_page,
)
from crossview.server.edge.pages import shapes

WIDTH = 1200
_TITLE, _BODY, _SMALL = 20, 15, 13
"""Sizes of letters in pixels."""
_HEAD = 64
"""Height of the two lines above the pictures of a hit."""
_PAIR, _CELLS, _BARS = 724, 176, 204
"""Widths of the three columns: both pictures with key points, both with cells, and bars."""
_HEIGHT = 284
"""Height of the columns."""
_GAP = 20
_LINES = 5
"""Maximum number of lines between the key points of a word."""
_BINS = 6
_LINE = 42
"""Height of a bar with its name."""
_LEGEND = "query, hit"
PALETTE: tuple[Colour, ...] = (
    *((230, 159, 0), (86, 180, 233), (0, 158, 115), (240, 228, 66)),
    *((0, 114, 178), (213, 94, 0), (204, 121, 167), (255, 255, 255)),
)
"""The colours of words: those of Okabe and Ito, which people with colour blindness also tell apart."""
TINT: Colour = (0, 158, 115)
"""The colour of cells that agree."""
_OPACITY = 0.65
_SMOOTH = 2
"""Pixels of the drawing for each pixel of the sheet, so that circles and lines are smooth."""
Box = tuple[int, int, int, int]


class _Canvas(NamedTuple):
    sheet: Image.Image
    draw: ImageDraw.ImageDraw

    def text(self, corner: tuple[int, int], text: str, size: int, colour: Colour = INK, width: int = WIDTH) -> None:
        letters = Lettering(self.draw, size)
        letters.line(corner, letters.shortened(text, width), colour)


def write_explanations(
    path: Path, items: Items, query: Query, explanations: Sequence[Explanation], name: str = ""
) -> str:
    """Write a sheet with a row for each explanation; return the characters that no font contains.

    ``name`` is the name of the file of the query. Raises the errors of ``write_sheet``.
    """
    if check_sheet(path) == "HTML":
        write_page(path, _page(items, query, explanations, name))
        return ""
    save_sheet(path, explanation_sheet(items, query, explanations, name), "explain fewer hits")
    return unknown([name, *(explanation.key for explanation in explanations)])


def _page(items: Items, query: Query, explanations: Sequence[Explanation], name: str) -> Page:
    fragments = Fragments(lambda _, key, size: encoded(version_picture(items, key, _PAIR), "JPEG"))
    picture = _query_picture(items, query)
    asked = {"address": "" if picture is None else data_uri(encoded(picture, "JPEG")), "text": query.text or ""}
    named = name or query.key or query.text or ""
    sections = [
        Section(_title(explanation, named), fragments("explanation.html", "explanation", "", explanation, asked))
        for explanation in explanations
    ]
    return Page("Explanation", f"Why: {name or 'the query'} and its hits", "", sections)


def explanation_sheet(items: Items, query: Query, explanations: Sequence[Explanation], name: str = "") -> Image.Image:
    """Return a sheet with a row for each explanation."""
    row = _HEAD + _HEIGHT + _GAP
    sheet = Image.new("RGB", (WIDTH, 2 * MARGIN + max(1, len(explanations)) * row - _GAP), PAPER)
    canvas = _Canvas(sheet, ImageDraw.Draw(sheet))
    asked = _query_picture(items, query)
    for number, explanation in enumerate(explanations):
        _draw_row(canvas, MARGIN + number * row, items, (query, asked, name), explanation)
    return sheet


def _draw_row(
    canvas: _Canvas, top: int, items: Items, asked: tuple[Query, Image.Image | None, str], explanation: Explanation
) -> None:
    query, picture, name = asked
    right = WIDTH - MARGIN
    canvas.draw.line((MARGIN, top - 8, right, top - 8), RULE)
    canvas.text((MARGIN, top), _title(explanation, name or query.key or query.text or ""), _TITLE, width=right - MARGIN)
    canvas.text((MARGIN, top + 30), _summary(explanation), _BODY, FAINT, right - MARGIN)
    top += _HEAD
    hit = version_picture(items, explanation.key, _PAIR)
    points = next((each for each in explanation.agreements if shapes.words(each)), None)
    cells = next((each for each in explanation.agreements if shapes.cells(each)), None)
    bars = [each for each in explanation.agreements if each not in (points, cells)]
    box = MARGIN, top, MARGIN + _PAIR, top + _HEIGHT
    left = _draw_pair(canvas, box, (picture, hit), query.text or "", points) + _GAP
    if cells is not None and picture is not None:
        end = min(right - _BARS - _GAP, left + 2 * _CELLS)
        _draw_cells(canvas, (left, top, end, top + _HEIGHT), (picture, hit), cells)
        left = end + _GAP
    if bars:
        _draw_bars(canvas, (left, top, min(right, left + _BARS + _CELLS), top + _HEIGHT), bars)


def _title(explanation: Explanation, name: str) -> str:
    place = f"hit {explanation.rank}" if explanation.rank else "not among the hits"
    within = f" in {explanation.target}" if explanation.target else ""
    match = "" if (share := shapes.match(explanation)) is None else f", match {share:.2f}"
    return f"{Path(name).name or 'query'} -> {Path(explanation.key).name}: {place}{within}{match}"


_SUMMED = 4
"""Maximum number of contributions on the line of an explanation."""


def _summary(explanation: Explanation) -> str:
    """Return the greatest contributions as shares, and the rank behind each."""
    whole = {"match": "match", "distance": "squared distance", "score": "score"}[explanation.measure]
    counted = [
        (part, share) for part, share in zip(explanation.contributions, explanation.shares(), strict=True) if share
    ]
    if not counted or any(part.copy for part, _ in counted):
        return "a near copy of the query"
    parts = [
        f"{part.view if part.view == part.target else f'{part.view} to {part.target}'} {100 * share:+.0f} %"
        + (f" (rank {part.rank} of {part.items})" if part.rank else "")
        for part, share in sorted(counted, key=lambda pair: -abs(pair[1]))
    ]
    others = f", {len(parts) - _SUMMED} others" if len(parts) > _SUMMED else ""
    return f"contributions to the {whole}: {', '.join(parts[:_SUMMED])}{others}"


def _query_picture(items: Items, query: Query) -> Image.Image | None:
    if query.key is not None:
        return version_picture(items, query.key, _PAIR)
    return None if query.image is None else decoded(query.image, 2 * _PAIR)


def _fitted(picture: Image.Image, width: int, height: int) -> Image.Image:
    scale = min(width / picture.width, height / picture.height)
    size = max(1, round(picture.width * scale)), max(1, round(picture.height * scale))
    return picture.resize(size, Image.Resampling.LANCZOS)


def _draw_pair(
    canvas: _Canvas,
    box: Box,
    pictures: tuple[Image.Image | None, Image.Image],
    text: str,
    points: Agreement | None,
) -> int:
    """Draw both pictures side by side, and the key points of the words that agree most, joined between both.

    Return the right edge of the pictures.
    """
    left, top, right, bottom = box
    width = (right - left - _GAP) // 2
    boxes = []
    x = left
    for picture in pictures:
        if picture is None:
            canvas.draw.rectangle((x, top, x + width, top + width * 3 // 4), fill=EMPTY, outline=QUERY)
            canvas.text((x + 12, top + 12), text or "vector", _BODY, width=width - 24)
            boxes.append((x, top, x + width, top + width * 3 // 4))
        else:
            small = _fitted(picture, width, bottom - top - 24)
            canvas.sheet.paste(small, (x, top))
            boxes.append((x, top, x + small.width, top + small.height))
        x = boxes[-1][2] + _GAP
    if points is None or pictures[0] is None:
        return boxes[1][2]
    shown = shapes.words(points)
    below = max(corners[3] for corners in boxes) + 6
    note = f"{points.view}: {100 * points.agreement:.0f} % agree; key points of {len(shown)} visual words in both"
    canvas.text((left, below), note, _SMALL, FAINT, right - left)
    region = canvas.sheet.crop(box).resize(((right - left) * _SMOOTH, (bottom - top) * _SMOOTH))
    draw = ImageDraw.Draw(region, "RGBA")
    inner = [tuple(_SMOOTH * (side - (left, top)[place % 2]) for place, side in enumerate(each)) for each in boxes]
    for part, colour in zip(shown, PALETTE, strict=False):
        _draw_word(draw, part, colour, inner)
    canvas.sheet.paste(region.resize((right - left, bottom - top), Image.Resampling.LANCZOS), (left, top))
    return boxes[1][2]


def _draw_word(draw: ImageDraw.ImageDraw, part: AgreeingPart, colour: Colour, boxes: Sequence[Sequence[int]]) -> None:
    """Draw the key points of a word as circles, and lines between those at similar places."""
    pairs = list(_pairs(part.query_places, part.item_places))
    for first, second in pairs:
        draw.line((*_at(first, boxes[0]), *_at(second, boxes[1])), (*colour, 220), _SMOOTH + 1)
    for places, box in zip(zip(*pairs, strict=True), boxes, strict=True):
        for place in places:
            x, y = _at(place, box)
            radius = max(4.0 * _SMOOTH, place.size / 2 * max(box[2] - box[0], box[3] - box[1]))
            circle = (x - radius, y - radius, x + radius, y + radius)
            draw.ellipse(circle, outline=(20, 20, 20, 200), width=2 * _SMOOTH + 2)
            draw.ellipse(circle, outline=(*colour, 255), width=2 * _SMOOTH)


def _at(place: Place, box: Sequence[int]) -> tuple[float, float]:
    left, top, right, bottom = box
    return left + place.x * (right - left), top + place.y * (bottom - top)


def _pairs(query: Sequence[Place], item: Sequence[Place]) -> Iterator[tuple[Place, Place]]:
    """Yield pairs of key points, each at most once, those of the most similar places in both pictures first."""
    gaps = sorted(
        (math.hypot(mine.x - other.x, mine.y - other.y) + abs(mine.size - other.size), first, second)
        for first, mine in enumerate(query)
        for second, other in enumerate(item)
    )
    used: set[tuple[str, int]] = set()
    for _, first, second in gaps:
        if len(used) < 2 * _LINES and not {("query", first), ("item", second)} & used:
            used |= {("query", first), ("item", second)}
            yield query[first], item[second]


def _draw_cells(canvas: _Canvas, box: Box, pictures: Sequence[Image.Image], cells: Agreement) -> None:
    """Draw both pictures with the cells tinted by their agreement relative to their strength: wide ones stacked."""
    left, top, right, bottom = box
    wide = all(picture.width >= picture.height for picture in pictures)
    room = (right - left, (bottom - top - 32) // 2) if wide else ((right - left - 8) // 2, bottom - top - 24)
    corner = left, top
    for picture in pictures:
        small = _fitted(picture, *room)
        veil = Image.new("L", small.size)
        draw = ImageDraw.Draw(veil)
        for cell in shapes.cells(cells):
            x, y = cell.x * small.width / 100, cell.y * small.height / 100
            far, low = x + cell.width * small.width / 100, y + cell.height * small.height / 100
            draw.rectangle((x, y, far - 2, low - 2), fill=round(255 * _OPACITY * cell.strength))
        calm = Image.blend(small, ImageOps.grayscale(small).convert("RGB"), 0.7)
        tinted = Image.composite(Image.new("RGB", small.size, TINT), calm, veil)
        canvas.sheet.paste(tinted, corner)
        corner = (left, corner[1] + small.height + 8) if wide else (corner[0] + small.width + 8, top)
    note = f"{cells.view}: {100 * cells.agreement:.0f} % agree, green most"
    below = corner[1] if wide else top + small.height + 6
    canvas.text((left, below), note, _SMALL, FAINT, right - left + 10)


def _draw_bars(canvas: _Canvas, box: Box, agreements: Sequence[Agreement]) -> None:
    """Draw bars of the parts that agree most: the shares of the query and of the hit, the common share filled."""
    left, top, right, bottom = box
    for agreement in agreements:
        parts = shapes.bins(agreement)[:_BINS]
        canvas.text(
            (left, top), f"{agreement.view}: {100 * agreement.agreement:.0f} % agree", _SMALL, FAINT, right - left
        )
        letters = Lettering(canvas.draw, _SMALL)
        letters.line((right - letters.width(_LEGEND), top), _LEGEND, FAINT)
        top += 24
        most = max([max(part.query, part.item) for part in parts], default=1.0)
        for part in parts:
            if top + _LINE > bottom:
                return
            _draw_bar(canvas, (left, top, right, top + _LINE), part, most)
            top += _LINE


def _draw_bar(canvas: _Canvas, box: Box, part: AgreeingPart, most: float) -> None:
    left, top, right, _ = box
    fill = part.color or TINT
    canvas.text((left, top), part.name, _SMALL, width=right - left - 76)
    figures = f"{100 * part.query:.0f} %, {100 * part.item:.0f} %"
    letters = Lettering(canvas.draw, _SMALL)
    letters.line((right - letters.width(figures), top), figures, FAINT)
    for number, share in enumerate((part.query, part.item)):
        y = top + 18 + 8 * number
        end = left + (right - left - 1) * share / most
        canvas.draw.rectangle((left, y, max(left + 1, end), y + 6), fill=fill, outline=INK)
    both = left + (right - left - 1) * part.agreement / most
    canvas.draw.line((both, top + 16, both, top + 34), FAINT, 1)
