"""Checks the form and the prose of the documents: headings, pictures, links, tables, sentences, spelling.

    python tools/style.py [FILE ...]     print each finding as FILE:LINE; exit 1 if there are any

Code, tables, headings and figures are not prose.
"""

import argparse
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token
from words import GENERATED, american

ROOT = Path(__file__).resolve().parent.parent
PAGES = ("*.md", "docs/**/*.md", "examples/**/*.md", "deploy/**/*.md", "benchmarks/**/*.md")
WORDS_IN_ALT = 3
WORDS_IN_SENTENCE = 35
_FIGURES = re.compile(r"<!-- figures -->.*?<!-- figures -->", re.S)
_DIRECTIVE = re.compile(r"^:::.*$|^\([\w-]+\)=$", re.M)
_IMAGE = re.compile(r"<img\b[^>]*>", re.S)
_CODE = re.compile(r"^```.*?^```$|`[^`\n]+`", re.M | re.S)
_URL = re.compile(r"https?://\S+")
_END = re.compile(r"[.!?](?=[\"')*_]*(?:\s|$))(?<!e\.g\.)(?<!i\.e\.)(?<!et al\.)(?<!vs\.)(?<!\s[A-Z]\.)")
_WORD = re.compile(r"[A-Za-z][A-Za-z'-]*")


@dataclass(frozen=True)
class Finding:
    """A finding in a page."""

    path: Path
    line: int
    message: str


@dataclass
class Page:
    """A page of Markdown and its tokens."""

    path: Path
    text: str
    tokens: list[Token] = field(default_factory=list)

    @classmethod
    def read(cls, path: Path) -> "Page":
        """Return the page of a file; figures that programs write count as empty lines."""
        text = _FIGURES.sub(lambda match: re.sub(r"[^\n]", "", match[0]), path.read_text(encoding="utf-8"))
        return cls(path, text, MarkdownIt("commonmark").enable("table").parse(_DIRECTIVE.sub("", text)))

    def inline(self) -> Iterator[tuple[int, Token]]:
        """Yield the line and each token inside paragraphs, headings and cells."""
        for token in self.tokens:
            line = token.map[0] + 1 if token.map else 1
            for child in token.children or ():
                yield line, child
                line += child.type in ("softbreak", "hardbreak")


def headings(page: Page) -> Iterator[tuple[int, str]]:
    """Yield the headings that break the order: one title, which comes first, and no skipped level."""
    levels = [
        (token.map[0] + 1 if token.map else 1, int(token.tag[1]))
        for token in page.tokens
        if token.type == "heading_open"
    ]
    if [level for _, level in levels].count(1) != 1 or levels[0][1] != 1:
        yield 1, "needs one title (# ...), before all other headings"
    for (_, above), (line, level) in pairwise(levels):
        if level > above + 1:
            yield line, f"a heading of level {level} below one of level {above}"


def pictures(page: Page) -> Iterator[tuple[int, str]]:
    """Yield the pictures whose text does not describe them, in Markdown and in HTML."""
    for line, token in page.inline():
        if token.type == "image" and len(token.content.split()) < WORDS_IN_ALT:
            yield line, f"describe the picture {token.attrs['src']} in at least {WORDS_IN_ALT} words: ![...]"
    for image in _IMAGE.finditer(_CODE.sub("", page.text)):
        described = re.search(r'\balt="([^"]*)"', image[0])
        if not described or len(described[1].split()) < WORDS_IN_ALT:
            line = page.text.count("\n", 0, page.text.find(image[0])) + 1
            yield line, f'describe the picture in at least {WORDS_IN_ALT} words: alt="..."'


def links(page: Page) -> Iterator[tuple[int, str]]:
    """Yield the links to a file or heading that does not exist, and addresses that are not links."""
    for line, token in page.inline():
        target = str(token.attrs.get("href") or token.attrs.get("src") or "")
        if target and not re.match(r"[a-z]+:", target) and (fault := _broken(page.path, target)):
            yield line, fault
        if token.type == "text" and (bare := _URL.search(token.content)) and token.level == 0:
            yield line, f"a bare address: write <{bare[0]}> or a link"


def _broken(path: Path, target: str) -> str:
    name, _, anchor = target.partition("#")
    file = (path.parent / name).resolve() if name else path
    if _generated(file) or (file.parent.name == "notebooks" and file.with_suffix(".ipynb").exists()):
        return ""
    if not file.exists():
        return f"no file {name}"
    if anchor and file.suffix == ".md" and anchor not in anchors(file):
        return f"no heading #{anchor} in {file.name}"
    return ""


