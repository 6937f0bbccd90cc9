"""The options of the search command: which hits there are, and what is shown of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from crossview.engine.values.query import AMOUNT, SearchRequest
from crossview.server.commands.common import names, settings
from crossview.server.commands.filter_options import FilterOptions
from crossview.server.commands.option_groups import Flag, OfRequest
from crossview.server.commands.query_options import ExampleOptions

if TYPE_CHECKING:
    from crossview.engine.values.query import Hit

Amounts = list[str] | None


@dataclass(frozen=True, kw_only=True)
class ScoreOptions:
    """Attributes of the hits, in a space of scores; all amounts are in standard deviations of the training items."""

    PANEL: ClassVar[str] = "Hits"

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
    sort_by: Annotated[
        str,
        typer.Option(
            "--sort-by",
            metavar="[-]ATTRIBUTE",
            help="Order by a score or an attribute, greatest first; with - least first.",
        ),
    ] = ""
    scores: Annotated[bool, typer.Option("--scores", help="Print every score of the hits.")] = False

    def fields(self) -> dict[str, Any]:
        """Return the fields of a request; raise typer.BadParameter for a value that is not a number."""
        return {
            "more": _numbers(self.more, "--more", AMOUNT),
            "less": _numbers(self.less, "--less", AMOUNT),
            "hold": names(self.hold),
            "sort_by": self.sort_by,
        }

    def shown(self, requested: Sequence[str], hits: "Sequence[Hit]") -> tuple[str, ...]:
        """Return the scores and attributes that have a column: the requested ones, and all scores with --scores."""
        if self.scores:
            return tuple(dict.fromkeys(name for hit in hits for name in hit.scores))
        return tuple(name for name in requested if any(name in hit.scores or name in hit.attributes for hit in hits))


def score_cells(hit: "Hit", names: Sequence[str]) -> list[str]:
    """Return the cells of a hit's scores, and of the attributes by which a search sorts."""
    return [f"{hit.scores[name]:+.2f}" if name in hit.scores else str(hit.attributes.get(name, "")) for name in names]


def _numbers(pairs: Amounts, flag: str, default: float) -> dict[str, float]:
    """Return the numbers of ``attribute=number`` options by attribute; ``default`` replaces a missing number."""
    values: dict[str, float] = {}
    for pair in pairs or []:
        name, equals, text = pair.partition("=")
        try:
            value = float(text) if equals else default
        except ValueError:
            value = None
        if not name or value is None:
            raise typer.BadParameter(f"{flag} takes an attribute and a number, such as natural=1, not {pair!r}")
        if name in values:
            raise typer.BadParameter(f"{flag} {name} is given twice, but has one number")
        values[name] = value
    return values


@dataclass(frozen=True, kw_only=True)
class SearchOptions(OfRequest):
    """The options that choose hits and draw them."""

    PANEL: ClassVar[str] = "Hits"
    REQUEST: ClassVar[Any] = SearchRequest
    FLAGS: ClassVar[Mapping[str, Flag | None]] = {
        "k": Flag(name="-k"),
        **dict.fromkeys(("every", "count", "per")),
        "diversity": Flag("SHARE"),
        "merge": Flag(default="for metrics of one view"),
        "fuse": Flag("WAY", default="match"),
        "weight": None,
        "min_match": Flag("P"),
        "max_distance": Flag("D"),
        "recall": None,
        "exact": Flag(help="Miss no item, as with --recall 1"),
        "include_missing": Flag(),
        "probabilities": Flag(),
        "base_rate": Flag("P", default="from labels"),
    }
    ELSEWHERE: ClassVar[frozenset[str]] = frozenset(
        {"queries", "by", "targets", "space", "filter", "at_least", "at_most", "hits_per", "weights"}
        | {"more", "less", "hold", "sort_by", "combine", "with_examples", "feedback"}
    )

    every: Annotated[bool, typer.Option("--all", help="Find all items within the limits, not only k.")] = False
    count: Annotated[bool, typer.Option("--count", help="Print only how many --all would find.")] = False
    per: Annotated[
        str,
        typer.Option(metavar="FIELD[=N]", help="Find N hits for each value of a field, such as album or duplicate."),
    ] = ""
    weight: Annotated[
        list[str] | None,
        typer.Option(metavar="NOTION=W", help="Weight of a notion of similarity; repeat for several notions."),
    ] = None
    recall: Annotated[
        float | None, typer.Option(metavar="SHARE", help="Share of the nearest that an approximate index finds.")
    ] = None
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw a contact sheet: .png, .jpg, .jpeg, .webp or .pdf."),
    ] = None
    explain: Annotated[
        bool, typer.Option("--explain", help="Explain the first hits; with --out, draw what agrees in them.")
    ] = False
    truth: Annotated[
        str | None,
        typer.Option(
            "--class",
            metavar="LABEL",
            help="With --out: mark hits of this class in green, others in red.",
        ),
    ] = None

    def request(self, query: ExampleOptions, conditions: FilterOptions, scores: ScoreOptions) -> SearchRequest:
        """Return the request of these options, without the examples themselves."""
        return SearchRequest(
            query.queries(listing=bool(scores.sort_by)),
            targets=names(query.targets),
            space=query.space,
            filter=conditions.filter(),
            weights=self._weights(),
            **scores.fields(),
            **query.fields(),
            **self._groups(),
            recall=self._recall(),
            **self.passed,
        )

    def _recall(self) -> float:
        """Return the recall of a request, which is 0 without one; raise InvalidInputError for a wrong one."""
        from crossview.engine.values.index_choice import check_recall

        if self.recall is not None:
            check_recall(self.recall)
        return self.recall or 0.0

    def _groups(self) -> dict[str, Any]:
        """Return the fields of groups; raise typer.BadParameter for a number below 1, and for one that is none."""
        field, equals, number = self.per.rpartition("=")
        if not equals:
            return {"per": self.per}
        if not (field and number.isascii() and number.isdecimal() and int(number)):
            raise typer.BadParameter(f"--per takes a field and a number from 1 up, such as album=2, not {self.per!r}")
        return {"per": field, "hits_per": int(number)}

    def _weights(self) -> dict[str, float]:
        weights = settings(self.weight, "--weight")
        for name, weight in weights.items():
            if not isinstance(weight, int | float):
                raise typer.BadParameter(f"--weight takes a notion and a number, such as head=2, not {name}={weight}")
        return {name: float(weight) for name, weight in weights.items()}


@dataclass(frozen=True)
class HitFilter(FilterOptions):
    """The conditions of hits."""

    PANEL: ClassVar[str] = SearchOptions.PANEL
