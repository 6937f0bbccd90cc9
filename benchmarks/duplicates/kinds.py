"""Twelve kinds of copies of a photograph, as people and programs make them."""

import io
import math
import zlib
from collections.abc import Callable, Mapping

import numpy as np
from PIL import Image as Pillow
from PIL import ImageDraw, ImageEnhance, ImageFont

EXACT = "exact"
QUALITY, LOW_QUALITIES = 95, (40, 60)
DEGREES = 2.0
_BRIGHTNESS = (0.7, 1.3)
_TEXTS = ("© North Light Studio", "SAMPLE", "www.photos.example", "holiday 2024")

Change = Callable[[Pillow.Image, np.random.Generator], Pillow.Image]


def _resized(picture: Pillow.Image, random: np.random.Generator) -> Pillow.Image:
    return picture.resize((picture.width // 2, picture.height // 2), Pillow.Resampling.LANCZOS)


def _same(picture: Pillow.Image, random: np.random.Generator) -> Pillow.Image:
    return picture


def _watermark(picture: Pillow.Image, random: np.random.Generator) -> Pillow.Image:
    """Write half transparent text with an outline over the centre, or over the lower right corner."""
    central = bool(random.integers(2))
    text = str(random.choice(_TEXTS))
    layer = Pillow.new("RGBA", picture.size)
    drawing = ImageDraw.Draw(layer)
    font = ImageFont.load_default(size=picture.width / (12 if central else 20))
    left, top, right, bottom = drawing.textbbox((0, 0), text, font=font)
    width, height = right - left, bottom - top
    room = picture.width - width, picture.height - height
    place = (room[0] / 2, room[1] / 2) if central else (room[0] - 8, room[1] - 8)
    start = place[0] - left, place[1] - top
    drawing.text(start, text, font=font, fill=(255, 255, 255, 160), stroke_width=1, stroke_fill=(0, 0, 0, 160))
    return Pillow.alpha_composite(picture.convert("RGBA"), layer).convert("RGB")


def _greyscale(picture: Pillow.Image, random: np.random.Generator) -> Pillow.Image:
    return picture.convert("L").convert("RGB")


def _crop(share: float) -> Change:
    """Return a crop that loses a share of the width and of the height, at sides by chance."""

    def cropped(picture: Pillow.Image, random: np.random.Generator) -> Pillow.Image:
        lost = round(share * picture.width), round(share * picture.height)
        left, top = (int(random.integers(length + 1)) for length in lost)
        return picture.crop((left, top, left + picture.width - lost[0], top + picture.height - lost[1]))

    return cropped


def _straightened(picture: Pillow.Image, random: np.random.Generator) -> Pillow.Image:
    """Rotate by two degrees and cut off the empty corners, as programs do that straighten a horizon."""
    angle = DEGREES if random.integers(2) else -DEGREES
    turned = picture.rotate(angle, Pillow.Resampling.BICUBIC)
    slope = math.tan(math.radians(DEGREES))
    margin_x, margin_y = math.ceil(slope * picture.height / 2), math.ceil(slope * picture.width / 2)
    return turned.crop((margin_x, margin_y, picture.width - margin_x, picture.height - margin_y))


def _quarter(picture: Pillow.Image, random: np.random.Generator) -> Pillow.Image:
    return picture.transpose(Pillow.Transpose.ROTATE_90 if random.integers(2) else Pillow.Transpose.ROTATE_270)


def _mirrored(picture: Pillow.Image, random: np.random.Generator) -> Pillow.Image:
    return picture.transpose(Pillow.Transpose.FLIP_LEFT_RIGHT)


def _brightness(picture: Pillow.Image, random: np.random.Generator) -> Pillow.Image:
    return ImageEnhance.Brightness(picture).enhance(_BRIGHTNESS[int(random.integers(2))])


_CHANGES: Mapping[str, Change] = {
    "resized": _resized,
    "recompressed": _same,
    "watermark": _watermark,
    "greyscale": _greyscale,
    "crop 5 %": _crop(0.05),
    "crop 10 %": _crop(0.1),
    "crop 20 %": _crop(0.2),
    "rotation 2°": _straightened,
    "rotation 90°": _quarter,
    "mirrored": _mirrored,
    "brightness": _brightness,
}
KINDS = (EXACT, *_CHANGES)
"""Kinds of copies: the file itself; half the width and height; JPEG quality 40 to 60; text over the centre or
a corner; without colours; 5, 10 and 20 % of width and height cut off; rotated by 2 degrees, without the empty corners;
rotated by 90 degrees; mirrored; brightness times .7 or 1.3. All but the first are JPEG, otherwise of quality 95."""


def copies(data: bytes, seed: int) -> dict[str, bytes]:
    """Return a copy of each kind of an encoded photograph; chance decides by the seed and the photograph."""
    random = np.random.default_rng([seed, zlib.crc32(data)])
    picture = Pillow.open(io.BytesIO(data)).convert("RGB")
    encoded = {EXACT: data}
    for kind, change in _CHANGES.items():
        quality = int(random.integers(LOW_QUALITIES[0], LOW_QUALITIES[1] + 1)) if kind == "recompressed" else QUALITY
        file = io.BytesIO()
        change(picture, random).save(file, "JPEG", quality=quality)
        encoded[kind] = file.getvalue()
    return encoded
