"""Bands of a large TIFF: whole rows of its strips or tiles, each as a small TIFF that can be decoded alone."""

import io
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from PIL.TiffImagePlugin import ImageFileDirectory_v2, TiffImageFile

_WIDTH, _HEIGHT, _ROWS_PER_STRIP, _TILE_WIDTH, _TILE_HEIGHT = 256, 257, 278, 322, 323
STRIPS, TILES = (273, 279), (324, 325)
"""Tags of their offsets and lengths."""
_COMPRESSION, _OLD_JPEG = 259, 6
_PLANES, _INTERLEAVED = 284, 1
_LONG = 4
_KEPT = (
    *(258, _COMPRESSION, 262, 266, 277, _ROWS_PER_STRIP, _PLANES, 292, 293, 317, 320),
    *(_TILE_WIDTH, _TILE_HEIGHT, 332, 338, 339, 347, 529, 530, 531, 532),
)
"""Tags with the encoding of strips and tiles."""
_BY_RANGE = ("I", "F")
"""Modes whose values are scaled by their range in the whole picture."""
_HEADER = 8


@dataclass(frozen=True, eq=False)
class TiffBands:
    """The positions of the strips or tiles of a TIFF."""

    directory: ImageFileDirectory_v2
    """The tags of the file."""
    size: tuple[int, int]
    """Width and height of the picture in pixels."""
    data: bytes
    tags: tuple[int, int]
    """The tags of offsets and lengths."""
    offsets: Sequence[int]
    lengths: Sequence[int]
    rows: int
    """Pixel rows of a strip or tile."""
    across: int
    """Number of strips or tiles beside each other."""
    width: int
    """Total pixels of strips or tiles beside each other."""

    @classmethod
    def of(cls, opened: Any, data: bytes) -> "TiffBands | None":
        """Return the bands of an opened picture; None unless it is a TIFF with strips that can be decoded alone."""
        if not isinstance(opened, TiffImageFile) or opened.mode in _BY_RANGE:
            return None
        directory = opened.tag_v2
        if directory.get(_PLANES, _INTERLEAVED) != _INTERLEAVED or directory.get(_COMPRESSION) == _OLD_JPEG:
            return None
        tags = TILES if TILES[0] in directory else STRIPS
        width, rows = opened.width, min(directory.get(_ROWS_PER_STRIP, opened.height), opened.height)
        if tags is TILES:
            width, rows = directory[_TILE_WIDTH], directory[_TILE_HEIGHT]
        across = math.ceil(opened.width / width)
        offsets, lengths = (directory[tag] if isinstance(directory[tag], tuple) else (directory[tag],) for tag in tags)
        if not len(offsets) == len(lengths) == across * math.ceil(opened.height / rows):
            return None
        return cls(directory, opened.size, data, tags, offsets, lengths, rows, across, across * width)

    def pixels(self, count: int) -> int:
        """Return the number of pixels of ``count`` rows of strips or tiles."""
        return count * self.rows * self.width

    def files(self, count: int) -> Iterator[bytes]:
        """Yield TIFF files of ``count`` rows of strips or tiles each, from the top."""
        for first in range(0, len(self.offsets), count * self.across):
            yield self._file(first, min(len(self.offsets), first + count * self.across))

    def _file(self, first: int, last: int) -> bytes:
        original = self.directory
        directory = ImageFileDirectory_v2(prefix=original.prefix)
        for tag in _KEPT:
            if tag in original:
                directory.tagtype[tag] = original.tagtype[tag]
                directory[tag] = original[tag]
        above = first // self.across * self.rows
        directory[_WIDTH] = self.size[0]
        directory[_HEIGHT] = min(self.size[1] - above, (last - first) // self.across * self.rows)
        places = list(zip(self.offsets[first:last], self.lengths[first:last], strict=True))
        pieces = [self.data[start : start + length] for start, length in places]
        starts = [0, *accumulate(map(len, pieces))][:-1]
        for tag in self.tags:
            directory.tagtype[tag] = _LONG
        directory[self.tags[0]], directory[self.tags[1]] = tuple(starts), tuple(map(len, pieces))
        if self.tags is TILES:  # Pillow itself counts the offsets of strips from the end of the directory
            end = _HEADER + len(directory.tobytes(_HEADER))
            directory[self.tags[0]] = tuple(end + start for start in starts)
        file = io.BytesIO()
        directory.save(file)
        return file.getvalue() + b"".join(pieces)
