"""docs/concepts.md explains the project's words to users."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
_FIRST_CELL = re.compile(r"^\| ([^|]+) \|", re.MULTILINE)
_HEAD = ("word", "write")
"""The heads of the columns of words."""


def first_cells(text: str) -> list[str]:
    """Return the first cells of the rows of tables, without their heads."""
    return [cell for cell in _FIRST_CELL.findall(text) if cell not in _HEAD]


GLOSSARY = (ROOT / "docs" / "concepts.md").read_text(encoding="utf-8")
ENTRIES = first_cells(GLOSSARY)


def test_entries_are_in_alphabetical_order() -> None:
    assert sorted(set(ENTRIES)) == ENTRIES


def test_every_entry_has_a_link() -> None:
    unlinked = [line for line in GLOSSARY.splitlines() if line.startswith("| ") and "](" not in line]
    assert unlinked == ["| word | meaning |"]
