import io
import struct
import zlib

import numpy as np
import pytest
from PIL import Image as Pillow

from crossview.features.decode import Picture, decode

RED, GREEN, BLUE, WHITE, BLACK = (0, 0, 255), (0, 255, 0), (255, 0, 0), (255, 255, 255), (0, 0, 0)


def saved(picture: Pillow.Image, form: str, **options: object) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, form, **options)
    return buffer.getvalue()


def gradient(width: int = 48, height: int = 32) -> Pillow.Image:
    """Return a picture whose red grows to the right and green downwards; blue is steady, and every corner differs."""
    y, x = np.mgrid[0:height, 0:width]
    red, green = 255 * x // (width - 1), 255 * y // (height - 1)
    return Pillow.fromarray(np.stack([red, green, np.full_like(red, 64)], 2).astype(np.uint8))


def bgr(picture: Pillow.Image) -> np.ndarray:
    return np.asarray(picture.convert("RGB"))[:, :, ::-1]


def assert_close(actual: np.ndarray, expected: np.ndarray, tolerance: float) -> None:
    assert actual.shape == expected.shape
    assert np.abs(actual.astype(int) - expected.astype(int)).max() <= tolerance


@pytest.mark.parametrize(
    ("form", "options", "tolerance"),
    [
        ("PNG", {}, 0),
        ("BMP", {}, 0),
        ("TIFF", {}, 0),
        ("TIFF", {"compression": "tiff_lzw"}, 0),
        ("TIFF", {"compression": "tiff_adobe_deflate"}, 0),
        ("TIFF", {"big_tiff": True}, 0),
        ("WEBP", {"lossless": True}, 0),
        ("WEBP", {"quality": 95}, 16),
        ("JPEG", {"quality": 95, "subsampling": 0}, 12),
        ("JPEG", {"quality": 95, "progressive": True, "subsampling": 0}, 12),
    ],
)
def test_every_format_gives_its_colours_as_contiguous_bgr(form, options, tolerance):
    """A picture of any saved format comes back as BGR uint8."""
    picture = decode(saved(gradient(), form, **options))
    assert isinstance(picture, Picture)
    assert (picture.width, picture.height) == (48, 32)
    assert picture.image.dtype == np.uint8
    assert picture.image.flags.c_contiguous
    assert_close(picture.image, bgr(gradient()), tolerance)


def test_gif_gives_its_first_frame():
    """The other frames of the animation do not count."""
    frames = [Pillow.new("RGB", (8, 6), colour) for colour in ("red", "blue")]
    data = saved(frames[0], "GIF", save_all=True, append_images=frames[1:])
    assert_close(decode(data).image, np.full((6, 8, 3), RED, np.uint8), 0)


def test_animated_webp_and_png_give_their_first_frame():
    """The other frames of the animation do not count."""
    frames = [Pillow.new("RGB", (8, 6), colour) for colour in ("lime", "blue")]
    for form in ("WEBP", "PNG"):
        data = saved(frames[0], form, save_all=True, append_images=frames[1:], lossless=True)
        assert_close(decode(data).image, np.full((6, 8, 3), GREEN, np.uint8), 0)


MODES = {
    "PNG": ("1", "L", "LA", "P", "I;16", "RGB", "RGBA"),
    "TIFF": ("1", "L", "LA", "P", "PA", "I;16", "I", "F", "RGB", "RGBA", "RGBX", "CMYK", "YCbCr", "LAB"),
    "JPEG": ("1", "L", "RGB", "CMYK", "YCbCr"),
    "WEBP": ("RGB", "RGBA"),
    "BMP": ("1", "L", "P", "RGB", "RGBA"),
    "GIF": ("1", "L", "P", "RGB"),
}
WHITE_IN = {"1": 255, "L": 255, "I;16": 65535, "I": 65535, "F": 1.0, "CMYK": (0, 0, 0, 0), "LAB": (255, 128, 128)}


@pytest.mark.parametrize(("form", "mode"), [(form, mode) for form, modes in MODES.items() for mode in modes])
def test_every_mode_that_a_format_holds_is_read(form, mode):
    """White is white in every mode that each format can be saved in."""
    if mode in WHITE_IN:
        picture = Pillow.new(mode, (9, 5), WHITE_IN[mode])
    else:
        picture = Pillow.new("RGB", (9, 5), "white").convert("L" if mode == "PA" else mode)
        picture = picture.convert(mode)
    assert_close(decode(saved(picture, form)).image, np.full((5, 9, 3), WHITE, np.uint8), 2)


