import colorsys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crossview.features.registry import extractor


def histogram(image: np.ndarray) -> np.ndarray:
    """Return the definition, pixel by pixel: hue in 256 steps of a turn, the others in 0..255; 8 x 4 x 2 bins."""
    counts = np.zeros((8, 4, 2))
    for blue, green, red in image.reshape(-1, 3) / 255:
        hue, saturation, value = colorsys.rgb_to_hsv(red, green, blue)
        codes = round(hue * 256) % 256, round(saturation * 255), round(value * 255)
        counts[codes[0] // 32, codes[1] // 64, codes[2] // 128] += 1
    return counts.ravel() / counts.sum()


def test_histogram_is_the_definition():
    """Only the few random pixels on a bin's edge may differ from plain Python."""
    image = np.random.default_rng(1).integers(0, 256, (60, 50, 3), dtype=np.uint8)
    row = extractor("color").row(image)
    assert row.shape == (64,)
    assert row.dtype == np.float32
    assert np.abs(row - histogram(image)).sum() < 0.01


@pytest.mark.parametrize(
    ("bgr", "bin_"),
    [
        ((0, 0, 255), (0, 3, 1)),
        ((0, 255, 0), (2, 3, 1)),
        ((255, 0, 0), (5, 3, 1)),
        ((255, 0, 255), (6, 3, 1)),
        ((0, 255, 255), (1, 3, 1)),
        ((0, 0, 0), (0, 0, 0)),
        ((255, 255, 255), (0, 0, 1)),
        ((127, 127, 127), (0, 0, 0)),
        ((0, 0, 100), (0, 3, 0)),
    ],
)
def test_known_colours_fall_in_known_bins(bgr, bin_):
    """A picture of one colour has one bin, 8 h + 2 s + v."""
    row = extractor("color").row(np.full((3, 4, 3), bgr, np.uint8))
    hue, saturation, value = bin_
    assert np.flatnonzero(row).tolist() == [8 * hue + 2 * saturation + value]
    assert row.max() == 1


def test_hue_bins_are_equally_wide():
    """Hues spread evenly over the circle fill the eight bins evenly."""
    hues = (np.arange(7200) + 0.5) / 7200
    pixels = np.array([colorsys.hsv_to_rgb(hue, 1, 1)[::-1] for hue in hues]) * 255
    shares = extractor("color").row(np.rint(pixels).astype(np.uint8)[None]).reshape(8, 4, 2).sum((1, 2))
    assert np.allclose(shares, 1 / 8, atol=0.004)


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 40), st.integers(1, 40), st.integers(0, 2**32 - 1))
def test_shares_sum_to_one_and_forget_where_pixels_are(height, width, seed):
    """The row of a picture of any size is a distribution, and shuffling the pixels does not change it."""
    rng = np.random.default_rng(seed)
    image = rng.integers(0, 256, (height, width, 3), dtype=np.uint8)
    row = extractor("color").row(image)
    assert row.min() >= 0
    assert row.sum() == pytest.approx(1, abs=1e-5)
    shuffled = rng.permutation(image.reshape(-1, 3)).reshape(height, width, 3)
    assert np.array_equal(row, extractor("color").row(shuffled))
