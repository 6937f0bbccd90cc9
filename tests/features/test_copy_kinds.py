"""Copies of pictures: each differs from the original in the stated way and in no other."""

import io

import numpy as np
import pytest
from PIL import Image as Pillow

from crossview.features.copy_kinds import KINDS, copies
from crossview.features.decode import decode
from crossview.features.errors import ImageError


@pytest.fixture(scope="module")
def data() -> bytes:
    """A PNG with smooth colours, 1,000 x 600, larger than a working image."""
    y, x = np.mgrid[:600, :1000]
    file = io.BytesIO()
    Pillow.fromarray(np.stack([x * 255 // 999, y * 255 // 599, 255 - x * 255 // 999], axis=2).astype(np.uint8)).save(
        file, "PNG"
    )
    return file.getvalue()


def pixels(encoded: bytes) -> np.ndarray:
    return decode(encoded, max_side=None).image.astype(int)


def test_copies_have_the_content_of_the_original(data):
    made = {kind: pixels(copy) for kind, copy in copies(data).items()}
    original = pixels(data)
    assert tuple(made) == KINDS
    assert {kind: image.shape[:2] for kind, image in made.items()} == {
        "exact": (600, 1000),
        "resized": (300, 500),
        "recompressed": (600, 1000),
        "cropped": (570, 950),
        "greyscale": (600, 1000),
    }
    np.testing.assert_array_equal(made["exact"], original)
    for kind, expected in (
        ("resized", original.reshape(300, 2, 500, 2, 3).mean(axis=(1, 3))),
        ("recompressed", original),
        ("cropped", original[15:585, 25:975]),
    ):
        assert np.abs(made[kind] - expected).mean() < 5
    assert np.ptp(made["greyscale"], axis=2).max() == 0


def test_a_recompressed_copy_has_the_stated_quality(data):
    """Its quantisation is that of quality 40, the others' that of 95."""
    made = {
        kind: Pillow.open(io.BytesIO(copy)).quantization[0][0] for kind, copy in copies(data).items() if kind != "exact"
    }
    assert made == {"resized": 2, "recompressed": 20, "cropped": 2, "greyscale": 2}


def test_a_tiny_picture_has_copies():
    file = io.BytesIO()
    Pillow.new("RGB", (1, 1)).save(file, "PNG")
    assert {pixels(copy).shape for copy in copies(file.getvalue()).values()} == {(1, 1, 3)}


def test_other_files_have_none():
    with pytest.raises(ImageError):
        copies(b"no picture")
