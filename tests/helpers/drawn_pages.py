"""Drawn pages of one layout with other content, as people have them beside photographs."""

from collections.abc import Callable, Mapping

import numpy as np
from PIL import Image, ImageDraw, ImageFont, ImageOps

_Ink = str | tuple[int, int, int]
_WORDS = [
    "paper",
    "steel",
    "garden",
    "cable",
    "train",
    "market",
    "copper",
    "engine",
    "glass",
    "printer",
    "ladder",
    "bridge",
]


def invoice(number: int) -> Image.Image:
    """Return an invoice; all have the same words and other numbers."""
    draws = np.random.default_rng([1, number])
    page, pen = _page((620, 877))
    pen.rectangle((40, 40, 150, 90), fill=(30, 60, 140))
    _write(pen, (170, 50), "Northern Paper Ltd.", 22)
    _write(pen, (400, 160), f"No. {draws.integers(10_000, 99_999)}", 14)
    for row in range(12):
        _write(pen, (45, 280 + 32 * row), f"{_WORDS[row]} {_WORDS[-row]}", 13)
        _write(pen, (480, 280 + 32 * row), f"{draws.integers(1, 9999)}.{draws.integers(10, 99)}", 13)
    return page


def form(number: int) -> Image.Image:
    """Return a form with crosses in other boxes."""
    draws = np.random.default_rng([2, number])
    page, pen = _page((620, 877))
    for row in range(14):
        top = 60 + 55 * row
        pen.rectangle((40, top, 62, top + 22), outline="black", width=2)
        _write(pen, (80, top), f"{_WORDS[row % 12]} {_WORDS[row % 5]}", 16)
        if draws.integers(2):
            pen.line((42, top + 2, 60, top + 20), fill="black", width=3)
    return page


def chat(number: int) -> Image.Image:
    """Return a screenshot of a chat with other messages."""
    draws = np.random.default_rng([3, number])
    page, pen = _page((360, 760), (236, 229, 221))
    pen.rectangle((0, 0, 360, 60), fill=(7, 94, 84))
    for row in range(10):
        words = " ".join(draws.choice(_WORDS, 4))
        pen.rounded_rectangle((10, 75 + 66 * row, 340, 130 + 66 * row), 8, fill="white")
        _write(pen, (20, 85 + 66 * row), words, 14)
    return page


def clock(number: int) -> Image.Image:
    """Return a clock that shows another time."""
    page, pen = _page((240, 240))
    pen.ellipse((10, 10, 230, 230), outline="black", width=6)
    for angle, length in ((0.7 * number, 60), (2.1 * number + 1, 90)):
        pen.line((120, 120, 120 + length * np.sin(angle), 120 - length * np.cos(angle)), fill="black", width=6)
    return page


def titled(picture: Image.Image, number: int) -> Image.Image:
    """Return a picture with one of many texts in large letters at its top and bottom, as memes have."""
    draws = np.random.default_rng([4, number])
    made = picture.copy()
    pen = ImageDraw.Draw(made)
    size = picture.width // 12
    for top in (8, made.height - size - 20):
        text = " ".join(draws.choice(_WORDS, 2)).upper()
        font = ImageFont.load_default(size)
        pen.text((made.width / 2, top), text, "white", font, "ma", stroke_width=3, stroke_fill="black")
    return made


PAGES: Mapping[str, Callable[[int], Image.Image]] = {"invoice": invoice, "form": form, "chat": chat, "clock": clock}
"""The kinds of pages, by name; a number chooses the content."""


def on_screen(picture: Image.Image) -> Image.Image:
    """Return a screenshot of a gallery on a phone that shows a picture."""
    screen, pen = _page((540, 1100), (18, 18, 18))
    screen.paste(ImageOps.contain(picture, (540, 800)), (0, 200))
    _write(pen, (20, 15), "09:41", 20, "white")
    _write(pen, (30, 100), "Gallery", 30, "white")
    return screen


def _page(
    size: tuple[int, int], ground: str | tuple[int, int, int] = "white"
) -> tuple[Image.Image, ImageDraw.ImageDraw]:
    page = Image.new("RGB", size, ground)
    return page, ImageDraw.Draw(page)


def _write(pen: ImageDraw.ImageDraw, place: tuple[int, int], text: str, size: int, ink: str = "black") -> None:
    pen.text(place, text, ink, ImageFont.load_default(size))
