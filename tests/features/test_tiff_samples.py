"""TIFF pictures of numbers that Pillow does not read; other programs wrote the files."""

import io
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Pillow
from refusals import error_of

from crossview.features.decode import decode, pixels_to_decode
from crossview.features.errors import ImageError, ImageTooLargeError, NotAnImageError, TruncatedImageError

DATA = Path(__file__).parent / "data"
FIELDS = [(255, 255, 255), (200, 60, 40), (30, 90, 200)]


def fields(image: np.ndarray) -> np.ndarray:
    """Return the colours in the middle of the three fields, RGB."""
    return image[2, [4, 12, 20], ::-1].astype(int)


@pytest.mark.parametrize(
    ("name", "colours", "tolerance"),
    [
        ("lab-8.tif", FIELDS, 30),
        ("lab-16.tif", FIELDS, 20),
        ("planes-16.tif", FIELDS, 0),
        ("float-predicted.tif", FIELDS, 0),
        ("half-planes.tif", FIELDS, 1),
        ("grey-alpha-16.tif", [(255,) * 3, (102,) * 3, (255,) * 3], 0),
    ],
)
def test_a_tiff_of_another_program_has_its_colours(name, colours, tolerance):
    """Lab, planes, floats with differences, and grey with alpha; Lab of one byte holds few of the dark blues."""
    picture = decode((DATA / name).read_bytes())
    assert (picture.width, picture.height) == (24, 4)
    assert np.abs(fields(picture.image) - colours).max() <= tolerance


@pytest.mark.parametrize("name", ["planes-16.tif", "float-predicted.tif", "half-planes.tif", "grey-alpha-16.tif"])
def test_such_a_tiff_is_checked_like_any_other(name):
    """Its header states its pixels, and a file that is cut short or altered is an error of a picture."""
    data = (DATA / name).read_bytes()
    assert pixels_to_decode(data) >= 96
    with pytest.raises(ImageTooLargeError):
        decode(data, max_pixels=90)
    generator = np.random.default_rng(0)
    for cut in range(0, len(data) - 1, 37):
        altered = bytearray(data)
        altered[cut] = int(generator.integers(256))
        for damaged in (data[:cut], bytes(altered)):
            error = error_of(ImageError, partial(decode, damaged, max_pixels=100_000))
            assert error is None or str(error)


def test_a_kind_of_tiff_that_is_not_supported_is_not_called_damaged():
    """The message states the kind of the file, and the remedy."""
    file = io.BytesIO()
    Pillow.new("RGB", (8, 8), "red").save(file, "TIFF")
    data = file.getvalue()
    place = data.index(bytes((0x06, 1, 3, 0, 1, 0, 0, 0)))  # the photometric interpretation
    with pytest.raises(NotAnImageError, match=r"not supported \(3 samples of 8 bits.*32803.*save it as RGB"):
        decode(data[: place + 8] + (32803).to_bytes(2, "little") + data[place + 10 :])
    with pytest.raises(TruncatedImageError):
        decode(data[: place + 1])


def test_floats_of_a_high_range_are_cut_at_white():
    """A bright lamp does not turn the rest of a picture black."""
    data = bytearray((DATA / "float-plain.tif").read_bytes())
    place = data.index(np.float32(200 / 255).tobytes())
    data[place : place + 4] = np.float32(40).tobytes()
    image = decode(bytes(data)).image
    assert np.abs(fields(image) - FIELDS).max() <= 1
    assert image[0, 8].tolist() == [40, 60, 255]
