"""The classes of all commands and groups: their help, their completion, and the command line that messages repeat."""

import inspect
import shlex
from collections import Counter
from contextvars import ContextVar
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from crossview.server.commands.output import say

FIRST = (
    *("demo", "index", "list", "show", "search", "open"),
    *("train", "ask", "evaluate", "duplicates", "serve", "doctor"),
)
"""The commands of the first week, which ``crossview --help`` lists: those of the README, the tour and the tutorials."""
NOUNS = {
    "item": "Show or delete items of a collection.",
    "view": "Add, fit, list, place and delete the views of a collection.",
    "space": "List, activate, extend, assign, reindex and delete learned spaces.",
    "feedback": "Judgements that searches keep: show, undo, delete, remember.",
    "publish": "Publish a collection in an engine, list and remove it.",
    "rows": "Pictures in object storage: extract rows, sample and place them.",
    "key": "Create, list, extend and revoke keys for the servers of a home.",
    "model": "Add, list, show, check and remove models for views.",
    "job": "List, show, cancel and wait for the jobs of a server.",
}
"""Groups of commands, each with its summary."""
EARLIER = {
    "count": ("list", "--count"),
    "published": ("publish", "list"),
    "unpublish": ("publish", "remove"),
    "extract": ("rows", "extract"),
    "sample": ("rows", "sample"),
    "place": ("rows", "place"),
}
"""The commands of version 0.2.0 that have another name; they work for one version, with a note."""
_WAS_A_COMMAND = {"publish": "add"}
"""The groups that were a command in version 0.2.0, with the verb of that command."""
SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
ALL = "crossview.all"
"""The value of a context that makes the first help list all commands."""
_EXAMPLES = "\n\nExamples:\n"
_SECRET = "--api-key"  # noqa: S105 - the name of an option
"""The option whose value records do not show."""
_GENERAL = "Options"
"""The panel of options without a panel."""
_METAVARS = {int: "N", float: "X", str: "TEXT"}
"""Words for values of these types."""

_words: ContextVar[tuple[str, ...]] = ContextVar("words", default=())
"""The running command and its arguments."""
_command: ContextVar[str] = ContextVar("command", default="")
"""The name of the running command."""


class Text(NamedTuple):
    """The parts of a help text: summary, further paragraphs, and worked command lines."""

    summary: str
    body: str
    examples: tuple[str, ...]

    @classmethod
    def of(cls, text: str | None) -> "Text":
        """Read a docstring, whose examples follow a line ``Examples:``."""
        prose, _, examples = inspect.cleandoc(text or "").partition(_EXAMPLES)
        summary, _, body = prose.partition("\n\n")
        return cls(" ".join(summary.split()), body, tuple(line.strip() for line in examples.splitlines()))


class Command(TyperCommand):
    """A command that refuses to repeat an option with one value, because the last value would silently win."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for parameter in self.params:
            if getattr(parameter, "metavar", None) is None:
                parameter.metavar = _metavar(parameter)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Return the remaining words; raise BadParameter for a repeated option."""
        if ctx.resilient_parsing:  # a shell completes an unfinished command line
            return super().parse_args(ctx, args)
        _command.set(_path(ctx))
        _words.set(("crossview", *_path(ctx).split(), *args))
        _, _, parameters = self.make_parser(ctx).parse_args(args=list(args))
        for parameter, times in Counter(parameters).items():
            if times > 1 and not (getattr(parameter, "multiple", False) or getattr(parameter, "count", False)):
                raise typer.BadParameter(f"{parameter.opts[0]} is given {times} times, but has one value: give it once")
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the arguments, optional ones in brackets, and the place of the options."""
        arguments = (parameter for parameter in self.params if parameter.param_type_name == "argument")
        return [*map(_argument, arguments), "[OPTIONS]"]

    def get_short_help_str(self, limit: int = 0) -> str:
        """Return the summary; a test holds that it fits its line."""
        return Text.of(self.help).summary

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the usage, summary, examples, and the options in panels without empty lines between them."""
        self.format_usage(ctx, formatter)
        text = Text.of(self.help)
        formatter.write(f"\n{text.summary}\n")
        for paragraph in filter(None, text.body.split("\n\n")):
            formatter.write("\n")
            formatter.write_text(" ".join(paragraph.split()))
        formatter.write("\nExamples:\n" + "".join(f"  {line}\n" for line in text.examples) + "\n")
        write_panels(formatter, panels(self, ctx))


