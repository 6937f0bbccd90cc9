"""The colour view: a histogram of hue, saturation and value."""

from typing import ClassVar

import cv2
import numpy as np

from crossview.features.base import FeatureRows, ImageExtractor
from crossview.features.image import Image, check_image

HUE_BINS, SATURATION_BINS, VALUE_BINS = 8, 4, 2
_DIM = HUE_BINS * SATURATION_BINS * VALUE_BINS


class Color(ImageExtractor):
    """Share of the pixels in each of 8 x 4 x 2 uniform bins of hue, saturation and value; the shares sum to 1.

    Bin (h, s, v) is element ``8 h + 2 s + v``. All three are cut on their 8-bit codes, with hue coded as 256 steps of a
    full turn, so that every bin is equally wide: 0..179, the other 8-bit hue, does not divide by eight.
    """

    name: ClassVar[str] = "color"

    @property
    def dim(self) -> int:
        """64 bins."""
        return _DIM

    def row(self, image: Image) -> FeatureRows:
        """Return the histogram, (64,) float32, summing to 1."""
        hsv = np.asarray(cv2.cvtColor(check_image(image), cv2.COLOR_BGR2HSV_FULL), dtype=np.uint8)
        hue, saturation, value = np.moveaxis(hsv, 2, 0)
        # 256 codes over 8, 4 and 2 bins: the bin is the code's top 3, 2 and 1 bits, packed here into six.
        bins = (hue >> 5 << 3) | (saturation >> 6 << 1) | (value >> 7)
        counts = np.bincount(bins.ravel(), minlength=_DIM)
        return np.asarray(counts / bins.size, dtype=np.float32)
