"""Commands that move collections out of a home and in, and import data of other programs."""

import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, NoReturn

import typer

from crossview.server.commands.backups import QuietOption
from crossview.server.commands.common import (
    INTERRUPTED,
    JsonOption,
    NameArgument,
    YesOption,
    names,
    print_json,
    print_result,
    settings,
)
from crossview.server.commands.connection_options import (
    HERE,
    PICTURES_HERE,
    ConnectionOptions,
    PictureConnection,
)
from crossview.server.commands.hints import completed
from crossview.server.commands.import_report import show_report, since
from crossview.server.commands.output import escaped, say, show, table
from crossview.server.commands.progress_bar import progress_bar

if TYPE_CHECKING:
    from crossview.engine.catalog.transfer.foreign import ForeignData
    from crossview.engine.catalog.transfer.mapping import Meaning
    from crossview.engine.collections.home import Home
    from crossview.engine.values.item import ImportReport
    from crossview.server.commands.backend import CollectionBackend


@dataclass(frozen=True)
class ImportedData:
    """The meaning of the columns of imported data, and the result; null with --dry-run."""

    rows: int
    mapping: "list[Meaning]"
    report: "ImportReport | None"


@dataclass(frozen=True, kw_only=True)
class DataOptions:
    """The options for data of other programs; an exported collection needs none."""

    PANEL: ClassVar[str] = "Data of other programs"

    columns: Annotated[
        list[str] | None,
        typer.Option(
            "--map",
            metavar="COLUMN=ROLE",
            help="Meaning of a column: key, label[:NOTION], text, attribute[:NAME], picture, vector[:VIEW] or skip; "
            "repeat for several.",
        ),
    ] = None
    images: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder of the pictures that the data names [default: that of the data]."),
    ] = None
    keys: Annotated[
        Path | None, typer.Option(metavar="FILE.txt", help="Keys of the rows of a .npy file, one per line.")
    ] = None
    views: Annotated[
        str,
        typer.Option(
            metavar="VIEWS",
            help="Views of a new collection beside those of vectors [default: color,sift,gist of pictures, text of "
            "texts].",
        ),
    ] = ""
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what the columns become, and import nothing.")
    ] = False


