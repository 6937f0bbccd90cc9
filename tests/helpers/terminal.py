"""Commands as a terminal runs them, on a home of a test's own, here and through a server."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from crossview.engine.home import Home
from crossview.engine.item import NewItem
from crossview.server.cli import app
from crossview.server.listen import RunningServer
from crossview.server.settings import ServerSettings

BOTH = ("local", "remote")
BACKENDS = (pytest.param("local", marks=pytest.mark.slow), "remote")
"""For commands that are no other through a server, which does there all that they do here."""


def run(*arguments: object) -> Result:
    """A command in a terminal wide enough for its tables."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments], env={"COLUMNS": "200"})


def done(*arguments: object) -> str:
    """What a command prints that succeeds."""
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def told(*arguments: object) -> Any:
    """What a command tells as JSON."""
    return json.loads(done(*arguments, "--json"))


@contextmanager
def reached(home: Home, backend: str) -> Iterator[list[str]]:
    """The options by which commands reach a home."""
    if backend == "local":
        yield ["--home", str(home.path)]
        return
    with RunningServer(ServerSettings(home=home.path, port=0)) as running:
        yield ["--server", running.address]


def fill_rows(home: Home, count: int) -> None:
    """Makes the collection ``rows``: so many items in each of two groups, with colours and gist."""
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
