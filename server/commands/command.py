"""The command class of all commands: it refuses a repeated option of one value, and hints can repeat its words."""

import shlex
from collections import Counter
from contextvars import ContextVar

import typer
from typer.core import TyperCommand

_words: ContextVar[tuple[str, ...]] = ContextVar("words", default=())
"""The command that runs, and all that was given to it."""


class Command(TyperCommand):
    """A command that refuses a repeated option of one value, of which the last would win silently."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]  # typer's own click
        """Return the words that are left; raises BadParameter for an option that is given too often."""
        _words.set(("crossview", self.name or "", *args))
        _, _, given = self.make_parser(ctx).parse_args(args=list(args))
        for parameter, times in Counter(given).items():
            if times > 1 and not (getattr(parameter, "multiple", False) or getattr(parameter, "count", False)):
                raise typer.BadParameter(f"{parameter.opts[0]} is given {times} times, but has one value: give it once")
        return super().parse_args(ctx, args)


def again(*more: str) -> str:
    """Return the command that runs, with more words, as a person can paste it into a shell."""
    return shlex.join((*_words.get(), *more))
