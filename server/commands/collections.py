"""Commands that make, describe and delete collections."""

from typing import TYPE_CHECKING, Annotated

import typer

from server.commands.common import (
    HomeOption,
    JsonOption,
    NameArgument,
    ServerOption,
    names,
    opened_backend,
    opened_collection,
    print_json,
    shortened,
    show,
    size,
    table,
    tuning,
)
from server.commands.csv_output import CsvOption, check_format, print_csv
from server.commands.delete import check_parts, confirm, delete_space, delete_view
from server.commands.item_lines import ITEM_COLUMNS, item_lines

if TYPE_CHECKING:
    from engine.info import CollectionInfo
    from engine.item import Item

LABELS_SHOWN = 12
LISTED = 100
"""Items of a list where nothing else is asked for."""


def create(
    name: NameArgument,
    views: Annotated[
        str, typer.Option(metavar="VIEWS", help="Views, such as color,sift:words=200,text or clip=vectors:dim=512.")
    ] = "color,sift,gist",
    description: Annotated[str, typer.Option(help="A sentence about it.")] = "",
    home: HomeOption = None,
    server: ServerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make an empty collection."""
    if not names(views):
        raise typer.BadParameter("--views names at least one view")
    with opened_backend(home, server) as backend:
        collection = backend.create(name, views=names(views), description=description)
        try:
            info = collection.info()
        finally:
            collection.close()
    if as_json:
        print_json(info)
    else:
        typer.echo(f"created {name} with views {', '.join(view.name for view in info.views)}")


def add_view(
    name: NameArgument,
    spec: Annotated[str, typer.Argument(metavar="SPEC", help="The view, such as text, gist or sift2=sift:words=1000.")],
    home: HomeOption = None,
    server: ServerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Add a view to a collection; index again to compute its rows."""
    with opened_collection(name, home, server) as collection:
        view = collection.add_view(spec)
    if as_json:
        print_json(view)
    else:
        typer.echo(f"added view {view.name}: {view.extractor}, {view.dim} numbers a row")


def list_(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="List the items of this collection.")] = None,
    prefix: Annotated[str, typer.Option(help="Items whose keys begin so.")] = "",
    label: Annotated[list[str] | None, typer.Option(help="Items with this label; repeat for any of several.")] = None,
    after: Annotated[str, typer.Option(metavar="KEY", help="Items after this key.")] = "",
    limit: Annotated[int | None, typer.Option(min=1, help="Items to list (else 100; with --csv all).")] = None,
    home: HomeOption = None,
    server: ServerOption = None,
    as_json: JsonOption = False,
    as_csv: CsvOption = False,
) -> None:
    """List collections, or the items of one."""
    check_format(as_json, as_csv)
    if name is None:
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
            typer.echo("\n".join(found) if found else "no collections; make one with: crossview create NAME")
        return
    from engine.query import Filter

    condition = Filter(labels=tuple(label or ()), key_prefix=prefix)
    with opened_collection(name, home, server) as collection:
        if as_csv:
            print_csv(ITEM_COLUMNS, item_lines(collection, condition, after, limit))
            return
        items = collection.items(condition, after=after, limit=limit or LISTED)
        total = collection.count(condition)
    if as_json:
        print_json(items)
        return
    texts = ["text"] if any(item.text for item in items) else []
    rows = table("key", "labels", ">size", "views", *texts)
    for item in items:
        cells = item.key, ", ".join(item.labels), _pixels(item), ", ".join(item.views)
        rows.add_row(*cells, *[shortened(item.text) for _ in texts])
    show(rows)
    typer.echo(f"{len(items)} of {total} items")


