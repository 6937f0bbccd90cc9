"""The annotate command: labels, texts and attributes from CSV files, or for a few items."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from crossview.server.commands.common import JsonOption, NameArgument, fail, print_json, settings
from crossview.server.commands.connection_options import HERE, ConnectionOptions
from crossview.server.commands.filter_options import FilterOptions
from crossview.server.commands.hints import completed
from crossview.server.commands.import_report import show_report, since
from crossview.server.commands.progress_bar import progress_bar

if TYPE_CHECKING:
    from crossview.engine.runtime.progress import Progress
    from crossview.engine.values.item import ImportReport
    from crossview.server.commands.backend import CollectionBackend

LabelNotionOption = Annotated[
    str,
    typer.Option(
        metavar="NOTION", help="Notion of similarity of the labels, such as color; other labels do not change."
    ),
]
NewAttributesOption = Annotated[
    bool,
    typer.Option("--new-attributes", help="Accept columns with names similar to known ones as new attributes."),
]
CaptionsOption = Annotated[
    str | None,
    typer.Option(
        metavar="labels|FILE.csv",
        help="Source of the texts: the words of the labels, for items without a text of their own, or a CSV file with "
        "lines of path,caption.",
    ),
]
CLEARABLE = ("labels", "attributes", "text")


class AnnotationFiles:
    """Labels and captions, each from a CSV file or None, and captions also from labels.

    Raises InvalidInputError for an unusable file.
    """

    def __init__(
        self, labels: Path | str | None, captions: Path | str | None, notion: str = "", new_attributes: bool = False
    ) -> None:
        from crossview.engine.catalog.ingest.annotation_file import AnnotationFile
        from crossview.engine.catalog.ingest.label_texts import LABELS

        self._notion, self._new_attributes = notion, new_attributes
        self._text_from_labels = str(captions) == LABELS
        sources = ((labels, "label"), (None if self._text_from_labels else captions, "caption"))
        self._files = {cell: AnnotationFile(path, cell) for path, cell in sources if path is not None}

    def check(self, collection: "CollectionBackend") -> None:
        """Raise InvalidInputError for a column that is probably misspelt: call it before anything is written."""
        from crossview.engine.catalog.ingest.annotations import checked_columns

        checked_columns(collection.items, self._files.values(), self._new_attributes)

    def write(
        self, collection: "CollectionBackend", progress: "Progress | None", replace_labels: bool = False
    ) -> "list[ImportReport]":
        """Annotate a collection's items; return a report for each file."""
        from crossview.engine.catalog.ingest.label_texts import LABELS

        self.check(collection)
        reports = [
            collection.items.annotate(
                file,
                replace_labels=replace_labels and cell == "label",
                notion=self._notion * (cell == "label"),
                new_attributes=self._new_attributes,
                progress=progress,
            )
            for cell, file in self._files.items()
        ]
        if self._text_from_labels:
            reports.append(collection.items.annotate(LABELS, "caption", progress=progress))
        return reports


@dataclass(frozen=True, kw_only=True)
class FileOptions:
    """Annotations from CSV files."""

    PANEL: ClassVar[str] = "Annotations from files"

    file: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="FILE.csv",
            help="CSV file with the columns path (or key), label, caption, and attributes.",
        ),
    ] = None
    captions: CaptionsOption = None
    replace_labels: Annotated[
        bool, typer.Option("--replace-labels", help="Clear the labels of items without a label in the file of --from.")
    ] = False
    label_notion: LabelNotionOption = ""
    new_attributes: NewAttributesOption = False

    def check(self) -> None:
        """Raise BadParameter where no file is given, or an option lacks its file."""
        if self.file is None and self.captions is None:
            raise typer.BadParameter(
                "no annotations are given: use --from FILE.csv, --captions FILE.csv or labels, or KEY... or --where "
                "with --label, --attribute, --text or --clear"
            )
        if self.replace_labels and self.file is None:
            raise typer.BadParameter("--replace-labels needs --from FILE.csv")


