"""Sections of a report: long ones folded, and those that only the result's file shows left out."""

import re
from collections.abc import Sequence

_HEADING = re.compile(r"^(#+) (.+)$", re.M)


def deeper(report: str) -> str:
    """Return Markdown with every heading one level deeper."""
    return re.sub("^#", "##", report, flags=re.M)


def folded(report: str, headings: Sequence[str]) -> str:
    """Return a report whose sections of these headings a reader opens by a click.

    ``headings`` are patterns of complete headings. Headings inside such a section become bold lines.
    """
    return "".join(_details(part) if _matches(part, headings) else part for part in _parts(report, headings))


def without(report: str, headings: Sequence[str], place: str) -> str:
    """Return a report without the sections of these headings, and a sentence that names them and their place.

    The sentence stands before the last paragraph, which is about the run.
    """
    parts = _parts(report, headings)
    left_out = [_HEADING.findall(part)[0][1] for part in parts if _matches(part, headings)]
    kept = "".join(part for part in parts if not _matches(part, headings)).rstrip()
    if not left_out:
        return f"{kept}\n"
    text, _, run = kept.rpartition("\n\n")
    return f"{text}\n\nThe file `{place}` contains further figures: {'; '.join(left_out)}.\n\n{run}\n"


def _parts(report: str, headings: Sequence[str]) -> list[str]:
    """Divide a report before and behind each section of these headings; the last paragraph is a part of its own."""
    text, _, run = report.rstrip().rpartition("\n\n")
    parts, level = [""], 0
    for block in re.split(r"(?m)^(?=#+ )", text + "\n\n"):
        depth = len(block) - len(block.lstrip("#"))
        begins = _matches(block, headings)
        if (level and depth <= level) or (begins and not level):
            parts.append("")
            level = depth if begins else 0
        parts[-1] += block
    return [*parts, run + "\n"]


def _matches(part: str, headings: Sequence[str]) -> bool:
    found = _HEADING.match(part)
    return found is not None and any(re.fullmatch(pattern, found.group(2)) for pattern in headings)


def _details(part: str) -> str:
    heading, _, body = part.partition("\n")
    bold = _HEADING.sub(r"**\2**", body.strip())
    return f"<details>\n<summary>{heading.lstrip('# ')}</summary>\n\n{bold}\n\n</details>\n\n"
