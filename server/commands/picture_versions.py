"""The versions for the changes command: the pictures of a folder, stored in a collection, or of a collection."""

import math
import re
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import typer

from crossview.server.commands.connection_options import ConnectionOptions
from crossview.server.commands.hints import completed, hint, remember_collection
from crossview.server.commands.output import say
from crossview.server.commands.progress_bar import progress_bar

if TYPE_CHECKING:
    from crossview.engine.values.changes import Change, Changes, ChangesRequest
    from crossview.engine.values.item import Item
    from crossview.server.commands.backend import Backend, CollectionBackend

GRID, SIZE = 10, 320
"""Number of regions per side, and approximate pixels per side of the resized picture."""
SHOWN = 10
"""Maximum number of printed failures."""
_MULTIPLE = 8
"""GIST needs picture sizes that are multiples of this number."""


class Printer(Protocol):
    """The reports on new versions."""

    def begun(self, result: "Changes") -> None:
        """Take the learned state."""

    def change(self, change: "Change") -> None:
        """Take an important change."""

    def note(self, text: str) -> None:
        """Take the reason why the watch cannot go on."""


@dataclass(frozen=True)
class DrawableItems:
    """The items of a collection for drawing, which hides sources that must not be opened.

    A server may name any file of this machine as the source of an item, and the report would show its pixels.
    """

    collection: "CollectionBackend"
    files: Collection[str] | None
    """The sources that drawing may open; None: all."""

    def get(self, key: str) -> "Item":
        """Return an item, without a source that must not be opened."""
        item = self.collection.items.get(key)
        return item if self.files is None or item.source in self.files else replace(item, source="")

    def thumbnail(self, key: str) -> bytes:
        """Return an item's thumbnail."""
        return self.collection.items.thumbnail(key)


@dataclass
class Versions:
    """The versions of an open collection, and the folder that they come from, if any."""

    collection: "CollectionBackend"
    view: str
    folder: Path | None
    remote: bool
    """Whether the collection is on a server."""
    gone: Sequence[str] = ()
    """Keys of the items whose files are no longer in the folder."""

    def index(self, show_progress: bool) -> list[str]:
        """Index the new pictures of the folder; return a line for each unusable picture, with the reason."""
        if self.folder is None:
            return []
        with progress_bar(show_progress, "images") as progress:
            report = self.collection.index([self.folder], progress=progress)
        self.gone = report.missing
        return [f"{failure.key}: {completed(failure.reason)}" for failure in report.failures]

    def drawn(self) -> DrawableItems:
        """Return the items for drawing; only files of the folder, or of a local collection, may be opened."""
        from crossview.engine.catalog.ingest.walk import readable, walk

        here = None if not self.remote else frozenset[str]()
        files = here if self.folder is None else {readable(file.path) for file in walk([self.folder]).files}
        return DrawableItems(self.collection, files)

    def watch(self, request: "ChangesRequest", every: float, printer: Printer) -> None:
        """Print important changes as pictures arrive, until interrupted; learn the importance once, at the start."""
        from crossview.engine.values.errors import InvalidInputError, NotReadyError

        printed: set[str] = set()

        def note(text: str) -> None:
            if text not in printed:
                printed.add(text)
                printer.note(text)

        learned: Changes | None = None
        while True:
            for failure in self.index(show_progress=False):
                note(f"left out: {failure}")
            try:
                if learned is None:
                    learned = self.collection.changes(replace(request, gone=self.gone))
                    last = learned.changes[-1].later
                    printer.begun(learned)
                else:
                    later = replace(request, gone=self.gone, learned=learned.learned, after=last, labels=())
                    newer = self.collection.changes(later)
                    for change in newer.changes:
                        last = change.later
                        if change.important:
                            printer.change(change)
            except NotReadyError as error:
                note(f"waiting: {error}")
            except InvalidInputError:
                if learned is None:
                    raise
                learned = None  # the last version has disappeared: learn again
            time.sleep(every)


