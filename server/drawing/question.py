"""A question to a person as a picture: the anchor on the left, the numbered candidates on the right."""

import math
from collections.abc import Set
from pathlib import Path

from PIL import Image, ImageDraw

from crossview.engine.comparisons import Question
from crossview.server.drawing.lettering import Lettering
from crossview.server.drawing.search_results import Items, thumbnail_of
from crossview.server.drawing.sheet import (
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
    Tile,
    draw_tile,
)

_ROW = 3
"""Candidates beside each other."""


def question_sheet(items: Items, question: Question, chosen: Set[int] = frozenset()) -> Image.Image:
    """Return the picture of a question; the candidates at the chosen positions, from 0, are framed in green."""
    count = len(question.candidates)
    columns, rows = min(_ROW, count), math.ceil(count / _ROW)
    left = MARGIN + CELL + QUERY_GAP
    asked = "which of both is" if count == 2 else "which are"
    title = f"By {question.notion}: {asked} like the one on the left?"
    needed = Lettering(ImageDraw.Draw(Image.new("RGB", (1, 1))), STRIP_SIZE).width(title)
    width = max(left + columns * (CELL + GAP) - GAP + MARGIN, math.ceil(needed) + 2 * MARGIN)
    sheet = Image.new("RGB", (width, 2 * MARGIN + ROW_TITLE + rows * (CELL + GAP) - GAP), PAPER)
    draw = ImageDraw.Draw(sheet)
    Lettering(draw, STRIP_SIZE).line((MARGIN, MARGIN - 8), title, INK)
    top = MARGIN + ROW_TITLE
    draw_tile(sheet, draw, _tile(items, question.anchor), (MARGIN, top), QUERY, "A")
    for place, key in enumerate(question.candidates):
        corner = left + place % _ROW * (CELL + GAP), top + place // _ROW * (CELL + GAP)
        colour = RIGHT if place in chosen else RULE
        draw_tile(sheet, draw, _tile(items, key), corner, colour, str(place + 1))
    return sheet


def write_question(path: Path, items: Items, question: Question) -> None:
    """Write the picture of a question, whole or not at all: a viewer may be showing the last one."""
    made = path.with_name(f".{path.name}")
    question_sheet(items, question).save(made, format="PNG")
    made.replace(path)


def _tile(items: Items, key: str) -> Tile:
    """Return an item without its labels, which would answer the question."""
    picture = thumbnail_of(items, key)
    return Tile(picture, text="" if picture else items.get(key).text or key)
