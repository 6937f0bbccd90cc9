"""Commands that say what items are: label, from a file, and set, for a few of them."""

from pathlib import Path
from typing import Annotated, Any

import typer

from server.commands.annotate import AnnotationFiles
from server.commands.common import (
    HomeOption,
    JsonOption,
    NameArgument,
    ServerOption,
    fail,
    opened_collection,
    print_json,
    settings,
)
from server.commands.report import show_report

CLEARABLE = ("labels", "attributes", "text")


def label(
    name: NameArgument,
    file: Annotated[
        Path | None,
        typer.Option("--from", metavar="FILE.csv", help="Columns path (or key), label, caption, and attributes."),
    ] = None,
    captions: Annotated[Path | None, typer.Option(metavar="FILE.csv", help="Texts: lines of path,caption.")] = None,
    replace_labels: Annotated[
        bool, typer.Option("--replace-labels", help="Items that --from gives no label lose theirs.")
    ] = False,
    home: HomeOption = None,
    server: ServerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Label any items from a CSV file, with or without pictures; captions and attributes, too.

    The first line names the columns: path or key, label (it may repeat), caption, and further ones, which are
    attributes. Without it lines are path,label[,label...]. Items go by key, by path below the folder that was indexed,
    or by full path. What the file does not name stays as it is; an empty cell clears.
    """
    if file is None and captions is None:
        raise typer.BadParameter("say what to read: --from FILE.csv, or --captions FILE.csv")
    if replace_labels and file is None:
        raise typer.BadParameter("--replace-labels goes with --from FILE.csv")
    from server.batches import merged

    files = AnnotationFiles(file, captions)
    with opened_collection(name, home, server) as collection:
        reports = files.write(collection, replace_labels)
    if as_json:
        print_json(merged(reports))
    else:
        show_report(merged(reports), name)


def set_(
    name: NameArgument,
    keys: Annotated[list[str], typer.Argument(metavar="KEY...", help="The items.")],
    labels: Annotated[
        list[str] | None, typer.Option("--label", metavar="LABEL", help="Their labels, in place of others; repeat.")
    ] = None,
    attributes: Annotated[
        list[str] | None,
        typer.Option("--attribute", metavar="KEY=VALUE", help="An attribute; repeat. Values are JSON, else text."),
    ] = None,
    text: Annotated[str | None, typer.Option(help="Their text.")] = None,
    clear: Annotated[
        list[str] | None,
        typer.Option(metavar="WHAT", help="Clear labels, attributes, text, or the attribute of this name; repeat."),
    ] = None,
    home: HomeOption = None,
    server: ServerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Set labels, attributes and text of a few items; what is not named stays as it is.

    For example: crossview set pets photos/1.jpg --label cat --attribute year=1999 --clear text
    """
    update = _changes(labels, attributes, text, clear or [])
    if not update:
        raise typer.BadParameter("say what to set: --label, --attribute, --text or --clear")
    from engine.item import ItemUpdate

    with opened_collection(name, home, server) as collection:
        report = collection.update_items([ItemUpdate(key, **update) for key in dict.fromkeys(keys)])
    if as_json:
        print_json(report)
    elif report.failures and not report.updated + report.unchanged:
        fail("; ".join(f"{failure.key}: {failure.reason}" for failure in report.failures))
    else:
        show_report(report, name)


def _changes(
    labels: list[str] | None, attributes: list[str] | None, text: str | None, clear: list[str]
) -> dict[str, Any]:
    """The fields of an update that the options name."""
    given: dict[str, Any] = {"labels": labels and tuple(labels), "attributes": settings(attributes, "--attribute")}
    given |= {"text": text, "removed_attributes": tuple(name for name in clear if name not in CLEARABLE)}
    for what, empty in zip(CLEARABLE, ((), {}, ""), strict=True):
        if what in clear:
            if given[what]:
                raise typer.BadParameter(f"{what} are either set or cleared")
            given[what] = empty
    return {field: value for field, value in given.items() if value is not None and (value or field in clear)}
