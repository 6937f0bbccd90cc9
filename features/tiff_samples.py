"""TIFF pictures that Pillow does not read: floats, and samples of 16 bits or more in planes, with alpha or as Lab."""

import io
import math
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pillow
from PIL import ImageFile
from PIL.TiffImagePlugin import ImageFileDirectory_v2

from crossview.features.errors import NotAnImageError
from crossview.features.image import Image
from crossview.features.levels import levels
from crossview.features.tiff_bands import STRIPS, TILES, TiffBands

_WIDTH, _HEIGHT, _BITS, _COMPRESSION, _COLOURS, _FILL_ORDER = 256, 257, 258, 259, 262, 266
_ORIENTATION, _SAMPLES, _ROWS, _PLANES, _PREDICTOR = 274, 277, 278, 284, 317
_TILE_WIDTH, _TILE_HEIGHT, _EXTRA, _KIND, _PROFILE = 322, 323, 338, 339, 34675
_LOSSLESS = (1, 5, 8, 32773, 32946, 50000)
"""Compressions of any bytes: none, LZW, Deflate, PackBits, Deflate of Adobe, Zstandard."""
_COUNTS = {0: 1, 1: 1, 2: 3, 8: 3, 9: 3}
"""Number of colours by the tag that says what they mean: grey (0 is white, or black), RGB, Lab (two ways)."""
_KINDS = {1: "u", 2: "i", 3: "f"}
_DIFFERENCES, _FLOAT_DIFFERENCES = 2, 3
_NONE = 1
_MULTIPLIED, _ALPHA = 1, 2
"""Kinds of the sample after the colours: alpha by which the colours are multiplied, and other alpha."""
_ICC_LAB = 9


