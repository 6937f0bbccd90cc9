import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crossview.features.registry import extractor

WHITE = np.array([0.950456, 1.0, 1.088754])
TO_XYZ = np.array([[0.412453, 0.357580, 0.180423], [0.212671, 0.715160, 0.072169], [0.019334, 0.119193, 0.950227]])


def lab(image: np.ndarray) -> np.ndarray:
    """Return the definition, CIE 1976 of sRGB with a D65 white, (pixels, 3)."""
    rgb = image.reshape(-1, 3)[:, ::-1] / 255
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    ratios = linear @ TO_XYZ.T / WHITE
    x, y, z = np.where(ratios > 0.008856, np.cbrt(ratios), 7.787 * ratios + 16 / 116).T
    return np.column_stack([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def histogram(image: np.ndarray) -> np.ndarray:
    """Return 15 bins of each, over the 8-bit codes that sRGB takes: 0 to 255 of L, 42 to 226 of a, 20 to 223 of b."""
    codes = np.rint(lab(image) * [2.55, 1, 1] + [0, 128, 128])
    edges = zip(codes.T, ((0, 256), (42, 227), (20, 224)), strict=True)
    counts = [np.histogram(of, bins=np.linspace(*ends, 16))[0] for of, ends in edges]
    return np.concatenate(counts) / codes.size


def test_histogram_is_the_definition():
    """Only the few random pixels on a bin's edge may differ from the formulas."""
    image = np.random.default_rng(1).integers(0, 256, (60, 50, 3), dtype=np.uint8)
    row = extractor("lab").row(image)
    assert row.shape == (45,)
    assert row.dtype == np.float32
    assert np.abs(row - histogram(image)).sum() < 0.02


@pytest.mark.parametrize(
    ("bgr", "bins"),
    [
        ((0, 0, 0), (0, 6, 7)),
        ((255, 255, 255), (14, 6, 7)),
        ((0, 255, 0), (13, 0, 14)),
        ((255, 0, 255), (9, 14, 3)),
        ((255, 0, 0), (4, 13, 0)),
    ],
)
def test_known_colours_fall_in_known_bins(bgr, bins):
    """A picture of one colour has one bin of each channel; the extremes of sRGB are in the outermost."""
    row = extractor("lab").row(np.full((3, 4, 3), bgr, np.uint8))
    assert np.flatnonzero(row).tolist() == [15 * channel + bin_ for channel, bin_ in enumerate(bins)]
    assert row[row > 0] == pytest.approx(1 / 3)


def test_every_bin_can_be_filled():
    """No bin is empty over the whole cube of colours."""
    codes = np.arange(0, 256, 5, dtype=np.uint8)
    cube = np.stack(np.meshgrid(codes, codes, codes), axis=-1).reshape(52, -1, 3)
    assert extractor("lab").row(cube).min() > 0


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 40), st.integers(1, 40), st.integers(0, 2**32 - 1))
def test_each_channel_sums_to_a_third_and_forgets_where_pixels_are(height, width, seed):
    """This holds for any size, and shuffling the pixels does not change the row."""
    rng = np.random.default_rng(seed)
    image = rng.integers(0, 256, (height, width, 3), dtype=np.uint8)
    row = extractor("lab").row(image)
    assert row.min() >= 0
    assert row.reshape(3, 15).sum(axis=1) == pytest.approx(1 / 3, abs=1e-5)
    assert np.array_equal(row, extractor("lab").row(rng.permutation(image.reshape(-1, 3)).reshape(height, width, 3)))
