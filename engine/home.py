"""Homes: where collections live, one folder each, made and deleted in one step."""

import os
import re
import shutil
import uuid
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from engine.catalog.file_errors import file_errors
from engine.catalog.folder import CollectionFolder
from engine.errors import AlreadyExistsError, InvalidInputError, NotFoundError
from engine.learners.cancellation import checkpoint

if TYPE_CHECKING:
    from engine.collection import Collection

DEFAULT_VIEWS = ("color", "sift", "gist")
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")


class Home:
    """A folder of collections: ``path``, or $CROSSVIEW_HOME, or ~/.crossview. It is made when first written to."""

    def __init__(self, path: Path | str | None = None) -> None:
        """Raise InvalidInputError where the path is a file."""
        chosen = path or os.environ.get("CROSSVIEW_HOME") or Path.home() / ".crossview"
        self.path = Path(chosen).expanduser().absolute()
        if self.path.exists() and not self.path.is_dir():
            raise InvalidInputError(f"{self.path} is a file; a home is a folder of collections")

    def names(self) -> list[str]:
        """Return the names of the collections, sorted."""
        if not self.path.is_dir():
            return []
        with file_errors():
            return sorted(entry.name for entry in self.path.iterdir() if CollectionFolder(entry).holds_collection())

    def create(self, name: str, views: Sequence[str] = DEFAULT_VIEWS, description: str = "") -> "Collection":
        """Create a collection with the views, each ``extractor`` or ``extractor:param=value``.

        Raises InvalidInputError (name, views), AlreadyExistsError, StorageError.
        """
        if not _NAME.fullmatch(name):
            raise InvalidInputError(
                f"{name!r} cannot name a collection: use 1 to 63 of a-z, 0-9, '-' and '_', a letter or digit first"
            )
        if name in self.names():
            raise AlreadyExistsError(f"collection {name!r} exists already")
        new = self.path / f".new-{uuid.uuid4().hex}"
        try:
            with file_errors():
                new.mkdir(parents=True)
            _fill(CollectionFolder(new), name, views, description)
            checkpoint()
            with file_errors():
                os.rename(new, self.path / name)
        except BaseException as error:
            shutil.rmtree(new, ignore_errors=True)
            if name in self.names():  # somebody was faster
                raise AlreadyExistsError(f"collection {name!r} exists already") from error
            raise
        return self.open(name)

    def open(self, name: str) -> "Collection":
        """Open a collection; NotFoundError lists those that exist, StorageError where the catalog cannot be read."""
        self._check_exists(name)
        from engine.collection import Collection  # listing collections needs no catalog

        return Collection(CollectionFolder(self.path / name))

    def delete(self, name: str) -> None:
        """Delete a collection with everything in it, at once for every reader.

        Raises NotFoundError, BusyError while others write it for long, StorageError.
        """
        self._check_exists(name)
        gone = self.path / f".deleted-{uuid.uuid4().hex}"
        with CollectionFolder(self.path / name).writer.hold(), file_errors():
            checkpoint()
            os.rename(self.path / name, gone)
        shutil.rmtree(gone, ignore_errors=True)

    def _check_exists(self, name: str) -> None:
        names = self.names()
        if name not in names:
            known = f"there are: {', '.join(names)}" if names else self.emptiness()
            raise NotFoundError(f"no collection {name!r}; {known}")

    def emptiness(self) -> str:
        """Return a sentence on a home without collections: whether there is a folder at all."""
        if not self.path.is_dir():
            return f"the folder {self.path} does not exist"
        return f"there are none in {self.path}"


def _fill(folder: CollectionFolder, name: str, views: Sequence[str], description: str) -> None:
    from engine.catalog.extractors import add_views

    with closing(folder.create_catalog(name, description)) as catalog, catalog.write() as tx:
        add_views(tx, views)
