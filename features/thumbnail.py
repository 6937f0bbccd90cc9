"""Thumbnails: the small pictures that lists of hits show."""

import cv2

from features.image import Image, check_image, shrink

THUMBNAIL_SIDE = 128
_QUALITY = 85


def thumbnail(image: Image, side: int = THUMBNAIL_SIDE) -> bytes:
    """JPEG bytes of the image with its longest side at most ``side`` pixels (never enlarged).

    Raises ValueError for anything but a (height, width, 3) uint8 image and a side of at least 1.
    """
    if side < 1:
        raise ValueError(f"a thumbnail's side must be at least 1 pixel, not {side}")
    small = shrink(check_image(image), side)
    done, encoded = cv2.imencode(".jpg", small, [cv2.IMWRITE_JPEG_QUALITY, _QUALITY])
    if not done:
        raise ValueError(f"an image of {image.shape} could not be written as JPEG")
    return encoded.tobytes()
