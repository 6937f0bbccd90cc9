"""Large pictures are read at a reduced size in bounded memory if their format allows, and otherwise refused."""

import io
import subprocess
import sys
import zlib

import numpy as np
import pytest
from PIL import Image as Pillow
from PIL.TiffImagePlugin import ImageFileDirectory_v2

from crossview.features.decode import decode, pixels_to_decode
from crossview.features.errors import ImageTooLargeError, TruncatedImageError

WIDTH, HEIGHT = 900, 1300
SIDE = 64
MODES = {"RGB": {}, "L": {}, "1": {}, "P": {}, "RGBA": {}, "CMYK": {}, "I;16": {}}
COMPRESSIONS = ("raw", "tiff_lzw", "tiff_adobe_deflate", "packbits", "jpeg")


def drawn(mode: str = "RGB") -> Pillow.Image:
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    waves = np.stack([127 + 120 * np.sin(x / 90), 127 + 120 * np.cos(y / 70), 255 * (x + y) / (WIDTH + HEIGHT)], 2)
    picture = Pillow.fromarray(waves.astype(np.uint8))
    if mode == "I;16":
        return Pillow.fromarray(np.asarray(picture.convert("L")).astype(np.uint16) * 257)
    return picture.convert(mode)


def saved(picture: Pillow.Image, form: str, **options: object) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, form, **options)
    return buffer.getvalue()


