"""The page of a benchmark: its Markdown report as a self-contained page, the plot on it, published figures marked."""

import re
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

from crossview.engine.values.markup import Markup, data_uri, element, markup
from crossview.server.commands.drawing.page import Page, Section

_NUMBER = re.compile(r"^[*+−-]*\d")
_PUBLISHED = re.compile(r"\b(paper|papers|published)\b", re.IGNORECASE)
"""Words in the head of a column, or in the first cell of a line, whose figures are not ours."""


def page(name: str, text: str, facts: Mapping[str, Any], summary: str, plot: bytes | None, caption: str) -> str:
    """Return the page of a report in Markdown, which starts with a first-level heading.

    ``plot`` is a PNG, and ``facts`` states how the benchmark was run.
    """
    title, _, body = text.partition("\n")
    sections = [Section(head, _html(part)) for head, part in _sections(body)]
    if plot is not None:
        drawn = element("div", element("img", src=data_uri(plot), alt=caption), class_="plot drawn")
        sections.insert(min(1, len(sections)), Section(caption.capitalize(), drawn))
    return Page(f"Benchmark {name}", title.lstrip("# "), summary, sections, facts).html()


def _sections(text: str) -> list[tuple[str, str]]:
    """Return the heads and texts between headings of the second level."""
    head, sections = "Protocol", []
    for is_head, lines in groupby(text.splitlines(), key=lambda line: line.startswith("## ")):
        content = "\n".join(lines)
        if is_head:
            head = content.splitlines()[-1].removeprefix("## ")
        elif content.strip():
            sections.append((head, content))
    return sections


def _html(text: str) -> Markup:
    reader = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = reader.parse(text)
    for start, token in enumerate(tokens):
        if token.type == "table_open":
            end = next(place for place in range(start, len(tokens)) if tokens[place].type == "table_close")
            _mark(tokens[start : end + 1])
    html = str(reader.renderer.render(tokens, reader.options, {}))
    scrolling = '<div class="scroll" tabindex="0" role="region" aria-label="Table"><table>'
    return markup(Markup(html.replace("<table>", scrolling).replace("</table>", "</table></div>")))


def _mark(tokens: Sequence[Token]) -> None:
    """Give the cells of numbers and of published figures their classes."""
    lines: list[list[tuple[Token, str]]] = []
    for place, token in enumerate(tokens):
        if token.type == "tr_open":
            lines.append([])
        elif token.type in ("th_open", "td_open"):
            lines[-1].append((token, tokens[place + 1].content))
    heads, *body = lines
    for column, (head, title) in enumerate(heads):
        cells = [line[column] for line in body if column < len(line)]
        kinds = ["n"] if column and any(_NUMBER.match(text) for _, text in cells) else []
        kinds += ["published"] if column and _PUBLISHED.search(title) else []
        for token in (head, *(token for token, _ in cells)):
            token.attrs = {"class": " ".join(kinds)} if kinds else {}
    for line in body:
        if _PUBLISHED.search(line[0][1]):
            for token, _ in line:
                token.attrJoin("class", "published")
