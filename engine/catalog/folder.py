"""The folder of a collection: its files, its identity, and its locks."""

import os
import re
import secrets
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from crossview.engine.catalog.file_errors import file_errors
from crossview.engine.catalog.leftovers import PART, PART_NAME, at_work, holding, remove_leftovers
from crossview.engine.catalog.lock import WriterLock
from crossview.engine.catalog.private import check_no_links, make_file, open_file
from crossview.engine.values.errors import BusyError, NotFoundError, StorageError

if TYPE_CHECKING:
    from crossview.engine.catalog.catalog import Catalog

_IDENTITY_LENGTH = 32
_IDENTITY = re.compile(rf"[0-9a-f]{{{_IDENTITY_LENGTH}}}")
_PATIENCE = 1.0
"""Seconds that a rename waits for the short work of others, such as a removal of leftovers."""


class CollectionFolder:
    """One collection's folder, by path; making the object neither makes nor opens a file.

    Only this class knows the names of the files.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name: str = path.name
        self.indexes: Path = path / "indexes"
        """The folder of the index snapshots; the first snapshot makes it."""
        self.writer: WriterLock = WriterLock(path / "lock")
        self.saver: WriterLock = WriterLock(path / "snapshots.lock")
        """The lock of the process that writes index snapshots, so that two processes do not write the same
        snapshots."""
        self.database: Path = path / "catalog.db"
        """The catalog's file."""
        self._identity = path / "identity"
        # A path can name another collection after a deletion; the inode of the database identifies this one.
        self._inode = self._current_inode()

    def holds_collection(self) -> bool:
        """Return whether the folder contains a catalog."""
        return self.database.is_file()

    def identity(self) -> str:
        """Return the identity of the collection, which no other collection has, and which stays with it under other
        names and with other content; "" before ``identify``. Raises StorageError."""
        try:
            descriptor = open_file(self._identity, os.O_RDONLY)
        except FileNotFoundError:
            return ""
        with file_errors(), os.fdopen(descriptor, encoding="ascii", errors="replace") as file:
            text = file.read(_IDENTITY_LENGTH + 1)
        if _IDENTITY.fullmatch(text) is None:
            raise StorageError(
                f"the identity of collection {self.name!r} is damaged: remove the file, and grant it to keys again",
                detail=self._identity,
            )
        return text

    def identify(self) -> str:
        """Return the identity of the collection, which the first call chooses. Raises StorageError."""
        if identity := self.identity():
            return identity
        new = self.path / f"{PART}{uuid.uuid4().hex}"
        with at_work(self.path), file_errors():
            make_file(new)
            try:
                with open(new, "w", encoding="ascii") as file:
                    file.write(secrets.token_hex(_IDENTITY_LENGTH // 2))
                    file.flush()
                    os.fsync(file.fileno())
                with suppress(FileExistsError):  # another process has just chosen one
                    os.link(new, self._identity)
            finally:
                new.unlink(missing_ok=True)
        sync_folder(self.path)
        return self.identity()

    def is_alive(self) -> bool:
        """Return whether the folder still contains the collection: not deleted, renamed or replaced."""
        return self._inode is not None and self._current_inode() == self._inode

    def check_alive(self) -> None:
        """Raise NotFoundError if the collection has been deleted or renamed."""
        if not self.is_alive():
            raise NotFoundError(f"collection {self.name!r} has been deleted or renamed")

    @contextmanager
    def working(self) -> Iterator[None]:
        """Keep the name of the collection during long work: a rename raises BusyError. Raises NotFoundError."""
        with at_work(self.path.resolve()):
            self.check_alive()
            yield

    @contextmanager
    def renaming(self) -> Iterator[None]:
        """Let no long work begin during the block; raise BusyError if some is in progress."""
        with holding(self.path.resolve(), _PATIENCE) as held:
            if not held:
                raise BusyError(
                    f"a training, an import or other long work uses collection {self.name!r}: rename it afterwards"
                )
            yield

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the writer lock for a commit. Raises NotFoundError if the collection has been deleted, and BusyError."""
        self.check_alive()
        with ExitStack() as held:
            with suppress(FileNotFoundError):  # the folder was deleted just now; the next line reports it
                held.enter_context(self.writer.hold())
            self.check_alive()  # a deletion can happen during the wait for the lock
            yield

    def size(self) -> int:
        """Return the total bytes of all files."""
        return sum(map(_size, self.path.rglob("*")))

    def check(self) -> None:
        """Raise StorageError if one of the files is a link: a write would leave the folder."""
        for folder in (self.path.resolve(), self.indexes):  # the folder itself may be elsewhere
            check_no_links(folder)

    def open_catalog(self) -> "Catalog":
        """Open the catalog, whose every change holds the writer lock; StorageError if it cannot be opened.

        Also remove the unfinished copies that killed processes left.
        """
        from crossview.engine.catalog.catalog import Catalog  # listing collections needs no database

        self.check()
        remove_leftovers(self.path, PART_NAME)
        return Catalog(self.database, self.writing)

    def create_catalog(self, name: str, description: str) -> "Catalog":
        """Create the catalog of a new, empty collection that no other process knows yet; StorageError if this fails."""
        from crossview.engine.catalog.catalog import Catalog

        with file_errors():
            make_file(self.database)
        return Catalog.create(self.database, name, description)

    def _current_inode(self) -> int | None:
        try:
            return self.database.stat().st_ino
        except OSError:
            return None


def sync_folder(folder: Path) -> None:
    """Make the names in a folder survive a power failure; StorageError."""
    with file_errors():
        descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _size(path: Path) -> int:
    """Return the bytes of a file; 0 for a folder, and for a file that was just deleted."""
    try:
        return path.stat().st_size if path.is_file() else 0
    except FileNotFoundError:
        return 0
