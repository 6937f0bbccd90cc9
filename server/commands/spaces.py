"""Commands on the spaces of a collection: list, activate, extend, assign, reindex and delete."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import typer

from crossview.engine.values.index_choice import RECALL
from crossview.server.commands.common import (
    Deleted,
    JsonOption,
    NameArgument,
    YesOption,
    confirm_deletion,
    names,
    print_json,
    print_result,
)
from crossview.server.commands.connection_options import HERE, ConnectionOptions
from crossview.server.commands.jobs import DetachOption, check_detached, print_detached
from crossview.server.commands.learn import ActivateOption, show_trained
from crossview.server.commands.output import show, table
from crossview.server.commands.progress_bar import progress_bar

if TYPE_CHECKING:
    from collections.abc import Iterable

    from crossview.engine.values.info import SpaceInfo

ViewsOption = Annotated[
    str, typer.Option(metavar="VIEWS", help="Views to add, such as gist; color+gist joins two views.")
]
SpaceArgument = Annotated[str, typer.Argument(metavar="SPACE", help="Name of the space.")]


def list_(name: NameArgument, connection: ConnectionOptions = HERE, as_json: JsonOption = False) -> None:
    """List the spaces of a collection.

    Examples:
        crossview space list pets
        crossview space list pets --json
    """
    with connection.collection(name) as collection:
        spaces = collection.spaces()
    print_json(spaces) if as_json else show_spaces(spaces)


def show_spaces(spaces: "Iterable[SpaceInfo]", title: str | None = None) -> None:
    """Print a table of spaces."""
    rows = table("space", ">generation", "learner", "targets", ">items", ">held out", title=title)
    for space in spaces:
        name = f"{space.name} (active)" if space.active else space.name
        targets = ", ".join(f"{target} ({space.size(target)})" for target in space.targets)
        counts = str(space.trained_items), str(space.held_out)
        rows.add_row(name, str(space.generation), space.spec or "-", targets, *counts)
    show(rows)


def activate(
    name: NameArgument,
    space: SpaceArgument,
    generation: Annotated[
        int | None, typer.Option(min=1, help="Generation of the space [default: the one that answered last].")
    ] = None,
    connection: ConnectionOptions = HERE,
    as_json: JsonOption = False,
) -> None:
    """Choose the space that answers searches without --space.

    Examples:
        crossview space activate pets cca
        crossview space activate pets cca --generation 1
    """
    with connection.collection(name) as collection:
        info = collection.spaces.activate(space, generation)
    print_result(info, f"active: {info.name} generation {info.generation}", as_json)


def extend(
    name: NameArgument,
    space: SpaceArgument,
    views: ViewsOption,
    into: Annotated[
        str | None,
        typer.Option(metavar="SPACE", help="Store the extended space under this name [default: the same name]."),
    ] = None,
    activate: ActivateOption = None,
    detach: DetachOption = False,
    connection: ConnectionOptions = HERE,
    as_json: JsonOption = False,
) -> None:
    """Add views to a space, and keep its embeddings of other views.

    The command learns with the learner and the settings of the space. Distances between the other views do not change.

    Examples:
        crossview space extend pets cca --views gist
        crossview space extend pets cca --views gist --into wider --activate
    """
    check_detached(detach, connection)
    added = names(views)
    if detach:
        with connection.detached(name) as server:
            job = server.spaces.extend(space, added, name=into, activate=activate)
        print_detached(job, as_json)
        return
    with connection.collection(name) as collection, progress_bar(not as_json) as progress:
        info = collection.spaces.extend(space, added, name=into, activate=activate, progress=progress)
    show_trained(name, info, as_json)


def assign(
    name: NameArgument,
    space: SpaceArgument,
    label: Annotated[str, typer.Argument(metavar="LABEL", help="Label that the space was not trained on.")],
    detach: DetachOption = False,
    connection: ConnectionOptions = HERE,
    as_json: JsonOption = False,
) -> None:
    """Choose a metric for a new label, without training.

    The space has several metrics, as the learner musl makes them. The items with the label choose the metric.

    Examples:
        crossview space assign pets musl ocelot
        crossview space assign pets musl ocelot --server localhost:50051 --detach
    """
    check_detached(detach, connection)
    if detach:
        with connection.detached(name) as server:
            job = server.spaces.assign(space, label)
        print_detached(job, as_json)
        return
    with connection.collection(name) as collection:
        info = collection.spaces.assign(space, label)
    print_result(info, f"{label} has a metric in {info.name} generation {info.generation}", as_json)


@dataclass(frozen=True, kw_only=True)
class ReindexOptions:
    """The indexes to build, and their kind."""

    PANEL: ClassVar[str] = "Index"

    space: Annotated[str, typer.Option(metavar="SPACE", help="Space to index [default: the active one].")] = ""
    targets: Annotated[
        str | None, typer.Option(metavar="TARGETS", help="Targets to index: views or notions [default: all].")
    ] = None
    index: Annotated[
        Literal["auto", "flat", "scan", "ivf", "hnsw"],
        typer.Option(help="Kind of index: flat is exact, auto depends on the number of items."),
    ] = "auto"
    recall: Annotated[
        float, typer.Option(metavar="SHARE", help="Share of the nearest that an approximate index finds.")
    ] = RECALL
    precision: Annotated[
        Literal["float32", "float16"], typer.Option(help="Type in which the index stores components of vectors.")
    ] = "float32"

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of ``spaces.reindex``."""
        return {
            "space": self.space,
            "targets": names(self.targets),
            "index": self.index,
            "recall": self.recall,
            "vectors": self.precision,
        }


def reindex(
    name: NameArgument,
    options: ReindexOptions,
    detach: DetachOption = False,
    connection: ConnectionOptions = HERE,
    as_json: JsonOption = False,
) -> None:
    """Build the indexes of a space again, in a kind for its size.

    Approximate kinds answer faster and can miss items. The command measures which share of the nearest items searches
    find, and searches take the effort for the recall.

    Examples:
        crossview space reindex pets
        crossview space reindex pets --space raw --targets sift --index ivf --recall 0.95
    """
    check_detached(detach, connection)
    if detach:
        with connection.detached(name) as server:
            job = server.spaces.reindex(**options.arguments())
        print_detached(job, as_json)
        return
    with connection.collection(name) as collection, progress_bar(not as_json) as progress:
        info = collection.spaces.reindex(**options.arguments(), progress=progress)
    print_result(info, "\n".join(index.sentence() for index in info.indexes), as_json)


def delete(
    name: NameArgument,
    space: SpaceArgument,
    generation: Annotated[int | None, typer.Option(min=1, help="Delete only this generation of the space.")] = None,
    yes: YesOption = False,
    connection: ConnectionOptions = HERE,
    as_json: JsonOption = False,
) -> None:
    """Delete a space, or one of its generations.

    Examples:
        crossview space delete pets cca
        crossview space delete pets cca --generation 1 --yes
    """
    what = f"space {space}" if generation is None else f"generation {generation} of space {space}"
    with connection.collection(name) as collection:
        active = collection.spaces.get(space).active
        if not yes:
            confirm_deletion(f"{what} of {name}")
        collection.spaces.delete(space, generation)
    sentence = f"deleted {what} of {name}"
    if active and generation is None:
        sentence += "\nit was the active space: searches that name no space now use raw"
    print_result(Deleted(space, generation), sentence, as_json)
