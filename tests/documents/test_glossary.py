"""docs/glossary.md explains the project's words to users."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
_FIRST_CELL = re.compile(r"^\| ([^|]+) \|", re.MULTILINE)
_HEAD = ("word", "write")
"""The heads of the columns of words."""


def first_cells(text: str) -> list[str]:
    """Return the first cells of the rows of tables, without their heads."""
    return [cell for cell in _FIRST_CELL.findall(text) if cell not in _HEAD]


def section(document: str, heading: str) -> str:
    """Return the text between a heading of the second level and the next one."""
    return (ROOT / document).read_text(encoding="utf-8").split(f"\n## {heading}\n")[1].split("\n## ")[0]


GLOSSARY = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
ENTRIES = first_cells(GLOSSARY)


def test_every_word_of_the_architecture_is_an_entry() -> None:
    """The cells of ARCHITECTURE.md hold several words, as in ``home; alias``."""
    words = [word for cell in first_cells(section("ARCHITECTURE.md", "Words")) for word in re.split(r"; |, | / ", cell)]
    assert len(words) > 30
    assert [word for word in words if word not in ENTRIES] == []


def test_entries_are_in_alphabetical_order() -> None:
    assert sorted(set(ENTRIES)) == ENTRIES


def test_every_entry_has_a_link() -> None:
    unlinked = [line for line in GLOSSARY.splitlines() if line.startswith("| ") and "](" not in line]
    assert unlinked == ["| word | meaning |"]
