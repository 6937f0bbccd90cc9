"""The opponent colour space that colour SIFT is described in (van de Sande, Gevers & Snoek, PAMI 32(9), 2010)."""

import cv2
import numpy as np
from numpy.typing import NDArray

from features.image import Image

OPPONENT = np.array([[0.0, -1.0, 1.0], [-2.0, 1.0, 1.0], [1.0, 1.0, 1.0]]) / np.sqrt([[2.0], [6.0], [3.0]])
"""O1 = (R - G) / sqrt 2, O2 = (R + G - 2 B) / sqrt 6, O3 = (R + G + B) / sqrt 3, applied to blue, green, red."""

_LOWEST = 255.0 * np.minimum(OPPONENT, 0.0).sum(axis=1)
_RANGE = 255.0 * np.abs(OPPONENT).sum(axis=1)
_TO_CODES = np.column_stack([OPPONENT * (255.0 / _RANGE)[:, None], -_LOWEST * 255.0 / _RANGE])


def opponent_channels(image: Image) -> tuple[NDArray[np.uint8], NDArray[np.uint8], NDArray[np.uint8]]:
    """O1, O2 and O3 of a BGR image, each (height, width) uint8, its whole range stretched over 0..255.

    The stretch does not change a SIFT descriptor, which is blind to the gain and offset of its channel.
    """
    first, second, third = cv2.split(cv2.transform(image, _TO_CODES))
    return first.astype(np.uint8, copy=False), second.astype(np.uint8, copy=False), third.astype(np.uint8, copy=False)
