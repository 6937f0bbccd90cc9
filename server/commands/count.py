"""The numbers of items that list prints with --count."""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from crossview.engine.values.facet import Facet
from crossview.engine.values.item import ValueCount
from crossview.server.commands.common import print_json
from crossview.server.commands.output import print_csv, say, show, table

if TYPE_CHECKING:
    from crossview.engine.values.conditions.filter import Filter
    from crossview.server.commands.backend import CollectionBackend

COLUMNS = ("field", "value", "items")
"""The columns of the CSV of several fields; that of one field is without the first."""


@dataclass(frozen=True)
class CountedItems:
    """The number of items, the counts of the values of the first field, and the facets of all fields."""

    items: int
    counts: list[ValueCount]
    facets: list[Facet]


@dataclass(frozen=True)
class CountOptions:
    """The options that print the number of items instead of the items."""

    PANEL: ClassVar[str] = "Counts"

    counted: Annotated[bool, typer.Option("--count", help="Print only how many items there are.")] = False
    per: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FIELD",
            help="With --count: count the items for each value of a field: label, view, an attribute, or key for the "
            "folders; repeat for several.",
        ),
    ] = None
    below: Annotated[
        str, typer.Option(metavar="FOLDER", help="With --per key or path: count the folders in this folder.")
    ] = ""

    def __post_init__(self) -> None:
        if (self.per or self.below) and not self.counted:
            raise typer.BadParameter("--per and --below count items: give --count as well")


def print_counts(
    collection: "CollectionBackend", condition: "Filter", options: CountOptions, limit: int, form: str
) -> None:
    """Count items, in all or per value of fields, and print them as "json", "csv" or text."""
    items = collection.count(condition)
    facets = collection.items.facets(options.per, condition, limit, options.below) if options.per else []
    if form == "json":
        print_json(CountedItems(items, list(facets[0].values) if facets else [], facets))
    elif form == "csv":
        print_csv(COLUMNS[len(facets) < 2 :], _rows(items, facets))
    else:
        for facet in facets:
            _print(facet)
        say(f"{items:,} items")


def _rows(items: int, facets: list[Facet]) -> list[tuple[object, ...]]:
    if not facets:
        return [("", items)]
    rows = [(facet.field, count.value, count.items) for facet in facets for count in facet.values]
    return [row[len(facets) < 2 :] for row in rows]


def _print(facet: Facet) -> None:
    rows = table(facet.field, ">items")
    for count in facet.values:
        rows.add_row(count.value if isinstance(count.value, str) else json.dumps(count.value), f"{count.items:,}")
    show(rows)
    if facet.other_values:
        say(f"{facet.other_values:,} further values")
    if facet.missing:
        say(f"{facet.missing:,} items without {facet.field if facet.field not in ('key', 'path') else 'such a folder'}")
