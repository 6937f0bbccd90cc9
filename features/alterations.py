"""Alterations of small pictures, as people and programs alter copies of a photograph, to learn how copies look."""

from collections.abc import Callable, Mapping
from functools import partial

import cv2
import numpy as np
from numpy.typing import NDArray

from crossview.features.image import Image, grey, shrink

_QUALITY, _SCALE, _BRIGHTER = 40, 0.6, 1.3
_MOVED, _MOVES = (0.003, 0.02), 5
"""Bounds of the size of displacements, as shares of the longer side, and number of independent ones on a side."""
_MARK = (0.08, 0.72, 0.92, 0.9)
"""Left, top, right and bottom of the lettering, as shares of the picture."""


def _recompressed(image: Image, draws: np.random.Generator) -> Image:
    return _encoded(image, _QUALITY)


def _resized(image: Image, draws: np.random.Generator) -> Image:
    return shrink(image, max(1, round(_SCALE * max(image.shape[:2]))))


def _greyscale(image: Image, draws: np.random.Generator) -> Image:
    return np.repeat(grey(image)[:, :, None], 3, axis=2)


def _marked(image: Image, draws: np.random.Generator) -> Image:
    """Return the picture with half transparent letters over its lower part."""
    height, width = image.shape[:2]
    left, top, right, bottom = (np.array(_MARK) * (width, height, width, height)).astype(int)
    drawn = image.copy()
    scale = (bottom - top) / 24
    cv2.putText(drawn, "SAMPLE COPY", (int(left), int(bottom)), cv2.FONT_HERSHEY_SIMPLEX, scale, (255, 255, 255), 1)
    drawn[:, right:] = image[:, right:]
    mixed: Image = np.rint(0.7 * drawn.astype(np.float32) + 0.3 * image).astype(np.uint8)
    return mixed


def _cropped(image: Image, draws: np.random.Generator, share: float) -> Image:
    """Return the picture without a share of its width and height, at sides that are drawn."""
    height, width = image.shape[:2]
    cut = round(share * height), round(share * width)
    top, left = (int(draws.integers(0, most + 1)) for most in cut)
    return np.ascontiguousarray(image[top : top + height - cut[0], left : left + width - cut[1]])


def _rotated(image: Image, draws: np.random.Generator, degrees: float) -> Image:
    """Return the picture turned around its middle, with black corners."""
    height, width = image.shape[:2]
    turn = cv2.getRotationMatrix2D((width / 2, height / 2), degrees, 1.0)
    return np.asarray(cv2.warpAffine(image, turn, (width, height)), np.uint8)


def _brighter(image: Image, draws: np.random.Generator) -> Image:
    return np.asarray(np.clip(image * _BRIGHTER, 0, 255), np.uint8)


_ALTERATIONS: Mapping[str, Callable[[Image, np.random.Generator], Image]] = {
    "recompressed": _recompressed,
    "resized": _resized,
    "greyscale": _greyscale,
    "marked": _marked,
    "brighter": _brighter,
    "cropped by 5 %": partial(_cropped, share=0.05),
    "cropped by 10 %": partial(_cropped, share=0.1),
    "cropped by 20 %": partial(_cropped, share=0.2),
    "rotated by 2 degrees": partial(_rotated, degrees=2.0),
    "rotated by 90 degrees": lambda image, draws: np.ascontiguousarray(np.rot90(image)),
    "mirrored": lambda image, draws: np.ascontiguousarray(image[:, ::-1]),
}
KINDS = tuple(_ALTERATIONS)
"""The alterations, by what they do."""


def altered(image: Image, kind: str, draws: np.random.Generator) -> Image:
    """Return an altered copy of a picture, encoded once more as thumbnails are; ``draws`` chooses the cut sides.

    Raises KeyError for a kind that is not in ``KINDS``.
    """
    return _encoded(_ALTERATIONS[kind](image, draws), 85)


def retaken(image: Image, draws: np.random.Generator) -> Image:
    """Return a picture as another photograph of the moment shows it, encoded as thumbnails are.

    All that it shows moves, near things alike: by a smooth field of displacements, most of them small and few large.
    """
    height, width = image.shape[:2]
    size = draws.uniform(*_MOVED) * max(height, width)
    moves = (size * draws.standard_t(2, (2, _MOVES, _MOVES))).astype(np.float32)
    across, down = (cv2.resize(move, (width, height), interpolation=cv2.INTER_CUBIC) for move in moves)
    columns, rows = np.meshgrid(np.arange(width, dtype=np.float32), np.arange(height, dtype=np.float32))
    moved = cv2.remap(image, columns + across, rows + down, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT)
    return _encoded(np.asarray(moved, np.uint8), 85)


def _encoded(image: Image, quality: int) -> Image:
    _, data = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, quality])
    decoded: NDArray[np.uint8] = np.asarray(cv2.imdecode(data, cv2.IMREAD_COLOR), np.uint8)
    return decoded
