"""The help of every command: a summary on one line, worked command lines, panels, and words instead of Python types."""

import os
import re
import shlex
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
import typer
from terminal import command_of, done, run

from crossview.server.commands.cli import COMMANDS
from crossview.server.commands.command import EARLIER, FIRST, NOUNS, Text

WIDTH = 80
ROOT = Path(__file__).resolve().parents[2]
TYPES = re.compile(r"<\w|\b(?:str|int|float|bool|list|Path|TEXT|INTEGER|FLOAT|PATH)\[|\bINTEGER\b|\bFLOAT\b| range>")
MEANINGS = {
    "--out": {"DIR", "FILE", "FILE.csv", "FILE.npy"},  # always the output of the command
    "--space": {"SPACE", "SPACE,..."},  # evaluate measures several
    "--per": {"FIELD", "FIELD[=N]"},  # search takes the number of hits for each value, count counts all
    "-k": {"N", "K,..."},  # evaluate measures several lengths
    "--text": {"WORDS", "TEXT"},
    "--to": {"DIR", "URL", "COLLECTION"},  # bundles may be in object storage, and a sample is a collection
    "--from": {"FILE.csv", "URL"},  # pictures and rows may be in object storage
    "--labels": {"folder|keywords|FILE.csv", "folder"},  # only an index reads files of labels
    "--index": {"auto|flat|scan|ivf|hnsw", "auto|flat|ivf|hnsw|diskann"},  # engines have others
    "--targets": {"TARGETS", "TARGET"},  # two items are compared in one
}
"""Options with more than one word for their value."""


def options(name: str) -> list[Any]:
    return [one for one in command_of(name).params if one.param_type_name == "option"]


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_a_summary_examples_and_panels(name: str) -> None:
    """The short form of the flag prints the same."""
    help_text = done(*name.split(), "-h")
    assert help_text == done(*name.split(), "--help")
    usage, empty, summary, *lines = help_text.splitlines()
    assert usage.startswith("Usage: ")
    assert empty == lines[0] == ""
    assert summary.endswith(".")
    examples = lines[lines.index("Examples:") + 1 :][:2]
    assert all(line.startswith(f"  crossview {name}") for line in examples), examples
    panels = [line for line in lines if line.endswith(":") and not line.startswith(" ")]
    assert panels[-1] == "Options:"
    assert not TYPES.search(help_text), TYPES.search(help_text)


@pytest.mark.parametrize("name", COMMANDS)
def test_examples_are_command_lines(name: str) -> None:
    """Each command has at least two, and its parser accepts them."""
    command = command_of(name)
    examples = Text.of(command.help).examples
    assert len(examples) >= 2
    for line in examples:
        words = shlex.split(line)[1:]
        assert " ".join(words).startswith(name)
        command.make_context(name, words[len(name.split()) :])


