import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image as Pillow

from crossview.features.decode import WORKING_SIDE, decode
from crossview.features.errors import ImageError

FORMS = ("JPEG", "PNG", "WEBP", "TIFF", "BMP", "GIF", "TIFF-LZW", "TIFF-JPEG", "PNG-P", "JPEG-EXIF", "TIFF-16")


def _valid(form: str) -> bytes:
    noise = np.random.default_rng(0).integers(0, 255, (12, 17, 3), dtype=np.uint8)
    picture = Pillow.fromarray(noise)
    exif = Pillow.Exif()
    exif[0x0112] = 6
    options: dict[str, object] = {}
    if form == "TIFF-LZW":
        options = {"compression": "tiff_lzw"}
    elif form == "TIFF-JPEG":
        options = {"compression": "jpeg"}
    elif form == "JPEG-EXIF":
        options = {"exif": exif, "progressive": True}
    elif form == "PNG-P":
        picture, options = picture.convert("P"), {"transparency": b"\x00\x80", "exif": exif}
    elif form == "TIFF-16":
        picture = Pillow.fromarray(noise[:, :, 0].astype(np.uint16) * 257)
    buffer = io.BytesIO()
    picture.save(buffer, form.split("-")[0], **options)
    return buffer.getvalue()


VALID = {form: _valid(form) for form in FORMS}
SIGNATURES = [data[:length] for data in VALID.values() for length in (2, 4, 8, 16, 30)]


def is_sound_or_refused(data: bytes) -> bool:
    """Return whether bytes give a sound image or an ImageError; any other exception or warning fails the test."""
    try:
        picture = decode(data, max_pixels=1_000_000)
    except ImageError:
        return True
    image = picture.image
    small = max(image.shape) <= WORKING_SIDE
    return image.dtype == np.uint8 and image.ndim == 3 and image.shape[2] == 3 and image.size > 0 and small


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=300))
def test_arbitrary_bytes_never_surprise(data):
    """Any bytes give an image or a named error."""
    assert is_sound_or_refused(data)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(SIGNATURES), st.binary(max_size=300))
def test_arbitrary_bytes_after_a_true_beginning_never_surprise(beginning, rest):
    """Bytes that begin as a picture does give an image or a named error."""
    assert is_sound_or_refused(beginning + rest)


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(FORMS), st.floats(0, 1))
def test_truncations_never_surprise(form, share):
    """A valid file cut anywhere gives an image or a named error."""
    assert is_sound_or_refused(VALID[form][: int(share * len(VALID[form]))])


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=120, deadline=None)
@given(flips=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(1, 255)), min_size=1, max_size=6))
def test_flipped_bits_never_surprise(form, flips):
    """A valid file with some bytes changed gives an image or a named error."""
    data = bytearray(VALID[form])
    for place, mask in flips:
        data[int(place * len(data))] ^= mask
    assert is_sound_or_refused(bytes(data))


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=60, deadline=None)
@given(place=st.integers(0, 120), value=st.binary(min_size=4, max_size=4))
def test_changed_headers_never_surprise(form, place, value):
    """A valid file with a header field overwritten gives an image or a named error."""
    data = bytearray(VALID[form])
    place = min(place, len(data) - 4)
    data[place : place + 4] = value
    assert is_sound_or_refused(bytes(data))
