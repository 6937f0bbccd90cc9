"""The picture of a question to a person: the anchor on the left, the numbered candidates on the right."""

import math
from collections.abc import Set
from pathlib import Path

from PIL import Image, ImageDraw

from crossview.engine.values.comparisons import Question
from crossview.server.commands.drawing.lettering import Lettering
from crossview.server.commands.drawing.search_results import Items, thumbnail_of
from crossview.server.commands.drawing.sheet import (
    CELL,
    GAP,
    INK,
    MARGIN,
    PAPER,
    QUERY,
    QUERY_GAP,
    RIGHT,
    ROW_TITLE,
    RULE,
    STRIP_SIZE,
    draw_tile,
)
from crossview.server.commands.drawing.strip import Tile

_COLUMNS = 3
"""Maximum number of candidates in a row."""


def question_sheet(items: Items, question: Question, chosen: Set[int] = frozenset()) -> Image.Image:
    """Return the picture of a question, with a green frame around the candidates at the chosen positions, from 0."""
    count = len(question.candidates)
    columns, rows = min(_COLUMNS, count), math.ceil(count / _COLUMNS)
    left = MARGIN + CELL + QUERY_GAP
    which = "which of both is" if count == 2 else "which are"
    title = f"By {question.notion}: {which} like the one on the left?"
    needed = Lettering(ImageDraw.Draw(Image.new("RGB", (1, 1))), STRIP_SIZE).width(title)
    width = max(left + columns * (CELL + GAP) - GAP + MARGIN, math.ceil(needed) + 2 * MARGIN)
    sheet = Image.new("RGB", (width, 2 * MARGIN + ROW_TITLE + rows * (CELL + GAP) - GAP), PAPER)
    draw = ImageDraw.Draw(sheet)
    Lettering(draw, STRIP_SIZE).line((MARGIN, MARGIN - 8), title, INK)
    top = MARGIN + ROW_TITLE
    draw_tile(sheet, draw, _tile(items, question.anchor), (MARGIN, top), QUERY, "A")
    for place, key in enumerate(question.candidates):
        corner = left + place % _COLUMNS * (CELL + GAP), top + place // _COLUMNS * (CELL + GAP)
        colour = RIGHT if place in chosen else RULE
        draw_tile(sheet, draw, _tile(items, key), corner, colour, str(place + 1))
    return sheet


def write_question(path: Path, items: Items, question: Question) -> None:
    """Write the picture of a question, atomically, because a viewer may show the file."""
    made = path.with_name(f".{path.name}")
    question_sheet(items, question).save(made, format="PNG")
    made.replace(path)


def _tile(items: Items, key: str) -> Tile:
    """Return the tile of an item without its labels, because these could give away the answer."""
    picture = thumbnail_of(items, key)
    return Tile(picture, text="" if picture else items.get(key).text or key)
