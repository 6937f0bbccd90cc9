"""The end of a demo that keeps its home: how to open the page of the collection, and commands to try."""

import os
import shlex
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

HTTP_PORT = 8080
"""The port of the page in the printed command."""


def lines_to_try(name: str, folder: Path, commands: Sequence[str]) -> Iterator[str]:
    """Yield lines that name the address of the page of a collection and the command for it, then commands to try.

    The lines that start with spaces are commands for a shell in the working folder, which need no variable.

    Args:
        name: name of the collection.
        folder: output folder of the demo; its home is ``folder/home``.
        commands: commands without the program and ``--home``, in which ``{folder}`` is the output folder, quoted.
    """
    program, home = shlex.quote(_program()), shlex.quote(str(folder / "home"))
    yield f"\nThe demo keeps its collection in {folder}."
    yield f"Open its page at http://127.0.0.1:{HTTP_PORT}/c/{name}, which this command serves until Ctrl-C:"
    yield f"    {program} open {name} --http-port {HTTP_PORT} --home {home}"
    yield "Three things to try:"
    for command in commands:
        yield f"    {program} {command.format(folder=shlex.quote(str(folder)))} --home {home}"


def _program() -> str:
    """Return ``crossview`` if a shell finds this installation, or its path from the working folder."""
    installed = Path(sys.executable).with_name("crossview")
    on_path = shutil.which("crossview")
    if not installed.exists() or (on_path is not None and Path(on_path).resolve() == installed.resolve()):
        return "crossview"
    return os.path.relpath(installed) if installed.is_relative_to(Path.cwd()) else str(installed)
