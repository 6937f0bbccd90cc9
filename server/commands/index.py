"""The index command, which lets a collection follow folders of pictures, or adds vectors."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn, cast

import typer

from crossview.server.commands.annotate import AnnotationFiles
from crossview.server.commands.common import INTERRUPTED, JsonOption, NameArgument, fail, print_json
from crossview.server.commands.connection_options import PICTURES_HERE, PictureConnection
from crossview.server.commands.following import Follower, check_follow
from crossview.server.commands.hints import hint, remember_collection
from crossview.server.commands.import_report import show_report, since
from crossview.server.commands.index_options import FollowOptions, PathsArgument, PictureOptions, VectorOptions
from crossview.server.commands.models import add_words, get_words
from crossview.server.commands.output import say
from crossview.server.commands.progress_bar import progress_bar

if TYPE_CHECKING:
    from crossview.engine.values.item import ImportReport
    from crossview.server.commands.backend import CollectionBackend

_TYPING_ERROR = 0.75
"""Likeness of the name of a new collection to a known name, from which it is probably a typing error."""


def index(
    name: NameArgument,
    options: PictureOptions,
    follow: FollowOptions,
    rows: VectorOptions,
    paths: PathsArgument = None,
    failures: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write each unusable file and the reason as JSON lines to this file."),
    ] = None,
    connection: PictureConnection = PICTURES_HERE,
    as_json: JsonOption = False,
) -> None:
    """Let a collection follow folders of pictures, or add vectors.

    The command adds new files, reads changed ones again, and lets items follow files that were moved or renamed, also
    with their whole folder. Items whose files are missing stay; searches leave them out until the files are back. A
    collection that does not exist is created. With --vectors, the command adds vectors to a view.

    Fields that --labels and --captions do not name keep their values; an empty cell clears a field. After Ctrl-C,
    the same command continues. The command lists files that it cannot read, and continues with the others.

    Examples:
        crossview index pets photos/ --labels folder
        crossview index pets photos/ --prune
        crossview index pets photos/ --watch
        crossview index pets photos/ --words
        crossview index pets --view clip --vectors rows.npy --keys keys.txt
    """
    _check(options, rows, paths, failures, follow)
    check_follow(follow)
    from crossview.engine.values.item import IndexOptions

    began, refusal = time.monotonic(), ""
    try:
        with _opened(connection, name, paths or [], follow) as collection:
            if follow.words:
                add_words(connection.home, collection)
            if rows.vectors is not None:
                report = since(began, _index_vectors(collection, options, rows, as_json))
                print_json(report) if as_json else show_report(report, name)
            else:
                index_options = IndexOptions(
                    **vars(options) | {"exclude": tuple(options.exclude or ())}, dry_run=follow.dry_run
                )
                follower = Follower(collection, name, paths or [], index_options, follow, as_json)
                if follow.watch:
                    follower.watch()
                report, refusal = follower.once()
                follower.show(report)
                refusal = refusal or _unread(report)
    except KeyboardInterrupt as interrupt:
        _stop(getattr(interrupt, "committed", 0), connection.server)
    if failures is not None:
        lines = (json.dumps({"key": failure.key, "reason": failure.reason}) + "\n" for failure in report.failures)
        failures.write_text("".join(lines), encoding="utf-8")
    if refusal:
        fail(refusal)


@contextmanager
def _opened(
    connection: PictureConnection, name: str, paths: list[Path], follow: FollowOptions
) -> "Iterator[CollectionBackend]":
    """Yield the collection, which is created for pictures if no collection has a similar name."""
    if follow.words and connection.server is not None:
        raise typer.BadParameter(
            "a server uses the models of its home: run crossview model get words on its machine, and then "
            "crossview view add NAME names=conse:lite0:minilm here"
        )
    remember_collection(name)
    with connection.backend() as backend:
        existing_names = {*backend.names(), *backend.aliases()}
        if name in existing_names or follow.no_create or follow.dry_run or not paths:
            collection = backend.open(name)
        else:
            from crossview.engine.catalog.ingest.near_names import near_names

            if absent := [path for path in paths if not path.expanduser().exists()]:
                fail(f"the file or folder {absent[0]} does not exist")
            if near := near_names(name, existing_names, _TYPING_ERROR):
                fail(f"no collection {name!r}, but {near[0]!r}. Create the new one with: {hint('create', name)}")
            if follow.words:
                get_words(connection.home)  # before the collection, which has views by the models of its home
            collection = backend.create(name)
            say(f"created {name} with views {', '.join(view.name for view in collection.views())}", err=True)
        try:
            yield collection
        except Exception:
            if name not in existing_names and not collection.items.count():
                backend.delete(name)  # for example, its views cannot be fitted to the pictures
            raise
        finally:
            collection.close()


def _unread(report: "ImportReport") -> str:
    """Return why a run that found files, and could use none of them, has failed; "" for another run."""
    from crossview.engine.catalog.ingest.walk import PICTURES

    used = report.added, report.updated, report.unchanged, report.missing, report.deleted, report.pruned, report.moved
    files = len(report.failures) + sum(count for kind, count in report.skipped.items() if kind in PICTURES)
    if any(used) or not files:
        return ""
    remedies = "; ".join(note for note in report.notes if "pip install" in note)
    return f"none of {files} files could be used" + (f": {remedies}" if remedies else "")


def _index_vectors(
    collection: "CollectionBackend", options: PictureOptions, rows: VectorOptions, as_json: bool
) -> "ImportReport":
    """Index vectors, then their labels and captions; check these files before anything is written."""
    from crossview.engine.catalog.ingest.interruption import interruptible
    from crossview.server.wire.message_batches import merged

    annotations = AnnotationFiles(options.labels, options.captions, options.label_notion, options.new_attributes)
    annotations.check(collection)
    with progress_bar(not as_json, "rows") as progress:
        report = collection.items.index_vectors(rows.view or "", cast(Path, rows.vectors), rows.keys, progress)
        with interruptible() as committed:
            committed.items = report.added + report.updated
            annotated = merged(annotations.write(collection, progress))
    return replace(report, failures=(*report.failures, *annotated.failures), notes=annotated.notes)


def _check(
    options: PictureOptions, rows: VectorOptions, paths: list[Path] | None, failures: Path | None, follow: FollowOptions
) -> None:
    if rows.vectors is None:
        if not paths or rows.view is not None or rows.keys is not None:
            raise typer.BadParameter(
                "give either PATH... to index pictures, or --view VIEW --vectors FILE [--keys FILE] to index vectors"
            )
        if follow.watch and failures is not None:
            raise typer.BadParameter("--watch prints unusable files as they come: leave out --failures")
        return
    if rows.view is None or paths:
        raise typer.BadParameter("--vectors FILE needs --view VIEW and takes no PATH: index pictures separately")
    if options.labels in ("folder", "keywords") or (
        options.replace_labels or options.include_deleted or options.exclude or options.metadata is not None
    ):
        raise typer.BadParameter(
            "vectors have no files: with --vectors, --labels is a CSV file of keys, and --replace-labels, "
            "--include-deleted, --exclude and --metadata have no meaning"
        )
    if follow.prune or follow.watch or follow.dry_run or follow.words:
        raise typer.BadParameter("vectors have no folders: --prune, --watch, --dry-run and --words have no meaning")


def _stop(committed: int, server: str | None) -> NoReturn:
    committed_items = f"{committed} items were committed and are kept" if committed else "nothing was committed"
    open_batch = ", except perhaps the batch being sent" if server is not None else ""
    say(f"stopped; {committed_items}{open_batch}. Run the same command again to continue.", err=True)
    raise typer.Exit(INTERRUPTED) from None
