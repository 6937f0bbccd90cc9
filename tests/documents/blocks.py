"""Blocks of code in the documents, and the comments that state how each is tested.

A comment right before a block states what happens to it:

<!-- not run: REASON -->        the block is an illustration <!-- run by: TESTS -->          a file of tests runs it,
which names the document <!-- file: NAME -->             the block is the file NAME, which later blocks use <!-- fails:
REASON -->          the block runs, and shows commands that end with an error
"""

import re
from dataclasses import dataclass
from pathlib import Path

from words import GENERATED

ROOT = Path(__file__).parents[2]
_FOLDERS = ("", "explanation", "guides", "learners", "tutorials")
"""The folders of ``docs`` whose pages people follow."""
DOCUMENTS = (
    *("README.md", "CONTRIBUTING.md"),
    *sorted(
        str(path.relative_to(ROOT))
        for folder in _FOLDERS
        for path in (ROOT / "docs" / folder).glob("*.md")
        if not any(path.relative_to(ROOT).match(pattern) for pattern in GENERATED)
    ),
)
"""The documents whose blocks are run, from the root: all except the decisions and those that programs write."""
RUN = ("sh", "python")
COMPARED = ("text", "json")
LANGUAGES = (*RUN, *COMPARED, "toml", "console", "bash")
"""The languages of blocks that are run, compared or files; directives such as ``{literalinclude}`` are not blocks."""
_FENCE = re.compile(
    r"(?:^<!-- (?P<note>[^\n]*?) -->\n)?^```(?: \{ \.)?(?P<language>\S*)[^\n]*\n(?P<text>.*?)^```$", re.M | re.S
)
_NOTE = re.compile(r"(not run|run by|file|fails): (\S.*)")


@dataclass(frozen=True)
class Block:
    """A block of a document."""

    document: str
    """The path of the document, from the root."""
    line: int
    """The line of the document on which the text begins, from 1."""
    language: str
    text: str
    excuse: str = ""
    """The reason why the block is not run."""
    runner: str = ""
    """The file of tests that runs it."""
    file: str = ""
    """The name of the file that the block is."""

    fails: str = ""
    """The reason why commands in it end with an error."""

    @property
    def place(self) -> str:
        """The document and the line, as in messages of compilers."""
        return f"{self.document}:{self.line}"

    @property
    def is_run(self) -> bool:
        """Return whether the run of the document uses the block."""
        return not (self.excuse or self.runner)


def blocks_of(document: str) -> list[Block]:
    """Return the blocks of a document, in order."""
    text = (ROOT / document).read_text(encoding="utf-8")
    found = []
    for fence in _FENCE.finditer(text):
        noted = _NOTE.fullmatch(fence["note"] or "")
        kind, value = noted.groups() if noted else ("", "")
        if not fence["language"].startswith("{"):
            found.append(
                Block(
                    document,
                    text.count("\n", 0, fence.start("text")) + 1,
                    fence["language"],
                    fence["text"],
                    excuse=value if kind == "not run" else "",
                    runner=value if kind == "run by" else "",
                    file=value if kind == "file" else "",
                    fails=value if kind == "fails" else "",
                )
            )
    return found
