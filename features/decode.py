"""Decoding of untrusted picture files to working images. Only this module reads picture formats."""

import io
import math
import re
from contextlib import nullcontext
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pillow
from PIL import ImageFile
from PIL.TiffImagePlugin import TiffImageFile

from crossview.features.errors import (
    Argument,
    EmptyImageError,
    ImageError,
    ImageTooLargeError,
    NotAnImageError,
    TruncatedImageError,
)
from crossview.features.extras import lacking
from crossview.features.formats import KNOWN, SIGNATURES, formats
from crossview.features.image import Image, shrink, turn
from crossview.features.levels import levels
from crossview.features.pictures import MAX_PIXELS
from crossview.features.profile import Profile
from crossview.features.quiet import quiet
from crossview.features.tiff_bands import TiffBands
from crossview.features.tiff_samples import TiffSamples

WORKING_SIDE = 640
"""Longest side, in pixels, of images for feature extraction."""
MAX_SCANS = 100
"""Maximum number of scans of a JPEG; encoders write about ten. Each scan of a progressive JPEG passes over the whole
picture, even if the scan is empty, so a small file with many scans can take hours."""

_MARKER = re.compile(rb"\xff+([^\x00\x01\xff\xd0-\xd7])")
"""A marker with a length; inside the data of a scan, 0 or a marker without a length follows 0xff."""
_START, _SCAN, _END = 2, 0xDA, 0xD9
_FRAMES = {*range(0xC0, 0xD0), 0xF7} - {0xC4, 0xC8, 0xCC}
"""Markers of the header of a frame, which states its size."""
_COMMON_FRAMES = (0xC0, 0xC1, 0xC2, 0xC9, 0xCA)
"""Those of frames with sequential or progressive coefficients; others are lossless or hierarchical."""
_NOT_SUPPORTED = "(?i)unsupported|not supported|not configured|unknown raw mode|BigTIFF"
_SCAN_BYTES, _END_BYTES = bytes((0xFF, _SCAN)), bytes((0xFF, _END))
_TAIL = b"\x55" * 64
"""Bytes that change the pixels of a JPEG whose scan is cut short."""
_PNG_HEADER, _PNG_CHUNKS = 8, (b"IHDR", b"PLTE", b"tRNS", b"iCCP", b"eXIf", b"IDAT", b"IEND")
"""Length of the signature of a PNG, and the chunks that its pixels and their colours need."""
_ORIENTATION = 0x0112
_BITS, _PLANES, _PALETTE, _SEPARATE = 258, 284, 320, 2
"""Tags of a TIFF, and the value of planes."""
_UNSIGNED_LAB = np.array([0, 128, 128], np.uint8)
_BAND_PIXELS = 1 << 24
"""Usual number of pixels of a band of a large picture."""


@dataclass(frozen=True, eq=False)
class Picture:
    """A decoded picture and its size as displayed."""

    image: Image
    """BGR uint8, (height, width, 3), C-contiguous, upright, its longest side at most the requested one."""
    width: int
    """Pixels of the file's picture as displayed, before any shrinking."""
    height: int
    has_profile: bool = False
    """Whether the file states another colour space than sRGB, so that readings with and without it differ."""


