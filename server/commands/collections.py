"""Commands that create, rename and delete collections, and name them by aliases."""

from dataclasses import dataclass
from typing import Annotated

import typer

from crossview.server.commands.common import (
    Deleted,
    JsonOption,
    NameArgument,
    NewNameArgument,
    YesOption,
    confirm_deletion,
    names,
    print_json,
    print_result,
)
from crossview.server.commands.connection_options import HERE, ConnectionOptions
from crossview.server.commands.hints import hint
from crossview.server.commands.key_notes import keep_alias_of_keys, key_names, note_keys
from crossview.server.commands.output import say, show, table


@dataclass(frozen=True)
class Renamed:
    """The earlier name of a collection and its name now."""

    before: str
    now: str


@dataclass(frozen=True)
class Alias:
    """An alias and the collection that it stands for."""

    alias: str
    collection: str


def create(
    name: NameArgument,
    views: Annotated[
        str | None,
        typer.Option(
            metavar="VIEWS",
            help="Views of the collection, such as color,sift:words=200,text, clip=vectors:dim=512, or, by registered "
            "models, clip=onnx:MODEL and names=conse:PICTURE_MODEL:TEXT_MODEL [default: color,sift,gist, or "
            "color,gist and views by the models of the home].",
        ),
    ] = None,
    description: Annotated[str, typer.Option(help="Description of the collection.")] = "",
    connection: ConnectionOptions = HERE,
    as_json: JsonOption = False,
) -> None:
    """Create an empty collection.

    Examples:
        crossview create pets --views color,sift,gist
        crossview create songs --views clip=vectors:dim=512 --description "songs of 2020"
        crossview create art --views color,clip=onnx:MODEL
        crossview create art --views names=conse:PICTURE_MODEL:TEXT_MODEL
    """
    if views is not None and not names(views):
        raise typer.BadParameter(f"--views {views!r} names no view; give at least one, such as color")
    with connection.backend() as backend:
        if views is None:
            collection = backend.create(name, description=description)
        else:
            collection = backend.create(name, views=names(views), description=description)
        try:
            info = collection.info()
        finally:
            collection.close()
    print_result(info, f"created {name} with views {', '.join(view.name for view in info.views)}", as_json)


def delete(
    name: NameArgument, yes: YesOption = False, connection: ConnectionOptions = HERE, as_json: JsonOption = False
) -> None:
    """Delete a collection with all its items; their files stay.

    Keys of the collection do not open a new one of the same name.

    To delete parts of a collection, use item delete, view delete and space delete.

    Examples:
        crossview delete pets
        crossview delete pets --yes --server localhost:50051
    """
    with connection.backend() as backend:
        if not yes and name in backend.names():
            confirm_deletion(f"{name} with all its items")
        keys = key_names(backend, name)
        backend.delete(name)
    print_result(Deleted(name), f"deleted {name}", as_json)
    note_keys(keys, "lost it, and a new collection of this name is not theirs")


def rename(
    name: NameArgument,
    new: NewNameArgument,
    keep: Annotated[bool, typer.Option("--keep-alias", help="Make the old name an alias of the collection.")] = False,
    connection: ConnectionOptions = HERE,
    as_json: JsonOption = False,
) -> None:
    """Rename a collection; its aliases and keys follow.

    With --keep-alias, programs can use the old name all the time.

    Examples:
        crossview rename pets animals
        crossview rename pets pets-1 --keep-alias
    """
    with connection.backend() as backend:
        keys = key_names(backend, name)
        backend.rename(name, new, keep_alias=keep)
        if keep and keys:
            keep_alias_of_keys(backend, name)
    alias_note = f"; {name} is now its alias" if keep else ""
    print_result(Renamed(name, new), f"renamed {name} to {new}{alias_note}", as_json)
    old = f"keep the alias {name}" if keep else f"have no right to a new collection {name}"
    note_keys(keys, f"follow it to {new}, and {old}")


def alias(
    name: Annotated[str | None, typer.Argument(metavar="ALIAS", help="Name of the alias.")] = None,
    collection: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Collection that the alias stands for from now on.")
    ] = None,
    delete: Annotated[bool, typer.Option("--delete", help="Delete the alias; its collection stays.")] = False,
    connection: ConnectionOptions = HERE,
    as_json: JsonOption = False,
) -> None:
    """Make a name stand for a collection, or list the aliases.

    Every command takes an alias instead of the name of a collection. If an alias already exists, it stands for the new
    collection from now on: each search answers from the old collection or from the new one, without an error between
    them.

    Examples:
        crossview alias
        crossview alias live pets-2
        crossview alias live --delete
    """
    if delete and (name is None or collection is not None):
        raise typer.BadParameter("--delete takes one alias: crossview alias ALIAS --delete")
    with connection.backend() as backend:
        if name is None:
            _list_aliases(backend.aliases(), as_json)
        elif delete:
            backend.delete_alias(name)
            print_result(Deleted(name), f"deleted alias {name}", as_json)
        elif collection is None:
            raise typer.BadParameter(f"which collection is {name} an alias of? crossview alias {name} NAME")
        else:
            target = backend.set_alias(name, collection)
            print_result(Alias(name, target), f"{name} is now an alias of {target}", as_json)


def _list_aliases(aliases: dict[str, str], as_json: bool) -> None:
    if as_json:
        print_json([Alias(*pair) for pair in aliases.items()])
        return
    if not aliases:
        say(f"no aliases; make one with: {hint('alias', 'ALIAS', 'NAME')}")
        return
    rows = table("alias", "collection")
    for pair in aliases.items():
        rows.add_row(*pair)
    show(rows)
