"""Checks the prose of documents against a table of words and of beginnings of sentences.

    python tools/words.py [FILE ...]    print each hit with its advice; exit 1 if there are any

Without FILE, it checks the files of ``PATHS``. Blocks of code, words in backquotes, targets of links and the figures
between two ``<!-- figures -->`` are not prose. To check further files, add them to ``PATHS``: a Markdown document,
a Python source (its strings and comments; of ``tests`` only docstrings and comments) or a proto file (its comments).
"""

import argparse
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PATHS = (
    *("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/**/*.md", "proto/crossview/**/*.proto"),
    *(f"{room}/**/*.py" for room in ("engine", "features", "index", "server", "benchmarks", "tools", "tests")),
    "crossview/*.py",
)
GENERATED = (
    *("docs/benchmarks/*.md", "server/wire/pb/**/*.py", "docs/reference/[!p]*.md", "docs/reference/*/*.md"),
    *(f"docs/{name}.md" for name in ("architecture", "changelog", "contributing")),
)
"""Files that programs write; ``make docs`` checks the links of the pages."""
TABLE = "tools/words.py"
"""This file, which names the words."""

_BEGINNINGS = (
    r"\A",
    r"\n[ \t]*\n[ \t]*",  # a paragraph
    r"\n[ \t]*(?:[-*]|\d+\.|#+)[ \t]+",  # an item of a list, a heading
    r"\|[ \t]*",  # a cell of a table
    r"[.!?:][\"')*]*\s+",  # behind another sentence
)
_BEGIN = rf"(?:{'|'.join(_BEGINNINGS)})\**"
_NOT_ASKED = r"\b(?![^.|\n]*\?)"

ADVICE = {
    r"\btold\b": "name the actor; use states, gives or distinguishes",
    r"\bsaid\b": "name the actor; use states or reports",
    r"\bforet(?:ell\w*|old)\b": "use predict",
    r"\b(?:whoever|whom)\b": "name the person or the program",
    r"[;:]\s+who\b": "name the person or the program",
    r"\bwhat is asked\b": "use the request or the query",
    r"\bmay be asked\b": "name the actor",
    r"(?<!there\s)\b(?:is|are|was|were)\s+no\b(?!\s+longer\b)": "use is not a, or has no",
    r"\(else\b": "write a default as [default: X]",
    r",\s+else\b(?!\s+if\b)|(?-i:\bElse\b)": "use otherwise",
    r"\bof\s+it\b": "name the thing",
    r"\blikewise\b": "use also, or repeat the verb",
    r"\banew\b": "use again",
    r"\b(?:some|any|every)body\b": "name the person or the process",
    r"\b(?:is|are)\s+none\s+of\b": "use is not one of",
    r"\bunless told\b": "write a default as [default: X]",
    r"\b(?:taken?|takes) for\b": "use read as, or assume to be",
    r"\bbe it\b": "use also if",
    r"\bin vain\b": "state the result",
    r"\bdid (?:it|they|the)\b": "use whether",
    r"\btold apart\b": "use distinguish",
    r"\bone and the same\b": "use the same",
    r"\bfor want of\b": "use without",
    r"\bin\s+place\s+of\b": "use instead of",
    r"\bwhatever\s+the\b": "use for any",
    r"\bas a rule\b": "use usually",
    r"\bat hand\b": "use in memory, or name the place",
    r"(?:\bNone|\b0|\"\")\s+where\b": "use if, or without",
    r"\bgoes\s+by\b": "use depends on, or uses",
    r"\bnever\s+growing\b": "use never increasing",
    rf"{_BEGIN}(?-i:Of|And|Nor)\b": "begin with the subject",
    rf"{_BEGIN}(?-i:Whoever|Who){_NOT_ASKED}": "begin with the person or the program",
    rf"{_BEGIN}(?-i:What){_NOT_ASKED}": "name the thing",
    rf"{_BEGIN}(?-i:Where){_NOT_ASKED}": "use If or When, or begin with the subject",
}
"""Patterns, which ignore case unless they say otherwise, and what to write instead."""