def decode(
    data: bytes, *, max_pixels: int = MAX_PIXELS, max_side: int | None = WORKING_SIDE, profiles: bool = True
) -> Picture:
    """Decode a JPEG, PNG, WebP, AVIF, TIFF, BMP or GIF (first frame), or a HEIC if possible, to a BGR image.

    Transparent pixels become white, 16-bit and floating point values are scaled to 8 bits, EXIF orientation is applied,
    and the longest side shrinks to ``max_side`` pixels (never grows; None keeps the size). A JPEG is decoded at
    1/2, 1/4 or 1/8 of its size if this is enough, and a TIFF of more than ``max_pixels`` strip by strip. Colours become
    those of sRGB by the ICC profile in the file, unless it is damaged or does not fit, or ``profiles`` is False.

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
    with quiet.entered():
        try:
            return _decoded(data, max_pixels, max_side, profiles)
        except TruncatedImageError:
            if (mended := _without_texts(data) or _with_end(data, max_pixels, max_side)) is None:
                raise
            return _decoded(mended, max_pixels, max_side, profiles)


def _decoded(data: bytes, max_pixels: int, max_side: int | None, profiles: bool) -> Picture:
    with _open(data) as opened:
        return _read(opened, data, max_pixels, max_side, profiles)


def _without_texts(data: bytes) -> bytes | None:
    """Return a PNG without the chunks that no pixel needs, which may be damaged or too large.

    None for another file, and for one that has no such chunks.
    """
    if not data.startswith(SIGNATURES["PNG"]):
        return None
    chunks, place = [data[:_PNG_HEADER]], _PNG_HEADER
    while place < len(data):
        end = place + 12 + int.from_bytes(data[place : place + 4])
        if data[place + 4 : place + 8] in _PNG_CHUNKS:
            chunks.append(data[place:end])
        place = end
    shorter = b"".join(chunks)
    return shorter if shorter != data else None


def _with_end(data: bytes, max_pixels: int, max_side: int | None) -> bytes | None:
    """Return a JPEG that lacks only the marker at its end, with the marker; None for another file.

    Its pixels are complete if they do not depend on the bytes that follow.
    """
    if not data.startswith(SIGNATURES["JPEG"]) or data.endswith(_END_BYTES):
        return None
    data = data.rstrip(b"\xff")  # half of the marker
    try:
        ended, other = (_decoded(data + tail + _END_BYTES, max_pixels, max_side, False) for tail in (b"", _TAIL))
    except ImageError:
        return None
    return data + _END_BYTES if np.array_equal(ended.image, other.image) else None


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
        except Exception:  # noqa: BLE001  # decoding reports what is damaged there
            return whole


def _open(data: bytes) -> ImageFile.ImageFile:
    """Return the picture with its header read and its pixels not yet decoded."""
    try:
        opened = Pillow.open(io.BytesIO(data), formats=formats())
        if isinstance(opened, TiffImageFile) and _is_misread(opened):
            opened = TiffSamples(io.BytesIO(data))
    # For hostile headers, Pillow's readers raise exceptions of any class: ValueError, OverflowError, KeyError ...
    except Exception as error:  # noqa: BLE001
        if (shorter := _without_texts(data)) is not None:
            return _open(shorter)
        opened = _other_tiff(data, error)
    width, height = opened.size
    if width < 1 or height < 1:
        raise TruncatedImageError(
            f"the {opened.format} picture declares {width} x {height} pixels; the file is damaged"
        )
    if opened.format in ("JPEG", "MPO") and (count := scans(data)) > MAX_SCANS:
        raise ImageTooLargeError(f"the picture has {count:,} scans, and at most {MAX_SCANS} are allowed: save it again")
    return opened


def _is_misread(opened: TiffImageFile) -> bool:
    """Return whether Pillow would read planes of 16 bits as planes of 8 bits."""
    tags = opened.tag_v2
    return opened.info.get("compression") == "raw" and tags.get(_PLANES) == _SEPARATE and max(tags.get(_BITS, (1,))) > 8


def _other_tiff(data: bytes, error: Exception) -> TiffSamples:
    """Return a TIFF that Pillow does not open; raise the reason why a file cannot be read if it is none."""
    try:
        if not data.startswith(SIGNATURES["TIFF"]):
            raise _unreadable(data, error) from error
        return TiffSamples(io.BytesIO(data))
    except ImageError:
        raise
    except Exception as another:
        raise _unreadable(data, error) from another


def _declared(opened: ImageFile.ImageFile) -> int:
    """Return the number of pixels of a picture, or of one of its tiles if that is larger."""
    if isinstance(opened, TiffSamples):
        return opened.pixels
    tile = getattr(opened, "_tile_size", opened.size)
    return max(opened.width * opened.height, int(tile[0]) * int(tile[1]))


def _read(opened: ImageFile.ImageFile, data: bytes, max_pixels: int, max_side: int | None, profiles: bool) -> Picture:
    lines = list[str]()
    try:
        with quiet.lines() if opened.format == "TIFF" else nullcontext(lines) as lines:
            return _picture(opened, data, max_pixels, max_side, profiles)
    except ImageError:
        raise
    except MemoryError as error:
        raise ImageTooLargeError(
            f"the picture of {opened.width} x {opened.height} pixels needs more memory than is free: save it smaller"
        ) from error
    # Damaged pixels can also raise any exception, and one bad file must never stop a run.
    except Exception as error:
        reason = lines[-1] if lines else str(error) or type(error).__name__
        if (kind := _unsupported(data, reason)) is not None:
            raise kind from error
        raise TruncatedImageError(f"the {opened.format} picture is cut short or damaged: {reason}") from error


def _picture(
    opened: ImageFile.ImageFile, data: bytes, max_pixels: int, max_side: int | None, profiles: bool
) -> Picture:
    width, height = opened.size
    pixels = _prepared(opened, max_side)
    profile = Profile.of(opened)
    used = profile if profiles else None
    bands = TiffBands.of(opened, data) if pixels > max_pixels and max_side is not None else None
    image = None if bands is None or max_side is None else _by_bands(bands, max_pixels, max_side, used)
    if image is None:
        _check_pixels(pixels, max_pixels, (width, height))
        opened.load()
        image = _to_bgr(opened, used)
    orientation = _orientation(opened)
    image = turn(_in_srgb(shrink(image, max_side), used), orientation)
    size = (height, width) if orientation >= 5 else (width, height)
    return Picture(image, *size, has_profile=profile is not None)


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
            f"the picture has {size[0]} x {size[1]} pixels, and at most {max_pixels:,} may be in memory: "
            "raise the limit with ",
            Argument("max_pixels", pixels),
            ", or save the picture smaller",
        )


def _by_bands(bands: TiffBands, max_pixels: int, max_side: int, profile: Profile | None) -> Image | None:
    """Return a large TIFF, shrunk band by band to somewhat more than the wanted size; None if a band is too large."""
    factor = 1 << max(0, (max(bands.size) // (2 * max_side)).bit_length() - 1)
    count = factor // math.gcd(factor, bands.rows)  # so that bands end at the edges of the averaged blocks
    if bands.pixels(count) > max_pixels:
        return None
    count *= max(1, min(_BAND_PIXELS, max_pixels) // bands.pixels(count))
    return np.concatenate([_averaged(file, factor, profile) for file in bands.files(count)])


def _averaged(file: bytes, factor: int, profile: Profile | None) -> Image:
    """Return a picture whose pixels are means of ``factor`` x ``factor`` of a file's."""
    with _open(file) as opened:
        opened.load()
        image = _to_bgr(opened, profile)
    size = max(1, round(image.shape[1] / factor)), max(1, round(image.shape[0] / factor))
    return np.asarray(cv2.resize(image, size, interpolation=cv2.INTER_AREA), dtype=np.uint8)


