"""Opponent colour channels (van de Sande, Gevers & Snoek, PAMI 32(9), 2010), and their change around a point.

A SIFT descriptor is scaled, so it does not contain the amount of this change.
"""

import cv2
import numpy as np
from numpy.typing import NDArray

from crossview.features.image import Image

OPPONENT = np.array([[0.0, -1.0, 1.0], [-2.0, 1.0, 1.0], [1.0, 1.0, 1.0]]) / np.sqrt([[2.0], [6.0], [3.0]])
"""O1 = (R - G) / sqrt 2, O2 = (R + G - 2 B) / sqrt 6, O3 = (R + G + B) / sqrt 3, applied to blue, green, red."""
_LOWEST = 255.0 * np.minimum(OPPONENT, 0.0).sum(axis=1)
_RANGE = 255.0 * np.abs(OPPONENT).sum(axis=1)
_TO_CODES = np.column_stack([OPPONENT * (255.0 / _RANGE)[:, None], -_LOWEST * 255.0 / _RANGE])

CHROMA_GAIN = 4.0
"""Gain of O1 and O2: in photographs, colour changes less than light, and each level means more."""

_REACH, _SMOOTHING, _NOISE = 1.5, 1.0, 1.0


def opponent_channels(image: Image) -> tuple[NDArray[np.uint8], NDArray[np.uint8], NDArray[np.uint8]]:
    """Return O1, O2 and O3 of a BGR image, each (height, width) uint8, its whole range stretched over 0..255.

    The stretch does not change a SIFT descriptor, which is blind to the gain and offset of its channel.
    """
    first, second, third = cv2.split(cv2.transform(image, _TO_CODES))
    return first.astype(np.uint8, copy=False), second.astype(np.uint8, copy=False), third.astype(np.uint8, copy=False)


def channel_shares(image: Image, points: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return shares of O1, O2 and O3 in the change around key points, (n, 3) float32; squares of a row sum to below 1.

    ``points`` is (n, 3): x, y and diameter in pixels. The change c of a channel is its mean gradient magnitude, in
    levels per pixel, over the square of 3 diameters around the point, times its gain (4, 4, 1); its share is
    ``c / sqrt(1 + sum c^2)``, the 1 keeping the noise of flat places small.
    """
    gained = OPPONENT * np.array([[CHROMA_GAIN], [CHROMA_GAIN], [1.0]])
    channels = cv2.transform(image.astype(np.float32), gained)
    smooth = cv2.GaussianBlur(channels, (0, 0), _SMOOTHING)
    across, down = cv2.Sobel(smooth, cv2.CV_32F, 1, 0, scale=1 / 8), cv2.Sobel(smooth, cv2.CV_32F, 0, 1, scale=1 / 8)
    change = square_means(np.asarray(cv2.magnitude(across, down)), points)
    return np.asarray(change / np.sqrt(_NOISE + (change**2).sum(axis=1, keepdims=True)), dtype=np.float32)


def square_means(values: NDArray[np.float32], points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return means of (height, width, 3) values over a square around each point, cut at the image's edge: (n, 3)."""
    height, width = values.shape[:2]
    sums = cv2.integral(values, sdepth=cv2.CV_64F)
    centre = np.rint(points[:, :2]).astype(np.intp)
    reach = np.maximum(1, np.rint(_REACH * points[:, 2])).astype(np.intp)
    left, right = np.maximum(centre[:, 0] - reach, 0), np.minimum(centre[:, 0] + reach + 1, width)
    top, bottom = np.maximum(centre[:, 1] - reach, 0), np.minimum(centre[:, 1] + reach + 1, height)
    inside = sums[bottom, right] - sums[top, right] - sums[bottom, left] + sums[top, left]
    # Rounding can make the difference of large sums negative, which has no square root.
    return np.asarray(np.maximum(inside, 0.0) / ((right - left) * (bottom - top))[:, None], dtype=np.float64)
