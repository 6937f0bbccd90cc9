"""An open collection, which all its services share."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING
from weakref import WeakSet

from crossview.engine.catalog.catalog import Catalog, Transaction
from crossview.engine.catalog.folder import CollectionFolder
from crossview.engine.catalog.item_columns import ItemColumns
from crossview.engine.collections.unmet import Unmet
from crossview.engine.runtime.progress import Progress
from crossview.engine.spaces.loaded import LoadedSpaces
from crossview.engine.spaces.snapshot_files import SnapshotFiles
from crossview.engine.values.conditions.tree import EVERY, Condition
from crossview.engine.values.errors import CrossviewError, NotReadyError
from crossview.engine.values.info import SpaceInfo
from crossview.features.pictures import Pictures

if TYPE_CHECKING:
    from crossview.engine.spaces.search import Pages
    from crossview.engine.spaces.space import Space
    from crossview.engine.spaces.versions import Versions


class Opened:
    """The open catalog of a collection, and its data in memory.

    Reading and writing raise NotFoundError after the deletion of the collection, NotReadyError after ``close``, and
    StorageError if the file system or the database fails.
    """

    def __init__(self, folder: CollectionFolder, pictures: Pictures) -> None:
        self.folder = folder
        self.pictures = pictures
        self.catalog: Catalog = folder.open_catalog()
        self.loaded: LoadedSpaces = LoadedSpaces(self.catalog, pictures)
        self.columns: ItemColumns = ItemColumns()
        self.unmet: Unmet = Unmet(self.columns)
        self.files: SnapshotFiles = SnapshotFiles(self.catalog, folder)
        self.files.remove_unnamed()
        self.reader: Versions | None = None
        """None until the first search."""
        self.pages: WeakSet[Pages] = WeakSet()
        """The pages that callers have not closed."""
        self._closed = False
        self._beginning = threading.Lock()

    def close(self) -> None:
        """Save the indexes for the next opening and close the catalog."""
        if self.reader is not None and not self._closed:
            self.reader.close()
            if self.folder.is_alive():
                with suppress(CrossviewError):
                    self.reader.save()
        self._closed = True
        for pages in list(self.pages):
            pages.close()
        self.catalog.close()

    def check_open(self) -> None:
        """Raise NotReadyError if the collection is closed."""
        if self._closed:
            raise NotReadyError(f"collection {self.folder.name!r} is closed: open it again")

    @contextmanager
    def read(self) -> Iterator[Transaction]:
        """Open a transaction that reads."""
        self.check_open()
        self.folder.check_alive()
        with self.catalog.read() as tx:
            yield tx

    @property
    def writable(self) -> Catalog:
        """The catalog, after a check that the collection is open and alive."""
        self.check_open()
        self.folder.check_alive()
        return self.catalog

    def described(self, space: SpaceInfo) -> SpaceInfo:
        """Return the description of a space with the recall of its searches in this process."""
        return space if self.reader is None else self.reader.live.described(space)

    def warn_of_unmet(self, condition: Condition, nothing: bool) -> None:
        """Warn of what a condition names and no item has; ``nothing``: whether it left a search without a hit."""
        if condition != EVERY and (nothing or not self.unmet.is_met(condition)):
            with self.read() as tx:
                self.unmet.warn(tx, condition, nothing)

    def versions(self) -> "Versions":
        """Return the versions from which searches answer."""
        self.check_open()
        self.folder.check_alive()
        with self._beginning:
            if self.reader is None:
                from crossview.engine.spaces.versions import Versions

                self.reader = Versions(self.catalog, self.files, self.loaded, self.columns)
            return self.reader

    def add_generation(
        self,
        name: str,
        activate: bool | None,
        prepare: "Callable[[Transaction], Callable[[], Space]]",
        request_id: str,
        progress: Progress | None = None,
    ) -> SpaceInfo:
        """Fit and store the next generation of a space."""
        from crossview.engine.spaces.generations import add_generation

        with self.folder.working():
            return add_generation(self.writable, self.versions(), name, prepare, activate, request_id, progress)
