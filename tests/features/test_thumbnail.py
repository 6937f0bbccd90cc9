import io

import numpy as np
import pytest
from PIL import Image as Pillow

from crossview.features.image import thumbnail


def test_thumbnail_is_a_small_jpeg_of_the_picture():
    """It is a JPEG in the right colours, with the requested longest side."""
    image = np.zeros((300, 600, 3), np.uint8)
    image[:, 300:] = (0, 0, 255)
    with Pillow.open(io.BytesIO(thumbnail(image))) as small:
        assert small.format == "JPEG"
        assert small.size == (128, 64)
        assert np.allclose(small.getpixel((110, 30)), (255, 0, 0), atol=8)
    with Pillow.open(io.BytesIO(thumbnail(image, side=40))) as small:
        assert small.size == (40, 20)


def test_thumbnail_never_enlarges():
    """A picture smaller than a thumbnail keeps its size, down to one pixel."""
    for shape in ((1, 1), (30, 20)):
        with Pillow.open(io.BytesIO(thumbnail(np.zeros((*shape, 3), np.uint8)))) as small:
            assert small.size == shape[::-1]


def test_thumbnail_refuses_what_is_no_image():
    """Anything except a BGR image, or a side below one, is a ValueError."""
    with pytest.raises(ValueError, match="an image is"):
        thumbnail(np.zeros((5, 5), np.uint8))
    with pytest.raises(ValueError, match="at least 1"):
        thumbnail(np.zeros((5, 5, 3), np.uint8), side=0)