class Group(TyperGroup):
    """A group of commands, whose help has a panel for each kind of command."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the first word names, by its name or an earlier one, and the further words."""
        if ctx.parent is None and args[0] in EARLIER and not ctx.resilient_parsing:
            args = _renamed(args[0], (*EARLIER[args[0]], *args[1:]), len(EARLIER[args[0]]))
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Return the words of the group; ``publish NAME`` of version 0.2.0 gets its verb."""
        verb = _WAS_A_COMMAND.get(ctx.info_name or "")
        if verb and args and args[0] not in (*self.commands, *ctx.help_option_names) and not ctx.resilient_parsing:
            args = _renamed(str(ctx.info_name), (str(ctx.info_name), verb, *args), 2)[1:]
        return super().parse_args(ctx, args)

    def get_short_help_str(self, limit: int = 0) -> str:
        """Return the summary; a test holds that it fits its line."""
        return Text.of(self.help).summary

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the usage, the summary, and the commands and options in panels; first those of the first week."""
        self.format_usage(ctx, formatter)
        formatter.write(f"\n{Text.of(self.help).summary}\n\n")
        listed: dict[str, list[tuple[str, str]]] = {}
        if ctx.parent is None and not ctx.meta.get(ALL):
            listed["First commands"] = [(name, self.commands[name].get_short_help_str()) for name in FIRST]
        else:
            for name, command in self.commands.items():
                panel = str(getattr(command, "rich_help_panel", None) or "Commands")
                listed.setdefault(panel, []).append((name, command.get_short_help_str()))
        write_panels(formatter, listed)
        write_panels(formatter, panels(self, ctx))
        if ctx.parent is None and not ctx.meta.get(ALL):
            formatter.write("\nAll commands: crossview help all. One command: crossview COMMAND -h\n")


def help_(
    ctx: typer.Context,
    words: Annotated[
        list[str] | None, typer.Argument(metavar="COMMAND", help="A command or a group [default: all].")
    ] = None,
) -> None:
    """Show the help of a command, or all commands.

    Examples:
        crossview help all
        crossview help view add
    """
    context: Any = ctx.find_root()
    context.meta[ALL] = True
    for word in [] if words == ["all"] else words or []:
        command = getattr(context.command, "commands", {}).get(word)
        if command is None:
            raise typer.BadParameter(f"no command {' '.join(words or [])!r}; crossview help all lists all commands")
        context = command.context_class(command, info_name=word, parent=context, **SETTINGS)
    say(context.get_help())


def _renamed(earlier: str, words: tuple[str, ...], count: int) -> list[str]:
    """Return the words of a command line whose command has a new name of ``count`` words, and say so on stderr."""
    say(f"note: crossview {earlier} is now: crossview {' '.join(words[:count])}", err=True)
    return list(words)


def panels(command: Any, ctx: typer.Context) -> dict[str, list[tuple[str, str]]]:
    """Return the arguments and options of a command with their meaning, by panel; the panel of the help comes last."""
    by_panel: dict[str, list[tuple[str, str]]] = {"Arguments": []}
    general: list[tuple[str, str]] = []
    for parameter in command.get_params(ctx):
        if parameter.hidden:
            continue
        if parameter.param_type_name == "argument":
            by_panel["Arguments"].append((_argument(parameter), _described(parameter, ctx)))
            continue
        panel = getattr(parameter, "rich_help_panel", None)
        names, _ = parameter.get_help_record(ctx)
        rows = by_panel.setdefault(panel, []) if panel else general
        rows.append((names, _described(parameter, ctx)))
    return {name: rows for name, rows in {**by_panel, _GENERAL: general}.items() if rows}


def write_panels(formatter: Any, by_panel: dict[str, list[tuple[str, str]]]) -> None:
    """Write panels, whose second columns are aligned."""
    width = max(len(name) for rows in by_panel.values() for name, _ in rows)
    for panel, rows in by_panel.items():
        formatter.write(f"{panel}:\n")
        with formatter.indentation():
            formatter.write_dl([(name.ljust(width), meaning) for name, meaning in rows], col_max=width)


def again(*more: str) -> str:
    """Return the running command line with more words, quoted for a shell."""
    return shlex.join((*_words.get(), *more))


def command_line() -> str:
    """Return the running command line, quoted for a shell, for the record of a result; a key is not in it."""
    words = list(_words.get())
    for place, word in enumerate(words):
        if word == _SECRET:
            words[place + 1 : place + 2] = ["***"]
        elif word.startswith(f"{_SECRET}="):
            words[place] = f"{_SECRET}=***"
    return shlex.join(words)


def running() -> str:
    """Return the name of the running command, such as ``view add``."""
    return _command.get()


def _path(ctx: typer.Context) -> str:
    """Return the name of a command below the program, such as ``view add``."""
    names: list[str] = []
    here: Any = ctx
    while here.parent is not None:
        names.append(here.info_name or "")
        here = here.parent
    return " ".join(reversed(names))


def _argument(parameter: Any) -> str:
    name = parameter.metavar or parameter.name.upper()
    return (name if parameter.required else f"[{name}]") + ("..." if parameter.nargs != 1 else "")


def _described(parameter: Any, ctx: typer.Context) -> str:
    """Return the help of a parameter with its default, and ``[required]`` for a required option."""
    _, text = parameter.get_help_record(ctx)
    if parameter.param_type_name == "argument":
        text = text.removesuffix("[required]")
    return " ".join(text.split())


def _metavar(parameter: Any) -> str | None:
    """Return the metavar of a parameter without one: its choices, or a word for its type."""
    if getattr(parameter, "is_flag", False):
        return None
    described = parameter.type_descriptor
    if described.is_choice:
        return "|".join(str(getattr(choice, "value", choice)) for choice in described.choices or ())
    return _METAVARS.get(described.annotation, "FILE" if described.is_path else str(parameter.name).upper())
