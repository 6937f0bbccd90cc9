"""The colour view: a histogram of hue, saturation and value."""

from colorsys import hsv_to_rgb
from typing import ClassVar

import cv2
import numpy as np

from crossview.features.base import FeatureRows, ImageExtractor, Part
from crossview.features.image import Image, check_image

HUE_BINS, SATURATION_BINS, VALUE_BINS = 8, 4, 2
_DIM = HUE_BINS * SATURATION_BINS * VALUE_BINS
_HUES = ("orange", "yellow", "green", "mint", "sky blue", "blue", "violet", "pink")
_LIGHT = ("dark", "light")
_PURITY = ("{}-grey", "dull {}", "{}", "vivid {}")


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

    def parts(self) -> tuple[Part, ...]:
        """Return the bins: a name, and the colour in the middle of the bin."""
        places = [(h, s, v) for h in range(HUE_BINS) for s in range(SATURATION_BINS) for v in range(VALUE_BINS)]
        return tuple(
            Part(f"{_LIGHT[v]} {_PURITY[s].format(_HUES[h])}", (number,), _middle(h, s, v))
            for number, (h, s, v) in enumerate(places)
        )


def _middle(hue: int, saturation: int, value: int) -> str:
    """Return the colour in the middle of a bin, as in #a0b0c0."""
    shares = (hue + 0.5) / HUE_BINS, (saturation + 0.5) / SATURATION_BINS, (value + 0.5) / VALUE_BINS
    return "#" + "".join(f"{round(255 * share):02x}" for share in hsv_to_rgb(*shares))
