"""The Lab view: histograms of lightness and of the two opponent colours."""

from typing import ClassVar

import cv2
import numpy as np

from crossview.features.base import FeatureRows, ImageExtractor, Part
from crossview.features.image import Image, check_image

BINS = 15
_CHANNELS = ("dark to light", "green to red", "blue to yellow")
_FIRST = np.array([0, 42, 20])
"""The least 8-bit codes of L, a and b that an RGB picture has: the other codes of a and b never occur."""
_LAST = np.array([255, 226, 223])


class Lab(ImageExtractor):
    """Share of the pixels in each of 15 bins of L, of a and of b, three histograms side by side; all sum to 1.

    Each channel is divided evenly over the 8-bit codes of the colours of sRGB, so that every bin can be filled.

    Parikh and Grauman, "Relative Attributes" (ICCV 2011), join such a row of 45 with GIST to describe faces. Their
    bounds are not known; in their published rows each channel's histogram sums to 1/3.
    """

    name: ClassVar[str] = "lab"

    @property
    def dim(self) -> int:
        """45 bins."""
        return 3 * BINS

    def row(self, image: Image) -> FeatureRows:
        """Return the three histograms, (45,) float32, summing to 1."""
        codes = np.asarray(cv2.cvtColor(check_image(image), cv2.COLOR_BGR2LAB), dtype=np.int32).reshape(-1, 3)
        bins = np.clip((codes - _FIRST) * BINS // (_LAST - _FIRST + 1), 0, BINS - 1)
        counts = np.bincount((bins + BINS * np.arange(3)).ravel(), minlength=self.dim)
        return np.asarray(counts / bins.size, dtype=np.float32)

    def parts(self) -> tuple[Part, ...]:
        """Return the bins of the three histograms."""
        return tuple(
            Part(f"{name}, {number + 1} of {BINS}", (channel * BINS + number,))
            for channel, name in enumerate(_CHANNELS)
            for number in range(BINS)
        )
