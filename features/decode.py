"""Decoding of untrusted picture files to working images. Only this module reads picture formats."""

import io
import math
import re
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pillow
from PIL import ImageFile

from crossview.features.errors import (
    EmptyImageError,
    ImageError,
    ImageTooLargeError,
    NotAnImageError,
    TruncatedImageError,
)
from crossview.features.formats import KNOWN, formats
from crossview.features.image import Image, shrink, turn
from crossview.features.pictures import MAX_PIXELS
from crossview.features.quiet import quiet
from crossview.features.tiff_bands import TiffBands

WORKING_SIDE = 640
"""Longest side, in pixels, of images for feature extraction."""
MAX_SCANS = 100
"""Maximum number of scans of a JPEG; encoders write about ten. Each scan of a progressive JPEG passes over the whole
picture, even if the scan is empty, so a small file with many scans can take hours."""

_MARKER = re.compile(rb"\xff+([^\x00\x01\xff\xd0-\xd7])")
"""A marker with a length; inside the data of a scan, 0 or a marker without a length follows 0xff."""
_START, _SCAN, _END = 2, 0xDA, 0xD9
_SCAN_BYTES = bytes((0xFF, _SCAN))
_ORIENTATION = 0x0112
_BLOCK_PIXELS = 1 << 18
_BAND_PIXELS = 1 << 24
"""Usual number of pixels of a band of a large picture."""
_SIGNATURES = {
    "JPEG": (b"\xff\xd8\xff",),
    "PNG": (b"\x89PNG\r\n\x1a\n",),
    "TIFF": (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"),
    "BMP": (b"BM",),
    "GIF": (b"GIF87a", b"GIF89a"),
}


@dataclass(frozen=True, eq=False)
class Picture:
    """A decoded picture and its size as displayed."""

    image: Image
    """BGR uint8, (height, width, 3), C-contiguous, upright, its longest side at most the requested one."""
    width: int
    """Pixels of the file's picture as displayed, before any shrinking."""
    height: int


def decode(data: bytes, *, max_pixels: int = MAX_PIXELS, max_side: int | None = WORKING_SIDE) -> Picture:
    """Decode a JPEG, PNG, WebP, AVIF, TIFF, BMP or GIF (first frame), or a HEIC if possible, to a BGR image.

    Transparent pixels become white, 16-bit and floating point values are scaled to 8 bits, EXIF orientation is applied,
    and the longest side shrinks to ``max_side`` pixels (never grows; None keeps the size). A JPEG is decoded at
    1/2, 1/4 or 1/8 of its size if this is enough, and a TIFF of more than ``max_pixels`` strip by strip.

    Raises:
        EmptyImageError: the file is empty.
        NotAnImageError: the bytes have none of these formats.
        TruncatedImageError: the bytes begin like one of these formats but are cut short or damaged.
        ImageTooLargeError: more than ``max_pixels`` pixels would be in memory at once, or a JPEG has more than
            ``MAX_SCANS`` scans.
    """
    if max_pixels < 1 or (max_side is not None and max_side < 1):
        raise ValueError(f"max_pixels and max_side must be at least 1, not {max_pixels} and {max_side}")
    if not data:
        raise EmptyImageError("the file is empty")
    with quiet.entered(), _open(data) as opened:
        return _read(opened, data, max_pixels, max_side)


def pixels_to_decode(data: bytes, *, max_pixels: int | None = MAX_PIXELS, max_side: int | None = WORKING_SIDE) -> int:
    """Return the number of pixels that ``decode`` would have in memory, by the header; less than in most JPEG files.

    The errors are those that ``decode`` raises before it decodes a pixel, and ImageTooLargeError for a picture that
    declares more than ``max_pixels``, however few of them would be in memory; None allows any number.
    """
    if not data:
        raise EmptyImageError("the file is empty")
    with quiet.entered(), _open(data) as opened:
        whole = _declared(opened)
        if max_pixels is not None and whole > max_pixels:
            raise ImageTooLargeError(
                f"the picture declares {opened.width} x {opened.height} pixels, and at most {max_pixels:,} pixels are "
                "allowed: save the picture smaller"
            )
        try:
            return _prepared(opened, max_side)
        except Exception:  # noqa: BLE001  # what is damaged there is told by decoding
            return whole


def _open(data: bytes) -> ImageFile.ImageFile:
    """Return the picture with its header read and its pixels not yet decoded."""
    try:
        opened = Pillow.open(io.BytesIO(data), formats=formats())
    # For hostile headers, Pillow's readers raise exceptions of any class: ValueError, OverflowError, KeyError ...
    except Exception as error:
        raise _unreadable(data, error) from error
    width, height = opened.size
    if width < 1 or height < 1:
        raise TruncatedImageError(
            f"the {opened.format} picture declares {width} x {height} pixels; the file is damaged"
        )
    if opened.format in ("JPEG", "MPO") and (count := scans(data)) > MAX_SCANS:
        raise ImageTooLargeError(f"the picture has {count:,} scans, and at most {MAX_SCANS} are allowed: save it again")
    return opened


def _declared(opened: ImageFile.ImageFile) -> int:
    """Return the number of pixels of a picture, or of one of its tiles if that is larger."""
    tile = getattr(opened, "_tile_size", opened.size)
    return max(opened.width * opened.height, int(tile[0]) * int(tile[1]))


def _read(opened: ImageFile.ImageFile, data: bytes, max_pixels: int, max_side: int | None) -> Picture:
    try:
        width, height = opened.size
        pixels = _prepared(opened, max_side)
        bands = TiffBands.of(opened, data) if pixels > max_pixels and max_side is not None else None
        image = None if bands is None or max_side is None else _by_bands(bands, max_pixels, max_side)
        if image is None:
            _check_pixels(pixels, max_pixels, (width, height))
            opened.load()
            image = _to_bgr(opened)
        orientation = _orientation(opened)
        image = turn(shrink(image, max_side), orientation)
    except ImageError:
        raise
    except MemoryError as error:
        raise ImageTooLargeError(
            f"the picture of {opened.width} x {opened.height} pixels needs more memory than is free: save it smaller"
        ) from error
    # Damaged pixels can also raise any exception, and one bad file must never stop a run.
    except Exception as error:
        reason = str(error) or type(error).__name__
        raise TruncatedImageError(f"the {opened.format} picture is cut short or damaged: {reason}") from error
    sideways = orientation >= 5
    return Picture(image, height if sideways else width, width if sideways else height)


def _prepared(opened: ImageFile.ImageFile, max_side: int | None) -> int:
    """Let a JPEG decode to 1/2, 1/4 or 1/8 of its size, in a fraction of the time, but never below the wanted size.

    Return the number of pixels then in memory: all pixels for a progressive JPEG, whose coefficients stay in memory.
    """
    whole = _declared(opened)
    if max_side is not None:
        width, height = opened.size
        scale = min(1.0, max_side / max(width, height))
        opened.draft(None, (max(1, round(width * scale)), max(1, round(height * scale))))
    return whole if opened.info.get("progressive") else _declared(opened)


def _check_pixels(pixels: int, max_pixels: int, size: tuple[int, int]) -> None:
    if pixels > max_pixels:
        raise ImageTooLargeError(
            f"the picture has {size[0]} x {size[1]} pixels, and at most {max_pixels:,} may be in memory: raise the "
            f"limit with `max_pixels={pixels}`, or save the picture smaller"
        )


def _by_bands(bands: TiffBands, max_pixels: int, max_side: int) -> Image | None:
    """Return a large TIFF, shrunk band by band to somewhat more than the wanted size; None if a band is too large."""
    factor = 1 << max(0, (max(bands.opened.size) // (2 * max_side)).bit_length() - 1)
    count = factor // math.gcd(factor, bands.rows)  # so that bands end at the edges of the averaged blocks
    if bands.pixels(count) > max_pixels:
        return None
    count *= max(1, min(_BAND_PIXELS, max_pixels) // bands.pixels(count))
    return np.concatenate([_averaged(file, factor) for file in bands.files(count)])


def _averaged(file: bytes, factor: int) -> Image:
    """Return a picture whose pixels are means of ``factor`` x ``factor`` of a file's."""
    with _open(file) as opened:
        opened.load()
        image = _to_bgr(opened)
    size = max(1, round(image.shape[1] / factor)), max(1, round(image.shape[0] / factor))
    return np.asarray(cv2.resize(image, size, interpolation=cv2.INTER_AREA), dtype=np.uint8)


def _orientation(opened: ImageFile.ImageFile) -> int:
    """Return the EXIF orientation, 1 to 8; 1 (upright) if it is missing or unreadable."""
    try:
        value = opened.getexif().get(_ORIENTATION, 1)
        return int(value) if 1 <= value <= 8 else 1
    except Exception:  # noqa: BLE001  # damaged EXIF data ends in any exception
        return 1


def _unreadable(data: bytes, error: Exception) -> ImageError:
    found = [name for name, signatures in _SIGNATURES.items() if data.startswith(signatures)]
    found += ["WEBP"] if data[:4] == b"RIFF" and data[8:12] == b"WEBP" else []
    if found:
        return TruncatedImageError(f"the file begins like {found[0]}, but its header is cut short or damaged")
    heic = data[4:8] == b"ftyp" and data[8:11] in (b"hei", b"hev", b"mif")
    hint = ": HEIC needs the package pillow-heif, pip install 'crossview[heic]'" if heic else ""
    return NotAnImageError(f"the file is not a picture in a supported format ({KNOWN}){hint}")


def _to_bgr(opened: Pillow.Image) -> Image:
    """Return the loaded picture as (height, width, 3) BGR uint8, C-contiguous, with transparency laid on white."""
    mode = opened.mode
    if mode.startswith("I;16"):
        return _grey_to_bgr(_from_16_bits(opened))
    if mode in ("I", "F"):
        return _grey_to_bgr(_from_numbers(np.asarray(opened)))
    if mode == "LAB":
        return np.asarray(cv2.cvtColor(np.asarray(opened), cv2.COLOR_LAB2BGR), dtype=np.uint8)
    if mode == "CMYK" and opened.format == "JPEG" and "adobe" not in opened.info:
        # Pillow undoes Adobe's inversion of every CMYK JPEG; one without Adobe's marker was never inverted.
        opened = Pillow.fromarray(255 - np.asarray(opened), "CMYK")
    if opened.has_transparency_data:
        opened = _on_white(opened)
    if mode in ("1", "L") and opened.mode in ("1", "L"):
        return _grey_to_bgr(np.asarray(opened.convert("L")))
    return np.asarray(cv2.cvtColor(np.asarray(opened.convert("RGB")), cv2.COLOR_RGB2BGR), dtype=np.uint8)


def _on_white(opened: Pillow.Image) -> Pillow.Image:
    layer = opened.convert("RGBA")
    canvas = Pillow.new("RGB", layer.size, "white")
    canvas.paste(layer, mask=layer.getchannel("A"))
    return canvas


def _from_16_bits(opened: Pillow.Image) -> NDArray[np.uint8]:
    """Return values 0..65535 as 0..255, rounded; a PNG's transparent grey becomes white."""
    values = np.asarray(opened).astype(np.uint32)
    scaled = ((values + 128) // 257).astype(np.uint8)
    transparent = opened.info.get("transparency")
    if isinstance(transparent, int):
        scaled[values == transparent] = 255
    return scaled


def _from_numbers(values: NDArray[np.int32] | NDArray[np.float32]) -> NDArray[np.uint8]:
    """Return 32-bit integers or floats as 0..255.

    Such files do not state their range. Floats within 0..1, and values within 0..255 or 0..65535, are read as such;
    other values are stretched between the least and greatest finite value. Infinite values and NaN become black.
    """
    low, high = _finite_range(values)
    if low >= 0 and high <= 65535:
        low = 0.0
        is_unit = values.dtype.kind == "f" and high <= 1
        high = 1.0 if is_unit else 255.0 if high <= 255 else 65535.0
    factor = 255.0 / max(high - low, np.finfo(np.float64).tiny)
    return np.concatenate([_scaled(block, low, factor) for block in _blocks(values)])


def _finite_range(values: NDArray[np.int32] | NDArray[np.float32]) -> tuple[float, float]:
    """Return the least and the greatest finite value; 0 and 0 if there is none."""
    ranges = [(block.min(), block.max()) for rows in _blocks(values) if len(block := rows[np.isfinite(rows)])]
    return (float(min(low for low, _ in ranges)), float(max(high for _, high in ranges))) if ranges else (0.0, 0.0)


def _scaled(values: NDArray[np.int32] | NDArray[np.float32], low: float, factor: float) -> NDArray[np.uint8]:
    finite = np.isfinite(values)
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = (np.where(finite, values, 0).astype(np.float64) - low) * factor
    return np.where(finite, np.clip(np.nan_to_num(np.rint(scaled)), 0, 255), 0).astype(np.uint8)


def _blocks(values: NDArray[np.int32] | NDArray[np.float32]) -> list[NDArray[Any]]:
    """Return blocks of rows, some hundred thousand pixels each, because computing takes eight bytes for each pixel."""
    return np.array_split(values, 1 + values.size // _BLOCK_PIXELS)


def _grey_to_bgr(grey: NDArray[np.uint8]) -> Image:
    return np.asarray(cv2.cvtColor(grey, cv2.COLOR_GRAY2BGR), dtype=np.uint8)


def scans(data: bytes) -> int:
    """Return the number of scans of the first picture of a JPEG file; up to ``MAX_SCANS``, lookalikes also count."""
    if (most := data.count(_SCAN_BYTES)) <= MAX_SCANS:
        return most  # a quick count that is enough for nearly all files
    found, place = 0, _START
    while (marker := _MARKER.search(data, place)) is not None and (kind := marker[1][0]) != _END:
        found += kind == _SCAN
        place = marker.end() + int.from_bytes(data[marker.end() : marker.end() + 2])
    return found