@dataclass(frozen=True, kw_only=True)
class FieldOptions:
    """The fields to set and to clear."""

    PANEL: ClassVar[str] = "Fields of the items KEY"

    labels: Annotated[
        list[str] | None,
        typer.Option("--label", metavar="LABEL", help="Label that replaces the existing labels; repeat for several."),
    ] = None
    attributes: Annotated[
        list[str] | None,
        typer.Option(
            "--attribute",
            metavar="KEY=VALUE",
            help="Attribute to set; repeat for several. VALUE is JSON, or otherwise text.",
        ),
    ] = None
    text: Annotated[str | None, typer.Option(help="Text to set.")] = None
    clear: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FIELD", help="Clear labels, attributes, text, or the attribute of this name; repeat for several."
        ),
    ] = None

    def update(self) -> dict[str, Any]:
        """Return the fields of an ItemUpdate that are given; raise BadParameter for one both set and cleared."""
        clear = self.clear or []
        fields: dict[str, Any] = {
            "labels": self.labels and tuple(self.labels),
            "attributes": settings(self.attributes, "--attribute"),
            "text": self.text,
            "removed_attributes": tuple(name for name in clear if name not in CLEARABLE),
        }
        for what, empty in zip(CLEARABLE, ((), {}, ""), strict=True):
            if what in clear:
                if fields[what]:
                    raise typer.BadParameter(f"{what} cannot be both set and cleared")
                fields[what] = empty
        return {field: value for field, value in fields.items() if value is not None and (value or field in clear)}


def annotate(
    name: NameArgument,
    files: FileOptions,
    fields: FieldOptions,
    conditions: FilterOptions,
    keys: Annotated[
        list[str] | None,
        typer.Argument(metavar="KEY", help="Keys of the items whose fields to set; leave them out to read files."),
    ] = None,
    connection: ConnectionOptions = HERE,
    as_json: JsonOption = False,
) -> None:
    """Set labels, texts and attributes of items.

    The first line of the file names the columns: path or key, label (it may repeat), caption; any other column is an
    attribute. Semicolons separate the labels of a cell; put a label that contains one in double quotes. Without a
    header, lines are path,label[,label...]. Name an item by its key, by its path below the indexed folder, or by its
    full path. Fields that you do not name keep their values; an empty cell clears a field. The command also reads the
    output of list --csv. --captions labels gives items without a text of their own the words of their labels.

    Examples:
        crossview annotate pets --from labels.csv
        crossview annotate pets photos/1.jpg --label cat --attribute year=1999 --clear text
        crossview annotate pets --where 'key prefix photos/paris/' --attribute city=Paris
    """
    update, began = fields.update(), time.monotonic()
    if keys or conditions.given():
        if files != FileOptions():
            raise typer.BadParameter("name the items as KEY... or by --where, or in the file of --from or --captions")
        if not update:
            raise typer.BadParameter("nothing to change: give --label, --attribute, --text or --clear")
        report = _update(name, keys or [], conditions, update, connection)
    else:
        if update:
            raise typer.BadParameter(
                "--label, --attribute, --text and --clear are for items: name KEY..., or give --where"
            )
        files.check()
        report = _read(name, files, connection, not as_json)
    report = since(began, report)
    if as_json:
        print_json(report)
    elif keys and report.failures and not report.updated + report.unchanged:
        fail("; ".join(f"{failure.key}: {completed(failure.reason)}" for failure in report.failures))
    else:
        show_report(report, name)


def _update(
    name: str, keys: list[str], conditions: FilterOptions, update: dict[str, Any], connection: ConnectionOptions
) -> "ImportReport":
    """Update the items that fulfil the conditions, of all items or among these keys."""
    from crossview.engine.values.item import ItemUpdate

    with connection.collection(name) as collection:
        every_key = conditions.keys(collection, tuple(keys)) if conditions.given() else keys
        return collection.items.update([ItemUpdate(key, **update) for key in dict.fromkeys(every_key)])


def _read(name: str, files: FileOptions, connection: ConnectionOptions, show_progress: bool) -> "ImportReport":
    from crossview.server.wire.message_batches import merged

    read = AnnotationFiles(files.file, files.captions, files.label_notion, files.new_attributes)
    with connection.collection(name) as collection, progress_bar(show_progress, "items") as progress:
        return merged(read.write(collection, progress, files.replace_labels))
