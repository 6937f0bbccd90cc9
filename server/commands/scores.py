"""The options by which searches go by scores of attributes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from server.commands.common import names

if TYPE_CHECKING:
    from engine.query import Hit

Amounts = list[str] | None


@dataclass(frozen=True, kw_only=True)
class ScoreOptions:
    """Attributes of the hits, in a space of scores; all amounts are in standard deviations of the training items."""

    more: Annotated[
        Amounts,
        typer.Option(
            "--more",
            metavar="ATTRIBUTE[=AMOUNT]",
            help="Like the query, but with more of an attribute, by default 2 standard deviations. Other attributes go "
            "along as they usually do.",
        ),
    ] = None
    less: Annotated[
        Amounts, typer.Option("--less", metavar="ATTRIBUTE[=AMOUNT]", help="Likewise, but with less of it.")
    ] = None
    hold: Annotated[
        str | None,
        typer.Option(
            "--hold", metavar="ATTRIBUTES", help="Attributes that do not go along, such as open,natural; all."
        ),
    ] = None
    at_least: Annotated[
        Amounts,
        typer.Option(
            "--at-least",
            metavar="ATTRIBUTE=SCORE",
            help="Hits with this score at least: 0 is the mean, 1 one deviation.",
        ),
    ] = None
    at_most: Annotated[
        Amounts, typer.Option("--at-most", metavar="ATTRIBUTE=SCORE", help="Hits with this score at most.")
    ] = None
    sort_by: Annotated[
        str,
        typer.Option(
            "--sort-by",
            metavar="[-]ATTRIBUTE",
            help="The hits in the order of this score, greatest first; of -ATTRIBUTE least first. Without a query, the "
            "first K of all items.",
        ),
    ] = ""
    scores: Annotated[bool, typer.Option("--scores", help="Print every score of the hits.")] = False

    def fields(self) -> dict[str, Any]:
        """The fields of a request; raises typer.BadParameter for what is no number."""
        from engine.query import AMOUNT

        return {
            "more": _numbers(self.more, "--more", AMOUNT),
            "less": _numbers(self.less, "--less", AMOUNT),
            "hold": names(self.hold),
            "at_least": _numbers(self.at_least, "--at-least"),
            "at_most": _numbers(self.at_most, "--at-most"),
            "sort_by": self.sort_by,
        }

    def shown(self, asked: Sequence[str], hits: "Sequence[Hit]") -> tuple[str, ...]:
        """Which scores a table of hits has a column for: those that were asked for, or every one."""
        return tuple(dict.fromkeys(name for hit in hits for name in hit.scores)) if self.scores else tuple(asked)


def score_cells(scores: Mapping[str, float], shown: Sequence[str]) -> list[str]:
    """The cells of a hit's scores."""
    return [f"{scores[name]:+.2f}" for name in shown]


def _numbers(pairs: Amounts, flag: str, usual: float | None = None) -> dict[str, float]:
    """The numbers of ``attribute=number`` options; ``usual`` where there is none."""
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
