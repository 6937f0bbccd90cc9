"""Encoding: a picture that a program holds in memory, as the bytes of a picture file."""

import io
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pillow
from PIL import ImageOps

from crossview.features.errors import ImageError

_SAVED = ("1", "L", "LA", "P", "RGB", "RGBA")
"""Modes that both Pillow writes and the decoder reads without loss."""
_CHANNELS = (3, 4)


def png(held: Any) -> bytes | None:
    """Return a picture in memory as PNG, upright and without loss; None for any other value.

    An array has red, green and blue (and alpha), or grey, from 0 to 255.

    Raises ImageError for an array of another shape or type.
    """
    if isinstance(held, np.ndarray):
        held = Pillow.fromarray(_checked(held))
    if not isinstance(held, Pillow.Image):
        return None
    upright = ImageOps.exif_transpose(held)
    file = io.BytesIO()
    (upright if upright.mode in _SAVED else upright.convert("RGB")).save(file, "PNG", compress_level=1)
    return file.getvalue()


def _checked(array: NDArray[Any]) -> NDArray[np.uint8]:
    grey = array.ndim == 2
    if array.dtype != np.uint8 or not array.size or not (grey or (array.ndim == 3 and array.shape[2] in _CHANNELS)):
        raise ImageError(
            "an array is a picture if it is (height, width, 3) in red, green and blue, or (height, width), of uint8, "
            f"not {array.shape} of {array.dtype}"
        )
    return np.ascontiguousarray(array)
