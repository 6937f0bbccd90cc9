"""The place command: rows for items of which nothing is known but how people compared them."""

from pathlib import Path
from typing import Annotated

import typer

from crossview.server.commands.common import NameArgument
from crossview.server.commands.compare import answered
from crossview.server.commands.connection import HERE, ConnectionOptions
from crossview.server.commands.saying import say

_DIM = 10


def place(
    name: NameArgument,
    view: Annotated[str, typer.Option(metavar="VIEW", help="Name of the new view for the places.")],
    constraints: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.csv", help="File of comparisons: anchor,near,far or near_a,near_b,far_a,far_b, notion."
        ),
    ] = None,
    answers: Annotated[bool, typer.Option("--answers", help="Use the answers to crossview compare.")] = False,
    dim: Annotated[int, typer.Option(min=1, help="Dimension of the places.")] = _DIM,
    seed: Annotated[int, typer.Option(help="Seed of the learner.")] = 0,
    connection: ConnectionOptions = HERE,
) -> None:
    """Place items without features in a new view, by comparisons alone.

    Only compared items get a place: you can search them by key, and cannot place other items later. The command creates
    items for keys in the file that do not exist. Then run train NAME --views VIEW with the same comparisons.
    """
    if (constraints is None) != answers:
        raise typer.BadParameter("give either --constraints FILE.csv or --answers")
    from crossview.engine.ingest.comparison_files import read_comparisons
    from crossview.engine.training.places import places

    with connection.collection(name) as collection:
        given = answered(collection) if constraints is None else read_comparisons(constraints)
        given.check()
        rows = places(given, dim, seed)
        collection.views.add(f"{view}=vectors:dim={dim}")
        report = collection.items.put_vectors(view, given.keys, rows)
    say(
        f"placed {len(given.keys)} items ({report.added} of them new) in view {view} by {len(given)} comparisons; "
        "no other item can be searched by it"
    )
