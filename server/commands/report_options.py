"""The option that writes a report, and how a report states that it was made."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from crossview.server.commands.command import command_line

ReportOption = Annotated[
    Path | None,
    typer.Option(
        "--report", metavar="DIR", help="Also write a report to this folder: a page to open, its pictures, and JSON."
    ),
]


def made_now(**facts: Any) -> dict[str, Any]:
    """Return how a report is made: the running command, the version and the time, and further facts."""
    from importlib.metadata import version

    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    return {"command": command_line(), "version": f"crossview {version('crossview')}", "date": now, **facts}


def check_report(folder: Path | None) -> None:
    """Raise BadParameter if a report cannot be written to a folder."""
    if folder is not None and folder.exists() and not folder.is_dir():
        raise typer.BadParameter(f"--report needs a folder, and {folder} is a file: name another")
