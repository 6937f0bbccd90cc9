"""docs/troubleshooting.md quotes messages that the code still has."""

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("engine", "features", "server", "crossview")
GAP = "..."
"""Stands for the variable parts of a quoted message."""
MESSAGES = re.findall(
    r"^\*\*`(.+)`\*\*$", (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8"), re.MULTILINE
)
_SEAM = re.compile(r'"\n *f?"')
"""The place where a string of the code goes on in the next line."""


@cache
def written() -> str:
    """Return the code of the rooms, with each string in one line."""
    paths = (path for room in ROOMS for path in (ROOT / room).rglob("*.py") if not {"pb", "learners"} & {*path.parts})
    return _SEAM.sub("", "\n".join(path.read_text(encoding="utf-8") for path in paths))


def words_of(message: str) -> list[str]:
    """Return the fixed words of a message, part by part."""
    return [part for part in (part.strip(" .") for part in message.split(GAP)) if any(map(str.isalpha, part))]


def test_many_messages_are_quoted() -> None:
    assert len(MESSAGES) == len(set(MESSAGES)) > 25


@pytest.mark.parametrize("message", MESSAGES)
def test_the_code_has_each_quoted_message(message: str) -> None:
    """One line of the code has all fixed words, in their order."""
    words = words_of(message)
    found = re.search(".*".join(map(re.escape, words)), written())
    assert len(" ".join(words)) > 12, "too short to recognise a message"
    assert found is not None, "the code has no such message any more"
