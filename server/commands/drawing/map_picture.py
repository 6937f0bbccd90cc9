"""The picture of a map: its points, coloured by the value of a field, with a legend."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from crossview.server.commands.drawing.lettering import Colour, Lettering
from crossview.server.commands.drawing.sheet import FAINT, INK, PAPER, RULE

SIDE, LEGEND = 1_000, 300
"""Width and height of the plane, and width of the legend, in pixels."""
MOST_VALUES = 12
"""Maximum number of values with a colour of their own, the most frequent; the others are grey."""
_MARGIN, _TOP, _LINE, _SMOOTH = 28, 64, 24, 2
"""Margins, height of the title, height of a line, and pixels drawn for each pixel, for smooth points."""
_LEFT = SIDE + 2 * _MARGIN
"""Left edge of the legend."""
COLOURS: tuple[Colour, ...] = (
    *((0, 114, 178), (230, 159, 0), (0, 158, 115), (204, 121, 167), (86, 180, 233), (213, 94, 0)),
    *((148, 103, 189), (140, 86, 75), (188, 189, 34), (23, 130, 130), (214, 39, 40), (60, 60, 160)),
)
"""The first are of the palette of Okabe and Ito, which most people with a colour deficiency can tell apart."""
OTHER: Colour = (190, 192, 194)
_LOW, _MIDDLE, _HIGH = (68, 1, 84), (33, 145, 140), (253, 231, 37)
"""Colours of the least, the middle and the greatest number."""


def map_picture(points: NDArray[np.float32], values: Sequence[Any], title: str, field: str) -> Image.Image:
    """Return the picture of points, (n, 2), coloured by their values; None is a point without a value."""
    size = (SIDE + 2 * _MARGIN + LEGEND, SIDE + _TOP + _MARGIN)
    large = Image.new("RGB", (size[0] * _SMOOTH, size[1] * _SMOOTH), PAPER)
    legend, colours = _legend(values)
    _draw_points(ImageDraw.Draw(large), points, colours)
    for number, (_, _, colour) in enumerate(legend, start=1):
        _draw_point(ImageDraw.Draw(large), (_LEFT + 6, _TOP + number * _LINE + 15), 6, colour)
    picture = large.resize(size, Image.Resampling.LANCZOS)
    draw = ImageDraw.Draw(picture)
    draw.rectangle((_MARGIN, _TOP, _MARGIN + SIDE, _TOP + SIDE), outline=RULE)
    Lettering(draw, 18).line((_MARGIN, 22), Lettering(draw, 18).shortened(title, size[0] - 2 * _MARGIN), INK)
    _draw_legend(draw, field, legend)
    return picture


def _legend(values: Sequence[Any]) -> tuple[list[tuple[str, str, Colour]], list[Colour]]:
    """Return the entries of the legend (text, number of items, colour), and the colour of each point."""
    numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    counts = Counter((type(value), value) for value in values if value is not None)
    if len(set(numbers)) > MOST_VALUES and len(numbers) * 2 > sum(counts.values()):
        return _scale(values, min(numbers), max(numbers))
    named = sorted(counts, key=lambda kind: (-counts[kind], kind[0].__name__, kind[1]))
    colour_of = dict(zip(named, COLOURS[:MOST_VALUES], strict=False))
    entries = [(str(value[1]), f"{counts[value]:,}", colour) for value, colour in colour_of.items()]
    others = sum(counts[value] for value in named[MOST_VALUES:])
    if others:
        entries.append((f"{len(named) - MOST_VALUES:,} other values", f"{others:,}", OTHER))
    if lacking := sum(value is None for value in values):
        entries.append(("no value", f"{lacking:,}", RULE))
    return entries, [RULE if value is None else colour_of.get((type(value), value), OTHER) for value in values]


def _scale(values: Sequence[Any], least: float, most: float) -> tuple[list[tuple[str, str, Colour]], list[Colour]]:
    steps = [(step, least / 4 * (4 - step) + most / 4 * step) for step in range(4, -1, -1)]
    entries = [(f"{value:.6g}", "", _between(step / 4)) for step, value in steps]
    half = most / 2 - least / 2
    colours = [
        _between((number / 2 - least / 2) / half)
        if isinstance(number, int | float) and not isinstance(number, bool)
        else (RULE if number is None else OTHER)
        for number in values
    ]
    return entries, colours


def _between(share: float) -> Colour:
    """Return the colour of a share of the scale of numbers, from 0 to 1."""
    (low, high), part = ((_LOW, _MIDDLE), share * 2) if share < 0.5 else ((_MIDDLE, _HIGH), share * 2 - 1)
    red, green, blue = (round(start + (other - start) * part) for start, other in zip(low, high, strict=True))
    return red, green, blue


def _draw_points(draw: ImageDraw.ImageDraw, points: NDArray[np.float32], colours: Sequence[Colour]) -> None:
    if not len(points):  # all items have been deleted since
        return
    radius = min(6.0, max(1.0, 140 / math.sqrt(len(points))))
    low, high = points.min(axis=0).astype(np.float64), points.max(axis=0).astype(np.float64)
    span = float(max(*(high - low), np.finfo(np.float32).tiny))  # one scale for both axes: distances count
    centred = (points - (low + high) / 2) / span * (SIDE - 24)
    places = [_MARGIN + SIDE / 2, _TOP + SIDE / 2] + centred * [1, -1]
    # at random, so that the items that were added last do not hide the others
    for number in np.random.default_rng(0).permutation(len(points)).tolist():
        x, y = places[number].tolist()
        _draw_point(draw, (x, y), radius, colours[number])


def _draw_point(draw: ImageDraw.ImageDraw, centre: tuple[float, float], radius: float, colour: Colour) -> None:
    """Draw a point at a place of the finished picture."""
    x, y, size = centre[0] * _SMOOTH, centre[1] * _SMOOTH, radius * _SMOOTH
    draw.ellipse((x - size, y - size, x + size, y + size), fill=colour)


def _draw_legend(draw: ImageDraw.ImageDraw, field: str, entries: Sequence[tuple[str, str, Colour]]) -> None:
    letters, left, top = Lettering(draw, 15), _LEFT, _TOP
    right = left + LEGEND - _MARGIN
    letters.line((left, top), letters.shortened(field, right - left), INK)
    for number, (text, items, _) in enumerate(entries, start=1):
        base = top + number * _LINE + 6
        room = round(right - left - 24 - letters.width(items) - 10)
        letters.line((left + 22, base), letters.shortened(text, room), INK)
        letters.line((right - letters.width(items), base), items, FAINT)
