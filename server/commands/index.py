"""The index command, which adds pictures, texts and vectors."""

import json
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, NoReturn, cast

import typer

from crossview.server.commands.annotate import AnnotationFiles, LabelNotionOption, NewAttributesOption
from crossview.server.commands.common import INTERRUPTED, JsonOption, NameArgument, print_json
from crossview.server.commands.connection_options import PICTURES_HERE, PictureConnection
from crossview.server.commands.import_report import show_report, since
from crossview.server.commands.output import say
from crossview.server.commands.progress_bar import progress_bar

if TYPE_CHECKING:
    from crossview.engine.item import ImportReport
    from crossview.engine.runtime.progress import Progress
    from crossview.server.backend import CollectionBackend

PathsArgument = Annotated[
    list[Path] | None, typer.Argument(metavar="PATH", help="Folders of pictures, or single picture files.")
]
LabelsOption = Annotated[
    str | None,
    typer.Option(
        metavar="folder|keywords|FILE.csv",
        help="Source of the labels: the name of each picture's folder, the keywords in its file, or a CSV file of "
        "path (or key), label, and attributes.",
    ),
]
WorkersOption = Annotated[
    int | None,
    typer.Option(
        min=1, help="Number of processes that read pictures [default: one per core; a server has its own setting]."
    ),
]
MetadataOption = Annotated[
    Literal["none", "basic", "all"] | None,
    typer.Option(
        help="Facts from each file to keep, such as file.taken and file.camera in conditions: none, basic (all but "
        "the place), or all (also the place, from GPS data) [default: as before; basic for new files].",
    ),
]


@dataclass(frozen=True, kw_only=True)
class PictureOptions:
    """The options for pictures; labels and captions also apply to vectors."""

    PANEL: ClassVar[str] = "Pictures"

    labels: LabelsOption = None
    captions: Annotated[
        Path | None,
        typer.Option(metavar="FILE.csv", help="File with the texts of the pictures: lines of path,caption."),
    ] = None
    replace_labels: Annotated[
        bool,
        typer.Option(
            "--replace-labels",
            help="Clear the labels of pictures that --labels does not name, and replace chosen labels with "
            "folder names or keywords.",
        ),
    ] = False
    label_notion: LabelNotionOption = ""
    new_attributes: NewAttributesOption = False
    metadata: MetadataOption = None
    include_deleted: Annotated[
        bool, typer.Option("--include-deleted", help="Also index pictures whose items were deleted.")
    ] = False
    workers: WorkersOption = None


@dataclass(frozen=True)
class VectorOptions:
    """The options for vectors of another program, instead of pictures."""

    PANEL: ClassVar[str] = "Vectors"

    view: Annotated[str | None, typer.Option(metavar="VIEW", help="With --vectors: the view; a new view is added.")] = (
        None
    )
    vectors: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.npy", help="Vectors of another program, shape (n, d), or FILE.npz with keys and vectors."
        ),
    ] = None
    keys: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.txt",
            help="With --vectors: keys of the items, one per line [default: all items, in the order of keys].",
        ),
    ] = None


def index(
    name: NameArgument,
    options: PictureOptions,
    rows: VectorOptions,
    paths: PathsArgument = None,
    failures: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write each unusable file and the reason as JSON lines to this file."),
    ] = None,
    connection: PictureConnection = PICTURES_HERE,
    as_json: JsonOption = False,
) -> None:
    """Index new and changed pictures, or vectors of a program.

    With --vectors, the command adds the vectors of another program to a view.

    Fields that --labels and --captions do not name keep their values; an empty cell clears a field. After Ctrl-C,
    the same command continues. The command lists files that it cannot read, and continues with the others.

    Examples:
        crossview index pets photos/ --labels folder
        crossview index pets --view clip --vectors rows.npy --keys keys.txt
    """
    _check(options, rows, paths)
    from crossview.engine.item import IndexOptions

    began = time.monotonic()
    try:
        bar = progress_bar(not as_json, "rows" if rows.vectors else "images")
        with connection.collection(name) as collection, bar as progress:
            if rows.vectors is not None:
                report = _index_vectors(collection, options, rows, progress)
            else:
                report = collection.index(paths or [], IndexOptions(**vars(options)), progress=progress)
    except KeyboardInterrupt as interrupt:
        _stop(getattr(interrupt, "committed", 0), connection.server)
    report = since(began, report)
    if failures is not None:
        lines = (json.dumps({"key": failure.key, "reason": failure.reason}) + "\n" for failure in report.failures)
        failures.write_text("".join(lines), encoding="utf-8")
    if as_json:
        print_json(report)
    else:
        _summarize(report, name)


def _index_vectors(
    collection: "CollectionBackend", options: PictureOptions, rows: VectorOptions, progress: "Progress | None"
) -> "ImportReport":
    """Index vectors, then their labels and captions; check these files before anything is written."""
    from crossview.engine.ingest.interruption import interruptible
    from crossview.server.wire.message_batches import merged

    annotations = AnnotationFiles(options.labels, options.captions, options.label_notion, options.new_attributes)
    annotations.check(collection)
    report = collection.items.index_vectors(rows.view or "", cast(Path, rows.vectors), rows.keys, progress)
    with interruptible() as committed:
        committed.items = report.added + report.updated
        annotated = merged(annotations.write(collection, progress))
    return replace(report, failures=(*report.failures, *annotated.failures), notes=annotated.notes)


def _check(options: PictureOptions, rows: VectorOptions, paths: list[Path] | None) -> None:
    if rows.vectors is None:
        if not paths or rows.view is not None or rows.keys is not None:
            raise typer.BadParameter(
                "give either PATH... to index pictures, or --view VIEW --vectors FILE [--keys FILE] to index vectors"
            )
        return
    if rows.view is None or paths:
        raise typer.BadParameter("--vectors FILE needs --view VIEW and takes no PATH: index pictures separately")
    if options.labels in ("folder", "keywords") or (
        options.replace_labels or options.include_deleted or options.metadata is not None
    ):
        raise typer.BadParameter(
            "vectors have no files: with --vectors, --labels is a CSV file of keys, and --replace-labels, "
            "--include-deleted and --metadata have no meaning"
        )


def _stop(committed: int, server: str | None) -> NoReturn:
    committed_items = f"{committed} items were committed and are kept" if committed else "nothing was committed"
    open_batch = ", except perhaps the batch being sent" if server is not None else ""
    say(f"stopped; {committed_items}{open_batch}. Run the same command again to continue.", err=True)
    raise typer.Exit(INTERRUPTED) from None


def _summarize(report: "ImportReport", name: str) -> None:
    files = report.added + report.updated + report.unchanged + len(report.failures) + sum(report.skipped.values())
    if files or report.deleted or report.gone:
        show_report(report, name)
        return
    from crossview.features.formats import KNOWN

    say(f"no pictures found: folders are searched for {KNOWN} files")
