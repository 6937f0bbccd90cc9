"""Commands that create collections and give them views."""

from typing import Annotated

import typer

from crossview.server.commands.common import JsonOption, NameArgument, names, print_result
from crossview.server.commands.connection import HERE, ConnectionOptions


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
    """Create an empty collection."""
    if not names(views):
        raise typer.BadParameter(f"--views {views!r} names no view; give at least one, such as color")
    with connection.backend() as backend:
        collection = backend.create(name, views=names(views), description=description)
        try:
            info = collection.info()
        finally:
            collection.close()
    print_result(info, f"created {name} with views {', '.join(view.name for view in info.views)}", as_json)


def add_view(
    name: NameArgument,
    spec: Annotated[
        str, typer.Argument(metavar="SPEC", help="View to add, such as text, gist or sift2=sift:words=1000.")
    ],
    connection: ConnectionOptions = HERE,
    as_json: JsonOption = False,
) -> None:
    """Add a view to a collection; then index again to compute its rows."""
    with connection.collection(name) as collection:
        view = collection.views.add(spec)
    print_result(view, f"added view {view.name}: {view.extractor}, {view.dim} numbers per row", as_json)
