"""Provenance: what the pixels and the bytes of a picture tell about how its file was made."""

import io
import math

import cv2
import numpy as np
from PIL import Image as Pillow
from PIL import JpegImagePlugin

from crossview.features.decode import decode
from crossview.features.formats import SUFFIXES_OF, format_of
from crossview.features.image import Image, grey

_ENLARGED, _AT_ONE = 0.06, 0.18
"""Energy of the details that shrinking loses, as a share of those that shrinking twice as far loses, up to which a
picture was enlarged, for a scale near 0 and for 1. Photographs of Kodak, Corel and of scenes have .19 to .66; enlarged
by 1.5, .07 to .17, and by 2, .03 to .16. Among soft photographs of objects and textures, 2 to 4 % have less."""
_LEAST, _MOST = 0.5, 0.85
"""Bounds of the scale: what was enlarged more has no details at the lower one, either; above the other one, details do
not distinguish it."""
_EQUAL = 0.2
"""Mean difference, in levels, of a picture from a JPEG whose decoded pixels it holds. Decoders differ by .05; a JPEG
of quality 100 differs from what it was made from by .3."""
_PART, _BLOCK = 1024, 16
"""Side of the part of a picture that is saved again, in pixels, and of the blocks that a JPEG is divided into."""
_LOSSLESS = ("PNG", "TIFF", "BMP")


def lossless_format(head: bytes) -> str:
    """Return the name of the format of a file if it keeps every pixel, by its first ``HEAD_BYTES``; otherwise ""."""
    name = format_of(head)
    return name if name in _LOSSLESS else ""


def is_suffix_right(suffix: str, head: bytes) -> bool:
    """Return whether a suffix, such as ".jpg", is one of the format that the first bytes state, if they do."""
    name = format_of(head)
    return not name or suffix.lower() in SUFFIXES_OF[name]


def is_enlarged(image: Image, scale: float) -> bool:
    """Return whether a picture has no more details than when it is shrunk by ``scale``, between 0 and 1."""
    luma, scale = grey(image), min(max(scale, _LEAST), _MOST)
    lost, more = (_lost(luma, share) for share in (scale, scale / 2))
    return lost < (_ENLARGED + (_AT_ONE - _ENLARGED) * scale) * more


def has_pixels_of(image: Image, jpeg: Image) -> bool:
    """Return whether a picture holds what a JPEG decodes to, so that it was made from it."""
    return image.shape == jpeg.shape and float(cv2.absdiff(image, jpeg).mean()) <= _EQUAL


def is_saved_from(copy: bytes, image: Image, original: bytes, first: Image) -> bool:
    """Return whether a JPEG was saved from the pixels of another one, by their files and pixels.

    The original, saved with the tables of the copy, becomes the copy; the copy does not become the original.
    """
    if image.shape != first.shape:
        return False
    forward, back = _saved_again(first, copy, image), _saved_again(image, original, first)
    return forward <= _EQUAL and forward < back / 2


def _saved_again(source: Image, tables: bytes, jpeg: Image) -> float:
    """Return the mean difference, in levels, of a JPEG from a picture that is saved with its tables."""
    height, width = (max(0, side - _PART) // 2 // _BLOCK * _BLOCK for side in jpeg.shape[:2])
    part, target = (image[height : height + _PART, width : width + _PART] for image in (source, jpeg))
    if format_of(tables) != "JPEG":
        return math.inf
    with JpegImagePlugin.JpegImageFile(io.BytesIO(tables)) as file:
        quantization, sampling = file.quantization, JpegImagePlugin.get_sampling(file)
    saved = io.BytesIO()
    pixels = Pillow.fromarray(np.ascontiguousarray(part[..., ::-1]) if part.ndim == 3 else part)
    pixels.save(saved, "JPEG", qtables=quantization, subsampling=sampling)
    return float(cv2.absdiff(decode(saved.getvalue(), max_side=None).image, np.ascontiguousarray(target)).mean())


def _lost(luma: Image, scale: float) -> float:
    """Return the mean square, in levels, of what a picture loses when it is shrunk by a scale."""
    height, width = luma.shape[:2]
    size = max(1, round(width * scale)), max(1, round(height * scale))
    small = cv2.resize(luma, size, interpolation=cv2.INTER_AREA)
    again = cv2.resize(small, (width, height), interpolation=cv2.INTER_CUBIC)
    return float(np.mean((luma.astype(np.float32) - again) ** 2))
