"""The ``crossview`` command."""

import io
import os
import sys
from collections.abc import Callable
from typing import Annotated

import typer

from crossview.features.priority import give_way
from crossview.server.commands import (
    changes,
    collections,
    compare,
    copies,
    delete,
    demo,
    describe,
    embed,
    evaluation,
    index,
    jobs,
    label,
    learn,
    learners,
    place,
    same,
    search,
    serve,
    suggest,
)
from crossview.server.commands.command import Command
from crossview.server.commands.common import debug, reported
from crossview.server.commands.option_groups import expanded

os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # gRPC's own messages; read when grpc is imported

_LONG = ("index", "fit", "place", "train", "assign", "calibrate", "evaluate", "embed")
"""Commands that compute for long, and give way to others that answer somebody."""

app = typer.Typer(
    name="crossview",
    help="Cross-view retrieval of pictures and texts: learn how views relate, then search within and across them.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode=None,
)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"crossview {version('crossview')}")
        raise typer.Exit


@app.callback()
def options(
    traceback: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    _: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Options of every command."""
    debug.set(traceback)
    if isinstance(sys.stdout, io.TextIOWrapper):  # file names may have characters that the terminal lacks
        sys.stdout.reconfigure(errors="backslashreplace")


COMMANDS: dict[str, Callable[..., None]] = {
    "create": collections.create,
    "add-view": collections.add_view,
    "index": index.index,
    "fit": index.fit,
    "label": label.label,
    "set": label.set_,
    "compare": compare.compare,
    "place": place.place,
    "train": learn.train,
    "assign": learn.assign,
    "activate": learn.activate,
    "search": search.search,
    "suggest": suggest.suggest,
    "calibrate": same.calibrate,
    "same": same.same,
    "changes": changes.changes,
    "embed": embed.embed,
    "evaluate": evaluation.evaluate,
    "list": describe.list_,
    "show": describe.show_,
    "delete": delete.delete,
    "backup": copies.backup,
    "restore": copies.restore,
    "compact": copies.compact,
    "serve": serve.serve,
    "jobs": jobs.jobs,
    "demo": demo.demo,
    "learners": learners.learners,
}
for name, command in COMMANDS.items():
    app.command(name, cls=Command)(reported(expanded(command)))


def main() -> None:
    """Runs the command line."""
    if next((word for word in sys.argv[1:] if not word.startswith("-")), "") in _LONG:
        give_way()
    app()


if __name__ == "__main__":
    main()
