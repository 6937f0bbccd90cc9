"""The map command."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from crossview.server.commands.common import JsonOption, NameArgument, names, print_json
from crossview.server.commands.connection_options import HERE, ConnectionOptions
from crossview.server.commands.filter_options import FilterOptions
from crossview.server.commands.jobs import DetachOption, check_detached, print_detached
from crossview.server.commands.output import say, show, table
from crossview.server.commands.progress_bar import progress_bar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from crossview.engine.values.any_collection import AnyCollection
    from crossview.engine.values.conditions.filter import Filter
    from crossview.engine.values.map import MapInfo, MapRequest

_ENDINGS = (".png", ".json")
_METHODS = {"pca": "PCA", "tsne": "t-SNE"}


@dataclass(frozen=True, kw_only=True)
class MapOptions:
    """The items of a map, and how to place them."""

    PANEL: ClassVar[str] = "Map"

    view: Annotated[
        str, typer.Option(metavar="VIEW", help="View whose rows place the items [default: the one most items have].")
    ] = ""
    targets: Annotated[
        str | None, typer.Option(metavar="TARGET", help="Target in which items are compared [default: the view].")
    ] = None
    space: Annotated[str, typer.Option(metavar="SPACE", help="Space to show [default: the active one].")] = ""
    method: Annotated[
        str,
        typer.Option(
            metavar="pca|tsne",
            help="The plane of the largest variance, or neighbours together [default: tsne if openTSNE is installed].",
        ),
    ] = ""
    seed: Annotated[int, typer.Option(min=0, help="Number that determines the map.")] = 0
    renew: Annotated[bool, typer.Option("--renew", help="Compute the map again, although there is one.")] = False

    def request(self, condition: "Filter") -> "MapRequest":
        """Return the request; raise typer.BadParameter for several targets or an unknown method."""
        from crossview.engine.values.map import METHODS, MapRequest

        targets = names(self.targets)
        if len(targets) > 1:
            raise typer.BadParameter(f"a map shows one target, not {', '.join(targets)}")
        if self.method not in ("", *METHODS):
            raise typer.BadParameter(f"--method takes {' or '.join(METHODS)}, not {self.method!r}")
        return MapRequest(
            space=self.space,
            view=self.view,
            target="".join(targets),
            filter=condition,
            method=self.method,
            seed=self.seed,
            renew=self.renew,
        )


@dataclass(frozen=True, kw_only=True)
class MapFile:
    """The file of a map."""

    PANEL: ClassVar[str] = "Output"

    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the map to this file: .png, or .json with all points.")
    ] = None
    color: Annotated[
        str, typer.Option(metavar="FIELD", help="With --out: colour of the points, label or an attribute.")
    ] = "label"

    def check(self, detach: bool) -> None:
        """Raise typer.BadParameter for a file that cannot be written, or that nothing would write."""
        if self.out is None:
            return
        if self.out.suffix.lower() not in _ENDINGS or not self.out.parent.is_dir():
            raise typer.BadParameter(f"--out {self.out} cannot be written: give a .png or .json in an existing folder")
        if detach:
            raise typer.BadParameter("--detach returns before there is a map: give --out in a later call")


def map_(
    name: NameArgument,
    options: MapOptions,
    conditions: FilterOptions,
    file: MapFile,
    listed: Annotated[bool, typer.Option("--list", help="List the maps of the collection and compute none.")] = False,
    detach: DetachOption = False,
    connection: ConnectionOptions = HERE,
    as_json: JsonOption = False,
) -> None:
    """Place the items of a space in a plane, and draw them.

    The collection keeps the map; the same command later draws it again. Recall and trustworthiness state how well it
    keeps the neighbourhoods of the space. Items that are added later have no place until --renew.

    Examples:
        crossview map pets --space shared --out pets.png
        crossview map pets --view color --where 'year >= 2021' --method pca --color year --out pets.png
    """
    check_detached(detach, connection)
    file.check(detach)
    request = options.request(conditions.filter())
    with connection.collection(name) as collection:
        if listed:
            _list(collection.maps(), as_json)
            return
        if detach:
            with connection.client() as client:
                print_detached(client.open(name).detached().maps.make(request), as_json)
            return
        with progress_bar(not as_json) as progress:
            info = collection.maps.make(request, progress=progress)
        if file.out is not None:
            _write(file.out, collection, info, file.color)
    if as_json:
        print_json(info)
        return
    say(sentence(info))
    if info.missing:
        say(f"note: {info.missing:,} items came after the map and have no place: place them with --renew", err=True)
    if file.out is not None:
        say(f"wrote {file.out}")


def sentence(info: "MapInfo") -> str:
    """Return a sentence about a map."""
    text = f"map {info.id}: {info.items:,} items by {_METHODS[info.method]} of {_place(info)}"
    if info.explained is not None:
        text += f", {info.explained:.0%} of the variance"
    if info.recall is not None and info.trustworthiness is not None:
        text += f"; recall of {info.neighbors} neighbours {info.recall:.3f}, trustworthiness {info.trustworthiness:.3f}"
    return f"{text} ({info.seconds:.1f} s)"


def _place(info: "MapInfo") -> str:
    target = "" if info.target == info.view else f" in {info.target}"
    return f"{info.view}{target} in space {info.space}, generation {info.generation}"


def _list(maps: "tuple[MapInfo, ...]", as_json: bool) -> None:
    if as_json:
        print_json(list(maps))
        return
    rows = table("map", "space", "view", "target", "method", ">items", ">later", ">recall", "where")
    for info in maps:
        recall = "" if info.recall is None else f"{info.recall:.3f}"
        place = (f"{info.space} {info.generation}", info.view, info.target, info.method)
        rows.add_row(str(info.id), *place, f"{info.items:,}", f"{info.missing:,}", recall, info.where)
    show(rows)


def _write(out: Path, collection: "AnyCollection", info: "MapInfo", field: str) -> None:
    from crossview.engine.spaces.item_files import replacing

    keys, points, values = _points(collection, info, field)
    with replacing(out) as part:
        if out.suffix.lower() == ".json":
            with part.open("w", encoding="utf-8") as file:
                file.writelines(_lines(info, keys, points, values))
            return
        from crossview.server.commands.drawing.map_picture import map_picture

        title = sentence(info).partition(": ")[2].rpartition(" (")[0]  # without its id and the time
        map_picture(points, values, title, field).save(part, format="PNG")


def _points(
    collection: "AnyCollection", info: "MapInfo", field: str
) -> "tuple[list[str], NDArray[np.float32], list[Any]]":
    import numpy as np

    keys, parts, values, after = list[str](), [np.empty((0, 2), np.float32)], list[Any](), 0
    while True:
        page = collection.maps.points(info.id, field=field, after=after)
        keys += page.keys
        parts.append(page.points)
        values += page.values
        if not page.after:
            return keys, np.concatenate(parts), values
        after = page.after


def _lines(info: "MapInfo", keys: list[str], points: "NDArray[np.float32]", values: list[Any]) -> Iterator[str]:
    """Yield the lines of a file: the map, then one line for each point."""
    yield f'{{"map": {json.dumps(asdict(info))}, "points": ['
    for number, (key, (x, y), value) in enumerate(zip(keys, points.tolist(), values, strict=True)):
        point = {"key": key, "x": x, "y": y, "value": value}
        yield f"{',' if number else ''}\n{json.dumps(point)}"
    yield "\n]}\n"
