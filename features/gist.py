"""The GIST view: the strength of frequencies and directions by place (Oliva & Torralba, IJCV 42(3), 2001)."""

from functools import cache
from typing import Any, ClassVar

import cv2
import numpy as np
import scipy.fft
from numpy.typing import NDArray

from crossview.features.base import FeatureRows, ImageExtractor, Part
from crossview.features.image import Image, check_image, grey

SCALES, ORIENTATIONS = 4, 8
GRID, SIZE = 4, 128
MAX_GRID, MAX_SIZE = 32, 1024

_PADDING = 1 / 8  # of the size, mirrored around, so that the filters do not wrap round the picture's edges
_CUTOFF, _FLOOR = 4.0, 0.2
_HIGHEST, _SCALE_STEP, _BANDWIDTH, _ANGULAR = 0.3, 1.85, 0.4, 2.0 * np.pi


class Gist(ImageExtractor):
    """Mean magnitude of 4 x 8 log-Gabor responses in the cells of a grid.

    The luma is resized to a square, mirrored by an eighth on every side and locally normalised (``prefilter``);
    the response of each filter of ``transfer_functions`` is taken by the discrete Fourier transform; its magnitude is
    averaged over each cell. Element ``8 g^2 s + g^2 o + g i + j`` is scale s (finest first), orientation o, grid row i
    and column j, of g rows and columns.
    """

    grid: int
    size: int

    name: ClassVar[str] = "gist"
    robust: ClassVar[bool] = True

    def __init__(self, *, grid: int = GRID, size: int = SIZE) -> None:
        for value, name, most in ((grid, "grid", MAX_GRID), (size, "size", MAX_SIZE)):
            if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
                raise ValueError(f"gist: {name} must be a whole number from 1 to {most:,}, not {value!r}")
        if size % grid or size % 8 or size < 32:
            raise ValueError(f"gist: size must be a multiple of 8 and of the grid, {grid}, from 32 on, not {size}")
        self.grid, self.size = grid, size

    @property
    def dim(self) -> int:
        """The length of a row: 32 numbers for each cell, 512 by default."""
        return SCALES * ORIENTATIONS * self.grid * self.grid

    def params(self) -> dict[str, Any]:
        """Return ``grid``, the cells of a side [default: 4], and ``size``, the pixels of a side [default: 128]."""
        return {"grid": self.grid, "size": self.size}

    def row(self, image: Image) -> FeatureRows:
        """Return the 4 x 8 x grid x grid means, float32."""
        luma = grey(check_image(image)).astype(np.float32)
        square = cv2.resize(luma, (self.size, self.size), interpolation=cv2.INTER_AREA)
        padding = _padding(self.size)
        spectrum = scipy.fft.fft2(prefilter(np.pad(square, padding, mode="symmetric")))
        rows = []
        for bank in transfer_functions(self.size):
            magnitudes = np.abs(scipy.fft.ifft2(spectrum * bank, overwrite_x=True))
            rows.append(_grid_means(magnitudes[:, padding:-padding, padding:-padding], self.grid))
        return np.concatenate(rows).ravel()

    def parts(self) -> tuple[Part, ...]:
        """Return the cells of the grid, each with the columns of all its frequencies and directions."""
        cells = self.grid**2
        return tuple(
            Part(
                f"row {i + 1}, column {j + 1}",
                tuple(range(i * self.grid + j, self.dim, cells)),
                box=(j / self.grid, i / self.grid, (j + 1) / self.grid, (i + 1) / self.grid),
            )
            for i in range(self.grid)
            for j in range(self.grid)
        )


def prefilter(luma: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the locally normalised contrast of a mirrored square luma of 0..255, float32 of the same shape.

    With g the Gaussian low-pass filter of ``exp(-(f / 4)^2 ln 2)``, f in cycles per picture (half height at 4):
    ``d = ln(1 + luma) - g * ln(1 + luma)``, and the result is ``d / (0.2 + sqrt(g * d^2))``.
    """
    logarithm = np.log1p(luma)
    detail = logarithm - _smooth(logarithm)
    energy = np.maximum(_smooth(detail * detail), 0)
    return np.asarray(detail / (_FLOOR + np.sqrt(energy)), dtype=np.float32)


@cache
def transfer_functions(size: int = SIZE) -> NDArray[np.float32]:
    """Return the transfer functions of the filters on the DFT grid of a mirrored picture.

    The shape is (4 scales, 8 orientations, n, n), float32, with n = 5/4 of the size.

    At frequency f (cycles per pixel) and angle t, filter (s, o) is
    ``exp(-ln(f / f_s)^2 / (2 b^2)) exp(-2 pi (t - pi o / 8)^2)`` with ``f_s = 0.3 / 1.85^s``, b = 0.4, the difference
    of angles wrapped to half a turn, and 0 at f = 0. The filters are one-sided, so that responses are complex and their
    magnitude is the local amplitude.
    """
    frequency = scipy.fft.fftfreq(size + 2 * _padding(size))
    radius = np.hypot(frequency[:, None], frequency[None, :])
    angle = np.arctan2(frequency[:, None], frequency[None, :])
    with np.errstate(divide="ignore"):
        octaves = [np.log(radius * _SCALE_STEP**s / _HIGHEST) for s in range(SCALES)]
    radial = np.stack([np.exp(-(x**2) / (2 * _BANDWIDTH**2)) for x in octaves])
    turns = angle - np.pi * np.arange(ORIENTATIONS)[:, None, None] / ORIENTATIONS
    wrapped = (turns + np.pi) % (2 * np.pi) - np.pi
    angular = np.exp(-_ANGULAR * wrapped**2)
    return np.asarray(radial[:, None] * angular[None], dtype=np.float32)


def _padding(size: int) -> int:
    return round(_PADDING * size)


@cache
def _low_pass(side: int) -> NDArray[np.float32]:
    size = round(side / (1 + 2 * _PADDING))
    rows = scipy.fft.fftfreq(side, 1 / size)
    columns = scipy.fft.rfftfreq(side, 1 / size)
    squared = rows[:, None] ** 2 + columns[None, :] ** 2
    return np.asarray(np.exp(-squared / _CUTOFF**2 * np.log(2)), dtype=np.float32)


def _smooth(values: NDArray[np.float32]) -> NDArray[np.float32]:
    smooth = scipy.fft.irfft2(scipy.fft.rfft2(values) * _low_pass(len(values)), s=values.shape)
    return np.asarray(smooth, dtype=np.float32)


def _grid_means(magnitudes: NDArray[np.float32], grid: int) -> NDArray[np.float32]:
    """Return the means over the cells of a grid: (n, size, size) to (n, grid, grid)."""
    block = magnitudes.shape[1] // grid
    cells = magnitudes.reshape(len(magnitudes), grid, block, grid, block)
    return np.asarray(cells.mean(axis=(2, 4)), dtype=np.float32)
