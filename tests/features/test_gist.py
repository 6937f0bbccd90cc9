import cv2
import numpy as np
import pytest

from crossview.features.gist import transfer_functions
from crossview.features.registry import extractor

SIZE, PAD, CUTOFF = 128, 16, 4.0
SIDE = SIZE + 2 * PAD


def frequencies() -> tuple[np.ndarray, np.ndarray]:
    """Return the horizontal and vertical frequency of every DFT coefficient, in cycles per pixel."""
    whole = np.array([k if k < SIDE / 2 else k - SIDE for k in range(SIDE)]) / SIDE
    return np.meshgrid(whole, whole)


def slow_filter(scale: int, orientation: int) -> np.ndarray:
    """Return one log-Gabor transfer function, from its formula, in float64."""
    fx, fy = frequencies()
    f = np.hypot(fx, fy)
    f[0, 0] = 1.0
    centre, direction = 0.3 / 1.85**scale, np.pi * orientation / 8
    turn = np.angle(np.exp(1j * (np.arctan2(fy, fx) - direction)))
    gain = np.exp(-(np.log(f / centre) ** 2) / (2 * 0.4**2)) * np.exp(-2 * np.pi * turn**2)
    gain[0, 0] = 0.0
    return gain


def slow_gist(image: np.ndarray) -> np.ndarray:
    """Return GIST from its definition, with NumPy, in float64, one filter at a time."""
    grey = cv2.cvtColor(image, cv2.COLOR_BGR2GRAY).astype(np.float64)
    padded = np.pad(cv2.resize(grey, (SIZE, SIZE), interpolation=cv2.INTER_AREA), PAD, mode="symmetric")
    fx, fy = frequencies()
    low_pass = np.exp(-((fx**2 + fy**2) * SIZE**2) / CUTOFF**2 * np.log(2))

    def smooth(values: np.ndarray) -> np.ndarray:
        return np.fft.ifft2(np.fft.fft2(values) * low_pass).real

    logarithm = np.log(padded + 1)
    detail = logarithm - smooth(logarithm)
    spectrum = np.fft.fft2(detail / (0.2 + np.sqrt(np.maximum(smooth(detail**2), 0))))
    row = []
    for scale in range(4):
        for orientation in range(8):
            response = np.abs(np.fft.ifft2(spectrum * slow_filter(scale, orientation)))[PAD:-PAD, PAD:-PAD]
            row += [response[i : i + 32, j : j + 32].mean() for i in range(0, SIZE, 32) for j in range(0, SIZE, 32)]
    return np.array(row)


def waves(angle: float, cycles_per_pixel: float, side: int = SIZE) -> np.ndarray:
    """Return a grating whose brightness changes along ``angle`` (radians, x to the right, y down)."""
    y, x = np.mgrid[0:side, 0:side]
    wave = np.cos(2 * np.pi * cycles_per_pixel * (np.cos(angle) * x + np.sin(angle) * y))
    return np.repeat((127.5 + 100 * wave)[:, :, None], 3, 2).astype(np.uint8)


def test_gist_is_its_definition():
    """The fast path gives what the plain formula gives."""
    rng = np.random.default_rng(3)
    noise = rng.integers(0, 256, (90, 140, 3), dtype=np.uint8)
    smooth = cv2.GaussianBlur(rng.integers(0, 256, (256, 384, 3), dtype=np.uint8), (0, 0), 5)
    for image in (noise, cv2.normalize(smooth, None, 0, 255, cv2.NORM_MINMAX)):
        row = extractor("gist").row(image)
        assert row.shape == (512,)
        assert row.dtype == np.float32
        assert np.allclose(row, slow_gist(image), rtol=2e-3, atol=2e-5)


def test_filters_are_their_formula():
    """Every transfer function is the formula's, has no gain at frequency 0 and at most 1 elsewhere."""
    bank = transfer_functions()
    assert bank.shape == (4, 8, SIDE, SIDE)
    assert bank[:, :, 0, 0].max() == 0
    assert 0.99 < bank.max() <= 1
    for scale, orientation in ((0, 0), (1, 3), (3, 7)):
        assert np.allclose(bank[scale, orientation], slow_filter(scale, orientation), atol=1e-6)


@pytest.mark.parametrize("orientation", range(8))
@pytest.mark.parametrize("scale", range(4))
def test_a_grating_answers_at_its_own_scale_and_orientation(scale, orientation):
    """A wave of one frequency and direction is strongest in the filter made for it, in the middle of the picture."""
    row = extractor("gist").row(waves(np.pi * orientation / 8, 0.3 / 1.85**scale)).reshape(4, 8, 4, 4)
    middle = row[:, :, 1:3, 1:3].mean((2, 3))
    assert np.unravel_index(middle.argmax(), middle.shape) == (scale, orientation)


def test_cells_keep_their_place():
    """Structure in one corner of the picture shows in that corner's cells."""
    image = np.full((128, 128, 3), 128, np.uint8)
    image[:32, 96:] = np.random.default_rng(0).integers(0, 256, (32, 32, 3))
    finest = extractor("gist").row(image).reshape(4, 8, 4, 4)[0].mean(0)
    assert np.unravel_index(finest.argmax(), (4, 4)) == (0, 3)


def test_a_flat_picture_has_no_structure():
    """One colour everywhere gives zeros, not noise."""
    for value in (0, 77, 255):
        row = extractor("gist").row(np.full((50, 70, 3), value, np.uint8))
        assert np.abs(row).max() < 1e-3


@pytest.mark.parametrize(("grid", "size"), [(10, 320), (8, 128), (2, 64)])
def test_a_finer_grid_divides_the_cells_of_a_coarser_one(grid: int, size: int):
    """The means over a grid's cells are the means of the finer cells that they hold, at any size."""
    image = np.random.default_rng(5).integers(0, 256, (70, 90, 3), dtype=np.uint8)
    fine = extractor("gist", {"grid": grid, "size": size}).row(image).reshape(32, grid // 2, 2, grid // 2, 2)
    coarse = extractor("gist", {"grid": grid // 2, "size": size}).row(image).reshape(32, grid // 2, grid // 2)
    assert np.allclose(fine.mean(axis=(2, 4)), coarse, rtol=1e-4)


@pytest.mark.parametrize(
    "params", [{"grid": 0}, {"grid": 3}, {"size": 100}, {"size": 8}, {"grid": True}, {"size": "a"}]
)
def test_sizes_that_a_grid_does_not_divide_are_refused(params: dict[str, object]):
    """The message names the parameter and its allowed values."""
    with pytest.raises(ValueError, match=r"gist: (grid|size) must be"):
        extractor("gist", params)
