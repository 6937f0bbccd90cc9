import io
import struct
import warnings
import zlib
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from PIL import Image as Pillow
from PIL import TiffImagePlugin
from PIL import features as pillow_features

from crossview.features.decode import decode, pixels_to_decode
from crossview.features.errors import (
    EmptyImageError,
    ImageError,
    ImageTooLargeError,
    NotAnImageError,
    TruncatedImageError,
)
from crossview.features.formats import KNOWN, SUFFIXES


def saved(picture: Pillow.Image, form: str, **options: object) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, form, **options)
    return buffer.getvalue()


def gradient(width: int = 48, height: int = 32) -> Pillow.Image:
    y, x = np.mgrid[0:height, 0:width]
    return Pillow.fromarray(np.stack([255 * x // width, 255 * y // height, 64 + 0 * x], 2).astype(np.uint8))


@pytest.mark.parametrize("progressive", [False, True])
def test_a_jpeg_that_lacks_only_the_marker_at_its_end_is_read(progressive):
    """Such files are common, and complete; one with fewer pixels is still cut short."""
    noise = Pillow.fromarray(np.random.default_rng(0).integers(0, 255, (90, 70, 3), dtype=np.uint8))
    data = saved(noise, "JPEG", quality=90, progressive=progressive)
    image = decode(data).image
    for ended in (data[:-1], data[:-2]):
        assert np.array_equal(decode(ended).image, image)
    for cut in (20, 100, 1000, len(data) // 2):
        with pytest.raises(TruncatedImageError):
            decode(data[:-cut])


def test_empty_bytes_are_named_so():
    """No bytes raise EmptyImageError."""
    with pytest.raises(EmptyImageError, match="empty"):
        decode(b"")


@pytest.mark.parametrize("data", [b"x", b"hello world" * 50, b"%PDF-1.7\n", b"<svg/>", b"\0" * 1000, b"RIFF1234WAVE"])
def test_other_files_are_not_images(data):
    """Bytes of no known format raise NotAnImageError, with the formats that are read."""
    with pytest.raises(NotAnImageError, match=KNOWN):
        decode(data)


def test_formats_outside_the_list_are_refused():
    """A format that Pillow reads and the list lacks is not opened."""
    for form in ("PPM", "ICO", "TGA", "PCX", "SGI"):
        with pytest.raises(NotAnImageError):
            decode(saved(gradient(), form))


@pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP", "TIFF", "BMP", "GIF"])
def test_a_file_cut_short_is_truncated(form):
    """A picture whose bytes end early is refused by name, for a cut at any place."""
    noise = Pillow.fromarray(np.random.default_rng(0).integers(0, 255, (40, 40, 3), dtype=np.uint8))
    data = saved(noise, form)
    for share in (0.05, 0.3, 0.6, 0.9):
        with pytest.raises(TruncatedImageError, match=r"cut short or damaged|damaged"):
            decode(data[: max(12, int(share * len(data)))])


def test_too_many_pixels_are_refused_before_they_are_decoded():
    """The header alone decides: a file whose pixels could never be decoded is still "too large", not "damaged"."""
    for form in ("PNG", "BMP", "GIF", "JPEG", "TIFF"):
        data = saved(Pillow.new("L", (400, 300)), form)
        with pytest.raises(ImageTooLargeError, match=r"400 x 300.*100,000"):
            decode(data, max_pixels=100_000)
        assert decode(data, max_pixels=120_000).width == 400
    header_only = saved(Pillow.new("L", (400, 300)), "PNG")[:60]
    with pytest.raises(ImageTooLargeError):
        decode(header_only, max_pixels=100_000)


@pytest.mark.parametrize("side", [10_001, 14_000, 60_000])
def test_a_decompression_bomb_is_refused(side):
    """The default limit is 100 megapixels; the message names the remedy, and nothing of Pillow's own limits."""
    bomb = bytearray(saved(Pillow.new("1", (8, 8)), "BMP"))
    bomb[18:26] = side.to_bytes(4, "little") * 2
    with pytest.raises(
        ImageTooLargeError,
        match=r"at most 100,000,000 may be in memory: raise the limit with `max_pixels=\d+`, or save",
    ):
        decode(bytes(bomb))


def test_pillows_warnings_do_not_show():
    """Pillow warns about damaged metadata, transparency in palettes and the like; no warning reaches the caller."""
    tags = TiffImagePlugin.ImageFileDirectory_v2()
    tags[270] = "a" * 2000
    data = saved(gradient(), "TIFF", tiffinfo=tags)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for cut in range(8, len(data), 97):
            with pytest.raises(TruncatedImageError):
                decode(data[:cut])
        warnings.warn("mine", UserWarning, stacklevel=1)
    assert [str(warning.message) for warning in caught] == ["mine"]


def test_threads_may_decode_at_once_and_leave_the_warning_filters_as_they_were():
    """Many decoders at a time give equal images, and warnings work as before afterwards."""
    data = saved(gradient(300, 200), "JPEG")
    before = list(warnings.filters)
    with ThreadPoolExecutor(8) as pool:
        images = list(pool.map(lambda _: decode(data).image, range(64)))
    assert all(np.array_equal(image, images[0]) for image in images)
    assert list(warnings.filters) == before


def test_heic_says_what_it_needs():
    """The bytes begin as HEIC; with the plugin they are merely damaged."""
    with pytest.raises(ImageError, match=r"pillow-heif|damaged|not a picture"):
        decode(b"\0\0\0\x18ftypheic\0\0\0\0mif1heic" + b"\0" * 64)


@pytest.mark.skipif(not pillow_features.check("avif"), reason="this Pillow reads no AVIF")
def test_avif_is_read_and_its_files_are_found():
    """Its content and the suffix of its name identify it; a file that is cut short is an error."""
    data = saved(gradient(), "AVIF", quality=90)
    assert (decode(data).width, decode(data).height) == (48, 32)
    assert ".avif" in SUFFIXES
    with pytest.raises(ImageError):
        decode(data[: len(data) // 2])


def test_a_kind_of_picture_that_is_not_supported_is_not_called_damaged():
    """A lossless JPEG and a JPEG of 12 bits, by their frames, and a BMP with bit fields of four bits."""
    data = saved(gradient(), "JPEG")
    place = data.index(b"\xff\xc0")
    for sound in (
        data[: place + 1] + b"\xc3" + data[place + 2 :],
        data[: place + 4] + b"\x0c" + data[place + 5 :],
    ):
        with pytest.raises(NotAnImageError, match=r"a JPEG of this kind is not supported .*: save it as RGB"):
            decode(sound)
    header = struct.pack(
        "<2sIIIIiiHHIIiiII4I", b"BM", 146, 0, 70, 56, 4, 4, 1, 16, 3, 32, 0, 0, 0, 0, 0xF00, 0xF0, 0xF, 0
    )
    with pytest.raises(NotAnImageError, match=r"a picture of this kind is not supported .*: save it as RGB"):
        decode(header + bytes(32))


def test_a_chunk_of_text_that_is_damaged_or_large_does_not_cost_a_png():
    """Metadata of more than a megabyte, and a text that cannot be decompressed, before and after the pixels."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    data = saved(gradient(), "PNG")
    expected = decode(data).image
    large = chunk(b"zTXt", b"workflow\0\0" + zlib.compress(bytes(2 << 20)))
    wrong = chunk(b"zTXt", b"comment\0\5" + b"x")
    for text in (large, wrong, chunk(b"tEXt", b"x\0y")[:-4] + bytes(4)):
        for place in (33, len(data) - 12):
            altered = data[:place] + text + data[place:]
            assert np.array_equal(decode(altered).image, expected)
            assert pixels_to_decode(altered) == expected.shape[0] * expected.shape[1]
