"""Commands that bring pictures, texts and vectors in: index, and fit for the views alone."""

import json
import random
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from server.commands.annotate import AnnotationFiles
from server.commands.common import (
    INTERRUPTED,
    HomeOption,
    JsonOption,
    NameArgument,
    ServerOption,
    names,
    opened_collection,
    print_json,
)
from server.commands.progress import progress_bar
from server.commands.report import show_report

if TYPE_CHECKING:
    from engine.item import ImportReport

PathsArgument = Annotated[
    list[Path] | None, typer.Argument(metavar="[PATH]...", help="Folders of pictures, or single files.")
]
LabelsOption = Annotated[
    str | None,
    typer.Option(
        metavar="folder|FILE.csv",
        help="Labels: the folder that a picture is in; or a CSV of path (or key), label, and attributes.",
    ),
]
WorkersOption = Annotated[
    int | None,
    typer.Option(min=1, help="Processes that read pictures (else one for each core; a server decides itself)."),
]


def index(
    name: NameArgument,
    paths: PathsArgument = None,
    labels: LabelsOption = None,
    captions: Annotated[
        Path | None, typer.Option(metavar="FILE.csv", help="Texts of the pictures: lines of path,caption.")
    ] = None,
    replace_labels: Annotated[
        bool,
        typer.Option(
            "--replace-labels", help="Pictures that --labels does not name lose theirs; folders win over you."
        ),
    ] = False,
    include_deleted: Annotated[
        bool, typer.Option("--include-deleted", help="Also pictures whose items were deleted.")
    ] = False,
    view: Annotated[str | None, typer.Option(help="With --vectors: the view, which is added if it is new.")] = None,
    vectors: Annotated[
        Path | None,
        typer.Option(metavar="FILE.npy", help="Rows from outside, shape (n, d); or FILE.npz with keys and vectors."),
    ] = None,
    keys: Annotated[
        Path | None,
        typer.Option(metavar="FILE.txt", help="With --vectors: the items, a key a line (else all, in order of keys)."),
    ] = None,
    workers: WorkersOption = None,
    failures: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write every file that could not be used, and why, as JSON lines."),
    ] = None,
    home: HomeOption = None,
    server: ServerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Index pictures, leaving out what is done; or give a view rows from outside (--vectors).

    What --labels and --captions do not name stays as it is, an empty cell clears. Stopped with Ctrl-C, the same command
    goes on from there. Files that cannot be read are listed, never fatal.
    """
    if vectors is None and (not paths or view is not None or keys is not None):
        raise typer.BadParameter("index pictures by PATH..., or vectors by --view VIEW --vectors FILE [--keys FILE]")
    if vectors is not None and (view is None or paths):
        raise typer.BadParameter(
            "--vectors FILE needs --view VIEW, and takes no PATH: index pictures by a call of its own"
        )
    if vectors is not None and (labels == "folder" or replace_labels or include_deleted):
        raise typer.BadParameter("rows have no folders: with --vectors, --labels is a CSV file with keys")
    from engine.item import IndexOptions

    try:
        bar = progress_bar(not as_json, "rows" if vectors else "images")
        with opened_collection(name, home, server) as collection, bar as progress:
            if vectors is not None and view is not None:
                annotations = AnnotationFiles(labels, captions)
                report = collection.index_vectors(view, vectors, keys, progress)
                failures_of = [one.failures for one in (report, *annotations.write(collection))]
                report = replace(report, failures=tuple(chain.from_iterable(failures_of)))
            else:
                options = IndexOptions(
                    labels=labels,
                    captions=captions,
                    replace_labels=replace_labels,
                    include_deleted=include_deleted,
                    workers=workers,
                )
                report = collection.index(paths or [], options, progress=progress)
    except KeyboardInterrupt as stopped:
        committed = getattr(stopped, "committed", 0)
        kept = f"{committed} items were committed and are kept" if committed else "nothing was committed"
        open_batch = ", but perhaps the batch that was on its way" if server is not None else ""
        typer.echo(f"stopped; {kept}{open_batch}. The same command goes on from there.", err=True)
        raise typer.Exit(INTERRUPTED) from None
    if failures is not None:
        lines = (json.dumps({"key": failure.key, "reason": failure.reason}) + "\n" for failure in report.failures)
        failures.write_text("".join(lines), encoding="utf-8")
    if as_json:
        print_json(report)
    else:
        _summarize(report, name)


def fit(
    name: NameArgument,
    paths: PathsArgument = None,
    views: Annotated[str | None, typer.Option(metavar="VIEWS", help="Views to fit (else those that need it).")] = None,
    labels: LabelsOption = None,
    sample: Annotated[int, typer.Option(min=1, help="Pictures to take, at random.")] = 500,
    seed: Annotated[int, typer.Option(help="Another seed takes other pictures.")] = 0,
    refit: Annotated[
        bool, typer.Option("--refit", help="Fit named views again: index and train anew afterwards.")
    ] = False,
    workers: WorkersOption = None,
    home: HomeOption = None,
    server: ServerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Fit views: visual words on a sample of pictures, text views on the texts of the items.

    The first index does it by itself; here the pictures can be chosen. Those that are items' have the items' labels
    unless told otherwise. Text views need no PATH.
    """

    from engine.errors import InvalidInputError
    from engine.ingest.annotations import Annotations
    from engine.ingest.walk import walk
    from engine.item import Picture

    annotations = Annotations(labels)
    files = walk(paths or []).files
    if paths and not files:
        raise InvalidInputError(f"no pictures below {', '.join(map(str, paths))}")
    chosen = random.Random(seed).sample(files, min(sample, len(files)))
    with opened_collection(name, home, server) as collection:
        fitted = collection.fit_views(
            (Picture(file.path.read_bytes(), annotations.of(file).labels or ()) for file in chosen),
            views=names(views) or None,
            seed=seed,
            workers=workers,
            refit=refit,
        )
    if as_json:
        print_json(fitted)
    else:
        revisions = ", ".join(f"{view.name} (revision {view.revision})" for view in fitted)
        typer.echo((f"read {len(chosen)} pictures; " if chosen else "") + f"views: {revisions}")


def _summarize(report: "ImportReport", name: str) -> None:
    found = report.added + report.updated + report.unchanged + len(report.failures) + sum(report.skipped.values())
    if found or report.gone:
        show_report(report, name)
        return
    from features.formats import KNOWN

    typer.echo(f"no pictures there: folders are searched for {KNOWN} files")