def export(
    name: NameArgument,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The output folder; it must be new or empty.")],
    connection: ConnectionOptions = HERE,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Write a collection to Parquet files, to read it elsewhere.

    The folder contains items, annotations, rows, views, spaces and judgements, in their state at the start of the
    command, with a checksum of each file. It does not contain the source files of the pictures. To read it on any
    machine and in later versions, use crossview import. After an interruption, the same command continues.

    Examples:
        crossview export pets pets-export
        crossview export pets pets-export --quiet --json
    """
    home = _home(connection)
    try:
        with progress_bar(not quiet and not as_json, "rows") as progress:
            data = home.export(name, folder, progress)
    except KeyboardInterrupt:
        _stop()
    note = f", {data.kept} of them finished earlier" if data.kept else ""
    print_result(
        data,
        f"exported {name} to {data.folder}: {data.items} items, {data.files} files{note}, {data.bytes / 1e6:,.1f} MB",
        as_json,
    )


def import_(
    name: NameArgument,
    source: Annotated[
        Path,
        typer.Argument(metavar="SOURCE", help="Folder of crossview export, or a file or folder of another program."),
    ],
    options: DataOptions,
    yes: YesOption = False,
    connection: PictureConnection = PICTURES_HERE,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Import an exported collection, or data of other programs.

    The folder of an export becomes a new collection with the same answers. Data of other programs adds and updates
    items, and creates the collection if it does not exist: Parquet, Arrow, CSV, TSV, JSON lines, COCO JSON, .npy, .npz,
    and folders of Hugging Face datasets. The command first shows what each column becomes, and on a terminal asks.
    After an interruption, the same command continues.

    Examples:
        crossview import pets pets-export
        crossview import shop items.parquet --map emb=vector:clip --map sku=key
        crossview import photos instances.json --images photos/ --dry-run
    """
    from crossview.engine.catalog.transfer.manifest import is_export

    try:
        if is_export(source):
            _import_export(name, source, options, connection, quiet, as_json)
        else:
            _import_data(name, source, options, connection, yes, not quiet and not as_json, as_json)
    except KeyboardInterrupt:
        _stop()


def _import_export(
    name: str, source: Path, options: DataOptions, connection: PictureConnection, quiet: bool, as_json: bool
) -> None:
    if options != DataOptions():
        raise typer.BadParameter(f"{source} is an exported collection, which needs none of the options for other data")
    home = _home(connection)
    with (
        progress_bar(not quiet and not as_json, "rows") as progress,
        home.import_(name, source, progress) as collection,
    ):
        info = collection.info()
    print_result(info, f"imported {name}: {info.items} items, {len(info.spaces)} spaces", as_json)


def _home(connection: ConnectionOptions) -> "Home":
    """Return the home, from and into which collections move; raise a usage error for a server."""
    from crossview.engine.collections.home import Home

    if connection.server is not None:
        raise typer.BadParameter(
            f"a whole collection moves from or into a home, not through the server {connection.server}: run this "
            "command on the machine of the server with --home DIR; the server has an imported collection at once"
        )
    return Home(connection.home)


def _import_data(
    name: str,
    source: Path,
    options: DataOptions,
    connection: PictureConnection,
    yes: bool,
    visible: bool,
    as_json: bool,
) -> None:
    """Show the mapping of data of another program, and import it."""
    from crossview.engine.catalog.transfer.foreign import ForeignData

    columns = {column: str(role) for column, role in settings(options.columns, "--map").items()}
    data = ForeignData(source, columns, options.images, options.keys)
    if not as_json:
        _show_mapping(source, data)
    if options.dry_run:
        if as_json:
            print_json(ImportedData(data.source.count, list(data.meanings), None))
        return
    if sys.stdin.isatty() and not yes and not as_json:
        typer.confirm(escaped(f"Import {data.source.count} rows into {name} as shown?"), abort=True)
    began = time.monotonic()
    with _collection(name, data, names(options.views), connection) as collection, progress_bar(visible, "rows") as bar:
        report = since(began, data.import_into(collection, bar))
    if as_json:
        print_json(ImportedData(data.source.count, list(data.meanings), report))
    else:
        show_report(report, name)


def _show_mapping(source: Path, data: "ForeignData") -> None:
    rows = table("column", "content", "becomes", "example")
    for meaning in data.meanings:
        rows.add_row(meaning.column, meaning.content, meaning.becomes, meaning.example)
    show(f"{source}: {data.source.form}, {data.source.count} rows", rows)
    for note in data.notes():
        say(f"note: {completed(note)}", err=True)


@contextmanager
def _collection(
    name: str, data: "ForeignData", views: tuple[str, ...], connection: PictureConnection
) -> "Iterator[CollectionBackend]":
    """Yield the collection, which is created if it does not exist; processes read the pictures of a local one."""
    from crossview.engine.collections.home import Home
    from crossview.engine.values.errors import CrossviewError
    from crossview.features.pictures import MAX_PIXELS

    with ExitStack() as opened:
        backend = opened.enter_context(connection.backend())
        if isinstance(backend, Home) and data.has_pictures:
            from crossview.engine.catalog.ingest.extraction import reading_files  # which a client of a server lacks

            limit = connection.max_megapixels
            pictures = reading_files(None, int(limit * 1e6) if limit else MAX_PIXELS)
            backend = Home(backend.path, opened.enter_context(pictures))
        new = name not in backend.names()
        if not new and views:
            raise typer.BadParameter(f"--views chooses the views of a new collection, and {name} exists")
        collection = backend.create(name, views=data.views(views)) if new else backend.open(name)
        try:
            yield collection
        except CrossviewError:
            if new and not collection.count():
                backend.delete(name)
            raise
        finally:
            collection.close()


def _stop() -> NoReturn:
    say("stopped; what is finished is kept. Run the same command again to continue.", err=True)
    raise typer.Exit(INTERRUPTED) from None
