"""A progressive JPEG has few scans, or is refused by its markers, before a pixel is decoded."""

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from scans import many_scans

from crossview.features.decode import MAX_SCANS, decode, pixels_to_decode, scans
from crossview.features.errors import ImageTooLargeError


@pytest.mark.parametrize("read", [decode, pixels_to_decode])
def test_many_scans_are_refused(read) -> None:
    """A picture with 100 megapixels and 714 kB of them took minutes to decode."""
    decode(many_scans(1024, MAX_SCANS - 1))
    with pytest.raises(ImageTooLargeError, match="3,681 scans, and at most 100 are allowed"):
        read(many_scans(9_984, 3_680))


@pytest.mark.parametrize(("progressive", "count"), [(True, 10), (False, 1)])
def test_scans_are_counted(progressive: bool, count: int) -> None:
    """Bytes that look like a scan in a comment, or behind the picture, do not count."""
    comment = b"\xff\xda\x00\x00" * 200
    picture, data = Image.fromarray(np.random.default_rng(0).integers(0, 255, (64, 64, 3), np.uint8)), io.BytesIO()
    picture.save(data, "JPEG", progressive=progressive, quality=95, comment=comment)
    assert scans(data.getvalue() + b"\xff\xda" * 200) == count
    decode(data.getvalue() + b"\xff\xda" * 200)


@given(st.binary(max_size=200))
def test_scans_of_anything_are_counted(data: bytes) -> None:
    """Every marker is looked at once."""
    assert 0 <= scans(b"\xff\xd8" + data) <= len(data)


def test_no_marker_hides_scans() -> None:
    """Such a marker has no length, before bytes that could be read as the length of all that follows."""
    data = many_scans(1024, 200)
    place = data.index(b"\xff\xda")
    assert scans(data[:place] + b"\xff\x01" + data[place:]) == 201
