"""The ``crossview`` command."""

import gc
import io
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated

import typer

from crossview.features.priority import give_way
from crossview.server import commands
from crossview.server.commands.command import EARLIER, FIRST, NOUNS, SETTINGS, Command, Group, help_
from crossview.server.commands.common import debug, reported
from crossview.server.commands.option_groups import expanded
from crossview.server.commands.output import say

os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # silences gRPC's own messages; grpc reads it on import


def _demo() -> Callable[..., None]:
    from crossview.server.commands.demo.run import demo

    return demo


PANELS: dict[str, dict[str, Callable[[], Callable[..., None]]]] = {
    "Start": {
        "demo": _demo,
        "open": lambda: commands.opening.open_,
        "learners": lambda: commands.learners.learners,
        "help": lambda: help_,
    },
    "Collections": {
        "create": lambda: commands.collections.create,
        "list": lambda: commands.describe.list_,
        "show": lambda: commands.describe.show_,
        "rename": lambda: commands.collections.rename,
        "copy": lambda: commands.backups.copy,
        "alias": lambda: commands.collections.alias,
        "delete": lambda: commands.collections.delete,
        "backup": lambda: commands.backups.backup,
        "restore": lambda: commands.backups.restore,
        "compact": lambda: commands.backups.compact,
        "export": lambda: commands.transfer.export,
        "import": lambda: commands.transfer.import_,
        "publish add": lambda: commands.publish.add,
        "publish list": lambda: commands.publish.list_,
        "publish remove": lambda: commands.publish.remove,
        "rows extract": lambda: commands.spreading.extract,
        "rows sample": lambda: commands.spreading.sample,
        "rows place": lambda: commands.spreading.place,
    },
    "Items and views": {
        "index": lambda: commands.index.index,
        "annotate": lambda: commands.annotate.annotate,
        "item show": lambda: commands.items.show_,
        "item delete": lambda: commands.items.delete,
        "view add": lambda: commands.views.add,
        "view list": lambda: commands.views.list_,
        "view fit": lambda: commands.views.fit,
        "view place": lambda: commands.views.place,
        "view delete": lambda: commands.views.delete,
    },
    "Learn": {
        "train": lambda: commands.learn.train,
        "tune": lambda: commands.learn.tune,
        "evaluate": lambda: commands.evaluation.evaluate,
        "compare": lambda: commands.evaluation.compare,
        "audit": lambda: commands.audit.audit,
        "ask": lambda: commands.ask.ask,
        "space list": lambda: commands.spaces.list_,
        "space activate": lambda: commands.spaces.activate,
        "space extend": lambda: commands.spaces.extend,
        "space assign": lambda: commands.spaces.assign,
        "space reindex": lambda: commands.spaces.reindex,
        "space delete": lambda: commands.spaces.delete,
    },
    "Search": {
        "search": lambda: commands.search.search,
        "explain": lambda: commands.explain.explain,
        "suggest": lambda: commands.suggest.suggest,
        "embed": lambda: commands.embed.embed,
        "neighbors": lambda: commands.neighbors.neighbors,
        "map": lambda: commands.maps.map_,
        "calibrate": lambda: commands.verify.calibrate,
        "verify": lambda: commands.verify.verify,
        "changes": lambda: commands.changes.changes,
        "duplicates": lambda: commands.duplicates.duplicates,
        "feedback list": lambda: commands.feedback.list_,
        "feedback show": lambda: commands.feedback.show_,
        "feedback undo": lambda: commands.feedback.undo,
        "feedback delete": lambda: commands.feedback.delete,
        "feedback remember": lambda: commands.feedback.remember,
        "feedback forget": lambda: commands.feedback.forget,
    },
    "Serve": {
        "serve": lambda: commands.serve.serve,
        "key create": lambda: commands.keys.create,
        "key list": lambda: commands.keys.list_,
        "key grant": lambda: commands.keys.grant,
        "key revoke": lambda: commands.keys.revoke,
        "model get": lambda: commands.models.get,
        "model add": lambda: commands.models.add,
        "model list": lambda: commands.models.list_,
        "model show": lambda: commands.models.show_,
        "model check": lambda: commands.models.check,
        "model remove": lambda: commands.models.remove,
        "doctor": lambda: commands.doctor.doctor,
        "plan": lambda: commands.plan.plan,
        "stats": lambda: commands.stats.stats,
        "job list": lambda: commands.jobs.list_,
        "job show": lambda: commands.jobs.show_,
        "job cancel": lambda: commands.jobs.cancel,
        "job wait": lambda: commands.jobs.wait,
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
            reported(expanded(COMMANDS[name]()))
        )
    return app


def __getattr__(name: str) -> typer.Typer:
    """Return ``app``, the command line with all commands."""
    if name != "app":
        raise AttributeError(name)
    return app_of(COMMANDS)


def _called(arguments: Sequence[str], words: Sequence[str]) -> Iterable[str]:
    """Return the commands that a command line can concern, by its arguments and the words among them."""
    for name in (" ".join(words[:2]), *words[:1]):
        if name in COMMANDS and name != "help":
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
