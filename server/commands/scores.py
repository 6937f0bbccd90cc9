"""The options by which searches go by scores of attributes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from crossview.server.commands.common import names

if TYPE_CHECKING:
    from crossview.engine.query import Hit

Amounts = list[str] | None


@dataclass(frozen=True, kw_only=True)
class ScoreOptions:
    """Attributes of the hits, in a space of scores; all amounts are in standard deviations of the training items."""

    PANEL: ClassVar[str] = "Scores of attributes"

    more: Annotated[
        Amounts,
        typer.Option(
            "--more",
            metavar="ATTRIBUTE[=AMOUNT]",
            help="Find items with more of this attribute [default: 2 deviations].",
        ),
    ] = None
    less: Annotated[
        Amounts,
        typer.Option("--less", metavar="ATTRIBUTE[=AMOUNT]", help="Find items with less of this attribute."),
    ] = None
    hold: Annotated[
        str | None,
        typer.Option(
            "--hold",
            metavar="ATTRIBUTES",
            help="Attributes that --more and --less do not move: names, or all.",
        ),
    ] = None
    at_least: Annotated[
        Amounts,
        typer.Option(
            "--at-least",
            metavar="ATTRIBUTE=SCORE",
            help="Only hits with at least this score, in standard deviations.",
        ),
    ] = None
    at_most: Annotated[
        Amounts, typer.Option("--at-most", metavar="ATTRIBUTE=SCORE", help="Only hits with at most this score.")
    ] = None
    sort_by: Annotated[
        str,
        typer.Option(
            "--sort-by",
            metavar="[-]ATTRIBUTE",
            help="Order by this score, greatest first; with -ATTRIBUTE, least first.",
        ),
    ] = ""
    scores: Annotated[bool, typer.Option("--scores", help="Print every score of the hits.")] = False

    def fields(self) -> dict[str, Any]:
        """Return the fields of a request; raise typer.BadParameter for a value that is not a number."""
        from crossview.engine.query import AMOUNT

        return {
            "more": _numbers(self.more, "--more", AMOUNT),
            "less": _numbers(self.less, "--less", AMOUNT),
            "hold": names(self.hold),
            "at_least": _numbers(self.at_least, "--at-least"),
            "at_most": _numbers(self.at_most, "--at-most"),
            "sort_by": self.sort_by,
        }

    def shown(self, asked: Sequence[str], hits: "Sequence[Hit]") -> tuple[str, ...]:
        """Return the scores that get a column in a table of hits: the requested ones, or every one."""
        return tuple(dict.fromkeys(name for hit in hits for name in hit.scores)) if self.scores else tuple(asked)


def score_cells(scores: Mapping[str, float], shown: Sequence[str]) -> list[str]:
    """Return the cells of a hit's scores."""
    return [f"{scores[name]:+.2f}" for name in shown]


def _numbers(pairs: Amounts, flag: str, usual: float | None = None) -> dict[str, float]:
    """Return the numbers of ``attribute=number`` options; ``usual`` if there is none."""
    values: dict[str, float] = {}
    for pair in pairs or []:
        name, equals, text = pair.partition("=")
        try:
            value = usual if usual is not None and not equals else float(text)
        except ValueError:
            value = None
        if not name or value is None:
            raise typer.BadParameter(f"{flag} takes an attribute and a number, such as natural=1, not {pair!r}")
        if name in values:
            raise typer.BadParameter(f"{flag} {name} is given twice, but has one number")
        values[name] = value
    return values
