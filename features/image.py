"""Working images: their form, the geometry that decoding and thumbnails share, and thumbnails."""

import cv2
import numpy as np
from numpy.typing import NDArray

Image = NDArray[np.uint8]
"""A picture in memory: (height, width, 3), blue green red, 0 to 255."""
THUMBNAIL_SIDE, _QUALITY = 128, 85
"""Longest side of a thumbnail in pixels, and its quality as JPEG."""
PREVIEW_SIDE, _PREVIEW_QUALITY = 512, 75
"""The same of a preview. WebP would take three quarters of the space, but 40 times as long."""
_WORTH_A_PREVIEW = 192
"""Longest side up to which a picture has no preview, because its thumbnail shows nearly as much."""


def check_image(image: Image) -> Image:
    """Return the image, C-contiguous; ValueError unless it is (height, width, 3) uint8 with at least one pixel."""
    if image.ndim != 3 or image.shape[2] != 3 or image.dtype != np.uint8 or image.size == 0:
        raise ValueError(f"an image is a (height, width, 3) array of uint8, not {image.shape} of {image.dtype}")
    return np.ascontiguousarray(image)


def grey(image: Image) -> NDArray[np.uint8]:
    """Return the luma of a BGR image (ITU-R BT.601 weights), (height, width) uint8."""
    return np.asarray(cv2.cvtColor(image, cv2.COLOR_BGR2GRAY), dtype=np.uint8)


def shrink(image: Image, max_side: int | None) -> Image:
    """Return the image with its longest side at most ``max_side`` pixels, by area averaging; never enlarged."""
    height, width = image.shape[:2]
    longest = max(height, width)
    if max_side is None or longest <= max_side:
        return image
    size = (max(1, round(width * max_side / longest)), max(1, round(height * max_side / longest)))
    return np.asarray(cv2.resize(image, size, interpolation=cv2.INTER_AREA), dtype=np.uint8)


def turn(image: Image, orientation: int) -> Image:
    """Return the image as displayed, from EXIF orientation 1 to 8 (Exif 2.32, tag 274), C-contiguous."""
    if orientation in (2, 3, 4):
        image = image[::-1] if orientation == 4 else image[:, ::-1]
        image = image[::-1] if orientation == 3 else image
    elif orientation >= 5:
        image = image.transpose(1, 0, 2)
        image = image[:, ::-1] if orientation in (6, 7) else image
        image = image[::-1] if orientation in (7, 8) else image
    return np.ascontiguousarray(image)


def thumbnail(image: Image, side: int = THUMBNAIL_SIDE) -> bytes:
    """Return JPEG bytes of the image with its longest side at most ``side`` pixels (never enlarged).

    Raises ValueError for anything but a (height, width, 3) uint8 image and a side of at least 1.
    """
    if side < 1:
        raise ValueError(f"a thumbnail's side must be at least 1 pixel, not {side}")
    return _jpeg(shrink(check_image(image), side), _QUALITY)


def preview(image: Image) -> bytes | None:
    """Return JPEG bytes of the image with its longest side at most ``PREVIEW_SIDE`` pixels; None for a small image."""
    if max(image.shape[:2]) <= _WORTH_A_PREVIEW:
        return None
    return _jpeg(shrink(check_image(image), PREVIEW_SIDE), _PREVIEW_QUALITY)


def _jpeg(image: Image, quality: int) -> bytes:
    done, encoded = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, quality])
    if not done:
        raise ValueError(f"an image of {image.shape} could not be written as JPEG")
    return encoded.tobytes()