_BRITISH = {
    r"((?:behavi|neighb|fav|hum|col)o)(r(?:s|ed|ing|ful|able|hoods?)?)": r"\1u\2",
    r"(\w{3,}i)z(e[sd]?|ers?|ing|ations?)": r"\1s\2",
    r"(\w*aly)z(e[sd]?|ing)": r"\1s\2",
    r"(cent|fib)er(s|ed)?": r"\1re\2",
    r"gr(?:a)y(\w*)": r"grey\1",
    r"(label|model|cancel|travel)(ed|ing)": r"\1l\2",
}
"""American spellings, and the British ones."""
_SAME = frozenset(
    {"oversized", "size", "sizes", "sized", "resize", "resizes", "resized", "resizing", "prize", "seize", "horizon"}
)
_FIGURES = re.compile(r"<!-- figures -->.*?<!-- figures -->", re.S)
_BLOCKS = re.compile(r"^([ \t]*)(```|~~~).*?^\1\2[ \t]*$|^(?: {4}|\t)[^\n]*$|\]\([^)\s]*\)|<!--.*?-->", re.M | re.S)
_CODE = re.compile(r"`(?:[^`\n]|\n(?!\n))+`")  # not beyond a blank line: a lone backquote hides no later prose
_FILLED = re.compile(r"\{[^{}]*\}")
_STARTS = frozenset({tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT})
"""Tokens behind which a statement begins; a string that begins one is a docstring."""


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"\S", " ", match[0])


def markdown(text: str) -> str:
    """Return a document whose code, figures and links are blank; words in backquotes become crosses."""
    prose = _BLOCKS.sub(_blank, _FIGURES.sub(_blank, text))
    return _CODE.sub(lambda match: re.sub(r"\S", "x", match[0]), prose)


def python(text: str, data: bool = False) -> str:
    """Return the strings and comments of a source, each on its line; what fills in a string is blank.

    With ``data``, strings other than docstrings are the data of a test, and not prose.
    """
    kinds = {tokenize.STRING, tokenize.COMMENT, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}
    prose = [""] * (text.count("\n") + 2)
    statement = True
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in kinds and (statement or not data or token.type == tokenize.COMMENT):
            first = token.start[0] - 1
            if token.type != tokenize.COMMENT or not prose[first - 1]:
                prose[first] += " | "  # a sentence begins, unless a comment goes on
            for row, line in enumerate(token.string.strip("\"'# ").split("\n"), first):
                prose[row] += line.strip()
        statement = token.type in _STARTS or (statement and token.type in {tokenize.COMMENT, tokenize.NL})
    return _CODE.sub(_blank, _FILLED.sub(_blank, "\n".join(prose)))


def proto(text: str) -> str:
    """Return the comments of a proto file, each on its line."""
    return "\n".join(line.partition("//")[2].strip("/ ") for line in text.split("\n"))


PROSE = {".md": markdown, ".py": python, ".proto": proto}


def hits(text: str, path: Path) -> Iterator[tuple[int, str, str]]:
    """Yield the line, the words and the advice of each hit in the text of the file of this path."""
    prose = python(text, data=True) if path.suffix == ".py" and "tests" in path.parts else PROSE[path.suffix](text)
    for pattern, advice in ADVICE.items():
        for match in re.finditer(pattern, prose, re.I):
            words = " ".join(re.findall(r"\(?[\w;:]+", match[0]))
            yield prose.count("\n", 0, match.end()) + 1, words, advice


def american(text: str) -> Iterator[tuple[str, str]]:
    """Yield each American spelling of a text, and the British one; words with a capital inside are names."""
    for word in re.findall(r"(?<![\w.-])[A-Za-z][a-z]+\b(?![\w.])", text):
        for pattern, british in _BRITISH.items():
            if word.lower() not in _SAME and (match := re.fullmatch(pattern, word, re.I)):
                yield word, match.expand(british)


def documents(root: Path) -> list[Path]:
    """Return the files of a checkout that the table applies to."""
    left_out = {root / TABLE, *(path for pattern in GENERATED for path in root.glob(pattern))}
    return sorted({path for pattern in PATHS for path in root.glob(pattern)} - left_out)


def main() -> int:
    """Print the hits and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help="files to check [default: PATHS]")
    failed = False
    for path in parser.parse_args().files or documents(ROOT):
        for line, words, advice in sorted(hits(path.read_text(encoding="utf-8"), path)):
            print(f'{path}:{line}: "{words}": {advice}')
            failed = True
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
