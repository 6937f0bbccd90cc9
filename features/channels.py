"""The channels of forest words: colour in CIE-LUV, and gradient magnitude by direction."""

from functools import cache

import cv2
import numpy as np
from numpy.typing import NDArray

from crossview.features.image import Image, grey

LUV, ORIENTATIONS = 3, 8
CHANNELS = LUV + ORIENTATIONS
_LEVELS = 511
"""Number of differences of two grey levels, -255 to 255."""


def integral_image(image: Image) -> NDArray[np.int32]:
    """Return running sums of an image's channels, (height + 1, width + 1, 11) int32; four of them give a box's sum.

    Channels 0 to 2 are L, u and v, channels 3 to 10 the directions of ``gradient_channels``. Exact up to 2^23 pixels.
    """
    luv = np.asarray(cv2.cvtColor(image, cv2.COLOR_BGR2LUV), dtype=np.uint8)
    channels = np.concatenate([luv, gradient_channels(grey(image))], axis=2)
    return np.asarray(cv2.integral(channels, sdepth=cv2.CV_32S), dtype=np.int32)


def gradient_channels(luma: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return gradient magnitudes by direction, (height, width, 8) uint8; each pixel has its magnitude in one channel.

    The gradient is the difference of the neighbours on either side, the edge repeated; its magnitude is cut at 255.
    Channel k has the directions, signs aside, that are nearest to k / 8 of half a turn.
    """
    across = cv2.Sobel(luma, cv2.CV_16S, 1, 0, ksize=1, borderType=cv2.BORDER_REPLICATE)
    down = cv2.Sobel(luma, cv2.CV_16S, 0, 1, ksize=1, borderType=cv2.BORDER_REPLICATE)
    pairs = (down.astype(np.int32) + 255) * _LEVELS + (across + np.int32(255))
    return _by_pair()[pairs].view(np.uint8).reshape(*luma.shape, ORIENTATIONS)


@cache
def _by_pair() -> NDArray[np.uint64]:
    """Return the eight channels of every pair of differences as bytes of one number, so a pixel needs one look-up."""
    differences = np.arange(-255, 256)
    down, across = differences[:, None], differences[None, :]
    direction = np.rint(np.arctan2(down, across) * (ORIENTATIONS / np.pi)).astype(np.intp) % ORIENTATIONS
    magnitude = np.minimum(np.rint(np.hypot(down, across)), 255).astype(np.uint8)
    channels = np.zeros((_LEVELS * _LEVELS, ORIENTATIONS), np.uint8)
    channels[np.arange(len(channels)), direction.ravel()] = magnitude.ravel()
    return channels.view(np.uint64).ravel()
