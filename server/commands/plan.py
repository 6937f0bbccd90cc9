"""The plan command."""

from typing import TYPE_CHECKING, Annotated

import typer

from crossview.server.commands.common import JsonOption, print_json, size
from crossview.server.commands.connection_options import HERE, ConnectionOptions
from crossview.server.commands.output import say, show, table

if TYPE_CHECKING:
    from crossview.engine.values.plan import Plan


def plan(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]", help="A collection, for its items and views [default: give --size].", show_default=False
        ),
    ] = None,
    items: Annotated[
        int | None,
        typer.Option(
            "--size",
            metavar="N",
            min=1,
            help="Number of items to plan for [default: those of NAME].",
            show_default=False,
        ),
    ] = None,
    widths: Annotated[
        str,
        typer.Option(
            "--widths", metavar="WIDTHS", help="Columns of each view, such as color:64,text:384.", show_default=False
        ),
    ] = "",
    connection: ConnectionOptions = HERE,
    as_json: JsonOption = False,
) -> None:
    """Estimate the memory, disk and time of each kind of index.

    The star marks the kind that auto chooses here. Times are those of one core, right within a factor of two.

    Examples:
        crossview plan pets
        crossview plan pets --size 5000000
        crossview plan --size 10000000 --widths image:512,text:384 --json
    """
    from crossview.engine.runtime.memory import available_memory
    from crossview.engine.values.errors import InvalidInputError
    from crossview.engine.values.plan import planned

    views = _widths(widths)
    if name is not None:
        with connection.collection(name) as collection:
            info = collection.info()
        items = info.items if items is None else items
        views = views or {view.name: view.dim for view in info.views if view.dim}
    if items is None or not views:
        raise InvalidInputError("a plan needs a collection, or --size and --widths")
    costs = planned(items, views, available_memory())
    print_json(costs) if as_json else _print(costs)


def _widths(text: str) -> dict[str, int]:
    """Return the columns of each view in a text such as ``color:64,text:384``; InvalidInputError for any other."""
    from crossview.engine.values.errors import InvalidInputError

    pairs = [part.rpartition(":") for part in text.split(",") if part]
    if wrong := ["".join(part) for part in pairs if not part[0] or not part[2].isdigit()]:
        raise InvalidInputError(f"{wrong[0]!r} is not a view with its columns, such as color:64")
    return {view: int(columns) for view, _, columns in pairs}


def _print(costs: "Plan") -> None:
    rows = table("view", "index", ">memory", ">disk", ">build", ">search")
    for index in costs.indexes:
        kind = index.kind + ("" if index.vectors == "float32" else f" {index.vectors}") + (" *" if index.suits else "")
        times = _time(index.build_seconds), f"{index.search_ms:.2f} ms"
        rows.add_row(index.view, kind, size(index.memory), size(index.disk), *times)
    available = "" if costs.available is None else f"; {size(costs.available)} of memory available"
    show(
        f"{costs.items:,} items: catalog {size(costs.catalog)}, loaded in {_time(costs.load_seconds)}{available}",
        rows,
    )
    for note in costs.notes:
        say(f"note: {note}")


def _time(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 100 else f"{seconds:.1f} s"
