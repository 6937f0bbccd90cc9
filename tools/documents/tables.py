"""Tables and plain text of Markdown."""

import re
from collections.abc import Iterable, Iterator

_MARKS = re.compile(r"(`[^`]+`)|([\\`*_{}\[\]<>#~])")
"""Code between backticks, or a character that Markdown could read as a mark."""


def table(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    """Yield the lines of a table and an empty line; nothing without rows. The cells are Markdown."""
    if rows := list(rows):
        for row in (header, ("---",) * len(header), *rows):
            yield "| " + " | ".join(" ".join(cell.replace("|", "\\|").split()) for cell in row) + " |"
        yield ""


def escaped(text: str) -> str:
    """Return plain text as Markdown that shows exactly this text, with code between backticks as code."""
    return _MARKS.sub(lambda match: match[1] or f"\\{match[2]}", text)