def show_(
    name: NameArgument,
    item: Annotated[str | None, typer.Option(metavar="KEY", help="Describe this item instead.")] = None,
    home: HomeOption = None,
    server: ServerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Describe a collection, or one of its items."""
    with opened_collection(name, home, server) as collection:
        info = collection.info() if item is None else None
        findings = collection.findings() if item is None else ()
        one = collection.item(item) if item is not None else None
    if as_json:
        print_json({**vars(info), "findings": findings} if info else one)
    elif info is not None:
        _show_collection(info)
        for finding in findings:
            typer.echo(f"note: {finding}")
    elif one is not None:
        _show_item(one)


def delete(
    name: NameArgument,
    keys: Annotated[list[str] | None, typer.Argument(metavar="[KEY]...", help="With --items: the items.")] = None,
    items: Annotated[bool, typer.Option("--items", help="Delete these items, not the collection.")] = False,
    space: Annotated[str | None, typer.Option(metavar="SPACE", help="Delete this space, not the collection.")] = None,
    generation: Annotated[int | None, typer.Option(min=1, help="With --space: only this generation.")] = None,
    view: Annotated[str | None, typer.Option(metavar="VIEW", help="Delete this view, not the collection.")] = None,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Do not ask before deleting a collection, a space or a view.")
    ] = False,
    home: HomeOption = None,
    server: ServerOption = None,
) -> None:
    """Delete a collection, or some of its items, a space or a view.

    Items are deleted by: crossview delete NAME --items KEY...
    """
    check_parts(items, space, generation, view)
    if space is not None or view is not None:
        with opened_collection(name, home, server) as collection:
            if space is not None:
                delete_space(collection, space, generation, yes)
            elif view is not None:
                delete_view(collection, view, yes)
        return
    if items != bool(keys):
        raise typer.BadParameter("items are deleted by: delete NAME --items KEY...; a collection by: delete NAME")
    if keys:
        with opened_collection(name, home, server) as collection:
            deleted = collection.delete_items(keys)
        missing = len(set(keys)) - deleted
        typer.echo(f"deleted {deleted} items" + (f"; {missing} were not there" if missing else ""))
        return
    with opened_backend(home, server) as backend:
        if not yes and name in backend.names():
            confirm(f"{name} with all its items")
        backend.delete(name)
    typer.echo(f"deleted {name}")


def _pixels(item: "Item") -> str:
    return f"{item.width} x {item.height}" if item.width else ""


def _show_item(item: "Item") -> None:
    rows = table("item", "")
    for field, value in (
        ("key", item.key),
        ("labels", ", ".join(item.labels)),
        ("attributes", ", ".join(f"{name} = {value!r}" for name, value in item.attributes.items())),
        ("text", item.text),
        ("source", item.source),
        ("size", _pixels(item)),
        ("views", ", ".join(item.views)),
        ("content hash", item.content_hash),
    ):
        rows.add_row(field, value)
    show(rows)


def _show_collection(info: "CollectionInfo") -> None:
    show(f"{info.name}: {info.items} items, {size(info.bytes_on_disk)}, made {info.created}")
    if info.description:
        show(info.description)
    common = sorted(info.labels.items(), key=lambda pair: (-pair[1], pair[0]))
    if common:
        more = f", and {len(common) - LABELS_SHOWN} more" if len(common) > LABELS_SHOWN else ""
        show("labels: " + ", ".join(f"{label} ({count})" for label, count in common[:LABELS_SHOWN]) + more)
    views = table("view", "extractor", ">dim", "fitted", title="Views")
    for view in info.views:
        parameters = ", ".join(f"{name}={value}" for name, value in view.params.items())
        fitted = "yes" if view.fitted else "not yet"
        views.add_row(view.name, f"{view.extractor}({parameters})", str(view.dim), fitted)
    spaces = table("space", ">generation", "learner", "targets", ">items", ">held out", title="Spaces")
    for space in info.spaces:
        mark = f"{space.name} (active)" if space.active else space.name
        targets = ", ".join(f"{target} ({space.size(target)})" for target in space.targets)
        spaces.add_row(
            mark, str(space.generation), space.spec or "-", targets, str(space.trained_items), str(space.held_out)
        )
    show(views, spaces)
    for space in info.spaces:
        if space.added:
            show(f"{space.name}: {', '.join(space.added)} added later")
        if space.pairs:
            show(f"{space.name}: learned from {space.pairs} pairs of similar items")
        if space.rerank:
            show(f"{space.name}: {space.rerank} codes found for each hit are ordered by their float vectors")
        if space.constraints is not None:
            show(f"{space.name}: {space.constraints.sentence()}")
        if space.tuning is not None:
            show(f"{space.name}: {tuning(space.tuning)}")