@contextmanager
def opened(
    source: str, name: str, grid: int | None, connection: ConnectionOptions, show_progress: bool, wait: bool
) -> Iterator[Versions]:
    """Yield the versions of a folder, after indexing its new pictures, or of a collection.

    Unless ``wait``, a folder with too few pictures, or with pictures of unknown order, raises an error before anything
    is stored.
    """
    folder = Path(source).expanduser()
    if not folder.is_dir():
        _check_name(source, name)
        with connection.collection(source) as collection:
            yield Versions(collection, _view(collection, grid), None, bool(connection.server))
        return
    folder = folder.resolve()
    if not wait:
        _check_pictures(folder)
    with connection.backend() as backend:
        collection = _collection(backend, folder, name, view_spec(grid or GRID))
        remember_collection(collection.name)
        try:
            versions = Versions(collection, f"gist{grid or GRID}", folder, bool(connection.server))
            failures = versions.index(show_progress)
            if not wait:  # with --watch, report each failure once
                _report_failures(failures)
            yield versions
        finally:
            collection.close()


def view_spec(grid: int) -> str:
    """Return the view of a grid: GIST, whose pictures are resized to a multiple of the cells."""
    step = math.lcm(grid, _MULTIPLE)
    return f"gist{grid}=gist:grid={grid}:size={step * math.ceil(SIZE / step)}"


def _check_pictures(folder: Path) -> None:
    from crossview.engine.catalog.ingest.walk import walk
    from crossview.engine.findings.changes.series import FEWEST
    from crossview.engine.findings.changes.times import file_timeline
    from crossview.engine.values.errors import NotReadyError

    files = walk([folder]).files
    if len(files) < FEWEST:
        raise NotReadyError(
            f"{folder} contains {len(files) or 'no'} pictures, and the command needs {FEWEST} or more; "
            "--watch waits for them"
        )
    file_timeline([file.path for file in files])


def _collection(backend: "Backend", folder: Path, name: str, spec: str) -> "CollectionBackend":
    """Return the collection of a folder, by its name or by its description; a new one if there is none."""
    from crossview.engine.values.errors import NotFoundError

    description = f"versions of {folder}"
    existing_names = backend.names()
    for candidate in [name] if name else _names(folder):
        if candidate not in existing_names:
            return backend.create(candidate, views=[spec], description=description)
        collection = backend.open(candidate)
        if name or collection.info().description == description:
            if spec.partition("=")[0] not in {view.name for view in collection.views()}:
                collection.views.add(spec)
            return collection
        collection.close()
    raise NotFoundError(f"no name is left for the collection of {folder}: give one with --name")


def _names(folder: Path) -> Iterator[str]:
    plain = re.sub(r"[^a-z0-9_-]+", "-", folder.name.lower()).strip("-_")[:40] or "pictures"
    yield f"{plain}-changes"
    for number in range(2, 1_000):
        yield f"{plain}-changes-{number}"


def _check_name(source: str, name: str) -> None:
    if name:
        raise typer.BadParameter(f"--name is for the pictures of a folder, and {source!r} is not a folder")
    if "/" in source or source.startswith("."):
        from crossview.engine.values.errors import NotFoundError

        raise NotFoundError(f"there is no folder {source}")


def _view(collection: "CollectionBackend", grid: int | None) -> str:
    """Return the view of a collection with ``grid`` regions per side; "" if any view will do."""
    if grid is None:
        return ""
    from crossview.engine.values.errors import NotFoundError

    for view in collection.views():
        if view.extractor == "gist" and view.params.get("grid") == grid:
            return view.name
    raise NotFoundError(
        f"collection {collection.name!r} has no view gist of {grid} x {grid} regions: add one with: "
        f"{hint('view add', collection.name, view_spec(grid))}, then index its pictures again"
    )


def _report_failures(failures: Sequence[str]) -> None:
    for failure in failures[:SHOWN]:
        say(f"left out: {failure}", err=True)
    if len(failures) > SHOWN:
        say(f"left out: {len(failures) - SHOWN} more pictures that cannot be read", err=True)
