"""Commands that create and delete collections."""

from typing import Annotated

import typer

from crossview.server.commands.common import (
    Deleted,
    JsonOption,
    NameArgument,
    YesOption,
    confirm_deletion,
    names,
    print_result,
)
from crossview.server.commands.connection_options import HERE, ConnectionOptions


def create(
    name: NameArgument,
    views: Annotated[
        str,
        typer.Option(
            metavar="VIEWS", help="Views of the collection, such as color,sift:words=200,text or clip=vectors:dim=512."
        ),
    ] = "color,sift,gist",
    description: Annotated[str, typer.Option(help="Description of the collection.")] = "",
    connection: ConnectionOptions = HERE,
    as_json: JsonOption = False,
) -> None:
    """Create an empty collection.

    Examples:
        crossview create pets --views color,sift,gist
        crossview create songs --views clip=vectors:dim=512 --description "songs of 2020"
    """
    if not names(views):
        raise typer.BadParameter(f"--views {views!r} names no view; give at least one, such as color")
    with connection.backend() as backend:
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

    To delete parts of a collection, use item delete, view delete and space delete.

    Examples:
        crossview delete pets
        crossview delete pets --yes --server localhost:50051
    """
    with connection.backend() as backend:
        if not yes and name in backend.names():
            confirm_deletion(f"{name} with all its items")
        backend.delete(name)
    print_result(Deleted(name), f"deleted {name}", as_json)
