"""Copies of pictures, changed as programs change them when people save and send pictures."""

import io
from collections.abc import Callable, Mapping

import numpy as np
from PIL import Image as Pillow

from crossview.features.decode import decode
from crossview.features.image import Image, grey, shrink

EXACT = "exact"
_QUALITY, _RECOMPRESSED = 95, 40
_SCALE, _CUT = 0.5, 0.05


def _resized(image: Image) -> Image:
    return shrink(image, max(1, round(_SCALE * max(image.shape[:2]))))


def _cropped(image: Image) -> Image:
    top, left = (round(_CUT / 2 * side) for side in image.shape[:2])
    return np.ascontiguousarray(image[top : image.shape[0] - top, left : image.shape[1] - left])


def _greyscale(image: Image) -> Image:
    return np.repeat(grey(image)[:, :, None], 3, axis=2)


_CHANGES: Mapping[str, tuple[Callable[[Image], Image], int]] = {
    "resized": (_resized, _QUALITY),
    "recompressed": (lambda image: image, _RECOMPRESSED),
    "cropped": (_cropped, _QUALITY),
    "greyscale": (_greyscale, _QUALITY),
}
"""The change of the pixels and the quality of the JPEG, by kind."""
KINDS = (EXACT, *_CHANGES)
"""Kinds of copies: the file itself; half the width and height; JPEG quality 40; 5 % of the width and of the height cut
off, half at each side; without colours. The others than the file itself are JPEG files, usually of quality 95."""


def copies(data: bytes) -> dict[str, bytes]:
    """Return a copy of each kind of an encoded picture; ImageError if it cannot be read."""
    image = decode(data, max_side=None).image
    changed = {kind: _jpeg(change(image), quality) for kind, (change, quality) in _CHANGES.items()}
    return {EXACT: data, **changed}


def _jpeg(image: Image, quality: int) -> bytes:
    file = io.BytesIO()
    Pillow.fromarray(np.ascontiguousarray(image[:, :, ::-1])).save(file, "JPEG", quality=quality)
    return file.getvalue()
