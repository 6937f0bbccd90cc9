"""Sections of a report: long ones folded, and those that only the result's file shows left out."""

import re
from collections.abc import Sequence

_HEADING = re.compile(r"^(#+) (.+)$", re.M)


def deeper(report: str) -> str:
    """Return Markdown with every heading one level deeper."""
    return re.sub("^#", "##", report, flags=re.M)


def shortened(report: str, folds: Sequence[str], left_out: Sequence[str], place: str) -> str:
    """Return a report whose long sections a reader opens by a click, or finds at another place.

    Args:
        report: Markdown, whose last paragraph is about the run and stays the last one.
        folds: patterns of complete headings whose sections are folded. Headings inside become bold lines.
        left_out: patterns of complete headings whose sections are left out; a sentence names them.
        place: the file that contains what is left out.
    """
    text, _, run = report.rstrip().rpartition("\n\n")
    parts = _parts(text + "\n\n", left_out)
    gone = [_HEADING.findall(part)[0][1] for part in parts if _matches(part, left_out)]
    body = "".join(part for part in parts if not _matches(part, left_out))
    markdown = "".join(_details(part) if _matches(part, folds) else part for part in _parts(body, folds))
    if gone:
        markdown += f"The file `{place}` contains further figures: {'; '.join(dict.fromkeys(gone))}.\n\n"
    return f"{markdown}{run}\n"


def _parts(text: str, headings: Sequence[str]) -> list[str]:
    """Divide a text before and behind each section of these headings."""
    parts, level = [""], 0
    for block in re.split(r"(?m)^(?=#+ )", text):
        depth = len(block) - len(block.lstrip("#"))
        begins = _matches(block, headings)
        if (level and depth <= level) or (begins and not level):
            parts.append("")
            level = depth if begins else 0
        parts[-1] += block
    return parts


def _matches(part: str, headings: Sequence[str]) -> bool:
    heading = _HEADING.match(part)
    return heading is not None and any(re.fullmatch(pattern, heading.group(2)) for pattern in headings)


def _details(part: str) -> str:
    heading, _, body = part.partition("\n")
    bold = _HEADING.sub(r"**\2**", body.strip())
    return f"<details>\n<summary>{heading.lstrip('# ')}</summary>\n\n{bold}\n\n</details>\n\n"
