"""Lettering: text of any script, with each character in an installed font that contains it.

Pillow's built-in font draws ASCII. Fontconfig lists the installed fonts and their characters, the preferred fonts
first. A character without a font is drawn as its code, such as <U+4E2D>.
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
"""Maximum time for fontconfig to list the fonts."""


class _FontFile(NamedTuple):
    """An installed font."""

    path: str
    number: int
    """Index of the font in a file of several fonts."""
    ranges: tuple[range, ...]
    """The code points of the font."""


class Lettering:
    """A pen for text of one size, in pixels."""

    def __init__(self, draw: ImageDraw.ImageDraw, size: int) -> None:
        self._draw = draw
        self._size = size

    def width(self, text: str) -> float:
        """Return the width of a text in pixels."""
        return sum(self._draw.textlength(run, font) for run, font in self._runs(text))

    def line(self, corner: tuple[float, float], text: str, colour: Colour) -> None:
        """Draw a text on one line, from its upper left corner; line breaks become spaces."""
        left, top = corner
        base = top + self.ascent()
        for run, font in self._runs(text):
            self._draw.text((left, base), run, colour, font, anchor="ls")
            left += self._draw.textlength(run, font)

    def shortened(self, text: str, width: int) -> str:
        """Return the text, without its middle if it is wider than ``width`` pixels: keys differ at their ends."""
        if self.width(text) <= width:
            return text
        length = 0
        while length < len(text) and self.width(_cut(text, length + 1)) <= width:
            length += 1
        return _cut(text, length)

    def ascent(self) -> int:
        """Return the height of the letters above the base line in pixels."""
        font = _plain(self._size)
        return font.getmetrics()[0] if isinstance(font, ImageFont.FreeTypeFont) else self._size

    def _runs(self, text: str) -> Iterator[tuple[str, _Font]]:
        """Yield runs of characters that share a font."""
        for file, characters in groupby(legible(text), _file):
            yield "".join(characters), _plain(self._size) if file is None else _loaded(file, self._size)


def legible(text: str) -> str:
    """Return the text on one line, with codes instead of characters without a font."""
    line = " ".join(unicodedata.normalize("NFC", text).split())
    return "".join(character if _drawable(character) else f"<U+{ord(character):04X}>" for character in line)


def unknown(texts: Iterable[str]) -> str:
    """Return the characters of texts that no font contains, each once, in the order of their codes."""
    characters = {
        character for text in texts for character in unicodedata.normalize("NFC", text) if not character.isspace()
    }
    return "".join(
        sorted(character for character in characters if character.isprintable() and not _drawable(character))
    )


def _cut(text: str, length: int) -> str:
    """Return ``length`` characters of the text, two thirds of them from its end, with dots between."""
    head = length // 3
    return f"{text[:head]}...{text[len(text) - (length - head) :]}"


def _drawable(character: str) -> bool:
    return character.isprintable() and (character.isascii() or _file(character) is not None)


@functools.lru_cache(maxsize=4096)
def _file(character: str) -> _FontFile | None:
    """Return an installed font that contains a character; None for ASCII, which Pillow's font draws."""
    if character.isascii():
        return None
    candidates = (file for file in system_fonts() if any(ord(character) in codes for codes in file.ranges))
    return next(filter(_opens, candidates), None)


@functools.cache
def system_fonts() -> tuple[_FontFile, ...]:
    """Return the installed fonts, the preferred ones first; an empty tuple without fontconfig."""
    try:
        output = subprocess.run(_FONTS, capture_output=True, text=True, timeout=_SECONDS, check=True).stdout
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return ()
    files = []
    for line in output.splitlines():
        path, index, charset = line.rsplit("|", 2)
        files.append(
            _FontFile(path, int(index) & 0xFFFF, tuple(map(_range, charset.split())))
        )  # the upper half numbers a variable font's instance
    return tuple(files)


def _range(text: str) -> range:
    """Return the code points of a range in fontconfig's form, ``4e00-9fff`` or ``20``."""
    first, _, last = text.partition("-")
    return range(int(first, 16), int(last or first, 16) + 1)


def _opens(file: _FontFile) -> bool:
    """Return whether Pillow can draw with a font; it cannot scale fonts of coloured bitmaps, for example."""
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
