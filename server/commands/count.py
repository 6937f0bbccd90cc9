"""The count command."""

import json
from dataclasses import dataclass
from typing import Annotated

import typer

from crossview.engine.values.facet import Facet
from crossview.engine.values.item import ValueCount
from crossview.server.commands.common import JsonOption, NameArgument, print_json
from crossview.server.commands.connection_options import HERE, ConnectionOptions
from crossview.server.commands.filter_options import FilterOptions
from crossview.server.commands.output import CsvOption, check_format, print_csv, say, show, table

COLUMNS = ("field", "value", "items")
"""The columns of the CSV of several fields; that of one field is without the first."""


@dataclass(frozen=True)
class CountedItems:
    """The number of items, the counts of the values of the first field, and the facets of all fields."""

    items: int
    counts: list[ValueCount]
    facets: list[Facet]


def count(
    name: NameArgument,
    chosen: FilterOptions,
    per: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FIELD",
            help="Count the items for each value of a field: label, view, an attribute, or key for the folders; repeat "
            "for several.",
        ),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="With --per: number of values to print, the most frequent.")] = 100,
    below: Annotated[
        str, typer.Option(metavar="FOLDER", help="With --per key or path: count the folders in this folder.")
    ] = "",
    connection: ConnectionOptions = HERE,
    as_json: JsonOption = False,
    as_csv: CsvOption = False,
) -> None:
    """Count items, in all or per value of fields.

    Examples:
        crossview count pets --where 'year >= 2021'
        crossview count pets --per label --csv
        crossview count pets --per key --below pets/2021 --per taken --json
    """
    check_format(as_json, as_csv)
    condition = chosen.filter()
    with connection.collection(name) as collection:
        items = collection.count(condition)
        facets = collection.items.facets(per, condition, limit, below) if per else []
    if as_json:
        print_json(CountedItems(items, list(facets[0].values) if facets else [], facets))
    elif as_csv:
        print_csv(COLUMNS[len(facets) < 2 :], _rows(items, facets))
    else:
        for facet in facets:
            _print(facet)
        say(f"{items:,} items")


def _rows(items: int, facets: list[Facet]) -> list[tuple[object, ...]]:
    if not facets:
        return [("", items)]
    rows = [(facet.field, one.value, one.items) for facet in facets for one in facet.values]
    return [row[len(facets) < 2 :] for row in rows]


def _print(facet: Facet) -> None:
    rows = table(facet.field, ">items")
    for one in facet.values:
        rows.add_row(one.value if isinstance(one.value, str) else json.dumps(one.value), f"{one.items:,}")
    show(rows)
    if facet.other_values:
        say(f"{facet.other_values:,} further values")
    if facet.missing:
        say(f"{facet.missing:,} items without {facet.field if facet.field not in ('key', 'path') else 'such a folder'}")
