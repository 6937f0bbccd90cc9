"""Pictures that a run draws itself, encoded in the formats that a server reads."""

import io
from functools import cache

import numpy as np
from PIL import Image

FORMATS = ("JPEG", "PNG", "WEBP", "TIFF", "GIF", "BMP")
SIZE = 192, 128


@cache
def picture(number: int, kind: str = "JPEG", size: tuple[int, int] = SIZE) -> bytes:
    """Return a picture of smooth coloured shapes, the same for a number."""
    generator = np.random.default_rng(number)
    small = Image.fromarray(generator.integers(0, 256, (12, 18, 3), dtype=np.uint8))
    buffer = io.BytesIO()
    small.resize(size, Image.Resampling.BICUBIC).save(buffer, kind)
    return buffer.getvalue()