def _generated(path: Path) -> bool:
    return path.is_relative_to(ROOT) and any(path.relative_to(ROOT).match(pattern) for pattern in GENERATED)


@cache
def anchors(path: Path) -> frozenset[str]:
    """Return the names that GitHub gives to the headings of a page; equal ones are numbered."""
    counts: dict[str, int] = {}
    names = set(re.findall(r"^\(([\w-]+)\)=$", path.read_text(encoding="utf-8"), re.M))
    for opened, inline in pairwise(Page.read(path).tokens):
        if opened.type == "heading_open":
            title = "".join(child.content for child in inline.children or () if child.type in ("text", "code_inline"))
            name = re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-")
            names.add(f"{name}-{counts[name]}" if name in counts else name)
            counts[name] = counts.get(name, 0) + 1
    return frozenset(names)


def blocks(page: Page) -> Iterator[tuple[int, str]]:
    """Yield the blocks of code that name no language."""
    for token in page.tokens:
        if token.type == "fence" and not token.info.strip():
            yield token.map[0] + 1 if token.map else 1, "a block of code without a language"


def tables(page: Page) -> Iterator[tuple[int, str]]:
    """Yield the rows that have another number of cells than their table has columns."""
    lines = page.text.splitlines()
    for token in page.tokens:
        if token.type == "table_open" and token.map:
            rows = range(token.map[0], token.map[1])
            counts = [len(re.split(r"(?<!\\)\|", lines[row].strip().strip("|"))) for row in rows]
            yield from (
                (row + 1, f"{count} cells in a table of {counts[1]} columns")
                for row, count in zip(rows, counts, strict=True)
                if count != counts[1] and not lines[row].strip().endswith("| |")
            )


def sentences(page: Page, titles: bool = True) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of each sentence of the prose; code counts as one word.

    Without ``titles``, texts in italics are left out: they are titles of papers.
    """
    for before, token in pairwise(page.tokens):
        if token.type == "inline" and before.type == "paragraph_open" and token.map:
            text = _speech(token.children or (), titles)
            start = 0
            for end in [*(match.end() for match in _END.finditer(text)), len(text)]:
                if text[start:end].strip():
                    yield token.map[0] + 1 + text.count("\n", 0, start), text[start:end].strip()
                start = end


def _speech(tokens: Iterable[Token], titles: bool) -> str:
    text, inside = "", 0
    for token in tokens:
        inside += (token.type == "em_open") - (token.type == "em_close")
        spoken = _spoken(token)
        text += spoken if titles or not inside or spoken == "\n" else ""
    return text


def _spoken(token: Token) -> str:
    if token.type in ("softbreak", "hardbreak"):
        return "\n"
    return {"text": token.content, "code_inline": "code"}.get(token.type, "")


def long_sentences(page: Page) -> Iterator[tuple[int, str]]:
    """Yield the sentences that are too long to be read once; a list behind a colon, or a clause, counts for itself."""
    for line, text in sentences(page):
        pieces = [len(_WORD.findall(piece)) for piece in re.split(r"[;:]\s", text)]
        if max(pieces) > WORDS_IN_SENTENCE:
            yield line, f"a sentence of {max(pieces)} words: {' '.join(text.split()[:8])} ..."


def spelling(page: Page) -> Iterator[tuple[int, str]]:
    """Yield American spellings."""
    for line, text in sentences(page, titles=False):
        for word, british in american(text):
            yield line, f"{word}: write {british}"


CHECKS = (headings, pictures, links, blocks, tables, long_sentences, spelling)
PROSE = (long_sentences, spelling)
HISTORY = "CHANGELOG.md"
"""A page whose sentences stay as they were released."""


def findings(page: Page) -> Iterator[Finding]:
    """Yield all findings of a page."""
    for check in CHECKS:
        if check not in PROSE or page.path.name != HISTORY:
            yield from (Finding(page.path, line, message) for line, message in check(page))


def pages() -> list[Path]:
    """Return the pages of the checkout that people write."""
    return sorted({path for pattern in PAGES for path in ROOT.glob(pattern) if not _generated(path)})


def main() -> int:
    """Print the findings, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help="pages to check [default: all]")
    options = parser.parse_args()
    faults = [finding for path in options.files or pages() for finding in findings(Page.read(path.resolve()))]
    for finding in faults:
        print(f"{finding.path}:{finding.line}: {finding.message}")
    return int(bool(faults))


if __name__ == "__main__":
    raise SystemExit(main())
