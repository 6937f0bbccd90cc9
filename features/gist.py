"""The GIST view: where in the picture which frequencies run in which direction (Oliva & Torralba, IJCV 42(3), 2001)."""

from functools import cache
from typing import ClassVar

import cv2
import numpy as np
import scipy.fft
from numpy.typing import NDArray

from features.base import ImageExtractor, Rows
from features.image import Image, check_image, grey

SCALES, ORIENTATIONS, GRID = 4, 8, 4
WORKING_SIZE = 128
"""Pixels a side of the square that every image is resized to."""
PADDING = 16
"""Pixels mirrored around it, so that the filters do not wrap round the picture's edges."""

_CUTOFF, _FLOOR = 4.0, 0.2
_HIGHEST, _SCALE_STEP, _BANDWIDTH, _ANGULAR = 0.3, 1.85, 0.4, 2.0 * np.pi
_PADDED = WORKING_SIZE + 2 * PADDING
_BLOCK = WORKING_SIZE // GRID


class Gist(ImageExtractor):
    """Mean magnitude of 4 x 8 log-Gabor responses in the cells of a 4 x 4 grid.

    The luma is resized to 128 x 128, mirrored by 16 pixels on every side and locally normalised (``prefilter``); the
    response of each filter of ``transfer_functions`` is taken by the discrete Fourier transform; its magnitude is
    averaged over 32 x 32 pixels. Element ``128 s + 16 o + 4 i + j`` is scale s (finest first), orientation o, grid row
    i and column j.
    """

    name: ClassVar[str] = "gist"

    @property
    def dim(self) -> int:
        """512."""
        return SCALES * ORIENTATIONS * GRID * GRID

    def row(self, image: Image) -> Rows:
        """The 4 x 8 x 4 x 4 means, (512,) float32."""
        luma = grey(check_image(image)).astype(np.float32)
        square = cv2.resize(luma, (WORKING_SIZE, WORKING_SIZE), interpolation=cv2.INTER_AREA)
        spectrum = scipy.fft.fft2(prefilter(np.pad(square, PADDING, mode="symmetric")))
        rows = [
            _grid_means(np.abs(scipy.fft.ifft2(spectrum * bank, overwrite_x=True))) for bank in transfer_functions()
        ]
        return np.concatenate(rows).ravel()


def prefilter(luma: NDArray[np.float32]) -> NDArray[np.float32]:
    """Local contrast normalisation of a (160, 160) luma of 0..255, float32 of the same shape.

    With g the Gaussian low-pass filter of ``exp(-(f / 4)^2 ln 2)``, f in cycles per working size (half height at 4):
    ``d = ln(1 + luma) - g * ln(1 + luma)``, and the result is ``d / (0.2 + sqrt(g * d^2))``.
    """
    logarithm = np.log1p(luma)
    detail = logarithm - _smooth(logarithm)
    energy = np.maximum(_smooth(detail * detail), 0)
    return np.asarray(detail / (_FLOOR + np.sqrt(energy)), dtype=np.float32)


@cache
def transfer_functions() -> NDArray[np.float32]:
    """Transfer functions of the filters on the padded DFT grid, (4 scales, 8 orientations, 160, 160) float32.

    At frequency f (cycles per pixel) and angle t, filter (s, o) is
    ``exp(-ln(f / f_s)^2 / (2 b^2)) exp(-2 pi (t - pi o / 8)^2)`` with ``f_s = 0.3 / 1.85^s``, b = 0.4, the difference
    of angles wrapped to half a turn, and 0 at f = 0. The filters are one-sided, so that responses are complex and their
    magnitude is the local amplitude.
    """
    frequency = scipy.fft.fftfreq(_PADDED)
    radius = np.hypot(frequency[:, None], frequency[None, :])
    angle = np.arctan2(frequency[:, None], frequency[None, :])
    with np.errstate(divide="ignore"):
        octaves = [np.log(radius * _SCALE_STEP**s / _HIGHEST) for s in range(SCALES)]
    radial = np.stack([np.exp(-(x**2) / (2 * _BANDWIDTH**2)) for x in octaves])
    turns = angle - np.pi * np.arange(ORIENTATIONS)[:, None, None] / ORIENTATIONS
    wrapped = (turns + np.pi) % (2 * np.pi) - np.pi
    angular = np.exp(-_ANGULAR * wrapped**2)
    return np.asarray(radial[:, None] * angular[None], dtype=np.float32)


@cache
def _low_pass() -> NDArray[np.float32]:
    rows = scipy.fft.fftfreq(_PADDED, 1 / WORKING_SIZE)
    columns = scipy.fft.rfftfreq(_PADDED, 1 / WORKING_SIZE)
    squared = rows[:, None] ** 2 + columns[None, :] ** 2
    return np.asarray(np.exp(-squared / _CUTOFF**2 * np.log(2)), dtype=np.float32)


def _smooth(values: NDArray[np.float32]) -> NDArray[np.float32]:
    smooth = scipy.fft.irfft2(scipy.fft.rfft2(values) * _low_pass(), s=values.shape)
    return np.asarray(smooth, dtype=np.float32)


def _grid_means(magnitudes: NDArray[np.float32]) -> NDArray[np.float32]:
    """Means over the grid cells inside the padding: (n, 160, 160) to (n, 4, 4)."""
    inner = magnitudes[:, PADDING:-PADDING, PADDING:-PADDING]
    cells = inner.reshape(len(inner), GRID, _BLOCK, GRID, _BLOCK)
    return np.asarray(cells.mean(axis=(2, 4)), dtype=np.float32)
