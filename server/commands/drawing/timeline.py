"""The time line: a picture of the importance of each change over time."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from math import sqrt
from typing import TYPE_CHECKING

from PIL import Image, ImageDraw

from crossview.server.commands.drawing.lettering import Colour, Lettering
from crossview.server.commands.drawing.region_pictures import FRAME, version_picture
from crossview.server.commands.drawing.search_results import Items
from crossview.server.commands.drawing.sheet import FAINT, INK, PAPER, RULE

if TYPE_CHECKING:
    from crossview.engine.values.changes import Change

SIZE = 1200, 300
"""Width and height of the diagram, in pixels."""
OTHER: Colour = (0, 114, 178)
"""Colour of changes that are not important: blue of the palette of Okabe and Ito."""
_LEFT, _TOP, _RIGHT, _BOTTOM = 60, 46, 20, 34
_THUMBNAIL, _THUMBNAILS = 136, 8
_MOST_TICKS = 9
_STEPS = tuple(timedelta(hours=hours) for hours in (1, 3, 6, 12, 24, 48, 168, 336, 720, 1440, 4320, 8760))


def timeline_picture(items: Items, changes: "Sequence[Change]") -> Image.Image:
    """Return the time line, with thumbnails of the most important versions below."""
    shown = sorted(sorted(_important(changes), key=lambda one: -one.importance)[:_THUMBNAILS], key=lambda one: one.time)
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


class _Axes:
    """The positions of times and importances in pixels; a square root separates small importances."""

    def __init__(self, changes: "Sequence[Change]") -> None:
        self.first, self.last = changes[0].time, changes[-1].time
        self.most = max(1.5, *(change.importance for change in changes))

    def x(self, time: datetime) -> float:
        duration = (self.last - self.first).total_seconds() or 1.0
        return _LEFT + (SIZE[0] - _LEFT - _RIGHT) * (time - self.first).total_seconds() / duration

    def y(self, importance: float) -> float:
        return SIZE[1] - _BOTTOM - (SIZE[1] - _TOP - _BOTTOM) * sqrt(max(importance, 0.0) / self.most)

    def ticks(self) -> list[datetime]:
        whole = self.last - self.first
        step = next((one for one in _STEPS if whole / one <= _MOST_TICKS), whole / _MOST_TICKS or timedelta(hours=1))
        start = self.first.replace(hour=0, minute=0, second=0, microsecond=0)
        start += step * -((start - self.first) // step)
        return [start + number * step for number in range(int((self.last - start) / step) + 1)]


def _important(changes: "Sequence[Change]") -> "list[Change]":
    return [change for change in changes if change.important]


def _frame(draw: ImageDraw.ImageDraw, axes: _Axes) -> None:
    letters = Lettering(draw, 13)
    right, bottom = SIZE[0] - _RIGHT, SIZE[1] - _BOTTOM
    days = axes.last - axes.first > timedelta(days=3)
    for tick in axes.ticks():
        draw.line([(axes.x(tick), _TOP), (axes.x(tick), bottom)], fill=RULE)
        text = f"{tick:%Y-%m-%d}" if days else f"{tick:%m-%d %H:%M}"
        letters.line((min(axes.x(tick), right - letters.width(text)), bottom + 8), text, INK)
    for level in (0, 1, *(level for level in (2, 4, 8, 16, 64, 256, 1024) if level < axes.most)):
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
