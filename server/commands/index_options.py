"""The options of the index command."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import typer

from crossview.server.commands.annotate import CaptionsOption, LabelNotionOption, NewAttributesOption
from crossview.server.commands.common import YesOption

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
    captions: CaptionsOption = None
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
    exclude: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATTERN",
            help="Leave out files and folders with this name, or this path below the folder, as in '*.tmp' and "
            "'exports/'; can be given several times. Lines of a file .crossviewignore do the same in its folder.",
        ),
    ] = None
    workers: WorkersOption = None


@dataclass(frozen=True, kw_only=True)
class FollowOptions:
    """The options for a collection that follows its folder."""

    PANEL: ClassVar[str] = "Folder"

    prune: Annotated[
        bool,
        typer.Option("--prune", help="Delete the items whose files are missing, after a list of them and a question."),
    ] = False
    prune_limit: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Maximum number of items that --prune --yes deletes, whichever files are missing [default: a tenth of "
            "the items of each folder, at least 20, and none if a whole folder seems to be out of reach].",
        ),
    ] = None
    yes: YesOption = False
    on_import: Annotated[
        Literal["warn", "skip"] | None,
        typer.Option(
            help="Look for copies among the new pictures: list them (warn), or leave them out of the collection (skip)."
        ),
    ] = None
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only report what the command would do.")] = False
    watch: Annotated[bool, typer.Option("--watch", help="Keep following the folders until Ctrl-C.")] = False
    words: Annotated[
        bool,
        typer.Option(
            "--words",
            help="Let words find the pictures: add a view by two models, which are downloaded if they are missing "
            "(42 MB, see model get).",
        ),
    ] = False
    no_create: Annotated[
        bool, typer.Option("--no-create", help="Fail if the collection does not exist, instead of creating it.")
    ] = False


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
