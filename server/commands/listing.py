"""The list command."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from server.commands.common import (
    HomeOption,
    JsonOption,
    ServerOption,
    opened_backend,
    opened_collection,
    print_json,
    shortened,
    show,
    table,
)
from server.commands.csv_output import CsvOption, check_format, print_csv

if TYPE_CHECKING:
    from engine.item import Item
    from engine.query import Filter
    from server.backend import CollectionBackend

DEFAULT_LIMIT = 100
COLUMNS = ("key", "labels", "attributes", "text", "source", "views")
"""Of the CSV."""
_PAGE = 1_000


@dataclass(frozen=True)
class ItemSelection:
    """Which items are listed."""

    prefix: Annotated[str, typer.Option(help="Items whose keys begin with this.")] = ""
    label: Annotated[list[str] | None, typer.Option(help="Items with this label; repeat for any of several.")] = None
    after: Annotated[str, typer.Option(metavar="KEY", help="Items after this key.")] = ""
    limit: Annotated[int | None, typer.Option(min=1, help="Items to list (default: 100; with --csv all).")] = None

    def filter(self) -> "Filter":
        """Returns the condition on items."""
        from engine.query import Filter

        return Filter(labels=tuple(self.label or ()), key_prefix=self.prefix)


def list_(
    selection: ItemSelection,
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="List the items of this collection.")] = None,
    home: HomeOption = None,
    server: ServerOption = None,
    as_json: JsonOption = False,
    as_csv: CsvOption = False,
) -> None:
    """List collections, or the items of one."""
    check_format(as_json, as_csv)
    if name is None:
        _list_collections(home, server, as_json, as_csv)
        return
    condition = selection.filter()
    with opened_collection(name, home, server) as collection:
        if as_csv:
            print_csv(COLUMNS, _lines(collection, selection))
            return
        items = collection.items(condition, after=selection.after, limit=selection.limit or DEFAULT_LIMIT)
        total = collection.count(condition)
    if as_json:
        print_json(items)
    else:
        _print_items(items, total)


def pixels(item: "Item") -> str:
    """Returns the size of an item's picture, empty where it has none."""
    return f"{item.width} x {item.height}" if item.width else ""


def _list_collections(home: Path | None, server: str | None, as_json: bool, as_csv: bool) -> None:
    with opened_backend(home, server) as backend:
        found = backend.names()
    if server is None and not found:
        from engine.home import Home

        typer.echo(f"note: {Home(home).emptiness()}", err=True)
    if as_json:
        print_json(found)
    elif as_csv:
        print_csv(["name"], ([one] for one in found))
    else:
        typer.echo("\n".join(found) if found else "no collections; create one with: crossview create NAME")


def _lines(collection: "CollectionBackend", selection: ItemSelection) -> Iterator[tuple[Any, ...]]:
    """Yields the selected items in order of key, fetched page by page; all of them where there is no limit."""
    condition, after, left = selection.filter(), selection.after, selection.limit or sys.maxsize
    while left and (page := collection.items(condition, after=after, limit=min(left, _PAGE))):
        yield from (tuple(getattr(item, name) for name in COLUMNS) for item in page)
        after, left = page[-1].key, left - len(page)


def _print_items(items: "list[Item]", total: int) -> None:
    texts = ["text"] if any(item.text for item in items) else []
    rows = table("key", "labels", ">size", "views", *texts)
    for item in items:
        cells = item.key, ", ".join(item.labels), pixels(item), ", ".join(item.views)
        rows.add_row(*cells, *[shortened(item.text) for _ in texts])
    show(rows)
    typer.echo(f"{len(items)} of {total} items")
