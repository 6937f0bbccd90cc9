"""The time line: a picture of the importance of each change over time."""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from PIL import Image, ImageDraw

from crossview.server.commands.drawing.lettering import Colour, Lettering
from crossview.server.commands.drawing.region_pictures import FRAME, version_picture
from crossview.server.commands.drawing.search_results import Items
from crossview.server.commands.drawing.sheet import FAINT, INK, PAPER, RULE
from crossview.server.edge.pages.shapes import TimeLine

if TYPE_CHECKING:
    from crossview.engine.values.changes import Change

SIZE = 1200, 300
"""Width and height of the diagram, in pixels."""
OTHER: Colour = (0, 114, 178)
"""Colour of changes that are not important: blue of the palette of Okabe and Ito."""
_LEFT, _TOP, _RIGHT, _BOTTOM = 60, 46, 20, 34
_THUMBNAIL, _THUMBNAILS = 136, 8


def timeline_picture(items: Items, changes: "Sequence[Change]") -> Image.Image:
    """Return the time line, with thumbnails of the most important versions below."""
    shown = sorted(
        sorted(_important(changes), key=lambda change: -change.importance)[:_THUMBNAILS], key=lambda change: change.time
    )
    width, height = SIZE
    sheet = Image.new("RGB", (width, height + (_THUMBNAIL + 40 if shown else 0)), PAPER)
    draw = ImageDraw.Draw(sheet)
    axes = _Axes(changes)
    _frame(draw, axes)
    for change in changes:
        _point(draw, axes, change)
    for number, change in enumerate(shown):
        _thumbnail(sheet, draw, axes, (number, len(shown)), items, change)
    return sheet


class _Axes(TimeLine):
    """The places of times and importances in pixels."""

    def x(self, time: datetime) -> float:
        return _LEFT + (SIZE[0] - _LEFT - _RIGHT) * self.across(time)

    def y(self, importance: float) -> float:
        return SIZE[1] - _BOTTOM - (SIZE[1] - _TOP - _BOTTOM) * self.up(importance)


def _important(changes: "Sequence[Change]") -> "list[Change]":
    return [change for change in changes if change.important]


def _frame(draw: ImageDraw.ImageDraw, axes: _Axes) -> None:
    letters = Lettering(draw, 13)
    right, bottom = SIZE[0] - _RIGHT, SIZE[1] - _BOTTOM
    for tick, text in axes.ticks:
        draw.line([(axes.x(tick), _TOP), (axes.x(tick), bottom)], fill=RULE)
        letters.line((min(axes.x(tick), right - letters.width(text)), bottom + 8), text, INK)
    for level in axes.levels:
        draw.line(
            [(_LEFT, axes.y(level)), (right, axes.y(level))], fill=FRAME if level == 1 else RULE, width=1 + (level == 1)
        )
        letters.line((_LEFT - 12 - letters.width(str(level)), axes.y(level) - 8), str(level), INK)
    words = "importance of changes; 1 is the threshold"
    letters.line((_LEFT, 12), words, INK)
    left = _LEFT + letters.width(words) + 40
    for label, text in ((None, "no label"), (True, "labelled important"), (False, "labelled not important")):
        _mark(draw, (left, 20), label, FAINT)
        letters.line((left + 12, 12), text, FAINT)
        left += letters.width(text) + 40


def _point(draw: ImageDraw.ImageDraw, axes: _Axes, change: "Change") -> None:
    colour = FRAME if change.important else OTHER
    place = axes.x(change.time), axes.y(change.importance)
    if change.important:
        draw.line([(place[0], axes.y(1)), place], fill=colour)
    _mark(draw, place, change.label, colour)


def _mark(draw: ImageDraw.ImageDraw, place: tuple[float, float], label: bool | None, colour: Colour) -> None:
    x, y = place
    if label is None:
        draw.ellipse((x - 3, y - 3, x + 3, y + 3), fill=colour)
    elif label:
        draw.polygon([(x, y - 6), (x - 6, y + 5), (x + 6, y + 5)], fill=colour)
    else:
        draw.rectangle((x - 5, y - 5, x + 5, y + 5), fill=colour)


def _thumbnail(
    sheet: Image.Image,
    draw: ImageDraw.ImageDraw,
    axes: _Axes,
    place: tuple[int, int],
    items: Items,
    change: "Change",
) -> None:
    number, count = place
    step = (SIZE[0] - _LEFT - _RIGHT) / count
    side = int(min(_THUMBNAIL, step - 8))
    picture = version_picture(items, change.later, side)
    picture.thumbnail((side, side))
    left, top = round(_LEFT + step * number), SIZE[1] + 14
    draw.line([(axes.x(change.time), SIZE[1] - _BOTTOM), (left + side // 2, top)], fill=FAINT)
    sheet.paste(picture, (left, top))
    Lettering(draw, 12).line((left, top + picture.height + 4), f"{change.time:%m-%d %H:%M}", INK)
