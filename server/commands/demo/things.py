"""Drawn pictures of ten things that models of photographs know, and a text that means each without its name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import cos, pi, sin
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

from crossview.server.commands.demo.dataset import Rng

SIDE = 224
"""Width and height of a picture in pixels."""

Colour = tuple[int, int, int]
Point = tuple[float, float]
Painter = Callable[[ImageDraw.ImageDraw, Rng], None]
_DARK: Colour = (25, 25, 28)


@dataclass(frozen=True)
class Thing:
    """How a thing is drawn, and a text for it."""

    paint: Painter
    text: str
    """A text that means the thing and names it by none of its names."""
    ground: tuple[Colour, Colour]
    """The colours of the background at the top and at the bottom."""


def _candle(draw: ImageDraw.ImageDraw, rng: Rng) -> None:
    x, top = float(rng.integers(80, 145)), float(rng.integers(95, 115))
    for radius in range(70, 10, -6):
        glow = round(150 * (1 - radius / 80) ** 2)
        draw.ellipse((x - radius, top - 30 - radius, x + radius, top - 30 + radius), (14 + glow, 11 + glow // 2, 12))
    draw.rectangle((x - 20, top, x + 20, SIDE - 9), (235, 225, 200))
    draw.line((x, top, x, top - 13), (30, 20, 10), 3)
    flame = ((0, -57), (12, -25), (8, -9), (-8, -9), (-12, -25))
    draw.polygon([(x + right, top + down) for right, down in flame], (255, 210, 90))
    draw.ellipse((x - 6, top - 29, x + 6, top - 7), (255, 250, 210))


def _clock(draw: ImageDraw.ImageDraw, rng: Rng) -> None:
    x, y, radius = *rng.uniform(100, 124, 2), rng.uniform(72, 92)
    draw.ellipse(_around(x, y, radius), (60, 40, 25))
    draw.ellipse(_around(x, y, radius * 0.88), (250, 250, 245))
    for hour in range(12):
        draw.line((*_at(x, y, radius * 0.7, hour / 12), *_at(x, y, radius * 0.82, hour / 12)), (0, 0, 0), 5)
    for length, width in ((0.45, 6), (0.7, 4)):
        draw.line((x, y, *_at(x, y, radius * length, rng.random())), (0, 0, 0), width)


def _crossword(draw: ImageDraw.ImageDraw, rng: Rng) -> None:
    side = int(rng.integers(15, 19))
    for top in range(0, SIDE, side):
        for left in range(0, SIDE, side):
            fill = (15, 15, 15) if rng.random() < 0.2 else (250, 250, 248)
            draw.rectangle((left, top, left + side, top + side), fill, (60, 60, 60))


def _football(draw: ImageDraw.ImageDraw, rng: Rng) -> None:
    x, y, radius, turn = *rng.uniform(100, 124, 2), rng.uniform(60, 75), rng.random()
    draw.ellipse(_around(x, y, radius), (245, 245, 245))
    _star(draw, (x, y), radius * 0.34, turn)
    for corner in range(5):
        share = turn + corner / 5
        draw.line((*_at(x, y, radius * 0.34, share), *_at(x, y, radius * 0.66, share)), (60, 60, 60), 2)
        _star(draw, _at(x, y, radius * 0.86, share), radius * 0.22, share + 0.5)


def _keyboard(draw: ImageDraw.ImageDraw, rng: Rng) -> None:
    top = int(rng.integers(45, 75))
    draw.rounded_rectangle((5, top, 219, top + 105), 6, (40, 40, 44))
    for row in range(5):
        for column in range(13):
            left, above = 10 + column * 16, top + 6 + row * 19
            draw.rounded_rectangle((left, above, left + 13, above + 16), 2, (75, 75, 80))
    draw.rounded_rectangle((58, top + 82, 151, top + 98), 2, (75, 75, 80))


def _lighthouse(draw: ImageDraw.ImageDraw, rng: Rng) -> None:
    x = float(rng.integers(85, 135))
    draw.rectangle((0, 185, SIDE, SIDE), (70, 95, 60))
    draw.polygon([(x - 24, 190), (x + 24, 190), (x + 14, 60), (x - 14, 60)], (250, 250, 250))
    for low, high in ((158, 132), (94, 68)):
        left, right = (14 + (edge - 60) / 13 for edge in (low, high))
        draw.polygon([(x - left, low), (x + left, low), (x + right, high), (x - right, high)], (210, 40, 40))
    draw.rectangle((x - 18, 54, x + 18, 60), _DARK)
    draw.rectangle((x - 10, 34, x + 10, 54), (255, 240, 150), _DARK)
    draw.polygon([(x - 13, 34), (x + 13, 34), (x, 18)], (190, 30, 30))


def _pumpkin(draw: ImageDraw.ImageDraw, rng: Rng) -> None:
    x, y = rng.uniform(100, 124, 2)
    for away in (-50, 50, -28, 28, 0):
        draw.ellipse((x + away - 38, y - 58, x + away + 38, y + 58), (225 - abs(away), 110, 20), (150, 65, 10))
    draw.rectangle((x - 7, y - 78, x + 7, y - 54), (70, 90, 40))
    mouth = ((-50, 14), (-30, 24), (-20, 16), (0, 28), (20, 16), (30, 24), (50, 14), (28, 44), (-28, 44))
    for part in (
        ((-40, -8), (-12, -8), (-26, -34)),
        ((40, -8), (12, -8), (26, -34)),
        ((-8, 12), (8, 12), (0, -2)),
        mouth,
    ):
        draw.polygon([(x + right, y + down) for right, down in part], (255, 215, 80))


def _traffic_light(draw: ImageDraw.ImageDraw, rng: Rng) -> None:
    x, y, lit = float(rng.integers(60, 110)), float(rng.integers(15, 40)), rng.integers(3)
    draw.rectangle((x + 25, y + 150, x + 33, SIDE), (60, 60, 60))
    draw.rounded_rectangle((x, y, x + 58, y + 155), 10, _DARK)
    for place, colour in enumerate(((255, 40, 30), (255, 200, 30), (40, 255, 120))):
        red, green, blue = (part if place == lit else part // 4 for part in colour)
        draw.ellipse((x + 10, y + 10 + place * 48, x + 48, y + 48 + place * 48), (red, green, blue))


def _umbrella(draw: ImageDraw.ImageDraw, rng: Rng) -> None:
    x, y, grey = *rng.uniform(100, 124, 2), (188, 198, 208)
    draw.pieslice(_around(x, y, 82), 180, 360, tuple(rng.permutation([200, 60, 40]).tolist()))
    for left in (-82, -41, 0, 41):
        draw.pieslice((x + left, y - 14, x + left + 41, y + 14), 180, 360, grey)
    for narrow in (20, 40, 60):
        draw.arc((x - 82 + narrow, y - 82, x + 82 - narrow, y + 82), 180, 360, _DARK)
    draw.line((x, y - 72, x, y + 78), (60, 40, 20), 4)
    draw.arc((x - 20, y + 68, x + 1, y + 94), 0, 180, (60, 40, 20), 4)


def _web(draw: ImageDraw.ImageDraw, rng: Rng) -> None:
    x, y = rng.uniform(90, 135, 2)
    spokes = [spoke / 16 + rng.normal(0, 0.006) for spoke in range(16)]
    for spoke in spokes:
        draw.line((x, y, *_at(x, y, 2 * SIDE, spoke)), (210, 215, 210))
    for radius in range(8, 130, 8):
        corners = [_at(x, y, radius, spoke) for spoke in spokes]
        draw.line([*corners, corners[0]], (200, 205, 200))


def _at(x: float, y: float, radius: float, turn: float) -> Point:
    """Return the point at a distance from another, in the direction of a share of a turn."""
    return x + radius * cos(2 * pi * turn), y + radius * sin(2 * pi * turn)


def _around(x: float, y: float, radius: float) -> tuple[float, float, float, float]:
    return x - radius, y - radius, x + radius, y + radius


def _star(draw: ImageDraw.ImageDraw, centre: Point, radius: float, turn: float) -> None:
    """Draw one of the dark pentagons of a football."""
    draw.polygon([_at(*centre, radius, turn + corner / 5) for corner in range(5)], _DARK)


_SKY, _PAPER, _NIGHT = (
    ((110, 165, 225), (190, 215, 240)),
    ((225, 225, 225), (210, 210, 210)),
    ((18, 14, 20), (12, 10, 12)),
)
THINGS: Mapping[str, Thing] = {
    "candle": Thing(_candle, "a romantic dinner", _NIGHT),
    "clock": Thing(_clock, "what time is it", ((200, 190, 170), (190, 180, 160))),
    "crossword": Thing(_crossword, "a puzzle with words", _PAPER),
    "football": Thing(_football, "a game with two goals", ((60, 140, 60), (50, 120, 50))),
    "keyboard": Thing(_keyboard, "writing on a computer", _PAPER),
    "lighthouse": Thing(_lighthouse, "it guides ships at night", _SKY),
    "pumpkin": Thing(_pumpkin, "a Halloween decoration", _NIGHT),
    "traffic light": Thing(_traffic_light, "stop and go for cars", _SKY),
    "umbrella": Thing(_umbrella, "something for a rainy day", ((205, 215, 225), (170, 180, 190))),
    "web": Thing(_web, "a trap for flies", ((25, 40, 25), (15, 25, 15))),
}


def draw_thing(thing: Thing, rng: Rng) -> Image.Image:
    """Return a picture of a thing, SIDE pixels wide and high; each call draws a new one."""
    top, bottom = (np.array(colour, float) for colour in thing.ground)
    down = np.linspace(0, 1, SIDE)[:, None, None]
    ground = top * (1 - down) + bottom * down + rng.normal(0, 3, (SIDE, SIDE, 1))
    picture = Image.fromarray(np.clip(ground, 0, 255).astype(np.uint8))
    thing.paint(ImageDraw.Draw(picture), rng)
    return picture.filter(ImageFilter.GaussianBlur(0.6))


def write_things(folder: Path, each: int, seed: int = 0) -> int:
    """Write ``folder/THING/NN.jpg`` for every thing, and return the number; a seed determines the pictures."""
    for place, (name, thing) in enumerate(THINGS.items()):
        rng = np.random.default_rng([seed, place])
        (folder / name).mkdir(parents=True, exist_ok=True)
        for number in range(each):
            draw_thing(thing, rng).save(folder / name / f"{number:02d}.jpg", quality=90)
    return each * len(THINGS)