@pytest.mark.parametrize("group", ["", *NOUNS])
def test_summaries_fit_their_line(group: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal of usual width shows them; each command has a line of its own."""
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    result = run("help", *(group.split() or ["all"]))
    assert result.exit_code == 0
    commands = [name for name in (*COMMANDS, *NOUNS) if name.rpartition(" ")[0] == group]
    for name in commands:
        summary = Text.of(command_of(name).help).summary
        verb = name.rpartition(" ")[2]
        assert len(f"  {verb:<11}{summary}") < WIDTH, summary
        assert re.search(rf"^  {verb} +{re.escape(summary)}$", result.stdout, re.M), name


def test_the_first_help_lists_the_first_week() -> None:
    """The help names a dozen commands that exist, and how to see the others."""
    first = done("-h")
    assert first == run().output == run("--help").stdout
    listed = re.findall(r"^  ([a-z]+) ", first.partition("Options:")[0], re.M)
    assert tuple(listed) == FIRST
    assert len(FIRST) == 12
    assert set(FIRST) < set(COMMANDS)
    assert "crossview help all" in first
    assert done("help") == done("help", "all") != first


@pytest.mark.parametrize("name", ["search", "view add", "publish"])
def test_help_is_that_of_the_command(name: str) -> None:
    """A group has a help, too; an unknown command is an error."""
    assert done("help", *name.split()) == done(*name.split(), "-h")
    assert run("help", *name.split(), "nothing").exit_code == 2


@pytest.mark.parametrize("earlier", [*EARLIER, "publish pets"])
def test_earlier_commands_have_a_note(earlier: str) -> None:
    """The note is on stderr; neither help nor completion lists earlier commands."""
    name = earlier.split()[0]
    new = " ".join(EARLIER.get(name, ("publish", "add")))
    result = run(*earlier.split(), "-h")
    assert result.stderr == f"note: crossview {name} is now: crossview {new}\n"
    assert result.stdout == done(*new.replace("--count", "").split(), "-h")
    assert earlier not in COMMANDS


def test_the_help_of_search_fits_a_screen() -> None:
    """A screen has 63 lines and 100 columns."""
    environment = {**os.environ, "COLUMNS": "100"}
    command = [sys.executable, "-m", "crossview.server.commands.cli", "search", "-h"]
    lines = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True).stdout.splitlines()
    assert len(lines) <= 63
    assert max(map(len, lines)) <= 100


def test_an_option_has_one_meaning() -> None:
    """All commands use one word for its value; the short and long names of an option belong together everywhere."""
    words: dict[str, set[str]] = defaultdict(set)
    names: dict[str, set[tuple[str, ...]]] = defaultdict(set)
    for command in COMMANDS:
        for option in options(command):
            words[option.opts[0]].add(option.metavar or "")
            names[option.opts[0]].add((*option.opts, *option.secondary_opts))
    several = {name: some for name, some in words.items() if len(some) > 1}
    assert several.keys() <= MEANINGS.keys()
    assert all(some <= MEANINGS[name] for name, some in several.items()), several
    assert {name: some for name, some in names.items() if len(some) > 1} == {}


@pytest.mark.parametrize(
    "gone",
    ["--item", "--items", "--target", "--export", "--sheet", "--extend", "--tune", "--ask"],
)
def test_a_meaning_has_one_option(gone: str) -> None:
    """Keys are arguments or --key, targets --targets, outputs --out."""
    assert [name for name in COMMANDS if any(gone in option.opts for option in options(name))] == []


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["se"], {"search", "serve"}),
        (["view", ""], {"add", "list", "fit", "place", "delete"}),
        (["search", "drawn", "--tar"], {"--targets"}),
        (["ask", "drawn", "--kind", "g"], {"grid"}),
    ],
)
def test_a_shell_completes(words: list[str], expected: set[str]) -> None:
    """It completes commands, their verbs, options and choices."""
    environment = {
        **os.environ,
        "_CROSSVIEW_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(["crossview", *words]),
        "COMP_CWORD": str(len(words)),
    }
    code = "import sys; sys.argv = ['crossview']; from crossview.server.commands.cli import app; "
    code += "app(prog_name='crossview')"
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert set(result.stdout.split()) == expected, result.stderr


def test_the_environment_names_a_server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """CROSSVIEW_SERVER stands for --server; --home goes before it."""
    monkeypatch.setenv("CROSSVIEW_SERVER", "127.0.0.1:1")
    assert "no server at 127.0.0.1:1" in run("list").stderr
    assert "no server at 127.0.0.1:1" in run("list", "--timeout", 5).stderr
    assert run("list", "--home", tmp_path).exit_code == 0
    monkeypatch.setenv("CROSSVIEW_SERVER", "")
    monkeypatch.setenv("CROSSVIEW_HOME", str(tmp_path))
    assert run("list").exit_code == 0


def test_a_command_names_no_option_twice() -> None:
    """A parser would take the first silently."""
    for name in COMMANDS:
        found = [opt for option in options(name) for opt in (*option.opts, *option.secondary_opts)]
        assert len(found) == len(set(found)), name
        assert isinstance(command_of(name), typer.core.TyperCommand)
