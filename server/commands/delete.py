"""Deleting parts of a collection: what is asked first, and what is reported."""

import sys
from typing import TYPE_CHECKING

import typer

from server.commands.common import fail

if TYPE_CHECKING:
    from server.backend import CollectionBackend


def check_parts(items: bool, space: str | None, generation: int | None, view: str | None) -> None:
    """Refuses options that ask for several deletions at once, or for a generation of no space."""
    if items + (space is not None) + (view is not None) > 1:
        raise typer.BadParameter("--items, --space and --view are deleted one at a time")
    if generation is not None and space is None:
        raise typer.BadParameter("--generation is one of a space: give --space as well")


def confirm(what: str) -> None:
    """Asks whether to delete; without a terminal to ask in, the command fails."""
    if not sys.stdin.isatty():
        fail(f"deleting {what} needs --yes")
    typer.confirm(f"Delete {what}?", abort=True)


def delete_space(collection: "CollectionBackend", space: str, generation: int | None, yes: bool) -> None:
    """Deletes a space, or one of its generations, and says what answers searches from then on."""
    active = collection.space(space).active
    what = f"space {space}" if generation is None else f"generation {generation} of space {space}"
    if not yes:
        confirm(f"{what} of {collection.name}")
    collection.delete_space(space, generation)
    typer.echo(f"deleted {what} of {collection.name}")
    if active and generation is None:
        typer.echo("it was active: searches that name no space are answered by raw now")


def delete_view(collection: "CollectionBackend", view: str, yes: bool) -> None:
    """Deletes a view with its rows."""
    what = f"view {view} of {collection.name}"
    if not yes:
        confirm(f"{what} with its rows")
    collection.delete_view(view)
    typer.echo(f"deleted {what}")
