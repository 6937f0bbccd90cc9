"""Commands that documents name in backquotes, in prose and tables, checked against the command line."""

import re
import shlex
from collections.abc import Iterator
from functools import cache
from typing import Any

from blocks import ROOT
from typer.main import get_command

from crossview.server.commands.cli import app

_FENCE = re.compile(r"^```.*?^```$", re.M | re.S)
_CODE = re.compile(r"(?<!`)`([^`]+)`(?!`)")
_OPTION = re.compile(r"^(--?[a-z][\w-]*)(?:=.*)?$", re.I)


def quoted(text: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the words of each text in backquotes, outside blocks of code."""
    prose = _FENCE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    for found in _CODE.finditer(prose):
        yield prose.count("\n", 0, found.start()) + 1, " ".join(found[1].split())


def commands_of(document: str, heading: str) -> list[str]:
    """Return the command lines in backquotes in the table below a heading, in their order."""
    section = (ROOT / document).read_text(encoding="utf-8").partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return [words for _, words in quoted(section) if is_command(words)]


@cache
def _root() -> Any:
    return get_command(app)


def fault(line: str) -> str:
    """Return the fault of a line that begins with ``crossview`` or the name of a command, or "".

    Every word that begins with a hyphen must be an option of the command. Values are not checked: documents write
    ``NAME`` for them.
    """
    words = line.split() if line.count("'") % 2 or line.count('"') % 2 else shlex.split(line)
    command, rest = command_of([word for word in words if word != "crossview"])
    if command is None:
        return "" if words[0] != "crossview" else f"no command {' '.join(words[1:2])!r}"
    known = {name for option in command.params for name in (*option.opts, *option.secondary_opts)} | {"-h", "--help"}
    known |= {"--install-completion", "--show-completion"} if command is _root() else set()
    for word in rest:
        found = _OPTION.match(word)
        if found and found[1] not in known:
            return f"{command.name} has no option {found[1]}"
    return ""


def command_of(words: list[str]) -> tuple[Any, list[str]]:
    """Return the command that words begin with, and the words after its name; None if there is no such command."""
    found, rest = _root(), list(words)
    while rest and rest[0] in getattr(found, "commands", {}):
        found = found.commands[rest.pop(0)]
    if isinstance(getattr(found, "commands", None), dict) and rest and not rest[0].startswith("-"):
        return None, rest
    return found, rest


def is_command(line: str) -> bool:
    """Return whether a text in backquotes is a command line: ``crossview ...``, or a command with an option."""
    words = line.split()
    return (words[0] == "crossview" and len(words) > 1) or (
        words[0] in _root().commands and any(_OPTION.match(w) for w in words[1:])
    )
