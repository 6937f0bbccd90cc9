"""All spellings of a text in Unicode: crossview treats texts with the same normal form as equal."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import product
from math import prod
from typing import NamedTuple

from crossview.engine.catalog.checks import normal

MOST_SPELLINGS = 512
_RESPELLED = re.compile("[;K`]|[^\0-\x7f]")
"""The characters with other spellings: even "K" can be the sign of Kelvin."""


def spellings(text: str) -> set[str] | None:
    """Return all texts with the normal form of a text; None if there are more than ``MOST_SPELLINGS``."""
    if not _RESPELLED.search(text):
        return {text}
    forms = [_forms(piece) for piece in _pieces(unicodedata.normalize("NFD", text))]
    if not all(forms) or prod(map(len, forms)) > MOST_SPELLINGS:
        return None
    return set(map("".join, product(*forms)))


def _pieces(decomposed: str) -> list[str]:
    """Return the parts of a decomposed text that are spelled independently of each other."""
    starts = [
        place
        for place, character in enumerate(decomposed)
        if place == 0 or not (unicodedata.combining(character) or character in _compositions().seconds)
    ]
    return [decomposed[start:end] for start, end in zip(starts, [*starts[1:], len(decomposed)], strict=True)]


@lru_cache(1 << 12)
def _forms(piece: str) -> tuple[str, ...]:
    """Return all texts that are decomposed to a piece; () if there are too many.

    Each is reached by steps that exchange two marks or compose one or two characters.
    """
    composed, forms, new = _compositions().composed, {piece}, [piece]
    while new:
        text = new.pop()
        for place in range(len(text)):
            pair, after = text[place : place + 2], text[place + 2 :]
            steps = [form + after for form in composed.get(pair, ())] if len(pair) == 2 else []
            steps += [form + pair[1:] + after for form in composed.get(pair[0], ())]
            if len({unicodedata.combining(mark) for mark in pair} - {0}) == 2:
                steps.append(pair[::-1] + after)
            for step in steps:
                if (form := text[:place] + step) not in forms:
                    forms.add(form)
                    new.append(form)
        if len(forms) > MOST_SPELLINGS:
            return ()
    return tuple(forms)


class _Compositions(NamedTuple):
    """The characters that Unicode decomposes into others."""

    composed: Mapping[str, Sequence[str]]
    """By the one or two characters that they consist of."""
    seconds: frozenset[str]
    """Those that are the second part of another one."""


@lru_cache(1)
def _compositions() -> _Compositions:
    composed = dict[str, list[str]]()
    for character in map(chr, (*range(0x80, 0xD800), *range(0xE000, 0x30000))):
        decomposed = unicodedata.normalize("NFD", character)
        if decomposed != character:
            # A syllable of Hangul consists of another one and a last letter, which the database of Unicode leaves out.
            parts = unicodedata.decomposition(character).split()
            halves = "".join(chr(int(part, 16)) for part in parts) or normal(decomposed[:-1]) + decomposed[-1]
            composed.setdefault(halves, []).append(character)
    return _Compositions(composed, frozenset(parts[1] for parts in composed if len(parts) == 2))
