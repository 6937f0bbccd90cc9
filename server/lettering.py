"""Lettering: text of any script drawn with the fonts that the system has, each character in one that knows it.

The font that comes with Pillow draws ASCII. Fontconfig says which of the installed fonts know other characters, the
preferred ones first. A character that none knows is drawn as its code, such as <U+4E2D>.
"""

import functools
import subprocess
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import NamedTuple

from PIL import ImageDraw, ImageFont

Colour = tuple[int, int, int]
_Font = ImageFont.FreeTypeFont | ImageFont.ImageFont
_FONTS = ("fc-match", "--sort", "sans-serif:scalable=true", "--format", "%{file}|%{index}|%{charset}\n")
_SECONDS = 20


class _FontFile(NamedTuple):
    """A font of the system."""

    path: str
    number: int
    """Its place in a file of several fonts."""
    ranges: tuple[range, ...]
    """The code points that it knows."""


class Lettering:
    """Draws text at one size, in pixels."""

    def __init__(self, draw: ImageDraw.ImageDraw, size: int) -> None:
        self._draw = draw
        self._size = size

    def width(self, text: str) -> float:
        """How many pixels wide a text is drawn."""
        return sum(self._draw.textlength(part, font) for part, font in self._parts(text))

    def line(self, corner: tuple[float, float], text: str, colour: Colour) -> None:
        """Draws a text on one line, its left upper corner given; line breaks become spaces."""
        left, top = corner
        base = top + self._ascent()
        for part, font in self._parts(text):
            self._draw.text((left, base), part, colour, font, anchor="ls")
            left += self._draw.textlength(part, font)

    def shortened(self, text: str, width: int) -> str:
        """The text, with dots for its middle where it is wider than ``width`` pixels: the end of a key says most."""
        if self.width(text) <= width:
            return text
        kept = 0
        while kept < len(text) and self.width(_cut(text, kept + 1)) <= width:
            kept += 1
        return _cut(text, kept)

    def _ascent(self) -> int:
        font = _plain(self._size)
        return font.getmetrics()[0] if isinstance(font, ImageFont.FreeTypeFont) else self._size

    def _parts(self, text: str) -> Iterator[tuple[str, _Font]]:
        """The text in parts that are each of one font."""
        for file, characters in groupby(legible(text), _file):
            yield "".join(characters), _plain(self._size) if file is None else _loaded(file, self._size)


def legible(text: str) -> str:
    """The text on one line, with codes for the characters that cannot be drawn."""
    line = " ".join(unicodedata.normalize("NFC", text).split())
    return "".join(one if _drawable(one) else f"<U+{ord(one):04X}>" for one in line)


def unknown(texts: Iterable[str]) -> str:
    """The characters of texts that no font knows, each once, in the order of their codes."""
    characters = {one for text in texts for one in unicodedata.normalize("NFC", text) if not one.isspace()}
    return "".join(sorted(one for one in characters if one.isprintable() and not _drawable(one)))


def _cut(text: str, kept: int) -> str:
    """So many characters of the text, two in three from its end."""
    head = kept // 3
    return f"{text[:head]}...{text[len(text) - (kept - head) :]}"


def _drawable(character: str) -> bool:
    return character.isprintable() and (character.isascii() or _file(character) is not None)


@functools.lru_cache(maxsize=4096)
def _file(character: str) -> _FontFile | None:
    """The font of the system that draws a character; None for Pillow's own, which draws ASCII."""
    if character.isascii():
        return None
    knowing = (file for file in system_fonts() if any(ord(character) in part for part in file.ranges))
    return next(filter(_opens, knowing), None)


@functools.cache
def system_fonts() -> tuple[_FontFile, ...]:
    """The fonts that are installed, the preferred ones first; none where there is no fontconfig."""
    try:
        told = subprocess.run(_FONTS, capture_output=True, text=True, timeout=_SECONDS, check=True).stdout
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return ()
    files = []
    for line in told.splitlines():
        path, index, charset = line.rsplit("|", 2)
        files.append(_FontFile(path, int(index) & 0xFFFF, tuple(map(_range, charset.split()))))  # above: an instance
    return tuple(files)


def _range(text: str) -> range:
    """The code points of fontconfig's ``4e00-9fff`` or ``20``."""
    first, _, last = text.partition("-")
    return range(int(first, 16), int(last or first, 16) + 1)


def _opens(file: _FontFile) -> bool:
    """Whether Pillow can draw with a font; not with those of coloured pictures, which have one size."""
    try:
        _loaded(file, 14)
    except (OSError, ValueError):
        return False
    return True


@functools.cache
def _loaded(file: _FontFile, size: int) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(file.path, size, file.number)


@functools.cache
def _plain(size: int) -> _Font:
    return ImageFont.load_default(size)
