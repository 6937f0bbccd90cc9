"""tools/words.py finds words and beginnings of sentences in prose, and only in prose."""

from pathlib import Path

import pytest
from words import ROOT, documents, hits


def found(text: str, path: str = "page.md") -> list[tuple[int, str]]:
    """Return the lines and words of the hits, in order."""
    return sorted((line, words) for line, words, _ in hits(text, Path(path)))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The header told us.", "told"),
        ("Close it for whoever\nreads.", "whoever"),
        ("A copy is\nno link.", "is no"),
        ("The folder (else the home).", "(else"),
        ("A part of it.", "of it"),
        ("Likewise, it ends.", "Likewise"),
        ("Of two files, one wins.", "Of"),
        ("It ends. And it waits.", "And"),
        ("Else it ends.", "Else"),
        ("It ends. Of two files, one wins.", "Of"),
        ("- **Where rows lack**, it ends.", "Where"),
        ("# What it does", "What"),
        ("| option | What it does |", "What"),
        ("It waits; who leaves cancels.", "; who"),
        ("Unless somebody wrote.", "somebody"),
        ("It is none of the views.", "is none of"),
        ("It is in vain.", "in vain"),
    ],
)
def test_a_word_or_a_beginning_is_found(text, words):
    """Capitals and the end of a line do not hide it, at any place that begins a sentence."""
    assert [hit for _, hit in found(f"A title\n\n{text}")] == [words]


@pytest.mark.parametrize(
    "text",
    [
        "What does it do?",
        "It is no longer here, and there are no more rows.",
        "One of\nOf Mice and Men",
        "`told` and [a link](is-what-he-said.md)",
        "```sh\ntold # Of course\n```",
        "Run this:\n\n    make told\n",
        "<!-- figures -->\nscenes told by attributes\n<!-- figures -->",
    ],
)
def test_questions_code_and_figures_pass(text):
    """A question may begin with What; code, links and generated figures are not prose."""
    assert found(text) == []


def test_prose_behind_a_block_is_checked():
    """A block of code ends at its end, and a hit has the line of the file."""
    assert found("Run:\n\n    make all\n\n```sh\nls\n```\n\nHe said so.") == [(9, "said")]


def test_strings_and_comments_of_a_source_are_prose():
    """Its names are not, and neither are words in backquotes."""
    source = 'said = 1  # Where it is\n"""Say `told`.\n\nOf two, one.\n"""\nprint(f"{said} is no file")\n'
    assert found(source, "engine/a.py") == [(1, "Where"), (4, "Of"), (6, "is no")]


def test_strings_of_tests_are_data():
    """Docstrings and comments of tests are prose; the other strings are texts of messages and examples."""
    source = '"""Of two."""\n\n\ndef test():\n    # Of\n    """Of it."""\n    assert ("is no" "said") == x  # told\n'
    assert found(source, "tests/engine/test_a.py") == [(1, "Of"), (5, "Of"), (6, "Of"), (6, "Of it"), (7, "told")]


def test_comments_of_a_proto_file_are_prose():
    """Its names are not."""
    assert found("// What it says\nmessage said { // told\n}\n", "a.proto") == [(1, "What"), (2, "told")]


def test_the_documents_pass():
    """They are those at the root, all pages that people write, and all sources."""
    pages = documents(ROOT)
    names = {page.name for page in pages}
    assert {"README.md", "CHANGELOG.md", "tour.md", "search.proto", "catalog.py", "test_words.py"} <= names
    assert [(page.name, *hit) for page in pages for hit in hits(page.read_text(encoding="utf-8"), page)] == []


def test_a_lone_backquote_hides_no_later_prose() -> None:
    """The text between two strings of a source is not code, even if each contains one backquote."""
    source = 'TICK = "`"\n\n\ndef test():\n    """What it says."""\n\n\nTOCK = "`"\n'
    assert found(source, "engine/a.py") == [(5, "What")]
