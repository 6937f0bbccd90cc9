"""Commands on the views of a collection: add, list, fit, place and delete."""

import random
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from crossview.engine.values.errors import CrossviewError
from crossview.server.commands.ask import answered
from crossview.server.commands.common import (
    Deleted,
    JsonOption,
    NameArgument,
    YesOption,
    confirm_deletion,
    describe,
    names,
    print_json,
    print_result,
)
from crossview.server.commands.connection_options import HERE, PICTURES_HERE, ConnectionOptions, PictureConnection
from crossview.server.commands.hints import hint
from crossview.server.commands.index_options import LabelsOption, PathsArgument, WorkersOption
from crossview.server.commands.output import say, show, table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from crossview.engine.values.info import ViewInfo
    from crossview.engine.values.item import Picture

ViewArgument = Annotated[str, typer.Argument(metavar="VIEW", help="Name of the view.")]
_DIM = 10


def add(
    name: NameArgument,
    specs: Annotated[
        list[str],
        typer.Argument(
            metavar="SPEC",
            help="Views to add, such as text, sift2=sift:words=1000, clip=onnx:MODEL or "
            "names=conse:PICTURE_MODEL:TEXT_MODEL.",
        ),
    ],
    connection: ConnectionOptions = HERE,
    as_json: JsonOption = False,
) -> None:
    """Add views to a collection.

    Then index the pictures again, to compute their rows of the new views. A view that cannot be added does not keep the
    others out.

    Examples:
        crossview view add pets text gist
        crossview view add pets sift2=sift:words=1000
        crossview view add pets clip=onnx:MODEL
        crossview view add pets names=conse:PICTURE_MODEL:TEXT_MODEL
    """
    views, errors = list["ViewInfo"](), list[CrossviewError]()
    with connection.collection(name) as collection:
        for spec in specs:
            try:
                views.append(collection.views.add(spec))
            except CrossviewError as error:
                errors.append(error)
        without_rows = any(view.extractor != "vectors" for view in views) and collection.items.count()
    if without_rows and not as_json:
        say(f"rows come when the pictures are indexed again: {hint('index', name, 'PICTURES')}", err=True)
    if views and as_json:
        print_json(views if len(specs) > 1 else views[0])
    for view in () if as_json else views:
        say(f"added view {view.name}: {view.extractor}, {view.dim} numbers per row")
    for further in errors[1:]:
        say(f"error: {describe(further)}", err=True)
    if errors:
        raise errors[0]


def list_(name: NameArgument, connection: ConnectionOptions = HERE, as_json: JsonOption = False) -> None:
    """List the views of a collection.

    Examples:
        crossview view list pets
        crossview view list pets --json
    """
    with connection.collection(name) as collection:
        views = collection.views()
    print_json(views) if as_json else show_views(views)


def show_views(views: "Iterable[ViewInfo]", title: str | None = None) -> None:
    """Print a table of views."""
    rows = table("view", "extractor", ">dim", "fitted", title=title)
    for view in views:
        rows.add_row(view.name, _made_by(view), str(view.dim), "yes" if view.fitted else "not yet")
    show(rows)


def _made_by(view: "ViewInfo") -> str:
    """Return the extractor of a view with its parameters; of models without those that their names stand for."""
    from crossview.features.inputs import MODELS

    hidden = ("picture_reading", *(("digest", "texts_digest", "dim", "inputs") if view.extractor in MODELS else ()))
    params = {name: value for name, value in view.params.items() if name not in hidden and value not in ("", [])}
    return f"{view.extractor}({', '.join(f'{name}={value}' for name, value in params.items())})"


@dataclass(frozen=True)
class FitOptions:
    """The options that choose views and pictures."""

    PANEL: ClassVar[str] = "Fit"

    views: Annotated[
        str | None, typer.Option(metavar="VIEWS", help="Views to fit [default: the views that are not fitted].")
    ] = None
    sample: Annotated[int, typer.Option(min=1, help="Maximum number of pictures in the random sample.")] = 500
    seed: Annotated[int, typer.Option(help="Seed of the random sample and of the fit.")] = 0
    refit: Annotated[bool, typer.Option("--refit", help="Fit the named views again; then index and train again.")] = (
        False
    )
    labels: LabelsOption = None
    workers: WorkersOption = None


