"""Homes: folders of collections. A collection is a folder, created, renamed and deleted in one step."""

import os
import re
import shutil
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from crossview.engine.catalog.file_errors import file_errors
from crossview.engine.catalog.folder import CollectionFolder, sync_folder
from crossview.engine.catalog.leftovers import NEW, alone_at_work, at_work, remove_leftovers
from crossview.engine.catalog.names import Names
from crossview.engine.catalog.private import make_file, make_folder
from crossview.engine.runtime.cancellation import checkpoint
from crossview.engine.runtime.progress import Progress
from crossview.engine.values.errors import (
    AlreadyExistsError,
    InvalidInputError,
    NotFoundError,
    StorageError,
    engine_installed,
)
from crossview.engine.values.item import one_or_several
from crossview.features.pictures import IN_PROCESS, Pictures

if TYPE_CHECKING:
    from crossview.engine.catalog.models import Models as Models
    from crossview.engine.catalog.transfer.exporting import Exported
    from crossview.engine.collections.collection import Collection

DEFAULT_VIEWS = ("color", "sift", "gist")
_DELETED, _IMPORTED = ".deleted-", ".import-"
"""Prefixes of folders that are no longer, or not yet, collections."""
_SOURCE = "source"
"""The file in the folder of an unfinished import that identifies the export."""