def test_transparency_is_laid_on_white():
    """A transparent pixel is white, a half transparent one half white, for every way to state transparency."""
    layer = np.zeros((1, 3, 4), np.uint8)
    layer[0, :, 3] = (0, 128, 255)
    for form in ("PNG", "TIFF", "WEBP"):
        data = saved(Pillow.fromarray(layer), form, **({"lossless": True, "exact": True} if form == "WEBP" else {}))
        assert_close(decode(data).image[0, :, 0], np.array([255, 127, 0]), 1)
    palette = Pillow.fromarray(np.array([[0, 1, 2]], np.uint8), "P")
    palette.putpalette([255, 0, 0, 0, 255, 0, 0, 0, 255])
    for transparency in (0, b"\x00\xff\xff"):
        image = decode(saved(palette, "PNG", transparency=transparency)).image
        assert_close(image[0], np.array([WHITE, GREEN, BLUE]), 0)
    assert_close(decode(saved(palette, "GIF", transparency=2)).image[0], np.array([RED, GREEN, WHITE]), 0)
    grey = Pillow.fromarray(np.array([[0, 100, 200]], np.uint8))
    assert_close(decode(saved(grey, "PNG", transparency=100)).image[0, :, 0], np.array([0, 255, 200]), 0)
    colour = Pillow.fromarray(np.array([[[1, 2, 3], [4, 5, 6]]], np.uint8))
    image = decode(saved(colour, "PNG", transparency=(1, 2, 3))).image
    assert_close(image[0], np.array([WHITE, (6, 5, 4)]), 0)


