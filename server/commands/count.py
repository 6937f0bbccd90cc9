"""The count command."""

import json
from dataclasses import dataclass
from typing import Annotated

import typer

from crossview.engine.item import ValueCount
from crossview.server.commands.common import JsonOption, NameArgument, print_json
from crossview.server.commands.connection_options import HERE, ConnectionOptions
from crossview.server.commands.filter_options import FilterOptions
from crossview.server.commands.output import CsvOption, check_format, print_csv, say, show, table

COLUMNS = ("value", "items")
"""The columns of the CSV."""


@dataclass(frozen=True)
class CountedItems:
    """The number of items, and of items by value of a field."""

    items: int
    counts: list[ValueCount]


def count(
    name: NameArgument,
    chosen: FilterOptions,
    per: Annotated[
        str,
        typer.Option(metavar="FIELD", help="Count the items for each value of a field: label, view or an attribute."),
    ] = "",
    limit: Annotated[int, typer.Option(min=1, help="With --per: number of values to print, the most frequent.")] = 100,
    connection: ConnectionOptions = HERE,
    as_json: JsonOption = False,
    as_csv: CsvOption = False,
) -> None:
    """Count items, in all or per value of a field.

    Examples:
        crossview count pets --where 'year >= 2021'
        crossview count pets --per label --csv
    """
    check_format(as_json, as_csv)
    condition = chosen.filter()
    with connection.collection(name) as collection:
        items = collection.count(condition)
        counts = collection.items.counts(per, condition, limit) if per else []
    if as_json:
        print_json(CountedItems(items, counts))
    elif as_csv:
        print_csv(COLUMNS, [(one.value, one.items) for one in counts] if per else [("", items)])
    else:
        _print(items, per, counts)


def _print(items: int, per: str, counts: list[ValueCount]) -> None:
    if per:
        rows = table(per, ">items")
        for one in counts:
            rows.add_row(one.value if isinstance(one.value, str) else json.dumps(one.value), f"{one.items:,}")
        show(rows)
    say(f"{items:,} items")
