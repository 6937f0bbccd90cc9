"""The page of all commands, from the command line's own help."""

from collections.abc import Iterator
from functools import cache
from typing import Any

import typer

from crossview.server.commands.cli import COMMANDS, PANELS, app
from crossview.server.commands.command import SETTINGS, Text, panels
from documents.tables import escaped, table


def commands() -> Iterator[str]:
    """Yield the lines of the page: a table of each panel of ``crossview --help``, and a section for each command."""
    yield (
        "# Commands\n\nEvery command has `-h`. `CROSSVIEW_HOME` or `--home` is the folder of the collections, "
        "`CROSSVIEW_SERVER` or `--server` the address of a server; `--home` goes before `CROSSVIEW_SERVER`, which goes "
        "before `CROSSVIEW_HOME`. `crossview --install-completion` installs completion for your shell.\n"
    )
    for panel in PANELS:
        yield f"**{panel}**\n"
        rows = [(f"[`{name}`](#{name.replace(' ', '-')})", escaped(_text(name).summary)) for name in _names(panel)]
        yield from table(("command", "use"), rows)
    for name in COMMANDS:
        yield from _section(name)


def _names(panel: str) -> Iterator[str]:
    """Yield the full names of the commands of a panel; a group stands for all of its commands."""
    for word in PANELS[panel]:
        yield from (name for name in COMMANDS if name == word or name.startswith(f"{word} "))


def _section(name: str) -> Iterator[str]:
    """Yield the summary, the usage, the examples and the options of a command."""
    command = _command(name)
    context, text = command.context_class(command, info_name=f"crossview {name}", **SETTINGS), _text(name)
    yield from (f"## {name}\n", f"{escaped(text.summary)}\n", *([f"{escaped(text.body)}\n"] if text.body else ()))
    usage = " ".join(command.get_usage(context).split()).removeprefix("Usage: ")
    yield f"```text\n{usage}\n```\n"
    if text.examples:
        yield "\n".join(("```sh", *text.examples, "```\n"))
    for panel, rows in panels(command, context).items():
        yield from table((panel.lower(), "meaning"), [(f"`{option}`", escaped(meaning)) for option, meaning in rows])


@cache
def _command(name: str) -> Any:
    """Return the command that typer makes of a name such as ``space list``."""
    group, _, word = name.rpartition(" ")
    command: Any = _command(group) if group else typer.main.get_command(app)
    return command.commands[word]


def _text(name: str) -> Text:
    return Text.of(_command(name).help)
