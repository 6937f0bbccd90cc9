"""No block of the documents is stale: each is run, compared, a file, or excused with a reason."""

import re
import tomllib
from itertools import chain
from pathlib import Path

import pytest
from blocks import COMPARED, DOCUMENTS, LANGUAGES, ROOT, blocks_of
from inline import fault, is_command, quoted
from stages import STAGES
from words import GENERATED

from crossview.engine.values.conditions.where import parse

PAGES = tuple(page for page in DOCUMENTS if page != "docs/upgrade.md")
"""The documents whose commands in prose exist; upgrade notes also have commands of earlier versions."""


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_block_is_run_or_excused(document: str) -> None:
    """An excuse has at least three words, and tests that run a block name the document."""
    for block in blocks_of(document):
        assert block.language in LANGUAGES, f"{block.place}: an unknown language: {block.language!r}"
        if block.runner:
            named = Path(document).name in (ROOT / block.runner).read_text()
            assert named, f"{block.place}: {block.runner} does not name it"
        elif block.excuse:
            assert len(block.excuse.split()) > 2, block.place
        else:
            assert document in STAGES, f"{block.place}: add a stage to tests/documents/stages.py"
            assert block.language != "toml" or block.file, f"{block.place}: neither a file nor excused"


@pytest.mark.parametrize("document", DOCUMENTS)
def test_outputs_follow_what_prints_them(document: str) -> None:
    """A block whose text is compared comes after one that runs."""
    runs = False
    for block in blocks_of(document):
        runs |= block.is_run and block.language in ("sh", "python")
        assert runs or block.language not in COMPARED or block.file or not block.is_run, block.place


def test_each_page_is_listed_in_the_contents() -> None:
    """Sphinx says the same, but only after the whole site is built."""
    docs = ROOT / "docs"
    captions = tomllib.loads((docs / "contents.toml").read_text(encoding="utf-8"))
    entries = [
        (docs / parent).parent / name
        for parent, lists in captions.items()
        for name in chain.from_iterable(lists.values())
    ]
    listed = {page.resolve() for entry in entries for page in entry.parent.resolve().glob(f"{entry.name}.md")}
    written = {page for page in docs.rglob("*.md") if not any(page.relative_to(ROOT).match(name) for name in GENERATED)}
    assert written - listed == {docs / "index.md"}


def test_stages_are_those_of_documents() -> None:
    assert STAGES.keys() <= set(DOCUMENTS)


@pytest.mark.parametrize("page", PAGES)
def test_commands_in_prose_exist(page: str) -> None:
    """A command in backquotes exists with its options."""
    text = (ROOT / page).read_text(encoding="utf-8")
    faults = [
        f"{page}:{line}: `{words}`: {fault(words)}"
        for line, words in quoted(text)
        if is_command(words) and fault(words)
    ]
    assert faults == []


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("crossview sears art", "no command 'sears'"),
        ("crossview search art --vew color", "search has no option --vew"),
        ("crossview space list art --jsn", "list has no option --jsn"),
        ("crossview search art --view color -k 5", ""),
        ("crossview serve --port=50051", ""),
        ("crossview duplicates NAME --out copies.html", ""),
        ("train --answers", ""),
        ("train --anwers", "train has no option --anwers"),
    ],
)
def test_wrong_commands_are_found(line: str, words: str) -> None:
    assert is_command(line)
    assert fault(line) == words


@pytest.mark.parametrize("page", PAGES)
def test_conditions_can_be_read(page: str) -> None:
    """Each condition of an option ``--where`` or ``--holdout-where`` can be read."""
    for text in re.findall(r"--(?:holdout-)?where '([^'\n]+)'", (ROOT / page).read_text(encoding="utf-8")):
        parse(text)
