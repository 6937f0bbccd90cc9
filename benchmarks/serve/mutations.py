"""Pictures that are not quite pictures: damaged files, and small files that ask for much memory or time."""

import itertools
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping

import numpy as np

from benchmarks.serve.drawn import FORMATS, picture

_SMALL = 64, 48
_PNG = b"\x89PNG\r\n\x1a\n"

Random = np.random.Generator


def mutated(seed: int) -> Iterator[bytes]:
    """Yield damaged pictures without end, of every format and by every kind of damage in turn."""
    generator = np.random.default_rng(seed)
    for change, kind in itertools.cycle(itertools.product(_CHANGES, FORMATS)):
        data = picture(int(generator.integers(8)), kind, _SMALL)
        yield change(data, generator)


def _flipped(data: bytes, generator: Random) -> bytes:
    damaged = bytearray(data)
    for place in generator.integers(len(data), size=generator.integers(1, 20)):
        damaged[place] ^= 1 << int(generator.integers(8))
    return bytes(damaged)


def _truncated(data: bytes, generator: Random) -> bytes:
    return data[: generator.integers(len(data))]


def _spliced(data: bytes, generator: Random) -> bytes:
    """Return the head of one and the rest of another, perhaps of another format."""
    other = picture(int(generator.integers(8)), str(generator.choice(FORMATS)), _SMALL)
    return data[: generator.integers(4, 64)] + other[generator.integers(len(other)) :]


def _overwritten(data: bytes, generator: Random) -> bytes:
    """Return random bytes, or those of the greatest numbers, in the head."""
    start, size = int(generator.integers(4, 60)), int(generator.integers(1, 9))
    patch = bytes([255]) * size if generator.random() < 0.5 else generator.bytes(size)
    return data[:start] + patch + data[start + size :]


def _repeated(data: bytes, generator: Random) -> bytes:
    start, end = sorted(generator.integers(len(data), size=2).tolist())
    return data[:end] + data[start:]


_CHANGES: tuple[Callable[[bytes, Random], bytes], ...] = (_flipped, _truncated, _spliced, _overwritten, _repeated)


def large_pictures() -> Mapping[str, bytes]:
    """Return small files by what they declare."""
    tiff = struct.pack("<2sHI", b"II", 42, 8)
    return {
        "PNG of 100 megapixels, RGBA": png(10_000, 10_000, 6, 40_000),
        "PNG of 24 megapixels, 16-bit RGBA": png(6_000, 4_000, 6, 48_000, depth=16),
        "PNG of 2^31 x 2^31": png(2**31 - 1, 2**31 - 1, 2, 0),
        "PNG with 64 MiB of compressed text": png(16, 16, 2, 48, _chunk(b"zTXt", b"a\0\0" + _zeros(1 << 26))),
        "PNG with a colour profile of 64 MiB": png(16, 16, 2, 48, _chunk(b"iCCP", b"a\0\0" + _zeros(1 << 26))),
        "TIFF of 20,000 directories": tiff + b"".join(struct.pack("<HI", 0, 8 + 6 * n) for n in range(1, 20_001)),
        "TIFF whose directory follows itself": tiff + _entries((256, 4, 1, 64), (257, 4, 1, 64)) + struct.pack("<I", 8),
        "TIFF of 2^32 x 2^32": tiff + _entries((256, 4, 1, 2**32 - 1), (257, 4, 1, 2**32 - 1)) + bytes(4),
        "TIFF with 2^31 strips": tiff + _entries((256, 4, 1, 64), (257, 4, 1, 64), (273, 4, 2**31, 8)) + bytes(4),
        "JPEG of 65,500 x 65,500": _jpeg(65_500, 65_500),
        "GIF of 65,535 x 65,535": _gif(65_535, 65_535),
        "GIF of 2,000 frames": _gif(64, 48, 2_000),
        "BMP of 2^31 x 2^31": _bmp(2**31 - 1, 2**31 - 1),
        "BMP of negative size": _bmp(-(2**31), -(2**31)),
        "WebP of 16,384 x 16,384": _webp(),
        "zeros": bytes(1 << 20),
    }


def png(width: int, height: int, colour: int, row: int, extra: bytes = b"", depth: int = 8) -> bytes:
    """Return a black PNG of a colour type, whose rows have so many bytes; ``extra`` chunks stand before its pixels."""
    head = _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0))
    return _PNG + head + extra + _chunk(b"IDAT", _zeros((row + 1) * height if row else 0)) + _chunk(b"IEND", b"")


def _zeros(count: int) -> bytes:
    packer, part = zlib.compressobj(9), bytes(1 << 20)
    whole, rest = divmod(count, len(part))
    return b"".join([*(packer.compress(part) for _ in range(whole)), packer.compress(bytes(rest)), packer.flush()])


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def _entries(*entries: tuple[int, int, int, int]) -> bytes:
    return struct.pack("<H", len(entries)) + b"".join(struct.pack("<HHII", *entry) for entry in entries)


def _jpeg(width: int, height: int) -> bytes:
    data = picture(0, "JPEG", _SMALL)
    place = data.index(b"\xff\xc0") + 5  # the marker, a length and the precision stand before the height
    return data[:place] + struct.pack(">HH", height, width) + data[place + 4 :]


def _gif(width: int, height: int, frames: int = 1) -> bytes:
    data = picture(0, "GIF", _SMALL)
    start = data.index(b"\x2c", 13 + 3 * (2 << (data[10] & 7)))  # the first image, behind the header and the palette
    return data[:6] + struct.pack("<HH", width, height) + data[10:start] + data[start:-1] * frames + b";"


def _bmp(width: int, height: int) -> bytes:
    data = picture(0, "BMP", _SMALL)
    return data[:18] + struct.pack("<ii", width, height) + data[26:]


def _webp() -> bytes:
    side = (16_384 - 1).to_bytes(3, "little")  # the format stores sides less one
    extended = b"VP8X" + struct.pack("<I", 10) + bytes(4) + side + side
    return b"RIFF" + struct.pack("<I", 4 + len(extended) + 1_000) + b"WEBP" + extended + picture(0, "WEBP", _SMALL)[12:]
