"""Colour SIFT: key points of the grey image, described in three opponent colour channels.

The channels are those of van de Sande, Gevers & Snoek, PAMI 32(9), 2010. A SIFT descriptor is scaled, so it does not
contain the amount of change in each channel around the point; ``channel_shares`` adds this amount.
"""

from collections.abc import Sequence
from functools import partial

import cv2
import numpy as np
from numpy.typing import NDArray

from crossview.features.image import Image, check_image, grey

OPPONENT = np.array([[0.0, -1.0, 1.0], [-2.0, 1.0, 1.0], [1.0, 1.0, 1.0]]) / np.sqrt([[2.0], [6.0], [3.0]])
"""O1 = (R - G) / sqrt 2, O2 = (R + G - 2 B) / sqrt 6, O3 = (R + G + B) / sqrt 3, applied to blue, green, red."""
_LOWEST = 255.0 * np.minimum(OPPONENT, 0.0).sum(axis=1)
_RANGE = 255.0 * np.abs(OPPONENT).sum(axis=1)
_TO_CODES = np.column_stack([OPPONENT * (255.0 / _RANGE)[:, None], -_LOWEST * 255.0 / _RANGE])

CHROMA_GAIN = 4.0
"""Gain of O1 and O2: in photographs, colour changes less than light, and each level means more."""

_REACH, _SMOOTHING, _NOISE = 1.5, 1.0, 1.0

DESCRIPTOR_SIZE = 384
CONTRAST_THRESHOLD = 0.01
"""A quarter of OpenCV's default, which keeps softer key points: words are counted, not matched one by one."""

_SIGMA, _LAYERS, _LENGTH, _SMALLEST_SIDE = 1.6, 3, 256.0, 8


def color_sift(image: Image, half_chroma: bool = True) -> NDArray[np.float32]:
    """Return descriptors of an image's key points, (n, 384) float32 of whole numbers 0..256; n is 0 without key points.

    SIFT is taken upright in O1, O2 and O3 (van de Sande, Gevers & Snoek, PAMI 2010). Each third, scaled to sum to its
    channel's share of the local change (``channel_shares``), goes in by its square root (RootSIFT: Arandjelovic &
    Zisserman, CVPR 2012) times 256: SIFT alone would raise the noise of a colourless channel to the level of the rest.

    ``half_chroma``: whether O1 and O2 are described in images of half the width and height, because most JPEG files
    store only a quarter of the samples of colour.

    Whole numbers keep every later dot product below 2^24, where float32 sums are exact in any order: an image gets the
    same words whatever number of threads multiplies.
    """
    image = check_image(image)
    points = key_points(grey(image))
    if not points:
        return np.zeros((0, DESCRIPTOR_SIZE), np.float32)
    shares = channel_shares(image, np.array([(*point.pt, point.size) for point in points]))
    first, second, third = opponent_channels(image)
    light = _describe([third], points, 1)
    described = [*_describe([first, second], points, 2 if half_chroma else 1), *light]
    thirds = []
    for sift, share in zip(described, shares.T, strict=True):
        scale = share[:, None] / np.maximum(sift.sum(axis=1, keepdims=True), 1.0)
        thirds.append(np.rint(_LENGTH * np.sqrt(sift * scale)))
    return np.hstack(thirds)


def _describe(
    channels: Sequence[NDArray[np.uint8]], points: Sequence[cv2.KeyPoint], step: int
) -> list[NDArray[np.float32]]:
    """Return SIFT of channels at ``key_points``, each (n, 128), sampled every ``step`` pixels; it moves points."""
    if step > 1:
        shrink = partial(cv2.resize, dsize=None, fx=1 / step, fy=1 / step, interpolation=cv2.INTER_AREA)
        channels = [np.asarray(shrink(channel), np.uint8) for channel in channels]
        for point in points:
            x, y = point.pt
            point.pt, point.size = ((x + 0.5) / step - 0.5, (y + 0.5) / step - 0.5), point.size / step
    describer = cv2.SIFT.create(nOctaveLayers=_LAYERS, sigma=_SIGMA * 2 ** (1 / _LAYERS - 1) / step)
    return [np.asarray(describer.compute(channel, points)[1], dtype=np.float32) for channel in channels]


def key_points(luma: NDArray[np.uint8]) -> list[cv2.KeyPoint]:
    """Return upright SIFT key points of a (height, width) uint8 image (Lowe, IJCV 60(2), 2004), for the small pyramid.

    The detector works on the doubled image, its octave o and layer l smoothed by ``1.6 2^(o + l/3)`` pixels. The same
    smoothing is found at half the sampling density, and without ever doubling, as octave o + 1 and layer l - 1 of a
    pyramid that starts at ``1.6 2^(-2/3)``: describing there costs a quarter of the samples per key point.

    Directions are set to 0: pictures are upright, and then the direction of an edge distinguishes them. A place
    that the detector lists once per direction is kept once.
    """
    if min(luma.shape) < _SMALLEST_SIDE:
        return []
    detector = cv2.SIFT.create(nOctaveLayers=_LAYERS, contrastThreshold=CONTRAST_THRESHOLD, sigma=_SIGMA)
    points = {(point.pt, point.size): point for point in detector.detect(luma, None)}
    for point in points.values():
        octave, layer = point.octave & 0xFF, (point.octave >> 8) & 0xFF
        octave = octave - 256 if octave >= 128 else octave
        point.octave, point.angle = (octave + 1) | (layer - 1) << 8, 0.0
    return list(points.values())


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
