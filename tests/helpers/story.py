"""The common parts of the stories: the real command line in separate processes, and a real server."""

import atexit
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from quick_commands import quick_commands

ROOT = Path(__file__).parent.parent.parent
DATA = ROOT.parent / "shared/data"
CLI = [sys.executable, "-m", "crossview.server.commands.cli"]
PATIENCE = 200


@cache
def _commands() -> Path:
    """Start the process whose forks are the commands of all stories; it ends with this process."""
    stack = ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(quick_commands())


def run(*arguments: object, home: Path, **options: Any) -> "subprocess.CompletedProcess[str]":
    """Return a command, however it ends."""
    environment = os.environ | {"CROSSVIEW_HOME": str(home), "PYTHONPATH": str(ROOT), "COLUMNS": "200"}
    words = [str(_commands() / "crossview"), *map(str, arguments)]
    return subprocess.run(
        words, env=environment, capture_output=True, text=True, check=False, timeout=PATIENCE, **options
    )


def done(*arguments: object, home: Path) -> str:
    """Return the output of a successful command."""
    result = run(*arguments, home=home)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def result_of(*arguments: object, home: Path) -> Any:
    """Return the result that a command prints as JSON."""
    return json.loads(done(*arguments, "--json", home=home))["result"]


def refused(*arguments: object, home: Path) -> str:
    """Return the one line in which a command names its fault."""
    result = run(*arguments, home=home)
    assert result.returncode == 1, result.stdout + result.stderr
    (line,) = result.stderr.strip().splitlines()
    return line


@contextmanager
def served(home: Path, *options: str) -> Iterator[str]:
    """Return the address of a server in a process of its own; its log goes to HOME/../server.log."""
    command = [*CLI, "serve", "--home", str(home), "--port", "0", *options]
    with (
        (home.parent / "server.log").open("w") as log,
        subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=log, text=True) as server,
    ):
        try:
            assert server.stdout is not None
            yield re.findall(r"127\.0\.0\.1:\d+", server.stdout.readline())[0]
        finally:
            server.terminate()
