"""Snapshot files: stored indexes; the catalog names a file once the file is complete."""

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
from crossview.engine.values.errors import CrossviewError

Loaded = TypeVar("Loaded")
_OWN = re.compile(r".+\.idx|\..+\.idx\.[a-z0-9_]{8}")
"""Names of snapshots, also of incomplete ones; crossview does not touch other files in the folder."""


class SnapshotFiles:
    """The snapshot files of a collection.

    A file never changes, and its name is never used again. A file is valid once the catalog names it, and is removed
    after the catalog names another file instead, so that after a crash at any moment the catalog and the files agree.
    """

    def __init__(self, catalog: Catalog, folder: CollectionFolder) -> None:
        self._catalog, self._folder, self._saver = catalog, folder.indexes, folder.saver

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the right to write snapshots of the collection, exclusively among all threads and processes.

        Raises BusyError if the lock stays busy, and OSError. After an OSError, unnamed files are removed.
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
        """Return the record of a new snapshot of a target up to a change, and the path of its file."""
        snapshot = Snapshot(*place, secrets.token_hex(8), sequence)
        return snapshot, self._folder / snapshot.file_name

    @contextmanager
    def changing(self, *written: Snapshot) -> Iterator[Transaction]:
        """Open a write transaction; after its commit, remove the files that the catalog no longer names.

        This includes files of snapshots just ``written`` that the transaction did not record.
        """
        with self._catalog.write() as tx:
            before = {*written, *tx.snapshots.all()}
            yield tx
            gone = before.difference(tx.snapshots.all())
        for snapshot in gone:
            with suppress(OSError):  # a file that stays only occupies space
                (self._folder / snapshot.file_name).unlink(missing_ok=True)

    def load(self, place: Place, read: Callable[[Path], Loaded]) -> tuple[Snapshot, Loaded] | None:
        """Return the snapshot of a target with its loaded file; None without a snapshot.

        Raises the errors of ``read`` for an unusable file.
        """
        tried = None
        while (snapshot := self._named(place)) is not None and snapshot != tried:
            with suppress(FileNotFoundError):  # the file was just replaced, or is lost
                return snapshot, read(self._folder / snapshot.file_name)
            tried = snapshot
        return None

    def all(self) -> list[Snapshot]:
        """Return the snapshots that the catalog names."""
        with self._catalog.read() as tx:
            return tx.snapshots.all()

    def remove_unnamed(self) -> None:
        """Remove files of killed processes, which the catalog does not name, unless a process is writing snapshots.

        A file that cannot be removed only occupies space.
        """
        with suppress(CrossviewError, OSError):
            remove_unless_at_work(self._folder, self._unnamed)

    def _unnamed(self) -> list[Path]:
        files = [path for path in self._folder.iterdir() if _OWN.fullmatch(path.name)]
        names = {snapshot.file_name for snapshot in self.all()} if files else ()
        return [path for path in files if path.name not in names]

    def _named(self, place: Place) -> Snapshot | None:
        with self._catalog.read() as tx:
            return tx.snapshots.get(place)
