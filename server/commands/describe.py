"""Commands that describe collections: list and show."""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crossview.server.commands.common import JsonOption, NameArgument, print_json, shortened, size, tuning
from crossview.server.commands.connection_options import HERE, ConnectionOptions
from crossview.server.commands.count import CountOptions, print_counts
from crossview.server.commands.filter_options import FilterOptions
from crossview.server.commands.hints import hint
from crossview.server.commands.items import pixels
from crossview.server.commands.output import CsvOption, check_format, print_csv, say, show, table
from crossview.server.commands.spaces import show_spaces
from crossview.server.commands.views import show_views

if TYPE_CHECKING:
    from crossview.engine.values.conditions.filter import Filter
    from crossview.engine.values.info import CollectionInfo, SpaceInfo
    from crossview.engine.values.item import Item
    from crossview.server.commands.backend import CollectionBackend

DEFAULT_LIMIT = 100
LABELS_SHOWN = 12
NODES_SHOWN = 12
_PAGE = 1_000


@dataclass(frozen=True)
class PageOptions:
    """The options that choose a page of items."""

    after: Annotated[str, typer.Option(metavar="KEY", help="List only items after this key.")] = ""
    limit: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Maximum number of items, or of values with --per [default: 100; all with --csv or --keys-only].",
        ),
    ] = None
    sort_by: Annotated[
        str,
        typer.Option(
            "--sort-by",
            metavar="[-]ATTRIBUTE",
            help="Order by an attribute or label, greatest first; with - least first [default: by key].",
        ),
    ] = ""
    sample: Annotated[int, typer.Option(min=0, help="Draw so many of the items at random [default: 0, all].")] = 0
    seed: Annotated[int, typer.Option(help="With --sample: number that determines the draw.")] = 0

    def order(self) -> dict[str, Any]:
        """Return the arguments that state which items there are, and in which order."""
        return {"sort_by": self.sort_by, "sample": self.sample, "seed": self.seed}


def list_(
    conditions: FilterOptions,
    page: PageOptions,
    counts: CountOptions,
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="List the items of this collection.")] = None,
    connection: ConnectionOptions = HERE,
    as_json: JsonOption = False,
    as_csv: CsvOption = False,
    keys: Annotated[bool, typer.Option("--keys-only", help="Print only the keys of items, one on each line.")] = False,
) -> None:
    """List collections, or list or count the items of one.

    Examples:
        crossview list
        crossview list pets --where 'label = cat' --csv
        crossview list pets --sort-by -taken --limit 20
        crossview list pets --count --per label --per taken
    """
    check_format(as_json, as_csv)
    if keys and (as_json or as_csv or name is None):
        raise typer.BadParameter("--keys-only is a list of the items of NAME: give this name, and no --json or --csv")
    if counts.counted and (keys or name is None or page != PageOptions(limit=page.limit)):
        raise typer.BadParameter("--count counts the items of NAME: give this name, and of the page only --limit")
    if name is None:
        _list_collections(connection, as_json, as_csv)
        return
    condition = conditions.filter()
    with connection.collection(name) as collection:
        if counts.counted:
            form = "json" if as_json else "csv" if as_csv else ""
            print_counts(collection, condition, counts, page.limit or DEFAULT_LIMIT, form)
            return
        if as_csv:
            _print_csv(collection, condition, page)
            return
        if keys:
            for item in _every_item(collection, condition, page):
                say(item.key)
            return
        items = collection.items(condition, after=page.after, limit=page.limit or DEFAULT_LIMIT, **page.order())
        total = collection.count(condition)
    if as_json:
        print_json(items)
    else:
        _print_items(items, total)


def _list_collections(connection: ConnectionOptions, as_json: bool, as_csv: bool) -> None:
    with connection.backend() as backend:
        names = backend.names()
    if connection.server is None and not names:
        from crossview.engine.collections.home import Home

        say(f"note: {Home(connection.home).emptiness()}", err=True)
    if as_json:
        print_json(names)
    elif as_csv:
        print_csv(["name"], ([name] for name in names))
    else:
        say("\n".join(names) if names else f"no collections; create one with: {hint('create', 'NAME')}")