class Home:
    """A folder of collections, created at the first write [default: $CROSSVIEW_HOME, or ~/.crossview]."""

    def __init__(self, path: Path | str | None = None, pictures: Pictures = IN_PROCESS) -> None:
        """Choose the folder and the place that reads pictures for its collections.

        Raises InvalidInputError if the path is a file.
        """
        self._pictures = pictures
        folder = path or os.environ.get("CROSSVIEW_HOME") or Path.home() / ".crossview"
        self.path: Path = Path(folder).expanduser().absolute()
        if self.path.exists() and not self.path.is_dir():
            raise InvalidInputError(f"{self.path} is a file; a home is a folder of collections")
        self._names = Names(self.path)

    def __repr__(self) -> str:
        return f"Home({str(self.path)!r})"

    def names(self) -> list[str]:
        """Return the names of the collections, sorted."""
        return self._names.collections()

    def aliases(self) -> dict[str, str]:
        """Return the collection of each alias, sorted by alias."""
        return self._names.aliases()

    @property
    def models(self) -> "Models":
        """The models that views of the home's collections can compute their rows by."""
        from crossview.engine.catalog.models import Models

        return Models(self.path)

    def collection_of(self, name: str) -> str:
        """Return the collection that a name stands for: that of an alias; otherwise the name itself."""
        return self._names.collection_of(name)

    def set_alias(self, alias: str, collection: str) -> str:
        """Make a new name stand for a collection, or an alias for another collection; return the collection's name.

        An alias is usable wherever a collection's name is. Each call of a server, and each ``open``, uses the
        collection that the alias stands for at that moment: the old one or the new one, without an error between them.
        An open collection stays the same.

        Raises InvalidInputError (alias), NotFoundError (collection), AlreadyExistsError if a collection has the name,
        BusyError, StorageError.
        """
        return self._names.set_alias(alias, collection)

    def delete_alias(self, alias: str) -> None:
        """Delete an alias; its collection stays. Raises NotFoundError, InvalidInputError for a collection."""
        self._names.delete_alias(alias)

    def rename(self, name: str, new: str, *, keep_alias: bool = False) -> None:
        """Rename a collection in one step; its aliases follow. With ``keep_alias``, its old name becomes an alias.

        Collections that programs have open under the old name raise NotFoundError: open them again.

        Raises InvalidInputError (the new name, an alias), NotFoundError, AlreadyExistsError, BusyError during a
        training or an import of the collection, StorageError.
        """
        self._names.rename(name, new, keep_alias)

    def copy(self, name: str, new: str, progress: Progress | None = None) -> "Collection":
        """Copy the current state of a collection to a new one, and open it; searches and writes continue meanwhile.

        The copy contains everything except the indexes, which its first search builds.

        Raises InvalidInputError (the new name), NotFoundError, AlreadyExistsError, StorageError.
        """
        from crossview.engine.catalog.database_copies import copy_database

        self.check_exists(name)
        self._names.check_new(new)
        source = CollectionFolder(self.path / self.collection_of(name))
        source.check()
        with self._new_folder() as folder:
            database = CollectionFolder(folder).database
            with file_errors():
                make_file(database)
            copy_database(source.database, database, _counted("copying", progress))
            with closing(CollectionFolder(folder).open_catalog()) as catalog, catalog.write() as tx:
                tx.begin_history()
            self._install(folder, new)
        return self.open(new)

    def create(
        self,
        name: str,
        views: Sequence[str] | None = None,
        description: str = "",
        pictures: Pictures | None = None,
    ) -> "Collection":
        """Create a collection with views, each written ``extractor`` or ``extractor:param=value``, and open it.

        Without ``views``, they are color, sift and gist. In a home with models of pictures, they are color, gist, a
        view by each of these models, and one by which words find pictures if the models suffice for that: sift would
        take most of the time, and lists are as good without it.

        Raises InvalidInputError (name, views), AlreadyExistsError, StorageError.
        """
        self._names.check_new(name)
        with engine_installed(), self._new_folder() as new:
            specs = self.models.usual_views() or DEFAULT_VIEWS if views is None else one_or_several(views)
            _fill(CollectionFolder(new), name, specs, description)
            self._install(new, name)
        return self.open(name, pictures)

    def backup(self, name: str, path: Path | str, progress: Progress | None = None) -> Path:
        """Write a copy of the current state of a collection to a file; searches and writes continue meanwhile.

        The method checks the copy, and ``restore`` reads it. The copy contains everything except the source files.

        Raises NotFoundError, AlreadyExistsError for a file that exists, StorageError.
        """
        from crossview.engine.catalog.database_copies import copy_database, finish_copy, place_copy, temporary

        self.check_exists(name)
        folder = CollectionFolder(self.path / self.collection_of(name))
        folder.check()
        target = Path(path).expanduser().absolute()
        if target.exists():
            raise AlreadyExistsError(f"{target} exists already: choose another name, or remove it first")
        if not target.parent.is_dir():
            raise InvalidInputError(f"the folder {target.parent} does not exist")
        with temporary(target.parent) as part:
            copy_database(folder.database, part, _counted("copying", progress))
            finish_copy(part)
            place_copy(part, target)
        return target

    def restore(
        self, name: str, path: Path | str, replace: bool = False, progress: Progress | None = None
    ) -> "Collection":
        """Create a collection from a copy, or with ``replace`` replace the content of an existing one, in one step.

        Raises InvalidInputError for a file that is damaged or not a copy, AlreadyExistsError for an existing collection
        without ``replace``, BusyError while another process writes the collection, StorageError.
        """
        from crossview.engine.catalog.database_copies import copy_database, like_pages_of
        from crossview.engine.catalog.new_catalog import Copy

        with closing(Copy(Path(path).expanduser().absolute())) as source:
            exists = name in self.names()
            if not exists or not replace:
                self._names.check_new(name)
            with self._new_folder() as new:
                copy = source.make_catalog(new, _counted("reading the copy", progress))
                if not exists:
                    self._install(new, name)
                    return self.open(name)
                folder = CollectionFolder(self.path / name)
                folder.check()
                like_pages_of(folder.database, copy)
                with folder.writing():
                    copy_database(copy, folder.database, _counted("restoring", progress))
        return self.open(name)

    def export(self, name: str, path: Path | str, progress: Progress | None = None) -> "Exported":
        """Write the current state of a collection to a folder of Parquet files; searches and writes continue meanwhile.

        The folder contains everything except the source files, and ``import_`` reads it, bit for bit, in any later
        version. The same call continues an interrupted export, which keeps finished files while the collection is the
        same.

        Raises NotFoundError, AlreadyExistsError for the folder of a finished export, InvalidInputError for a folder
        with other files, NotReadyError without pyarrow, BusyError while another process exports there, StorageError.
        """
        from crossview.engine.catalog.transfer.exporting import export_collection

        self.check_exists(name)
        folder = CollectionFolder(self.path / self.collection_of(name))
        with engine_installed():
            folder.open_catalog().close()  # migrates the catalog of an earlier version
        return export_collection(folder.database, Path(path).expanduser().absolute(), _counted("exporting", progress))

    def import_(self, name: str, path: Path | str, progress: Progress | None = None) -> "Collection":
        """Create a collection from the folder of an export, and open it.

        The collection appears when it is whole. The same call continues an interrupted import.

        Raises InvalidInputError for a folder that is unfinished, damaged, of a newer version or not an export,
        AlreadyExistsError, NotReadyError without pyarrow, BusyError while another process imports it, StorageError.
        """
        from crossview.engine.catalog.transfer.returning import Export

        self._names.check_new(name)
        export = Export(Path(path).expanduser().absolute())
        with engine_installed(), self._unfinished(name, export.manifest.digest) as new:
            export.make_catalog(new, _counted("importing", progress))
            (new / _SOURCE).unlink()
            self._install(new, name)
        return self.open(name)

    def open(self, name: str, pictures: Pictures | None = None) -> "Collection":
        """Open a collection by its name or an alias.

        ``pictures`` reads the pictures of queries and imports [default: the ``pictures`` of the home]. The method also
        removes folders that killed processes left in the home.

        Raises NotFoundError, which lists the existing collections, and StorageError if the catalog cannot be read.
        """
        remove_leftovers(self.path, rf"({re.escape(NEW)}|{re.escape(_DELETED)})[0-9a-f]{{32}}")
        with engine_installed():
            from crossview.engine.collections.collection import Collection  # listing collections needs no catalog

        while True:
            collection = self.collection_of(name)
            try:
                self.check_exists(name)
                return Collection(CollectionFolder(self.path / collection), pictures or self._pictures)
            except (NotFoundError, StorageError):
                if self.collection_of(name) == collection:  # else the name just came to stand for another collection
                    raise

    def delete(self, name: str) -> None:
        """Delete a collection with all its content, in one step for all readers.

        Raises NotFoundError, InvalidInputError for an alias, NotReadyError if an alias stands for the collection,
        BusyError if other processes write the collection for too long, StorageError.
        """
        self._names.check_collection(name)
        if (self.path / name).is_symlink():
            raise InvalidInputError(
                f"collection {name!r} is a link to a folder elsewhere: remove that folder and the link by hand",
                detail=(self.path / name).readlink(),
            )
        gone = self.path / f"{_DELETED}{uuid.uuid4().hex}"
        with at_work(self.path):
            with CollectionFolder(self.path / name).writing(), file_errors():
                self._names.check_unnamed(name)
                checkpoint()
                os.rename(self.path / name, gone)
                sync_folder(self.path)
            shutil.rmtree(gone, ignore_errors=True)

    @contextmanager
    def _new_folder(self) -> Iterator[Path]:
        """Make a new folder and remove it after the block, unless ``_install`` has renamed it."""
        new = self.path / f"{NEW}{uuid.uuid4().hex}"
        with file_errors():
            make_folder(self.path, parents=True)
        with at_work(self.path):
            try:
                with file_errors():
                    make_folder(new)
                yield new
            finally:
                shutil.rmtree(new, ignore_errors=True)

    @contextmanager
    def _unfinished(self, name: str, source: str) -> Iterator[Path]:
        """Give the folder of an import, which stays after an interruption, but not if its content cannot be used.

        An import of another ``source`` begins with an empty folder.
        """
        folder = self.path / f"{_IMPORTED}{name}"
        with file_errors():
            make_folder(self.path, parents=True)
            make_folder(folder)
        with alone_at_work(folder):
            with file_errors():
                if not (folder / _SOURCE).is_file() or (folder / _SOURCE).read_text() != source:
                    for path in folder.iterdir():
                        path.unlink()
                    make_file(folder / _SOURCE)
                    (folder / _SOURCE).write_text(source)
            try:
                yield folder
            except InvalidInputError:
                shutil.rmtree(folder, ignore_errors=True)
                raise

    def _install(self, new: Path, name: str) -> None:
        """Rename a new folder to its collection; AlreadyExistsError if the name was taken meanwhile."""
        checkpoint()
        try:
            with file_errors():
                os.rename(new, self.path / name)
        except StorageError:
            self._names.check_new(name)
            raise
        sync_folder(self.path)

    def check_exists(self, name: str) -> None:
        """Raise NotFoundError if a name stands for no collection; the message names the remedy."""
        self._names.check_exists(name)

    def emptiness(self) -> str:
        """Return a sentence about a home without collections: whether its folder exists."""
        return self._names.emptiness()


def _counted(what: str, progress: Progress | None) -> Callable[[int, int], None] | None:
    return None if progress is None else lambda done, total: progress(what, done, total)


def _fill(folder: CollectionFolder, name: str, views: Sequence[str], description: str) -> None:
    from crossview.engine.catalog.extractors import add_views

    with closing(folder.create_catalog(name, description)) as catalog, catalog.write() as tx:
        add_views(tx, views)
