"""The ``crossview`` command."""

import gc
import io
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import Annotated

import typer

from crossview.features.priority import give_way
from crossview.server.commands.command import EARLIER, FIRST, NOUNS, SETTINGS, Command, Group
from crossview.server.commands.common import debug, reported
from crossview.server.commands.option_groups import expanded
from crossview.server.commands.output import say

os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # silences gRPC's own messages; grpc reads it on import

PANELS = {
    "Start": {
        "demo": "demo.run.demo",
        "open": "opening.open_",
        "learners": "learners.learners",
        "help": "command.help_",
    },
    "Collections": {
        "create": "collections.create",
        "list": "describe.list_",
        "show": "describe.show_",
        "rename": "collections.rename",
        "copy": "backups.copy",
        "alias": "collections.alias",
        "delete": "collections.delete",
        "backup": "backups.backup",
        "restore": "backups.restore",
        "compact": "backups.compact",
        "export": "transfer.export",
        "import": "transfer.import_",
        "publish add": "publish.add",
        "publish list": "publish.list_",
        "publish remove": "publish.remove",
        "rows extract": "spreading.extract",
        "rows sample": "spreading.sample",
        "rows place": "spreading.place",
    },
    "Items and views": {
        "index": "index.index",
        "annotate": "annotate.annotate",
        "item show": "items.show_",
        "item delete": "items.delete",
        "view add": "views.add",
        "view list": "views.list_",
        "view fit": "views.fit",
        "view place": "views.place",
        "view delete": "views.delete",
    },
    "Learn": {
        "train": "learn.train",
        "tune": "learn.tune",
        "evaluate": "evaluation.evaluate",
        "compare": "evaluation.compare",
        "audit": "audit.audit",
        "ask": "ask.ask",
        "space list": "spaces.list_",
        "space activate": "spaces.activate",
        "space extend": "spaces.extend",
        "space assign": "spaces.assign",
        "space reindex": "spaces.reindex",
        "space delete": "spaces.delete",
    },
    "Search": {
        "search": "search.search",
        "explain": "explain.explain",
        "suggest": "suggest.suggest",
        "embed": "embed.embed",
        "neighbors": "neighbors.neighbors",
        "map": "maps.map_",
        "calibrate": "verify.calibrate",
        "verify": "verify.verify",
        "changes": "changes.changes",
        "duplicates": "duplicates.duplicates",
        "feedback list": "feedback.list_",
        "feedback show": "feedback.show_",
        "feedback undo": "feedback.undo",
        "feedback delete": "feedback.delete",
        "feedback remember": "feedback.remember",
        "feedback forget": "feedback.forget",
    },
    "Serve": {
        "serve": "serve.serve",
        "key create": "keys.create",
        "key list": "keys.list_",
        "key grant": "keys.grant",
        "key revoke": "keys.revoke",
        "model get": "models.get",
        "model add": "models.add",
        "model list": "models.list_",
        "model show": "models.show_",
        "model check": "models.check",
        "model remove": "models.remove",
        "doctor": "doctor.doctor",
        "plan": "plan.plan",
        "stats": "stats.stats",
        "job list": "jobs.list_",
        "job show": "jobs.show_",
        "job cancel": "jobs.cancel",
        "job wait": "jobs.wait",
    },
}
"""The functions of the commands in their modules, by the panel of the help that lists them.

A name of two words is a group and a command in it.
"""
COMMANDS = {name: place for panel in PANELS.values() for name, place in panel.items()}
_NEW_OBJECTS = 100_000
"""New objects before a garbage collection: with Python's 700 [2,000 from version 3.14], collections took a third of the
time of commands that make many objects."""
_LONG = {
    *("index", "view fit", "view place", "train", "tune", "space extend", "space assign", "space reindex"),
    *("calibrate", "evaluate", "compare", "embed", "neighbors", "map", "export", "import", "audit", "duplicates"),
    *("rows extract", "rows place", "rows sample"),
}
"""Long-running commands: they lower their priority, so that processes that answer people stay fast."""


def _version(show_version: bool) -> None:
    if show_version:
        from importlib.metadata import version

        say(f"crossview {version('crossview')}")
        raise typer.Exit


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


def _empty() -> typer.Typer:
    app = typer.Typer(
        name="crossview",
        cls=Group,
        help="Search pictures and texts within and across views that it learns to relate.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings=SETTINGS,
        rich_markup_mode=None,
    )
    app.callback()(options)
    return app


def app_of(names: Iterable[str]) -> typer.Typer:
    """Return the command line with some of the commands, and import only their modules: all take .3 s."""
    groups, app = dict[str, typer.Typer](), _empty()
    panel_of = {name: panel for panel, names_of in PANELS.items() for name in names_of}
    for name in names:
        panel, (noun, _, verb) = panel_of[name], name.rpartition(" ")
        if noun and noun not in groups:
            groups[noun] = typer.Typer(cls=Group, context_settings=SETTINGS, rich_markup_mode=None)
            app.add_typer(groups[noun], name=noun, help=NOUNS[noun], no_args_is_help=True, rich_help_panel=panel)
        home = groups[noun] if noun else app
        home.command(verb, cls=Command, context_settings=SETTINGS, rich_help_panel=panel if not noun else None)(
            reported(expanded(_function(COMMANDS[name])))
        )
    return app


def _function(place: str) -> Callable[..., None]:
    module, _, name = place.rpartition(".")
    function: Callable[..., None] = getattr(import_module(f"{__package__}.{module}"), name)
    return function


def __getattr__(name: str) -> typer.Typer:
    """Return ``app``, the command line with all commands."""
    if name != "app":
        raise AttributeError(name)
    return app_of(COMMANDS)


def _called(arguments: Sequence[str], words: Sequence[str]) -> Iterable[str]:
    """Return the commands that a command line can concern, by its arguments and the words among them."""
    before = arguments[: arguments.index(words[0])] if words and words[0] in arguments else arguments
    for name in (" ".join(words[:2]), *words[:1]):
        if name in COMMANDS and name != "help" and not {"-h", "--help"} & set(before):
            return [name]
    if "_CROSSVIEW_COMPLETE" in os.environ or words or not arguments:
        return COMMANDS
    return FIRST if "-h" in arguments or "--help" in arguments else ()


def main() -> None:
    """Run the command line."""
    gc.set_threshold(_NEW_OBJECTS)
    words = [word for word in sys.argv[1:] if not word.startswith("-")]
    words = [*EARLIER.get(words[0], words[:1]), *words[1:]] if words else []
    if _LONG & {" ".join(words[:1]), " ".join(words[:2])}:
        give_way()
    app_of(_called(sys.argv[1:], words))()


if __name__ == "__main__":
    main()