class TiffSamples(ImageFile.ImageFile):
    """A TIFF whose samples are numbers of 8, 16, 32 or 64 bits, uncompressed or with a lossless compression.

    Pillow decompresses its strips or tiles as rows of bytes, which become numbers here. Opening it raises
    NotAnImageError for another TIFF, and any exception for a damaged one.
    """

    is_planar: bool
    tags: ImageFileDirectory_v2
    pixels: int
    """Number of pixels of three bytes that take as much memory."""
    count: int
    """Number of samples of a pixel."""
    colours: int
    """The meaning of the samples, see ``_COUNTS``."""
    type: np.dtype[Any]
    """The type of a sample in the file."""

    format = "TIFF"

    def _open(self) -> None:
        self.data: bytes = self.fp.read() if self.fp is not None else b""
        file = io.BytesIO(self.data)
        header = self.data[: 16 if self.data[2:4] in (b"+\0", b"\0+") else 8]
        self.tags = tags = ImageFileDirectory_v2(header)
        file.seek(tags.next)
        tags.load(file)
        self._size = int(tags[_WIDTH]), int(tags[_HEIGHT])
        self.count, bits, kinds = int(tags.get(_SAMPLES, 1)), set(tags.get(_BITS, (1,))), set(tags.get(_KIND, (1,)))
        self.colours, self.is_planar = int(tags[_COLOURS]), tags.get(_PLANES, 1) == 2
        if not any(places <= set(tags) for places in ({*STRIPS}, {*TILES})):
            raise SyntaxError("the TIFF does not say where its pixels are")
        supported = len(bits) == 1 and len(kinds) == 1 and bits <= {8, 16, 32, 64} and kinds <= _KINDS.keys()
        supported &= tags.get(_COMPRESSION, _NONE) in _LOSSLESS and tags.get(_FILL_ORDER, 1) == 1
        supported &= self.colours not in (8, 9) or (max(bits) <= 16 and kinds <= {1, 2})
        supported &= _COUNTS.get(self.colours, math.inf) <= self.count <= 5 and not (kinds == {3} and bits == {8})
        if not supported:
            raise NotAnImageError(
                f"a TIFF of this kind is not supported ({self.count} samples of {'/'.join(map(str, sorted(bits)))} "
                f"bits, compression {tags.get(_COMPRESSION, _NONE)}, photometric interpretation {self.colours}): save "
                "it as RGB with 8 bits"
            )
        (sample_bits,), (kind,) = bits, kinds
        tile_width, tile_height = int(tags.get(_TILE_WIDTH, 1)), int(tags.get(_TILE_HEIGHT, 1))
        weight = max(1, self.count * sample_bits // 24)
        self.pixels = max(self._size[0], tile_width) * max(self._size[1], tile_height) * weight
        self.type = np.dtype(f"{'>' if tags.prefix == b'MM' else '<'}{_KINDS[kind]}{sample_bits // 8}")
        self._mode = "LAB" if self.colours in (8, 9) else "RGB" if self.colours == 2 else "L"
        self.info["icc_profile"] = tags.get(_PROFILE)
        self._tile = [("raw", (0, 0, *self._size), 0, None)]

    def load(self) -> None:
        """Do nothing: ``bgr`` decodes the picture."""

    def getexif(self) -> Pillow.Exif:
        """Return EXIF data with the orientation."""
        exif = Pillow.Exif()
        exif[_ORIENTATION] = self.tags.get(_ORIENTATION, 1)
        return exif

    def bgr(self) -> Image:
        """Return the decoded picture, BGR uint8, (height, width, 3), with transparency laid on white."""
        planes = self.count if self.is_planar else 1
        numbers = np.concatenate([self._plane(number, planes) for number in range(planes)], axis=2)
        with np.errstate(over="ignore", invalid="ignore"):
            numbers = numbers.astype(np.float32 if self.type.kind == "f" else self.type.newbyteorder("="), copy=False)
        if self.mode == "LAB":
            return self._from_lab(numbers[:, :, :3])
        picture = levels(numbers[:, :, : _COUNTS[self.colours]])
        picture = 255 - picture if self.colours == 0 else picture
        kind = next(iter(self.tags.get(_EXTRA, ())), None)
        if kind in (_MULTIPLIED, _ALPHA) and self.count > picture.shape[2]:
            alpha = numbers[:, :, picture.shape[2]]
            most = 1.0 if alpha.dtype.kind == "f" else np.iinfo(alpha.dtype).max
            share = np.clip(np.nan_to_num(alpha.astype(np.float32) / most), 0, 1)[:, :, None]
            painted = (picture if kind == _MULTIPLIED else picture * share) + 255 * (1 - share)
            picture = np.clip(np.rint(painted), 0, 255).astype(np.uint8)
        return np.ascontiguousarray(np.broadcast_to(picture[:, :, ::-1], (*picture.shape[:2], 3)))

    def _from_lab(self, numbers: NDArray[Any]) -> Image:
        """Return Lab as BGR. L is unsigned; a and b are signed or, in the Lab of ICC, have their zero in the middle."""
        bits = 8 * self.type.itemsize
        whole = numbers.view(f"u{self.type.itemsize}")
        most = 0xFF00 if self.colours == _ICC_LAB and bits == 16 else 2**bits - 1
        light = whole[:, :, 0].astype(np.float32) * (100 / most)
        colours = whole[:, :, 1:].astype(np.float32) - 2 ** (bits - 1)
        if self.colours != _ICC_LAB:
            colours = whole[:, :, 1:].view(f"i{self.type.itemsize}").astype(np.float32)
        lab = np.dstack([light, colours / 2 ** (bits - 8)])
        return np.asarray(np.rint(255 * cv2.cvtColor(lab, cv2.COLOR_LAB2BGR)), np.uint8)

    def _plane(self, number: int, planes: int) -> NDArray[Any]:
        """Return the samples of one of the planes, (height, width, samples of a pixel in the plane)."""
        head, (width, height), samples = self.tags, self._size, self.count // planes
        tags = TILES if TILES[0] in head else STRIPS
        is_tiled = tags is TILES
        tile_width, rows = (head[_TILE_WIDTH], head[_TILE_HEIGHT]) if is_tiled else (width, head.get(_ROWS, height))
        rows, across = min(rows, height) if not is_tiled else rows, math.ceil(width / tile_width)
        row_bytes = tile_width * samples * self.type.itemsize
        # The pixels of this directory are the bytes of the samples, so Pillow decompresses them and converts nothing.
        directory = ImageFileDirectory_v2(prefix=head.prefix)
        for tag, value in ((_BITS, 8), (_COMPRESSION, head.get(_COMPRESSION, _NONE)), (_COLOURS, 1), (_SAMPLES, 1)):
            directory[tag] = value
        for tag, value in ((_TILE_WIDTH, row_bytes), (_TILE_HEIGHT, rows)) if is_tiled else ((_ROWS, rows),):
            directory[tag] = value
        per_plane = across * math.ceil(height / rows)
        offsets, lengths = (head[tag][number * per_plane : (number + 1) * per_plane] for tag in tags)
        size = across * row_bytes, height
        bands = TiffBands(directory, size, self.data, tags, offsets, lengths, rows, across, size[0])
        with Pillow.open(io.BytesIO(next(bands.files(math.ceil(height / rows)))), formats=("TIFF",)) as opened:
            raw = np.array(opened).reshape(height, across, -1)
        return self._numbers(raw, samples).reshape(height, across * tile_width, samples)[:, :width]

    def _numbers(self, raw: NDArray[np.uint8], samples: int) -> NDArray[Any]:
        """Return rows of bytes, (height, tiles, bytes), as numbers, (height, tiles, width of a tile, samples)."""
        size, predictor = self.type.itemsize, self.tags.get(_PREDICTOR, _NONE)
        if predictor == _FLOAT_DIFFERENCES:
            sums = np.cumsum(raw.reshape(*raw.shape[:2], -1, samples), axis=2, dtype=np.uint8)
            numbers = np.moveaxis(sums.reshape(*raw.shape[:2], size, -1), 2, -1)
            return np.ascontiguousarray(numbers).view(f">f{size}").reshape(*raw.shape[:2], -1, samples)
        numbers = raw.view(self.type).reshape(*raw.shape[:2], -1, samples)
        if predictor == _DIFFERENCES:
            whole = numbers.view(f"{self.type.byteorder}u{size}").astype(f"=u{size}")
            numbers = np.cumsum(whole, axis=2, dtype=whole.dtype).view(self.type.newbyteorder("="))
        return numbers
