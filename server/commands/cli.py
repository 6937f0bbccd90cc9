"""The ``crossview`` command."""

import gc
import io
import os
import sys
from collections.abc import Callable
from typing import Annotated

import typer

from crossview.features.priority import give_way
from crossview.server.commands import (
    annotate,
    ask,
    audit,
    backups,
    changes,
    collections,
    describe,
    doctor,
    duplicates,
    embed,
    evaluation,
    explain,
    feedback,
    index,
    items,
    jobs,
    keys,
    learn,
    learners,
    maps,
    models,
    neighbors,
    opening,
    plan,
    publish,
    search,
    serve,
    spaces,
    spreading,
    stats,
    suggest,
    transfer,
    verify,
    views,
)
from crossview.server.commands.command import EARLIER, NOUNS, SETTINGS, Command, Group, help_
from crossview.server.commands.common import debug, reported
from crossview.server.commands.demo.run import demo
from crossview.server.commands.option_groups import expanded
from crossview.server.commands.output import say

os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # silences gRPC's own messages; grpc reads it on import

PANELS: dict[str, dict[str, Callable[..., None]]] = {
    "Start": {"demo": demo, "open": opening.open_, "learners": learners.learners, "help": help_},
    "Collections": {
        "create": collections.create,
        "list": describe.list_,
        "show": describe.show_,
        "rename": collections.rename,
        "copy": backups.copy,
        "alias": collections.alias,
        "delete": collections.delete,
        "backup": backups.backup,
        "restore": backups.restore,
        "compact": backups.compact,
        "export": transfer.export,
        "import": transfer.import_,
        "publish add": publish.add,
        "publish list": publish.list_,
        "publish remove": publish.remove,
        "rows extract": spreading.extract,
        "rows sample": spreading.sample,
        "rows place": spreading.place,
    },
    "Items and views": {
        "index": index.index,
        "annotate": annotate.annotate,
        "item show": items.show_,
        "item delete": items.delete,
        "view add": views.add,
        "view list": views.list_,
        "view fit": views.fit,
        "view place": views.place,
        "view delete": views.delete,
    },
    "Learn": {
        "train": learn.train,
        "tune": learn.tune,
        "evaluate": evaluation.evaluate,
        "compare": evaluation.compare,
        "audit": audit.audit,
        "ask": ask.ask,
        "space list": spaces.list_,
        "space activate": spaces.activate,
        "space extend": spaces.extend,
        "space assign": spaces.assign,
        "space reindex": spaces.reindex,
        "space delete": spaces.delete,
    },
    "Search": {
        "search": search.search,
        "explain": explain.explain,
        "suggest": suggest.suggest,
        "embed": embed.embed,
        "neighbors": neighbors.neighbors,
        "map": maps.map_,
        "calibrate": verify.calibrate,
        "verify": verify.verify,
        "changes": changes.changes,
        "duplicates": duplicates.duplicates,
        "feedback list": feedback.list_,
        "feedback show": feedback.show_,
        "feedback undo": feedback.undo,
        "feedback delete": feedback.delete,
        "feedback remember": feedback.remember,
        "feedback forget": feedback.forget,
    },
    "Serve": {
        "serve": serve.serve,
        "key create": keys.create,
        "key list": keys.list_,
        "key grant": keys.grant,
        "key revoke": keys.revoke,
        "model get": models.get,
        "model add": models.add,
        "model list": models.list_,
        "model show": models.show_,
        "model check": models.check,
        "model remove": models.remove,
        "doctor": doctor.doctor,
        "plan": plan.plan,
        "stats": stats.stats,
        "job list": jobs.list_,
        "job show": jobs.show_,
        "job cancel": jobs.cancel,
        "job wait": jobs.wait,
    },
}
"""The commands, by the panel of the help that lists them. A name of two words is a group and a command in it."""
COMMANDS = {name: command for panel in PANELS.values() for name, command in panel.items()}
_NEW_OBJECTS = 100_000
"""New objects before a garbage collection: with Python's 700 [2,000 from version 3.14], collections took a third of the
time of commands that make many objects."""
_LONG = {
    *("index", "view fit", "view place", "train", "tune", "space extend", "space assign", "space reindex"),
    *("calibrate", "evaluate", "compare", "embed", "neighbors", "map", "export", "import", "audit", "duplicates"),
    *("rows extract", "rows place", "rows sample"),
}
"""Long-running commands: they lower their priority, so that processes that answer people stay fast."""

app = typer.Typer(
    name="crossview",
    cls=Group,
    help="Search pictures and texts within and across views that it learns to relate.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings=SETTINGS,
    rich_markup_mode=None,
)


def _version(show_version: bool) -> None:
    if show_version:
        from importlib.metadata import version

        say(f"crossview {version('crossview')}")
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
    if isinstance(sys.stdout, io.TextIOWrapper):  # file names may contain characters that the terminal cannot show
        sys.stdout.reconfigure(errors="backslashreplace")


def _add_commands() -> None:
    groups: dict[str, typer.Typer] = {}
    for panel, commands in PANELS.items():
        for name, command in commands.items():
            noun, _, verb = name.rpartition(" ")
            if noun and noun not in groups:
                groups[noun] = typer.Typer(cls=Group, context_settings=SETTINGS, rich_markup_mode=None)
                app.add_typer(groups[noun], name=noun, help=NOUNS[noun], no_args_is_help=True, rich_help_panel=panel)
            home = groups[noun] if noun else app
            home.command(verb, cls=Command, context_settings=SETTINGS, rich_help_panel=panel if not noun else None)(
                reported(expanded(command))
            )


_add_commands()


def main() -> None:
    """Run the command line."""
    gc.set_threshold(_NEW_OBJECTS)
    words = [word for word in sys.argv[1:] if not word.startswith("-")]
    words = [*EARLIER.get(words[0], words[:1]), *words[1:]] if words else []
    if _LONG & {" ".join(words[:1]), " ".join(words[:2])}:
        give_way()
    app()


if __name__ == "__main__":
    main()
