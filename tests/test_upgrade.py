"""The upgrade notes name commands, options and Python names that exist."""

import contextlib
import re
import shlex
from pathlib import Path

import pytest
import typer

import crossview
from crossview.engine.values.conditions.filter import filter_of
from crossview.server.commands.cli import COMMANDS, app
from crossview.server.commands.command import EARLIER

NOTES = (Path(__file__).parents[1] / "docs" / "upgrade.md").read_text(encoding="utf-8")
RECENT, _, OLD = NOTES.partition("## From 0.1.0")
RENAMED = re.findall(r"^\| `crossview (.*?)` \| `crossview (.*?)` \|$", RECENT, re.M)
"""The commands whose old names still work, and their new names."""
MOVED = re.findall(r"^\| `crossview (.*?)` \| `crossview (.*?)` \|$", OLD, re.M)
"""The old and the new command of each row."""


def options_of(line: str) -> tuple[list[str], set[str]]:
    """Return the words of a command line after its command, and the options of the command; KeyError without one."""
    words, command, name = shlex.split(line), typer.main.get_command(app), ""
    while hasattr(command, "commands"):
        name = f"{name} {words[0]}".strip()
        command = command.commands[words.pop(0)]
    assert name in COMMANDS
    return words, {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}


@pytest.mark.parametrize(("old", "new"), MOVED)
def test_the_new_command_exists_and_the_old_one_does_not(old: str, new: str) -> None:
    """The new one has its options, and a condition that can be read."""
    words, options = options_of(new)
    assert {word for word in words if word.startswith("--")} <= options
    if "--where" in words:
        assert not filter_of(words[words.index("--where") + 1]).is_empty
    with contextlib.suppress(KeyError):
        words, options = options_of(old)
        assert not {word for word in words if word.startswith("--")} <= options


@pytest.mark.parametrize(("old", "new"), RENAMED)
def test_the_command_of_the_version_before_is_the_new_one(old: str, new: str) -> None:
    """An earlier command takes the options of the new one."""
    _, options = options_of(new)
    words = list(EARLIER.get(old.split()[0], ("publish", "add")))
    assert [*words, *old.split()[1:]] == [*new.replace("NAME --count", "--count NAME").split()]
    assert {word for word in old.split() if word.startswith("--")} <= options


def test_every_renamed_command_is_in_the_table() -> None:
    """The tests above read its rows."""
    assert len(MOVED) > 15
    assert {old.split()[0] for old, _ in RENAMED} == {*EARLIER, "publish"}


def test_the_python_names_exist(tmp_path: Path) -> None:
    """They are those of the module, and the methods of the groups of a collection."""
    python = NOTES[NOTES.index("### Python") : NOTES.index("### gRPC")]
    new = [row.split(" | ")[1] for row in python.splitlines() if row.startswith("| `")]
    names = {name for cell in new for name in re.findall(r"crossview\.(\w+)", cell)}
    assert "SearchRequest" in names
    assert {name for name in names if not hasattr(crossview, name)} == set()
    methods = {pair for cell in new for pair in re.findall(r"\b(items|views|spaces|storage)\.(\w+)", cell)}
    assert len(methods) > 15
    with crossview.create("art", ["color"], home=tmp_path) as art:
        assert [pair for pair in methods if not hasattr(getattr(art, pair[0]), pair[1])] == []
