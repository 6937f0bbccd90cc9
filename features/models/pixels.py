"""From a picture to the input of a tower, equal to what image processors make."""

import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pillow

from crossview.features.image import Image, check_image
from crossview.features.models.manifest import RESAMPLINGS, Pixels


def pixels_of(image: Image, wanted: Pixels) -> NDArray[np.float32]:
    """Return the input, (1, 3, height, width) float32, of a picture, (h, w, 3) BGR uint8.

    Pillow resizes the picture, with antialiasing; then it is cut from its centre, and black surrounds a smaller one.
    """
    check_image(image)
    data = np.ascontiguousarray(image)
    picture = Pillow.frombuffer("RGB", (image.shape[1], image.shape[0]), data, "raw", "BGR", 0, 1)
    resampling = Pillow.Resampling(RESAMPLINGS.index(wanted.resampling))
    if wanted.shortest:
        picture = picture.resize(_proportional(*picture.size, wanted.shortest), resampling)
        left, top = (picture.width - wanted.width) // 2, (picture.height - wanted.height) // 2
        picture = picture.crop((left, top, left + wanted.width, top + wanted.height))
    else:
        picture = picture.resize((wanted.width, wanted.height), resampling)
    planes = np.ascontiguousarray(np.asarray(picture).transpose(2, 0, 1))
    std, mean = (np.array(one, np.float32)[:, None, None] for one in (wanted.std, wanted.mean))
    scaled: NDArray[np.float32] = np.multiply(planes, np.float32(wanted.scale) / std, dtype=np.float32)
    scaled -= mean / std
    return np.expand_dims(scaled, 0)


def _proportional(width: int, height: int, shortest: int) -> tuple[int, int]:
    """Return the width and height of a picture whose shorter side gets a length."""
    if width <= height:
        return shortest, max(shortest, int(shortest * height / width))
    return max(shortest, int(shortest * width / height)), shortest
