"""Colour SIFT: key points of the grey image, described in three opponent colour channels."""

import cv2
import numpy as np
from numpy.typing import NDArray

from features.image import Image, check_image, grey
from features.opponent import opponent_channels

DESCRIPTOR_SIZE = 384
CONTRAST_THRESHOLD = 0.02
"""Half of Lowe's: softer key points are kept, because words are counted, not matched one by one."""
CHANNEL_WEIGHTS = (0.5, 0.5, 1.0)
"""Weights of O1, O2 and O3: SIFT is normalised, so that at full weight the noise of pale colours drowns the light."""

_SIGMA = 1.6
_LAYERS = 3
_LENGTH = 256.0
_SMALLEST_SIDE = 8


def color_sift(image: Image) -> NDArray[np.float32]:
    """Descriptors of an image's key points, (n, 384) float32 of whole numbers 0..256; n is 0 where nothing stands out.

    Each third is the square root of an L1-normalised SIFT descriptor (RootSIFT: Arandjelovic & Zisserman, CVPR 2012) of
    O1, O2 and O3, of length 256 times its channel's weight. Whole numbers keep every later dot product below 2^24,
    where float32 sums are exact in any order: an image gets the same words whatever number of threads multiplies.
    """
    image = check_image(image)
    if min(image.shape[:2]) < _SMALLEST_SIDE:
        return np.zeros((0, DESCRIPTOR_SIZE), np.float32)
    points = key_points(grey(image))
    if not points:
        return np.zeros((0, DESCRIPTOR_SIZE), np.float32)
    describer = cv2.SIFT.create(nOctaveLayers=_LAYERS, sigma=_SIGMA * 2 ** (1 / _LAYERS - 1))
    thirds = [
        _root(np.asarray(describer.compute(channel, points)[1], dtype=np.float32), weight)
        for channel, weight in zip(opponent_channels(image), CHANNEL_WEIGHTS, strict=True)
    ]
    return np.hstack(thirds)


def key_points(luma: NDArray[np.uint8]) -> list[cv2.KeyPoint]:
    """SIFT key points of a (height, width) uint8 image (Lowe, IJCV 60(2), 2004), filed for the half-density pyramid.

    The detector works on the doubled image, its octave o and layer l smoothed by ``1.6 2^(o + l/3)`` pixels. The same
    smoothing is found at half the sampling density, and without ever doubling, as octave o + 1 and layer l - 1 of a
    pyramid that starts at ``1.6 2^(-2/3)``: describing there costs a quarter of the samples per key point.
    """
    detector = cv2.SIFT.create(nOctaveLayers=_LAYERS, contrastThreshold=CONTRAST_THRESHOLD, sigma=_SIGMA)
    points = list(detector.detect(luma, None))
    for point in points:
        octave, layer = point.octave & 0xFF, (point.octave >> 8) & 0xFF
        octave = octave - 256 if octave >= 128 else octave
        point.octave = (octave + 1) | (layer - 1) << 8
    return points


def _root(descriptors: NDArray[np.float32], weight: float) -> NDArray[np.float32]:
    sums = np.maximum(descriptors.sum(axis=1, keepdims=True), 1.0)
    return np.asarray(np.rint(np.sqrt(descriptors / sums) * (weight * _LENGTH)), dtype=np.float32)
