"""Distinct texts, and tests of all of them at once."""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from crossview.engine.catalog.checks import normal
from crossview.engine.values.conditions.dates import NO_MOMENT, Date, moment

Mask = NDArray[np.bool_]
_CHARACTER = rb"[^\x00\x80-\xbf][\x80-\xbf]*+"
"""A character in UTF-8, except NUL, which separates texts and which no text contains."""
_WILDCARD = re.compile(r"\\(.)|([*?])", re.DOTALL)
_BYTES = 120
"""Approximate bytes of a text in memory without its characters, in all forms that are kept."""


class Words:
    """Distinct texts; each method returns which of them pass a test, (n,). Texts in equal Unicode forms are equal."""

    def __init__(self, words: Iterable[str]) -> None:
        self._words = [normal(word) for word in words]

    def __iter__(self) -> Iterator[str]:
        return iter(self._words)

    def __len__(self) -> int:
        return len(self._words)

    def __getitem__(self, place: int) -> str:
        return self._words[place]

    @cached_property
    def nbytes(self) -> int:
        """Approximate bytes in memory."""
        return _BYTES * len(self._words) + 4 * sum(map(len, self._words))

    def among(self, values: Iterable[str]) -> Mask:
        """Return which are one of the values."""
        mask = np.zeros(len(self._words), bool)
        forms = set(map(normal, values))
        if len(forms) == 1:  # without the dictionary, which takes time and memory
            equal: Mask = self._array == forms.pop()
            return equal
        mask[[at for value in forms for at in self._places.get(value, ())]] = True
        return mask

    def compared(self, operator: str, value: str) -> Mask:
        """Return which compare with a text in the order of Unicode code points."""
        mask: Mask = COMPARED[operator](self._array, normal(value))
        return mask

    def dates_compared(self, operator: str, value: Date) -> Mask:
        """Return which are dates that compare with a period; ``=`` means in the period."""
        first, last = value.period
        moments = self.moments
        if operator == "=":
            within: Mask = (moments >= first) & (moments <= last)  # other texts are before all dates
            return within
        bound = first if operator in ("<", ">=") else last
        mask: Mask = COMPARED[operator](moments, bound)
        dates: Mask = moments != NO_MOMENT
        return mask & dates

    def beginning(self, prefix: str) -> Mask:
        """Return which begin with a text."""
        if not prefix:
            return np.ones(len(self._words), bool)
        return self._found(self._exact, self._ends, b"\0" + re.escape(normal(prefix).encode()))

    def containing(self, part: str) -> Mask:
        """Return which contain a text, in upper or lower case."""
        if not part:
            return np.ones(len(self._words), bool)
        return self._found(self._folded, self._folded_ends, re.escape(_fold(part).encode()))

    def like(self, pattern: str) -> Mask:
        """Return which match a pattern, in upper or lower case: ``*`` is any text, ``?`` one character.

        A backslash before a character takes away its meaning.
        """
        return self._found(self._folded, self._folded_ends, b"\0" + _expression(_fold(pattern)) + rb"(?=\x00)")

    def folders(self, prefix: str) -> list[str]:
        """Return the folder of the next level below a prefix in which each text is: the prefix, its name and a slash.

        It is the prefix itself for a text without a further slash, and "" for a text that does not begin with it.
        """
        texts: dict[bytes, str] = {b"": ""}
        expression = rb"\x00(" + re.escape(normal(prefix).encode()) + rb"(?:[^\x00/]*/)?)?[^\x00]*+"
        matches = re.findall(expression, self._exact[:-1]) if self._words else []
        return [texts[match] if match in texts else texts.setdefault(match, match.decode()) for match in matches]

    def _found(self, texts: bytes, ends: NDArray[np.int64], expression: bytes) -> Mask:
        """Return which texts an expression finds; it may begin with the NUL before a text."""
        mask = np.zeros(len(self._words), bool)
        # After the first match, skip the rest of the text.
        starts = [match.start() for match in re.finditer(expression + rb"[^\x00]*", texts)]
        mask[np.searchsorted(ends, starts, side="right")] = True
        return mask

    @cached_property
    def _places(self) -> dict[str, list[int]]:
        places: dict[str, list[int]] = {}
        for at, word in enumerate(self._words):
            places.setdefault(word, []).append(at)
        return places

    @cached_property
    def first_places(self) -> NDArray[np.int64]:
        """The first place of each text, (n,): texts in equal Unicode forms can have several places."""
        first: dict[str, int] = {}
        places = (first.setdefault(word, at) for at, word in enumerate(self._words))
        return np.fromiter(places, np.int64, len(self._words))

    @cached_property
    def ranks(self) -> NDArray[np.int64]:
        """The position of each text in the order of Unicode code points, (n,)."""
        ranks = np.empty(len(self._words), np.int64)
        ranks[np.argsort(self._array, stable=True)] = np.arange(len(self._words))
        return ranks

    def place(self, word: str) -> int | None:
        """Return the first place of a text; None for another one."""
        places = self._places.get(normal(word))
        return None if places is None else places[0]

    @cached_property
    def _array(self) -> NDArray[np.str_]:
        return np.array(self._words, np.dtypes.StringDType())

    @cached_property
    def moments(self) -> NDArray[np.int64]:
        """The microseconds since 1970 of texts that are dates, otherwise ``NO_MOMENT``."""
        return np.fromiter(map(moment, self._words), np.int64, len(self._words))

    @cached_property
    def _exact(self) -> bytes:
        """The texts, each after a NUL, and a last NUL."""
        return _joined(self._words)

    @cached_property
    def _ends(self) -> NDArray[np.int64]:
        return _ends(self._exact)

    @cached_property
    def _folded(self) -> bytes:
        return _joined(map(_fold, self._words))

    @cached_property
    def _folded_ends(self) -> NDArray[np.int64]:
        return _ends(self._folded)


COMPARED: dict[str, Callable[..., Mask]] = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}


def _joined(words: Iterable[str]) -> bytes:
    return "\0".join(("", *words, "")).encode()


def _ends(texts: bytes) -> NDArray[np.int64]:
    """Return the positions of the NULs after the texts."""
    return np.flatnonzero(np.frombuffer(texts, np.uint8) == 0)[1:]


def _fold(text: str) -> str:
    return normal(text).casefold()


def _expression(pattern: str) -> bytes:
    """Return the regular expression of a pattern.

    Each piece after a ``*`` is found as early as possible and never again, which is enough, and takes linear time.
    """
    pieces, at = [b""], 0
    for match in _WILDCARD.finditer(pattern):
        pieces[-1] += re.escape(pattern[at : match.start()].encode())
        at = match.end()
        if match[2] == "*":
            pieces.append(b"")
        else:
            pieces[-1] += _CHARACTER if match[2] else re.escape(match[1].encode())
    pieces[-1] += re.escape(pattern[at:].encode())
    if len(pieces) == 1:
        return pieces[0]
    middle = b"".join(rb"(?>[^\x00]*?" + piece + b")" for piece in pieces[1:-1] if piece)
    return pieces[0] + middle + rb"[^\x00]*" + pieces[-1]
