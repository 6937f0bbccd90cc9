"""Sentences of documents that compare by a figure, such as "three times as fast", and the page of their figures."""

import re
from collections.abc import Iterator
from pathlib import Path

_NUMBER = r"(?:\d[\d.,]*|two|three|four|five|six|seven|eight|nine|ten|twenty|fifty|a hundred|a thousand)"
CLAIM = re.compile(
    rf"\b{_NUMBER} times (?:as|more|less|fewer|faster|slower|larger|smaller|the)\b"
    r"|\btwice (?:as|the)\b|\bhalf (?:as|the (?:time|memory|bytes|size|error))\b"
    r"|\ba (?:third|quarter|fifth|tenth|hundredth) of the (?:time|memory|bytes|size|error)\b"
    r"|\b(?:faster|slower|quicker)\b"
    rf"|\b{_NUMBER} (?:%|per cent|points) (?:more|less|fewer|better|worse|higher|lower|faster|slower|smaller|larger)\b",
    re.I,
)
"""Words that compare by a figure, or by time."""
SOURCE = re.compile(r"\]\([^)]*(?:benchmarks|results/|decisions/)[^)]*\)|`python -m benchmarks")
"""A link to a page of figures, or the command that measures them."""
PAGE = re.compile(r"\]\(([^)\s#]*benchmarks/(?!index)[\w-]+\.md)[^)]*\)")
"""A link to a page of figures."""
FIGURE = re.compile(r"(?<![\w.,/-])(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d*\.\d+|\d+(?= %))(?![\w.]\w|\w)")
"""A number with a point or a comma, or per cent; other whole numbers are mostly no results."""
_ANY = re.compile(r"(?<![\w.])(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d*\.\d+|\d+)")
_BLOCKS = re.compile(r"^```.*?^```$|<!-- figures -->.*?<!-- figures -->|<!--.*?-->", re.M | re.S)
_CODE = re.compile(r"`[^`]*`")
_ITEM = re.compile(r"\n(?=[ \t]*(?:[-*]|\d+\.) )|\n(?=\|)")


def paragraphs(text: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of each paragraph, item of a list and row of a table."""
    prose = _BLOCKS.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    line = 1
    for piece in re.split(r"(\n[ \t]*\n)", prose):
        at = line
        for one in _ITEM.split(piece):
            if one.strip():
                yield at, one
            at += one.count("\n") + 1
        line += piece.count("\n")


def unsupported(text: str) -> list[tuple[int, str]]:
    """Return the line and the words of each claim without a source in its paragraph."""
    return [
        (line, " ".join(found[0].split()))
        for line, paragraph in paragraphs(text)
        if not SOURCE.search(paragraph) and (found := CLAIM.search(_CODE.sub("", paragraph)))
    ]


def stale(text: str, folder: Path) -> list[tuple[int, str]]:
    """Return the line and each figure that no linked page of figures has, in paragraphs with such links.

    The CSV files of a page belong to it. A page may have a share instead of a percentage, and the page of the data the
    sizes of sets. ``folder`` is that of the document.
    """
    figures = []
    for line, paragraph in paragraphs(text):
        if pages := PAGE.findall(paragraph):
            paths = [folder / page for page in pages]
            paths += [file for path in paths for file in (path.parent / "tables" / path.stem).glob("*.csv")]
            paths.append((folder / pages[0]).with_name("data.md"))
            there = {_value(number) for path in paths for number in _ANY.findall(path.read_text(encoding="utf-8"))}
            prose = PAGE.sub("]", _CODE.sub("", paragraph))
            for number in FIGURE.findall(prose):
                if there.isdisjoint({_value(number), _value(number, 0.01), _value(number, 100)}):
                    figures.append((line, number))
    return figures


def _value(number: str, factor: float = 1) -> float:
    return round(float(number.replace(",", "")) * factor, 6)