def fit(
    name: NameArgument,
    options: FitOptions,
    paths: PathsArgument = None,
    connection: PictureConnection = PICTURES_HERE,
    as_json: JsonOption = False,
) -> None:
    """Fit views on chosen pictures, and text views on the texts.

    The first index command fits the views itself. Use this command to choose the pictures that give the visual words.
    Without --labels, pictures of items have the labels of the items. Text views need no PATH.

    Examples:
        crossview view fit pets photos/ --sample 1000
        crossview view fit pets --views text --refit
    """
    from crossview.engine.catalog.ingest.annotations import Annotations
    from crossview.engine.catalog.ingest.walk import readable, walk
    from crossview.engine.values.errors import InvalidInputError
    from crossview.engine.values.item import Picture
    from crossview.features.errors import ImageError
    from crossview.features.pictures import MAX_PIXELS, encoded_picture

    annotations = Annotations(options.labels)
    files = walk(paths or []).files
    if paths and not files:
        raise InvalidInputError(f"no pictures below {', '.join(map(str, paths))}")
    sample = random.Random(options.seed).sample(files, min(options.sample, len(files)))

    def pictures() -> "Iterator[Picture]":
        for file in sample:
            try:
                yield Picture(encoded_picture(file.path, MAX_PIXELS), annotations.of(file).labels or ())
            except ImageError as error:
                say(f"left out: {readable(file.path)}: {error}", err=True)

    with connection.collection(name) as collection:
        fitted = collection.views.fit(
            pictures(),
            views=names(options.views) or None,
            seed=options.seed,
            workers=options.workers,
            refit=options.refit,
        )
    revisions = ", ".join(f"{view.name} (revision {view.revision})" for view in fitted)
    print_result(fitted, (f"read {len(sample)} pictures; " if sample else "") + f"views: {revisions}", as_json)


def place(
    name: NameArgument,
    view: Annotated[str, typer.Argument(metavar="VIEW", help="Name of the new view for the places.")],
    constraints: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.csv", help="File of comparisons: anchor,near,far or near_a,near_b,far_a,far_b, notion."
        ),
    ] = None,
    answers: Annotated[bool, typer.Option("--answers", help="Use the answers to crossview ask.")] = False,
    dim: Annotated[int, typer.Option(min=1, help="Dimension of the places.")] = _DIM,
    seed: Annotated[int, typer.Option(help="Seed of the learner.")] = 0,
    connection: ConnectionOptions = HERE,
    as_json: JsonOption = False,
) -> None:
    """Place items in a new view by comparisons, without features.

    Only compared items get a place: you can search them by key, and cannot place other items later. The command creates
    items for keys in the file that do not exist. Then run train NAME --views VIEW with the same comparisons.

    Examples:
        crossview view place songs places --constraints comparisons.csv
        crossview view place songs places --answers --dim 5
    """
    if (constraints is None) != answers:
        raise typer.BadParameter("give either --constraints FILE.csv or --answers")
    from crossview.engine.catalog.ingest.comparison_files import read_comparisons
    from crossview.engine.training.learning import places_of

    with connection.collection(name) as collection:
        comparisons = answered(collection) if constraints is None else read_comparisons(constraints)
        comparisons.check()
        rows = places_of(comparisons, dim, seed)
        collection.views.add(f"{view}=vectors:dim={dim}")
        report = collection.items.put_vectors(view, comparisons.keys, rows)
    sentence = (
        f"placed {len(comparisons.keys)} items ({report.added} of them new) in view {view} by {len(comparisons)} "
        "comparisons; no other item can be searched by it"
    )
    print_result(report, sentence, as_json)


def delete(
    name: NameArgument,
    view: ViewArgument,
    yes: YesOption = False,
    connection: ConnectionOptions = HERE,
    as_json: JsonOption = False,
) -> None:
    """Delete a view with its rows.

    Examples:
        crossview view delete pets gist
        crossview view delete pets gist --yes
    """
    what = f"view {view} of {name}"
    with connection.collection(name) as collection:
        if not yes:
            confirm_deletion(f"{what} with its rows")
        collection.views.delete(view)
    print_result(Deleted(view), f"deleted {what}", as_json)