def _orientation(opened: ImageFile.ImageFile) -> int:
    """Return the EXIF orientation, 1 to 8; 1 (upright) if it is missing or unreadable."""
    try:
        value = opened.getexif().get(_ORIENTATION, 1)
        return int(value) if 1 <= value <= 8 else 1
    except Exception:  # noqa: BLE001  # damaged EXIF data ends in any exception
        return 1


def _unsupported(data: bytes, reason: str) -> ImageError | None:
    """Return an error for a picture that is of a kind that Pillow does not read, and perhaps sound; None for others."""
    kind = "a JPEG of this kind" if data.startswith(SIGNATURES["JPEG"]) and not _is_common(data) else ""
    reason = "lossless, or with more than 8 bits" if kind else reason
    reason = "BigTIFF of Motorola's byte order" if data.startswith(SIGNATURES["TIFF"][-1]) else reason
    if re.search(_NOT_SUPPORTED, reason):
        kind = "a picture of this kind"
    return NotAnImageError(f"{kind} is not supported ({reason}): save it as RGB with 8 bits") if kind else None


def _is_common(data: bytes) -> bool:
    """Return whether the frame of a JPEG has 8 bits and is not lossless."""
    place = _START
    while (marker := _MARKER.search(data, place)) is not None and (kind := marker[1][0]) not in (_SCAN, _END):
        if kind in _FRAMES:
            return kind in _COMMON_FRAMES and data[marker.end() + 2 : marker.end() + 3] == b"\x08"
        place = marker.end() + int.from_bytes(data[marker.end() : marker.end() + 2])
    return True


