"""Hints: complete command lines in messages, ready to paste into a shell.

This module alone knows which option does the same as an argument in Python; ``server.wire.remedies`` has the commands.
"""

import math
import shlex
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from typing import Any

from crossview.engine.values.labels import as_list
from crossview.features.errors import Argument, Call, Remedy, worded
from crossview.server.wire.remedies import STEPS

_ELSEWHERE = ("serve ", "model ")
"""Beginnings of the commands that work on this machine, and so cannot use ``--server``."""

OPTIONS = {
    "captions": "--captions",
    "columns": "--map",
    "constraints": "--constraints",
    "databases": "--database",
    "fuse": "--fuse",
    "exact": "--exact",
    "feedback": "--feedback",
    "generation": "--generation",
    "group_by": "--group-by",
    "hits": "--trec-depth",
    "holdout": "--holdout",
    "per": "--per",
    "per_query": "--per-query",
    "ignore_labels": "--ignore-labels",
    "images": "--images",
    "key": "--api-key",
    "keys": "--keys",
    "learners": "--learners",
    "labels": "--labels",
    "likes": "--like",
    "max_pixels": "--max-megapixels",
    "max_queries": "--max-queries",
    "min_match": "--min-match",
    "combine": "--combine",
    "new_attributes": "--new-attributes",
    "notion": "--notion",
    "pairs": "--pairs",
    "path": "--vectors",
    "probabilities": "--probabilities",
    "recall": "--recall",
    "refit": "--refit",
    "sample": "--sample",
    "seed": "--seed",
    "sort_by": "--sort-by",
    "space": "--space",
    "settings": "--set",
    "spec": "--learner",
    "target": "--targets",
    "test_size": "--test-size",
    "unlikes": "--unlike",
    "values": "--try",
    "view": "--view",
    "views": "--views",
}
"""The option of a command for each argument that a message names."""
_MEGA = 1e6

_where: ContextVar[tuple[str, ...]] = ContextVar("where", default=())
_collection: ContextVar[str | None] = ContextVar("collection", default=None)
"""The collection of the running command."""


def remember_where(options: Mapping[str, Any]) -> None:
    """Remember the home or server of the running command, so that its hints use the same collections."""
    names = ("home", "server", "tls_ca", "tls_client_cert", "tls_client_key")
    flags = [(f"--{name.replace('_', '-')}", str(options[name])) for name in names if options.get(name) is not None]
    _where.set(tuple(word for pair in flags for word in pair))


def remember_collection(name: str | None) -> None:
    """Remember the collection of the running command, for its hints and the envelope of --json."""
    _collection.set(name or None)


def collection_of_command() -> str | None:
    """Return the collection of the running command; None for a command without one."""
    return _collection.get()


def hint(command: str, *words: object) -> str:
    """Return a command line quoted for a shell, with the home or server of the running command."""
    options, dashes, positional = _split([str(word) for word in words])
    return shlex.join(["crossview", *command.split(), *options, *_flags(command), *dashes, *positional])


def completed(message: str) -> str:
    """Return a message of the engine with options and commands as remedies instead of Python.

    Each command line has the home or server of the running command.
    """
    return worded(message, _line)


def _line(remedy: Remedy) -> str:
    """Return an option, or the command line for a call."""
    if isinstance(remedy, Argument):
        return OPTIONS[remedy.name] if remedy.value is ... else shlex.join(_option(remedy.name, remedy.value))
    _, command, option = STEPS[remedy.name]
    collection = [_collection.get() or "NAME"] if remedy.name.startswith("collection.") else []
    return hint(command, *collection, *filter(None, [option]), *_words(remedy))


def _words(call: Call) -> Iterator[str]:
    """Yield the words of a command for the arguments of a call, those of a request within it included."""
    for argument in call.arguments:
        if isinstance(argument, Call):
            yield from _words(argument)
        else:
            yield from map(str, argument) if isinstance(argument, list) else (str(argument),)
    for name, value in call.options.items():
        yield from _option(name, value)


def _option(name: str, value: object) -> Iterator[str]:
    """Yield an option and its value, as the command line takes it."""
    yield OPTIONS[name]
    if isinstance(value, dict):
        lists = {key: tried if isinstance(tried, list) else [tried] for key, tried in value.items()}
        yield from (f"{key}={','.join(map(str, tried))}" for key, tried in lists.items())
    elif isinstance(value, list):
        yield as_list(map(str, value))
    elif name == "max_pixels":
        yield str(math.ceil(int(str(value)) / _MEGA))
    elif value is not True:
        yield str(value)


def _split(words: list[str]) -> tuple[list[str], list[str], list[str]]:
    """Return the words before ``--``, which ends the options, that word, and the words after it."""
    end = words.index("--") if "--" in words else len(words)
    return words[:end], words[end : end + 1], words[end + 1 :]


def _flags(command: str) -> tuple[str, ...]:
    where = _where.get()
    return () if f"{command} ".startswith(_ELSEWHERE) and "--server" in where else where
