"""Snapshot files: what indexes are kept in between openings, each named by the catalog once it is whole."""

import re
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from crossview.engine.catalog.catalog import Catalog, Transaction
from crossview.engine.catalog.folder import CollectionFolder
from crossview.engine.catalog.leftovers import at_work, remove_unless_at_work
from crossview.engine.catalog.private import make_folder
from crossview.engine.catalog.snapshots import Place, Snapshot
from crossview.engine.errors import CrossviewError

Loaded = TypeVar("Loaded")
_OWN = re.compile(r".+\.idx|\..+\.idx\.[a-z0-9_]{8}")
"""Names of snapshots, also of those that are not whole yet; other files in the folder are somebody else's."""


class SnapshotFiles:
    """The snapshot files of a collection.

    A file never changes, and its name is never given again. It counts once the catalog names it, and goes when the
    catalog names another one in its place: whatever happens between the two, the catalog and the files agree.
    """

    def __init__(self, catalog: Catalog, folder: CollectionFolder) -> None:
        self._catalog, self._folder, self._saver = catalog, folder.indexes, folder.saver

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Be the only one, of all threads and processes, that writes snapshots of the collection.

        Raises BusyError after long waiting, OSError where the file system refuses; files that are not named are removed
        then.
        """
        with self._saver.hold():
            make_folder(self._folder)
            try:
                with at_work(self._folder):
                    yield
            except BaseException:
                self.remove_unnamed()
                raise

    def new(self, place: Place, sequence: int) -> tuple[Snapshot, Path]:
        """Return a snapshot of a target up to a change, and the path that its file is to be written to."""
        made = Snapshot(*place, secrets.token_hex(8), sequence)
        return made, self._folder / made.file_name

    @contextmanager
    def changing(self, *written: Snapshot) -> Iterator[Transaction]:
        """Open a write transaction; when it is committed, remove files that the catalog names no longer.

        Also those of snapshots just ``written`` that it does not name.
        """
        with self._catalog.write() as tx:
            before = {*written, *tx.snapshots.all()}
            yield tx
            gone = before.difference(tx.snapshots.all())
        for one in gone:
            with suppress(OSError):  # it only takes room
                (self._folder / one.file_name).unlink(missing_ok=True)

    def load(self, place: Place, read: Callable[[Path], Loaded]) -> tuple[Snapshot, Loaded] | None:
        """Return the snapshot of a target with what is read of its file; None where there is none.

        Raises what ``read`` raises of a file that cannot be used.
        """
        tried = None
        while (named := self._named(place)) is not None and named != tried:
            with suppress(FileNotFoundError):  # it has just been replaced, or is lost
                return named, read(self._folder / named.file_name)
            tried = named
        return None

    def all(self) -> list[Snapshot]:
        """Return the snapshots that the catalog names."""
        with self._catalog.read() as tx:
            return tx.snapshots.all()

    def remove_unnamed(self) -> None:
        """Remove what the catalog does not name, as processes that were killed leave it; not while anybody writes.

        What cannot be removed only takes room.
        """
        with suppress(CrossviewError, OSError):
            remove_unless_at_work(self._folder, self._unnamed)

    def _unnamed(self) -> list[Path]:
        found = [path for path in self._folder.iterdir() if _OWN.fullmatch(path.name)]
        names = {one.file_name for one in self.all()} if found else ()
        return [path for path in found if path.name not in names]

    def _named(self, place: Place) -> Snapshot | None:
        with self._catalog.read() as tx:
            return tx.snapshots.get(place)
