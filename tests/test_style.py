"""tools/style.py finds faults of form and prose, and only those."""

from pathlib import Path

import pytest
from style import Page, findings, pages
from words import american

TITLE = "# A title\n\n"


def found(tmp_path: Path, text: str) -> list[tuple[int, str]]:
    """Return the lines and the first words of the findings."""
    (path := tmp_path / "page.md").write_text(text)
    return [(one.line, one.message.split(":")[0]) for one in findings(Page.read(path))]


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("## No title", 1, "needs one title (# ...), before all other headings"),
        (TITLE + "# Another one", 1, "needs one title (# ...), before all other headings"),
        (TITLE + "### Deep", 3, "a heading of level 3 below one of level 1"),
        (TITLE + "Some words\n![hits](page.md)", 4, "describe the picture page.md in at least 3 words"),
        (TITLE + '<img src="hits.png" alt="hits.png">', 3, "describe the picture in at least 3 words"),
        (TITLE + "[here](gone.md)", 3, "no file gone.md"),
        (TITLE + "[here](#gone)", 3, "no heading #gone in page.md"),
        (TITLE + "See https://example.org now.", 3, "a bare address"),
        (TITLE + "```\nls\n```", 3, "a block of code without a language"),
        (TITLE + "| a | b |\n|---|---|\n| c |", 5, "1 cells in a table of 2 columns"),
        (TITLE + "The " + "red " * 36 + "cat sat.", 3, "a sentence of 39 words"),
        (TITLE + "Its colors fit.", 3, "colors"),
    ],
)
def test_a_fault_is_found(tmp_path: Path, text: str, line: int, words: str) -> None:
    """The fault is on its line."""
    assert (line, words) in found(tmp_path, text)


@pytest.mark.parametrize(
    "text",
    [
        "## A section\n\n[a section](#a-section), [the page](page.md) and <https://example.org>.\n\n### Deeper",
        "## One\n\n## One\n\n[the second](#one-1)",
        "`color` and *Neighborhood of the Center*, as in `--colors`.\n\n| a \\| b | `c` |\n|---|---|\n| d | e |",
        "![A query and its hits](page.md)\n\n```sh\nls\n```",
        "A list:\n\n- " + "one " * 20 + "\n- " + "two " * 20,
    ],
)
def test_other_texts_pass(tmp_path: Path, text: str) -> None:
    """Headings that repeat, code, titles of papers in italics, and lists of many words."""
    assert found(tmp_path, TITLE + text) == []


def test_american_spellings_have_british_ones() -> None:
    text = "The center of a gray neighborhood is normalized, labeled, and its size analyzed; Kaggle.color is a name."
    assert [british for _, british in american(text)] == [
        *("centre", "grey", "neighbourhood", "normalised", "labelled", "analysed")
    ]


def test_the_documents_pass() -> None:
    """All pages that people write; ``make lint`` checks them, too, and names their lines."""
    checked = pages()
    assert {"README.md", "tour.md", "items.md"} <= {page.name for page in checked}
