"""The show command."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from server.commands.common import (
    HomeOption,
    JsonOption,
    NameArgument,
    ServerOption,
    opened_collection,
    print_json,
    show,
    size,
    table,
    tuning,
)
from server.commands.listing import pixels

if TYPE_CHECKING:
    from engine.info import CollectionInfo, SpaceInfo
    from engine.item import Item

LABELS_SHOWN = 12


def show_(
    name: NameArgument,
    item: Annotated[str | None, typer.Option(metavar="KEY", help="Describe this item instead.")] = None,
    home: HomeOption = None,
    server: ServerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Describe a collection, or one of its items."""
    with opened_collection(name, home, server) as collection:
        if item is not None:
            found = collection.item(item)
            print_json(found) if as_json else _show_item(found)
            return
        info, findings = collection.info(), collection.findings()
    if as_json:
        print_json({**vars(info), "findings": findings})
        return
    _show_collection(info)
    for finding in findings:
        typer.echo(f"note: {finding}")


def _show_item(item: "Item") -> None:
    rows = table("item", "")
    for field, value in (
        ("key", item.key),
        ("labels", ", ".join(item.labels)),
        ("attributes", ", ".join(f"{name} = {value!r}" for name, value in item.attributes.items())),
        ("text", item.text),
        ("source", item.source),
        ("size", pixels(item)),
        ("views", ", ".join(item.views)),
        ("content hash", item.content_hash),
    ):
        rows.add_row(field, value)
    show(rows)


def _show_collection(info: "CollectionInfo") -> None:
    show(f"{info.name}: {info.items} items, {size(info.bytes_on_disk)}, created {info.created}")
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
        name = f"{space.name} (active)" if space.active else space.name
        targets = ", ".join(f"{target} ({space.size(target)})" for target in space.targets)
        counts = str(space.trained_items), str(space.held_out)
        spaces.add_row(name, str(space.generation), space.spec or "-", targets, *counts)
    show(views, spaces)
    for space in info.spaces:
        show(*(f"{space.name}: {fact}" for fact in _training(space)))


def _training(space: "SpaceInfo") -> Iterator[str]:
    """Yields what is known of a space's training beyond its line in the table."""
    if space.added:
        yield f"{', '.join(space.added)} added later"
    if space.pairs:
        yield f"learned from {space.pairs} pairs of similar items"
    if space.rerank:
        yield f"{space.rerank} codes found for each hit are ordered by their float vectors"
    if space.constraints is not None:
        yield space.constraints.sentence()
    if space.tuning is not None:
        yield tuning(space.tuning)