def test_a_palette_of_8_bits_in_a_tiff_has_its_colours():
    """Some scanners write the palette with values up to 255, where TIFF has 65535."""
    palette = Pillow.fromarray(np.array([[0, 1]], np.uint8), "P")
    palette.putpalette([255, 0, 0, 0, 255, 0])
    data = saved(palette, "TIFF")
    place = data.index(struct.pack("<2H", 255 * 256, 0))
    values = struct.unpack_from("<768H", data, place)
    eight = struct.pack("<768H", *(value // 256 for value in values))
    for file in (data, data[:place] + eight + data[place + 1536 :]):
        assert_close(decode(file).image[0], np.array([RED, GREEN]), 0)


def test_16_bit_grey_is_scaled_not_clipped():
    """The whole 16-bit range is spread over 8 bits, rounded."""
    values = np.array([[0, 1, 257, 32768, 40000, 65534, 65535]], np.uint16)
    expected = np.rint(values / 257).astype(int)
    for form in ("PNG", "TIFF"):
        image = decode(saved(Pillow.fromarray(values), form)).image
        assert_close(image, np.repeat(expected[:, :, None], 3, 2), 0)
    image = decode(saved(Pillow.fromarray(values), "PNG", transparency=40000)).image
    assert image[0, 4].tolist() == [255, 255, 255]


def test_16_bit_colour_png_is_scaled_not_clipped():
    """16-bit RGB keeps its colours."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    pixels = struct.pack(">6H", 65535, 32768, 256, 0, 1000, 60000)
    data = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 2, 1, 16, 2, 0, 0, 0))
    data += chunk(b"IDAT", zlib.compress(b"\0" + pixels)) + chunk(b"IEND", b"")
    assert_close(decode(data).image[0], np.array([[1, 128, 255], [233, 4, 0]]), 1)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0.0, 0.5, 1.0], [0, 128, 255]),
        ([0.0, 100.0, 255.0], [0, 100, 255]),
        ([0.0, 257.0, 65535.0], [0, 1, 255]),
        ([-1.0, 0.0, 1.0], [0, 128, 255]),
        ([-3e38, 0.0, 3e38], [0, 128, 255]),
        ([np.nan, np.inf, 1.0], [0, 0, 255]),
        ([np.nan, np.nan, np.nan], [0, 0, 0]),
    ],
)
def test_float_tiff_is_read_by_its_range(values, expected):
    """Unit, 8-bit and 16-bit ranges are read as such; others are stretched; values that are not finite are black."""
    data = saved(Pillow.fromarray(np.array([values], np.float32)), "TIFF")
    assert_close(decode(data).image[0, :, 1], np.array(expected), 1)


def test_32_bit_integer_tiff_is_read_by_its_range():
    """The rule is that of floats, except that 0 and 1 are dark."""
    for values, expected in (([0, 1, 1], [0, 1, 1]), ([0, 300, 65535], [0, 1, 255]), ([-500, 0, 500], [0, 128, 255])):
        data = saved(Pillow.fromarray(np.array([values], np.int32)), "TIFF")
        assert_close(decode(data).image[0, :, 1], np.array(expected), 1)


def test_cmyk_jpeg_has_the_same_colours_with_and_without_adobes_inversion():
    """CMYK from Adobe is stored inverted, other CMYK is not; both show the right colours."""
    ink = np.zeros((16, 16, 4), np.uint8)
    ink[:, :, 1:3] = 255
    assert_close(decode(saved(Pillow.fromarray(ink, "CMYK"), "JPEG", quality=95)).image, np.full((16, 16, 3), RED), 6)
    inverted = saved(Pillow.fromarray(255 - ink, "CMYK"), "JPEG", quality=95)
    start = inverted.index(b"\xff\xee")
    length = int.from_bytes(inverted[start + 2 : start + 4], "big") + 2
    plain = inverted[:start] + inverted[start + length :]
    assert_close(decode(plain).image, np.full((16, 16, 3), RED), 6)


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP", "TIFF"])
def test_orientation_is_applied_as_pillow_defines_it(form, orientation):
    """A turned or mirrored picture comes out upright, and its size is the displayed one."""
    stored = gradient()
    exif = Pillow.Exif()
    exif[0x0112] = orientation
    data = saved(
        stored, form, exif=exif, **({"quality": 100, "subsampling": 0} if form == "JPEG" else {"lossless": True})
    )
    turns = [None, None, 0, 3, 1, 5, 4, 6, 2]
    turn = turns[orientation]
    upright = stored if turn is None else stored.transpose(Pillow.Transpose(turn))
    picture = decode(data)
    assert (picture.width, picture.height) == upright.size
    assert_close(picture.image, bgr(upright), 8)


def test_damaged_metadata_does_not_cost_the_picture():
    """EXIF that cannot be read means upright, not an error."""
    for exif in (b"Exif\0\0II*\0\xff\xff\xff\xff", b"Exif\0\0garbage", b"\0" * 40):
        picture = decode(saved(gradient(), "JPEG", exif=exif))
        assert (picture.width, picture.height) == (48, 32)


@pytest.mark.parametrize("form", ["JPEG", "PNG"])
@pytest.mark.parametrize(
    ("size", "shrunk"),
    [
        ((1280, 640), (640, 320)),
        ((700, 2000), (224, 640)),
        ((640, 480), (640, 480)),
        ((5, 3), (5, 3)),
        ((3000, 1), (640, 1)),
    ],
)
def test_longest_side_is_shrunk_to_the_limit_and_never_enlarged(form, size, shrunk):
    """The image fits the working side, keeps its proportions, and the picture keeps its own size."""
    picture = decode(saved(Pillow.new("RGB", size, "red"), form))
    assert (picture.width, picture.height) == size
    assert picture.image.shape == (shrunk[1], shrunk[0], 3)
    assert_close(picture.image[0, 0], np.array(RED), 2)


def test_a_shrunk_camera_jpeg_is_close_to_its_average():
    """A picture that is decoded at a fraction of its size is close to the average of the whole one."""
    big = gradient(2600, 1300)
    image = decode(saved(big, "JPEG", quality=95)).image
    assert_close(image, bgr(big.resize((640, 320), Pillow.Resampling.BOX)), 6)


def test_max_side_can_be_lifted():
    """With max_side None the picture keeps its size."""
    assert decode(saved(gradient(900, 700), "JPEG"), max_side=None).image.shape == (700, 900, 3)
    with pytest.raises(ValueError, match="at least 1"):
        decode(saved(gradient(), "PNG"), max_side=0)