def _unreadable(data: bytes, error: Exception) -> ImageError:
    if (kind := _unsupported(data, str(error))) is not None:
        return kind
    names = [name for name, signatures in SIGNATURES.items() if data.startswith(signatures)]
    names += ["AVIF"] if data[4:12] in (b"ftypavif", b"ftypavis") else []
    names += ["WEBP"] if data[:4] == b"RIFF" and data[8:12] == b"WEBP" else []
    if names:
        return TruncatedImageError(f"the file begins like {names[0]}, but its header is cut short or damaged")
    heic = data[4:8] == b"ftyp" and data[8:11] in (b"hei", b"hev", b"mif")
    unknown = f"the file is not a picture in a supported format ({KNOWN})"
    return lacking(NotAnImageError, f"{unknown}: HEIC needs pillow-heif", "heic") if heic else NotAnImageError(unknown)


def _to_bgr(opened: Pillow.Image, profile: Profile | None) -> Image:
    """Return the loaded picture as (height, width, 3) BGR uint8, C-contiguous, with transparency laid on white.

    The profile says what the inks of CMYK look like; ``_in_srgb`` uses other profiles, on fewer pixels.
    """
    mode = opened.mode
    if isinstance(opened, TiffSamples):
        return opened.bgr()
    if mode.startswith("I;16"):
        return _grey_to_bgr(_from_16_bits(opened))
    if mode in ("I", "F"):
        return _grey_to_bgr(levels(np.asarray(opened)))
    if mode == "LAB":
        # Pillow gives a and b as signed bytes, as in the file; OpenCV expects them from 0 to 255.
        return np.asarray(cv2.cvtColor(np.asarray(opened) ^ _UNSIGNED_LAB, cv2.COLOR_LAB2BGR), dtype=np.uint8)
    if mode == "CMYK" and opened.format == "JPEG" and "adobe" not in opened.info:
        # Pillow undoes Adobe's inversion of every CMYK JPEG; one without Adobe's marker was never inverted.
        opened = Pillow.fromarray(255 - np.asarray(opened), "CMYK")
    if mode == "CMYK" and profile is not None:
        return np.ascontiguousarray(profile.applied(np.asarray(opened))[:, :, ::-1])
    if mode == "La":
        opened = opened.convert("LA")  # Pillow converts grey multiplied by its alpha to nothing else
    if mode == "P" and isinstance(opened, TiffImageFile) and max(opened.tag_v2[_PALETTE]) <= 255:
        # Its values should have 16 bits; some scanners write 8.
        opened.putpalette(bytes(opened.tag_v2[_PALETTE]), "RGB;L")
    if opened.has_transparency_data:
        opened = _on_white(opened)
    if mode in ("1", "L") and opened.mode in ("1", "L"):
        return _grey_to_bgr(np.asarray(opened.convert("L")))
    return np.asarray(cv2.cvtColor(np.asarray(opened.convert("RGB")), cv2.COLOR_RGB2BGR), dtype=np.uint8)


def _in_srgb(image: Image, profile: Profile | None) -> Image:
    """Return a BGR image of grey or RGB pixels as sRGB by its profile; an image without one, or of CMYK, as it is."""
    if profile is None or profile.mode == "CMYK":
        return image
    pixels = image[:, :, 0] if profile.mode == "L" else image[:, :, ::-1]
    return np.ascontiguousarray(profile.applied(np.ascontiguousarray(pixels))[:, :, ::-1])


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


def _grey_to_bgr(grey: NDArray[np.uint8]) -> Image:
    return np.asarray(cv2.cvtColor(grey, cv2.COLOR_GRAY2BGR), dtype=np.uint8)


def scans(data: bytes) -> int:
    """Return the number of scans of the first picture of a JPEG file; up to ``MAX_SCANS``, lookalikes also count."""
    if (most := data.count(_SCAN_BYTES)) <= MAX_SCANS:
        return most  # a quick count that is enough for nearly all files
    count, place = 0, _START
    while (marker := _MARKER.search(data, place)) is not None and (kind := marker[1][0]) != _END:
        count += kind == _SCAN
        place = marker.end() + int.from_bytes(data[marker.end() : marker.end() + 2])
    return count
