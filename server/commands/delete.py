"""The delete command."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from crossview.server.commands.common import NameArgument, confirm
from crossview.server.commands.connection import HERE, ConnectionOptions
from crossview.server.commands.filters import FilterOptions, check_names
from crossview.server.commands.saying import say

if TYPE_CHECKING:
    from crossview.engine.condition import Filter
    from crossview.server.backend import CollectionBackend

_PAGE = 1_000


@dataclass(frozen=True)
class PartOptions:
    """The part of a collection to delete, instead of the whole collection."""

    items: Annotated[bool, typer.Option("--items", help="Delete these items, not the collection.")] = False
    space: Annotated[str | None, typer.Option(metavar="SPACE", help="Delete this space, not the collection.")] = None
    generation: Annotated[int | None, typer.Option(min=1, help="With --space: only this generation.")] = None
    view: Annotated[str | None, typer.Option(metavar="VIEW", help="Delete this view, not the collection.")] = None

    def check(self, items: bool) -> None:
        """Refuses several deletions at once, a generation of no space, and items without --items or the reverse."""
        if self.items + (self.space is not None) + (self.view is not None) > 1:
            raise typer.BadParameter("--items, --space and --view exclude each other: delete one after the other")
        if self.generation is not None and self.space is None:
            raise typer.BadParameter("--generation is one of a space: give --space as well")
        if self.items != items:
            raise typer.BadParameter(
                "to delete items: delete NAME --items KEY..., or --items with --filter-label, --filter-without, "
                "--filter-prefix or --filter-attribute; to delete a collection: delete NAME"
            )


def delete(
    name: NameArgument,
    part: PartOptions,
    chosen: FilterOptions,
    keys: Annotated[
        list[str] | None, typer.Argument(metavar="[KEY]...", help="With --items: keys of the items.")
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Do not ask before deleting a collection, a space or a view.")
    ] = False,
    connection: ConnectionOptions = HERE,
) -> None:
    """Delete a collection, or some of its items, a space or a view.

    To delete items, name them: crossview delete NAME --items KEY..., or use filters: items that meet every condition.
    """
    part.check(bool(keys) or chosen.given())
    condition = chosen.filter(tuple(keys or ()))
    if part == PartOptions():
        with connection.backend() as backend:
            if not yes and name in backend.names():
                _confirm_deletion(f"{name} with all its items")
            backend.delete(name)
        say(f"deleted {name}")
        return
    with connection.collection(name) as collection:
        if part.space is not None:
            _delete_space(collection, part.space, part.generation, yes)
        elif part.view is not None:
            _delete_view(collection, part.view, yes)
        elif chosen.given():
            check_names(collection, condition)
            say(f"deleted {_delete_items(collection, condition)} items")
        elif keys:
            deleted = collection.items.delete(keys)
            missing = len(set(keys)) - deleted
            say(f"deleted {deleted} items" + (f"; {missing} did not exist" if missing else ""))


def _delete_items(collection: "CollectionBackend", condition: "Filter") -> int:
    """Deletes the items that pass a filter, page by page, and returns how many."""
    deleted, after = 0, ""
    while items := collection.items(condition, after=after, limit=_PAGE):
        after = items[-1].key
        deleted += collection.items.delete([item.key for item in items])
    return deleted


def _confirm_deletion(what: str) -> None:
    confirm(f"Delete {what}?", f"deleting {what} needs --yes")


def _delete_space(collection: "CollectionBackend", space: str, generation: int | None, yes: bool) -> None:
    active = collection.spaces.get(space).active
    what = f"space {space}" if generation is None else f"generation {generation} of space {space}"
    if not yes:
        _confirm_deletion(f"{what} of {collection.name}")
    collection.spaces.delete(space, generation)
    say(f"deleted {what} of {collection.name}")
    if active and generation is None:
        say("it was the active space: searches that name no space now use raw")


def _delete_view(collection: "CollectionBackend", view: str, yes: bool) -> None:
    what = f"view {view} of {collection.name}"
    if not yes:
        _confirm_deletion(f"{what} with its rows")
    collection.views.delete(view)
    say(f"deleted {what}")
