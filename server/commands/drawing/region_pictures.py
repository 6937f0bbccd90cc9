"""Pictures of regions: the importance of each region over a version, and frames around a change."""

import io
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw, ImageOps

from crossview.server.commands.drawing.lettering import Colour, Lettering
from crossview.server.commands.drawing.search_results import Items, thumbnail_of
from crossview.server.commands.drawing.sheet import EMPTY, FAINT, INK, PAPER, decoded

WIDTH = 480
"""Width of a drawn version, in pixels."""
STRONG: Colour = (122, 1, 119)
"""Colour of the most important regions: purple, which people with red-green blindness also see well."""
FRAME: Colour = (213, 94, 0)
"""Colour of the frames around a change: vermilion of the palette of Okabe and Ito."""
_OPACITY = 0.8
"""Opacity of the colour over the most important region."""
_FRAMED_SHARE = 0.6
"""Share of a change that the framed regions contribute together."""
_LEGEND = 46
"""Height of the legend, in pixels."""


def version_picture(items: Items, key: str, width: int = WIDTH) -> Image.Image:
    """Return the picture of a version: its readable file, otherwise its thumbnail, otherwise a grey tile."""
    source = items.get(key).source
    for data in _sources(items, key, source):
        if (image := decoded(data, 2 * width)) is not None:
            return image.resize((width, max(1, round(image.height * width / image.width))))
    return Image.new("RGB", (width, width), EMPTY)


def _sources(items: Items, key: str, source: str) -> Iterator[bytes]:
    """Yield the bytes of the file of a version, if it is readable, then of its thumbnail, if there is one."""
    from crossview.features.errors import ImageError
    from crossview.features.pictures import read_file

    with suppress(OSError, ImageError):
        if source:
            yield read_file(Path(source))
    if (thumbnail := thumbnail_of(items, key)) is not None:
        yield thumbnail


def encoded(picture: Image.Image, kind: str, **options: Any) -> bytes:
    """Return the bytes of a picture in a format of Pillow."""
    data = io.BytesIO()
    picture.save(data, format=kind, **options)
    return data.getvalue()


def importance_map(picture: Image.Image, importance: Sequence[float]) -> Image.Image:
    """Return a picture below the importance of its regions, shown by opacity, with a legend at the bottom."""
    grid = round(len(importance) ** 0.5)
    most = max(importance, default=0.0) or 1.0
    veil = Image.new("L", (grid, grid))
    veil.putdata([round(255 * _OPACITY * share / most) for share in importance])
    calm = Image.blend(picture, ImageOps.grayscale(picture).convert("RGB"), 0.6)
    cover = Image.new("RGB", picture.size, STRONG)
    drawn = Image.composite(cover, calm, veil.resize(picture.size, Image.Resampling.NEAREST))
    sheet = Image.new("RGB", (picture.width, picture.height + _LEGEND), PAPER)
    sheet.paste(drawn, (0, 0))
    _legend(sheet, picture.height, most)
    return sheet


def framed(picture: Image.Image, shares: Sequence[float]) -> Image.Image:
    """Return a picture with a frame around the regions that contribute most to a change."""
    grid = round(len(shares) ** 0.5)
    chosen = largest_regions(shares)
    drawn = picture.copy()
    draw = ImageDraw.Draw(drawn)
    for first, second in _outline(chosen, grid):
        ends = [
            (round(x * (picture.width - 1) / grid), round(y * (picture.height - 1) / grid)) for x, y in (first, second)
        ]
        draw.line(ends, fill=FRAME, width=4)
    return drawn


def largest_regions(shares: Sequence[float]) -> set[int]:
    """Return the smallest set of regions that together contribute _FRAMED_SHARE of a change."""
    chosen: set[int] = set()
    total = 0.0
    for place in sorted(range(len(shares)), key=lambda region: -shares[region]):
        if total >= _FRAMED_SHARE or shares[place] <= 0:
            break
        chosen.add(place)
        total += shares[place]
    return chosen


def _outline(chosen: set[int], grid: int) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Yield the sides between a chosen cell and a cell that is not chosen."""

    def has(row: int, column: int) -> bool:
        return 0 <= row < grid and 0 <= column < grid and row * grid + column in chosen

    for place in sorted(chosen):
        row, column = divmod(place, grid)
        if not has(row - 1, column):
            yield (column, row), (column + 1, row)
        if not has(row + 1, column):
            yield (column, row + 1), (column + 1, row + 1)
        if not has(row, column - 1):
            yield (column, row), (column, row + 1)
        if not has(row, column + 1):
            yield (column + 1, row), (column + 1, row + 1)


def _legend(sheet: Image.Image, top: int, most: float) -> None:
    draw = ImageDraw.Draw(sheet)
    letters = Lettering(draw, 14)
    left, right = 8, min(sheet.width - 8, 208)
    for x in range(left, right):
        share = _OPACITY * (x - left) / (right - left)
        colour = tuple(round(light + share * (strong - light)) for light, strong in zip(PAPER, STRONG, strict=True))
        draw.line([(x, top + 8), (x, top + 20)], fill=colour)
    draw.rectangle((left, top + 8, right, top + 20), outline=FAINT)
    letters.line((left, top + 24), "0", INK)
    text = f"{100 * most:.1f} % of the importance"
    letters.line((max(left + 20, right - letters.width(text) / 2), top + 24), text, INK)
