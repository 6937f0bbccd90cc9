"""The neighbors command."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from crossview.server.commands.common import JsonOption, NameArgument, names, print_json
from crossview.server.commands.connection_options import HERE, ConnectionOptions
from crossview.server.commands.filter_options import FilterOptions
from crossview.server.commands.output import say
from crossview.server.commands.progress_bar import progress_bar
from crossview.server.commands.query_options import TargetsOption

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crossview.engine.values.query import ItemNeighbors


@dataclass(frozen=True)
class WrittenNeighbors:
    """The file of a graph, the file of its keys, and the numbers of its items and edges."""

    path: Path
    keys: Path
    items: int
    edges: int
    exact: bool


@dataclass(frozen=True, kw_only=True)
class NeighborOptions:
    """The items whose neighbours are wanted, and where to find them."""

    PANEL: ClassVar[str] = "Query"

    view: Annotated[str, typer.Option(metavar="VIEW", help="View of the query, or views, as in color+gist.")]
    targets: TargetsOption = None
    space: Annotated[str, typer.Option(metavar="SPACE", help="Space to search [default: the active one].")] = ""
    k: Annotated[int, typer.Option("-k", help="Number of neighbours of each item.", min=1)] = 15

    @property
    def target(self) -> str:
        """The only target; raises typer.BadParameter for several."""
        targets = names(self.targets)
        if len(targets) > 1:
            raise typer.BadParameter(f"a graph has the distances of one target, not of {', '.join(targets)}")
        return "".join(targets)


def neighbors(
    name: NameArgument,
    query: NeighborOptions,
    conditions: FilterOptions,
    out: Annotated[Path, typer.Option(metavar="FILE", help="Write the graph to this file, such as graph.npz.")],
    connection: ConnectionOptions = HERE,
    as_json: JsonOption = False,
) -> None:
    """Write the graph of the nearest neighbours of all items.

    The file contains a sparse matrix of distances, which scipy.sparse.load_npz reads: row i has the k nearest other
    items of item i. FILE.keys.txt has the keys of the items, one per line. With --where, only items that fulfil it are
    in the graph.

    Examples:
        crossview neighbors pets --view color --out graph.npz
        crossview neighbors pets --view color --space shared --targets gist -k 5 --out graph.npz
    """
    target = query.target
    from crossview.engine.spaces.item_files import every_page, write_graph

    condition = conditions.filter()
    with connection.collection(name) as collection, progress_bar(not as_json) as progress:

        def counted() -> "Iterator[ItemNeighbors]":
            done, total = 0, collection.count(condition)
            for page in every_page(
                collection.items.neighbors, query.view, space=query.space, target=target, k=query.k, filter=condition
            ):
                yield page
                done += len(page.keys)
                if progress is not None:
                    progress("finding neighbours", done, total)

        graph = write_graph(out, counted())
    if as_json:
        print_json(WrittenNeighbors(**graph._asdict()))
        return
    say(f"wrote {graph.edges:,} neighbours of {graph.items:,} items to {graph.path}, and their keys to {graph.keys}")
    if not graph.exact:
        say("note: the index of this target is not exact: distances are right, but near items may be missing", err=True)
