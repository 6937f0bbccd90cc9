"""Commands on single items: show and delete."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from crossview.server.commands.common import (
    JsonOption,
    NameArgument,
    YesOption,
    confirm_deletion,
    print_json,
    print_result,
)
from crossview.server.commands.connection_options import HERE, ConnectionOptions
from crossview.server.commands.filter_options import FilterOptions
from crossview.server.commands.output import show, table

if TYPE_CHECKING:
    from crossview.engine.values.conditions.filter import Filter
    from crossview.engine.values.item import Attributes, Item
    from crossview.server.commands.backend import CollectionBackend

_PAGE = 1_000


@dataclass(frozen=True)
class DeletedItems:
    """The number of deleted items, and of given keys that no item had."""

    deleted: int
    missing: int


def show_(
    name: NameArgument,
    key: Annotated[str, typer.Argument(metavar="KEY", help="Key of the item; write -- before keys that begin with -.")],
    connection: ConnectionOptions = HERE,
    as_json: JsonOption = False,
) -> None:
    """Show everything that a collection knows about an item.

    Examples:
        crossview item show pets photos/cat-1.jpg
        crossview item show pets photos/cat-1.jpg --json
    """
    with connection.collection(name) as collection:
        item = collection.items.get(key)
    print_json(item) if as_json else _show(item)


def delete(
    name: NameArgument,
    conditions: FilterOptions,
    keys: Annotated[
        list[str] | None,
        typer.Argument(metavar="KEY", help="Keys of the items; write -- before keys that begin with -."),
    ] = None,
    yes: YesOption = False,
    connection: ConnectionOptions = HERE,
    as_json: JsonOption = False,
) -> None:
    """Delete the items with these keys, or that fulfil a condition.

    With keys and a condition, the command deletes the items with one of these keys that fulfil it. Files stay.

    Examples:
        crossview item delete pets photos/cat-1.jpg photos/cat-2.jpg
        crossview item delete pets --where 'key prefix photos/drafts/' --yes
    """
    if not keys and not conditions.given():
        raise typer.BadParameter("name the items to delete: give KEY... or --where CONDITION")
    condition = conditions.filter(tuple(keys or ()))
    with connection.collection(name) as collection:
        if not yes and (count := collection.count(condition)):
            confirm_deletion(f"{count} items of {name}")
        # Delete by keys in one write: with a lookup first, an item that another process adds meanwhile would stay.
        deleted = _delete(collection, condition) if conditions.given() else collection.items.delete(list(keys or ()))
    missing = 0 if conditions.given() else len(set(keys or ())) - deleted
    sentence = f"deleted {deleted} items" + (f"; {missing} did not exist" if missing else "")
    print_result(DeletedItems(deleted, missing), sentence, as_json)


def _delete(collection: "CollectionBackend", condition: "Filter") -> int:
    """Delete the items that pass a filter, page by page, and return how many."""
    deleted, after = 0, ""
    while items := collection.items(condition, after=after, limit=_PAGE):
        after = items[-1].key
        deleted += collection.items.delete([item.key for item in items])
    return deleted


def _show(item: "Item") -> None:
    rows = table("item", "")
    for field, value in (
        ("key", item.key),
        ("labels", ", ".join(item.labels)),
        *((f"labels in {notion}", ", ".join(labels)) for notion, labels in item.notion_labels.items()),
        ("attributes", _values(item.attributes)),
        ("file", _values(item.file)),
        ("text", item.text),
        ("source", item.source),
        *([("missing since", item.missing)] if item.missing else []),
        ("size", pixels(item)),
        ("views", ", ".join(item.views)),
        ("content hash", item.content_hash),
    ):
        rows.add_row(field, value)
    show(rows)


def _values(values: "Attributes") -> str:
    return ", ".join(f"{name} = {value!r}" for name, value in values.items())


def pixels(item: "Item") -> str:
    """Return the size of an item's picture, if it has one."""
    return f"{item.width} x {item.height}" if item.width else ""
