"""Commands as a terminal runs them, on a home of a test's own, here and through a server."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
import pytest
import typer
from typer.main import get_command
from typer.testing import CliRunner, Result

from crossview.engine.collections.home import Home
from crossview.engine.values.item import NewItem
from crossview.server.commands.cli import app
from crossview.server.edge.listen import RunningServer
from crossview.server.wire.settings import ServerSettings

BOTH = ("local", "remote")
BACKENDS = (pytest.param("local", marks=pytest.mark.long), "remote")
"""For commands that do the same work on a server as here."""


@cache
def _root(program: typer.Typer) -> Any:
    """Return the command line, made once: typer makes it in .05 s, which is most of a short command."""
    return get_command(program)


def run(*arguments: object) -> Result:
    """Return a command in a terminal wide enough for its tables."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("typer.testing._get_command", _root)
        return CliRunner().invoke(app, [str(argument) for argument in arguments], env={"COLUMNS": "200"})


def command_of(name: str) -> Any:
    """Return the command of a name such as ``search`` or ``view add``."""
    found = _root(app)
    for word in name.split():
        found = found.commands[word]
    return found


def done(*arguments: object, status: int = 0) -> str:
    """Return the output of a command that succeeds, or ends with another status."""
    result = run(*arguments)
    assert result.exit_code == status, result.output
    return result.stdout


def result_of(*arguments: object, status: int = 0) -> Any:
    """Return the result that a command prints as JSON."""
    return json.loads(done(*arguments, "--json", status=status))["result"]


@contextmanager
def reached(home: Home, backend: str) -> Iterator[list[str]]:
    """Return the options by which commands reach a home."""
    if backend == "local":
        yield ["--home", str(home.path)]
        return
    with RunningServer(ServerSettings(home=home.path, port=0)) as running:
        yield ["--server", running.address]


def fill_rows(home: Home, count: int) -> None:
    """Make the collection ``rows``: so many items in each of two groups, with colours and gist."""
    generator = np.random.default_rng(0)
    with home.create("rows", ("color", "gist")) as made:
        for number, group in enumerate(("cat", "dog")):
            rows = {
                view: generator.uniform(0, 1, (count, width)) + np.roll(np.eye(width)[0] * 9, number)
                for view, width in (("color", 64), ("gist", 512))
            }
            made.items.put(
                [
                    NewItem(f"{group}/{i}", rows={view: rows[view][i] for view in rows}, labels=(group,))
                    for i in range(count)
                ]
            )
