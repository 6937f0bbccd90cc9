"""Colour profiles: pictures of other colour spaces are read as sRGB."""

import io
import struct
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Pillow
from PIL import ImageCms

from crossview.features.color import Color
from crossview.features.decode import decode
from crossview.features.reading import rows

DATA = Path(__file__).parent / "data"
FIELDS = [(255, 255, 255), (200, 60, 40), (30, 90, 200)]


def fields(image: np.ndarray) -> np.ndarray:
    """Return the colours in the middle of the three fields, RGB."""
    return image[2, [4, 12, 20], ::-1].astype(int)


def adobe_rgb() -> bytes:
    with Pillow.open(DATA / "adobe.png") as picture:
        return picture.info["icc_profile"]


def saved(picture: Pillow.Image, form: str, profile: bytes | None, **options: object) -> bytes:
    file = io.BytesIO()
    picture.save(file, form, icc_profile=profile, **options)
    return file.getvalue()


def ink_profile() -> bytes:
    """Return a profile of CMYK as the ICC describes it: black ink is black, and other ink leaves the paper white."""
    curve = bytes(range(256))
    lab = bytes(byte for inks in range(16) for byte in ((0 if inks & 1 else 255), 128, 128))
    table = b"mft1" + bytes(4) + bytes((4, 3, 2, 0)) + struct.pack(">9i", *(65536 * (n % 4 == 0) for n in range(9)))
    table += 4 * curve + lab + 3 * curve
    tags = {b"A2B0": table, b"wtpt": b"XYZ " + bytes(4) + struct.pack(">3i", 63190, 65536, 54061)}
    head, body, place = struct.pack(">I", len(tags)), b"", 128 + 4 + 12 * len(tags)
    for name, data in tags.items():
        head += name + struct.pack(">2I", place + len(body), len(data))
        body += data
    header = struct.pack(">I4s4s4s4s4s", place + len(body), bytes(4), b"\x02\x40\0\0", b"prtr", b"CMYK", b"Lab ")
    header += bytes(12) + b"acsp" + bytes(28) + struct.pack(">3i", 63190, 65536, 54061)
    return header.ljust(128, b"\0") + head + body


@pytest.mark.parametrize("name", ["adobe.png", "adobe.jpg", "adobe.tif", "adobe.webp", "adobe-exif.jpg"])
def test_a_picture_in_adobe_rgb_has_the_colours_of_its_original(name):
    """This holds for every format; without its profile the colours are dull, as earlier readings of a view expect."""
    data = (DATA / name).read_bytes()
    picture, plain = decode(data), decode(data, profiles=False)
    assert picture.has_profile
    assert np.abs(fields(picture.image) - FIELDS).max() <= 3
    assert np.abs(fields(plain.image) - FIELDS).max() > 20
    now, earlier = Color(), Color()
    earlier.reading = 0
    found = rows(data, {"now": now, "earlier": earlier})
    assert np.array_equal(found["now"], now.row(picture.image))
    assert np.array_equal(found["earlier"], now.row(plain.image))


def test_a_profile_of_srgb_leaves_every_pixel_as_it_is():
    """Rows of most pictures are therefore the same in both readings."""
    srgb = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    noise = np.random.default_rng(0).integers(0, 256, (9, 7, 3), np.uint8)
    picture = decode(saved(Pillow.fromarray(noise), "PNG", srgb))
    assert not picture.has_profile
    assert np.array_equal(picture.image[:, :, ::-1], noise)


def test_a_profile_that_is_damaged_or_of_another_colour_model_is_ignored():
    """Other programs ignore it, too, and without an error."""
    adobe = adobe_rgb()
    grey, colour = Pillow.new("L", (8, 8), 90), Pillow.new("RGB", (8, 8), (200, 60, 40))
    for wrong in (b"x", adobe[:100], adobe[:-200], adobe[:128] + bytes(len(adobe) - 128), ink_profile()):
        picture = decode(saved(colour, "PNG", wrong))
        assert not picture.has_profile, wrong[:20]
        assert picture.image[0, 0].tolist() == [40, 60, 200]
    assert decode(saved(grey, "PNG", adobe)).image[0, 0].tolist() == [90, 90, 90]


@pytest.mark.parametrize("form", ["TIFF", "JPEG"])
def test_inks_have_the_colours_of_their_profile(form):
    """A profile decides the colours of the inks of CMYK, also in a TIFF that is read band by band."""
    inks = np.zeros((400, 600, 4), np.uint8)
    inks[:, :300, 0] = 255
    inks[:, 300:, 3] = 255
    strips = {"compression": "tiff_lzw", "strip_size": 24_000} if form == "TIFF" else {}
    data = saved(Pillow.fromarray(inks, "CMYK"), form, ink_profile(), **strips)
    pictures = [decode(data)] if form == "JPEG" else [decode(data), decode(data, max_pixels=80_000, max_side=300)]
    for picture in pictures:
        middle = picture.image[picture.image.shape[0] // 2]
        assert middle[20].min() >= 250, "cyan leaves the paper white"
        assert middle[-20].max() <= 5
    assert decode(data, profiles=False).image[200, 20].tolist()[2] < 20, "cyan without the profile"


def test_grey_has_the_lightness_of_its_profile():
    """A profile of grey changes grey pictures."""
    adobe = adobe_rgb()
    place = {adobe[at : at + 4]: struct.unpack(">2I", adobe[at + 4 : at + 12]) for at in range(132, 132 + 9 * 12, 12)}
    start, length = place[b"rTRC"]
    curve, white = adobe[start : start + length], b"XYZ " + bytes(4) + struct.pack(">3i", 63190, 65536, 54061)
    curve = curve[:8] + struct.pack(">IH", 1, 256)  # a gamma of 1
    header = adobe[:16] + b"GRAY" + adobe[20:128]
    head = struct.pack(">I4s2I4s2I", 2, b"kTRC", 156, len(curve), b"wtpt", 156 + 16, len(white))
    profile = header + head + curve.ljust(16, b"\0") + white
    picture = decode(saved(Pillow.new("L", (8, 8), 55), "PNG", struct.pack(">I", len(profile)) + profile[4:]))
    assert picture.has_profile
    assert abs(int(picture.image[0, 0, 0]) - 128) <= 2, "0.2157 of the light is level 128 of sRGB"