def _print_csv(collection: "CollectionBackend", condition: "Filter", page: PageOptions) -> None:
    """Print the chosen items in the order of keys; without a limit, print all of them."""
    from crossview.engine.catalog.ingest.annotation_file import LISTING

    items = _every_item(collection, condition, page)
    print_csv(LISTING, (tuple(getattr(item, name) for name in LISTING) for item in items))


def _every_item(collection: "CollectionBackend", condition: "Filter", page: PageOptions) -> "Iterator[Item]":
    """Yield items, fetched page by page."""
    after, rest = page.after, page.limit or sys.maxsize
    while rest and (items := collection.items(condition, after=after, limit=min(rest, _PAGE), **page.order())):
        yield from items
        after, rest = items[-1].key, rest - len(items)


def _print_items(items: "list[Item]", total: int) -> None:
    texts = ["text"] if any(item.text for item in items) else []
    missing = ["missing since"] if any(item.missing for item in items) else []
    rows = table("key", "labels", ">size", "views", *texts, *missing)
    for item in items:
        cells = item.key, ", ".join(item.labels), pixels(item), ", ".join(item.views)
        rows.add_row(*cells, *[shortened(item.text) for _ in texts], *[item.missing for _ in missing])
    show(rows)
    say(f"{len(items)} of {total} items")


def show_(name: NameArgument, connection: ConnectionOptions = HERE, as_json: JsonOption = False) -> None:
    """Describe a collection with its views and spaces.

    To describe one item, use item show.

    Examples:
        crossview show pets
        crossview show pets --json
    """
    with connection.collection(name) as collection:
        info, findings = collection.info(), collection.storage.findings()
    if as_json:
        print_json({**vars(info), "findings": findings})
        return
    _show_collection(info)
    for finding in findings:
        say(f"note: {finding}")


def _show_collection(info: "CollectionInfo") -> None:
    show(f"{info.name}: {info.items} items, {size(info.bytes_on_disk)}, created {info.created}")
    if info.description:
        show(info.description)
    common = sorted(info.labels.items(), key=lambda pair: (-pair[1], pair[0]))
    if common:
        more = f", and {len(common) - LABELS_SHOWN} more" if len(common) > LABELS_SHOWN else ""
        show("labels: " + ", ".join(f"{label} ({count})" for label, count in common[:LABELS_SHOWN]) + more)
    if info.notion_labels:
        show("labels in notions: " + ", ".join(f"{notion} ({count})" for notion, count in info.notion_labels.items()))
    show_views(info.views, "Views")
    show_spaces(info.spaces, "Spaces")
    for space in info.spaces:
        show(*(f"{space.name}: {fact}" for fact in _training(space)))


def _training(space: "SpaceInfo") -> Iterator[str]:
    """Yield what is known of a space's training beyond its line in the table."""
    if space.added:
        yield f"{', '.join(space.added)} added later"
    if space.cost is not None and space.cost.sample < space.cost.items:
        yield f"learned from a sample of {space.trained_items} of {space.cost.items} items"
    if space.axes:
        yield f"scores of {', '.join(space.axes)}"
    if space.described:
        yield f"classes that orderings alone describe: {', '.join(space.described)}"
    if space.taxonomy:
        yield f"learned from the tree {_tree(space.taxonomy)}"
    if space.pairs:
        yield f"learned from {space.pairs} pairs of similar items"
    if space.rerank:
        yield f"{space.rerank} codes found for each hit are ordered by their float vectors"
    if space.constraints is not None:
        yield space.constraints.sentence()
    for threshold in space.thresholds:
        yield threshold.sentence()
    for index in space.indexes:
        yield index.sentence()
    if space.tuning is not None:
        yield tuning(space.tuning)


def _tree(parents: Mapping[str, str]) -> str:
    """Return a tree of classes in the form of its file, node by node."""
    below: dict[str, list[str]] = {}
    for name, parent in parents.items():
        below.setdefault(parent, []).append(name)
    nodes = [f"{node}: {', '.join(names)}" for node, names in below.items() if node]
    nodes += [name for name in below[""] if name not in below]
    more = f"; and {len(nodes) - NODES_SHOWN} more" if len(nodes) > NODES_SHOWN else ""
    return "; ".join(nodes[:NODES_SHOWN]) + more