def tiled(compressed: bool, side: int = 256, prefix: bytes = b"II") -> bytes:
    """Return a TIFF of tiles, as scanners and microscopes write them."""
    rows = np.zeros((-(-HEIGHT // side) * side, -(-WIDTH // side) * side, 3), np.uint8)
    rows[:HEIGHT, :WIDTH] = np.asarray(drawn())
    down, across = rows.shape[0] // side, rows.shape[1] // side
    tiles = rows.reshape(down, side, across, side, 3).swapaxes(1, 2).reshape(-1, side, side, 3)
    pieces = [zlib.compress(one.tobytes()) if compressed else one.tobytes() for one in tiles]
    tags = {256: WIDTH, 257: HEIGHT, 258: (8, 8, 8), 259: 8 if compressed else 1, 262: 2, 277: 3, 322: side, 323: side}
    directory = ImageFileDirectory_v2(prefix=prefix)
    for tag, value in tags.items():
        directory[tag] = value
    directory.tagtype[324] = directory.tagtype[325] = 4
    directory[324] = directory[325] = tuple(map(len, pieces))
    start = 8 + len(directory.tobytes(8))
    directory[324] = tuple(start + sum(map(len, pieces[:place])) for place in range(len(pieces)))
    file = io.BytesIO()
    directory.save(file)
    return file.getvalue() + b"".join(pieces)


@pytest.fixture(autouse=True)
def narrow_bands(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make bands narrow, so that small pictures have several."""
    monkeypatch.setattr("crossview.features.decode._BAND_PIXELS", 100_000)


def assert_alike(data: bytes, max_pixels: int = 400_000) -> None:
    """Check that a picture that is read at a reduced size equals the whole one, except for rounding."""
    with pytest.raises(ImageTooLargeError):
        pixels_to_decode(data, max_pixels=max_pixels)
    whole, reduced = decode(data, max_side=SIDE), decode(data, max_side=SIDE, max_pixels=max_pixels)
    assert (reduced.width, reduced.height, reduced.image.shape) == (whole.width, whole.height, whole.image.shape)
    differences = np.abs(reduced.image.astype(int) - whole.image)
    assert differences.max() <= 8
    assert differences.mean() < 2


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_a_tiff_is_read_strip_by_strip(compression: str) -> None:
    """Its strips may have any compression; the limit counts the pixels that are in memory at once."""
    assert_alike(saved(drawn(), "TIFF", compression=compression, tiffinfo={278: 16}))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("rows", [1, 7, 16])
def test_strips_of_every_mode_are_read(mode: str, rows: int) -> None:
    """They equal those of the whole picture: palettes, transparency, bits, 16 bits, and strips of any height."""
    assert_alike(saved(drawn(mode), "TIFF", tiffinfo={278: rows}))


@pytest.mark.parametrize("prefix", [b"II", b"MM"])
@pytest.mark.parametrize("compressed", [False, True])
def test_a_tiff_is_read_tile_by_tile(compressed: bool, prefix: bytes) -> None:
    """Tiles at the right and lower edge reach beyond the picture."""
    assert_alike(tiled(compressed, prefix=prefix))


def test_bilevel_scans_are_read_strip_by_strip() -> None:
    """Fax machines and scanners compress them so."""
    assert_alike(saved(drawn("1"), "TIFF", compression="group4", tiffinfo={278: 32}))


def test_a_turned_tiff_is_upright() -> None:
    """Its orientation turns it, as it turns a small one."""
    exif = Pillow.Exif()
    exif[0x0112] = 6
    assert_alike(saved(drawn(), "TIFF", tiffinfo={278: 10}, exif=exif))


def test_a_jpeg_counts_with_the_pixels_that_are_decoded() -> None:
    """A camera's picture is decoded at an eighth of its size, the same as before bit for bit."""
    data = saved(drawn().resize((5000, 4000)), "JPEG", quality=90)
    whole, reduced = decode(data), decode(data, max_pixels=2_000_000)
    assert np.array_equal(whole.image, reduced.image)
    assert (reduced.width, reduced.height) == (5000, 4000)


@pytest.mark.parametrize(
    ("form", "options"),
    [
        ("PNG", {}),
        ("WEBP", {}),
        ("JPEG", {"progressive": True}),
        ("TIFF", {"tiffinfo": {278: HEIGHT}}),
        ("TIFF", {"tiffinfo": {284: 2}}),
    ],
    ids=["PNG", "WebP", "progressive JPEG", "one strip", "planes"],
)
def test_what_must_be_decoded_whole_names_the_limit_that_suffices(form: str, options: dict) -> None:
    """The message has the option with its value."""
    picture = drawn("F") if "planes" in str(options) else drawn()
    data = saved(picture, form, **options)
    with pytest.raises(ImageTooLargeError, match=r"900 x 1300 pixels, and at most 400,000 .* `max_pixels=1170000`,"):
        decode(data, max_pixels=400_000)
    assert decode(data, max_pixels=2_000_000).width == WIDTH


@pytest.mark.parametrize("share", [0.2, 0.6, 0.95])
def test_a_large_tiff_that_is_cut_short_says_so(share: float) -> None:
    """The error is that of a small one."""
    strips, tiles = saved(drawn(), "TIFF", compression="tiff_lzw", tiffinfo={278: 10}), tiled(compressed=True)
    for data in (strips, tiles):
        with pytest.raises(TruncatedImageError, match="cut short or damaged"):
            decode(data[: int(share * len(data))], max_pixels=400_000, max_side=SIDE)


def test_pillows_own_limit_holds_for_others_again() -> None:
    """It is lifted only while pictures are decoded here."""
    before = Pillow.MAX_IMAGE_PIXELS
    decode(saved(drawn(), "PNG"))
    assert Pillow.MAX_IMAGE_PIXELS == before is not None


_SCAN = """
import io, resource, sys
from PIL import Image
Image.MAX_IMAGE_PIXELS = None
Image.new("RGB", (20_000, 20_000), "teal").save(sys.argv[1], **eval(sys.argv[2]))
"""
_DECODE = """
import resource, sys
from pathlib import Path
from crossview.features.decode import decode
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
data = Path(sys.argv[1]).read_bytes()
picture = decode(data)
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
assert picture.image.shape == (640, 640, 3) and picture.width == 20_000
print((after - before) // 1024 - len(data) // 2**20)
"""


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("scan.jpg", {"quality": 80}),
        ("scan.tif", {"compression": "tiff_lzw"}),
    ],
)
def test_a_scan_of_400_megapixels_is_decoded_in_bounded_memory(tmp_path, name: str, options: dict) -> None:
    """It takes less than 400 MB beside its file; the whole picture has 1.2 GB."""
    path = tmp_path / name
    subprocess.run([sys.executable, "-c", _SCAN, path, repr(options)], check=True)
    run = subprocess.run([sys.executable, "-c", _DECODE, path], check=True, capture_output=True, text=True)
    assert int(run.stdout) < 400
