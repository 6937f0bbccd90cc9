"""Hints: the command lines that messages name, complete enough to be pasted into a shell."""

import re
import shlex
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any

from crossview.server.commands.command import NOUNS

_COMMAND = re.compile(rf"(?<=with: )crossview ((?:(?:{'|'.join(NOUNS)}) )?[a-z][a-z-]*)")
"""A command line in a message; other mentions of the program are not commands to paste."""
_ELSEWHERE = "serve"
"""The command that starts a server; it does not work through one."""

_where: ContextVar[tuple[str, ...]] = ContextVar("where", default=())


def remember_where(options: Mapping[str, Any]) -> None:
    """Keep the home or server of the running command, so that its hints lead to the same collections."""
    given = [(f"--{name}", str(options[name])) for name in ("home", "server") if options.get(name) is not None]
    _where.set(tuple(word for pair in given for word in pair))


def hint(command: str, *words: object) -> str:
    """Return a command line quoted for a shell, with the home or server of the running command."""
    options, dashes, positional = _split([str(word) for word in words])
    return shlex.join(["crossview", *command.split(), *options, *_flags(command), *dashes, *positional])


def completed(message: str) -> str:
    """Return a message of the engine with the home or server of the running command in each command line it names."""
    return _COMMAND.sub(lambda found: shlex.join(["crossview", *found[1].split(), *_flags(found[1])]), message)


def _split(words: list[str]) -> tuple[list[str], list[str], list[str]]:
    """Return the words before ``--``, which ends the options, that word, and the words after it."""
    end = words.index("--") if "--" in words else len(words)
    return words[:end], words[end : end + 1], words[end + 1 :]


def _flags(command: str) -> tuple[str, ...]:
    where = _where.get()
    return () if command == _ELSEWHERE and "--server" in where else where
