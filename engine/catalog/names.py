"""The names of a home: its collections, and aliases, which are links to collections of the same home."""

import os
import re
import stat
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from crossview.engine.catalog.file_errors import file_errors
from crossview.engine.catalog.folder import CollectionFolder, sync_folder
from crossview.engine.catalog.lock import WriterLock
from crossview.engine.values.errors import (
    AlreadyExistsError,
    InvalidInputError,
    NotFoundError,
    NotReadyError,
    StorageError,
    Text,
    call,
)

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
_LINK = ".link-"
"""Prefix of links that are not yet aliases."""
_RENAMED = ".renamed-"
"""Prefix of the note of a rename: a link from the old name to the new one, which leads readers during the rename.

The target of the link ends in a slash if no alias keeps the old name. A rename ends by removing the note, or by making
it the alias; the next change of a name ends a rename whose process was killed.
"""


class Names:
    """The names of a home. Collections and aliases share them: no name stands for both.

    One step of the file system points an alias to another collection, so that each reader sees the old or the new one.
    """

    def __init__(self, home: Path) -> None:
        self._home, self._place = home, str(home)
        self._lock = WriterLock(home / ".names")
        """The lock of those who change aliases or rename collections."""

    def collections(self) -> list[str]:
        """Return the names of the collections, sorted."""
        return sorted(
            path.name for path in self._entries() if CollectionFolder(path).holds_collection() and _target(path) is None
        )

    def aliases(self) -> dict[str, str]:
        """Return the collection of each alias, sorted by alias."""
        links = {path.name: _target(path) for path in self._entries() if path.is_symlink()}
        return {alias: self.collection_of(alias) for alias, target in sorted(links.items()) if target is not None}

    def collection_of(self, name: str) -> str:
        """Return the collection that a name stands for: that of an alias; otherwise the name itself."""
        if not NAME.fullmatch(name):
            return name
        with suppress(OSError):  # one look at the disk for most names, because every call asks
            if stat.S_ISDIR(os.lstat(f"{self._place}/{name}").st_mode):
                return name
        collection = _target(self._home / name) or name
        if (self._home / collection).exists():
            return collection
        return _target(self._home / f"{_RENAMED}{collection}") or collection

    def identities(self) -> dict[str, str]:
        """Return the identity of the collection of each collection name and alias, "" for a collection without one.

        The names include the old one of a collection that is being renamed.
        """
        by_name = {name: self._identity(name) for name in self.collections()}
        moving = {note.name.removeprefix(_RENAMED): _target(note) or "" for note in self._home.glob(f"{_RENAMED}*")}
        further = {**moving, **self.aliases()}
        return {name: by_name[target] for name, target in further.items() if target in by_name} | by_name

    def _identity(self, name: str) -> str:
        with suppress(StorageError):
            return CollectionFolder(self._home / name).identity()
        return ""

    def check_new(self, name: str) -> None:
        """Raise InvalidInputError for text that is not a name, and AlreadyExistsError if the name is taken."""
        if not NAME.fullmatch(name):
            raise InvalidInputError(
                f"{name!r} cannot name a collection: use 1 to 63 of a-z, 0-9, '-' and '_', a letter or digit first"
            )
        if name in self.collections():
            raise AlreadyExistsError(f"collection {name!r} exists already")
        if (target := self.collection_of(name)) != name:
            raise AlreadyExistsError(
                f"{name!r} is an alias of collection {target!r}: choose another name, or delete the alias with: ",
                call("home.delete_alias", name),
            )

    def check_exists(self, name: str) -> None:
        """Raise NotFoundError if a name stands for no collection; the message names the remedy."""
        real, names = self.collection_of(name), self.collections()
        if real in names:
            return
        if real != name:
            raise NotFoundError(
                f"alias {name!r} stands for collection {real!r}, which does not exist: point it to another one with: ",
                call("home.set_alias", name, "NAME"),
            )
        existing = f"there are: {', '.join(names)}" if names else "there are none"
        if aliases := self.aliases():
            existing += f"; aliases: {', '.join(aliases)}"
        remedy = Text("; create the collection with: ", call("home.create", name)) if NAME.fullmatch(name) else ""
        raise NotFoundError(f"no collection {name!r}; {existing}", remedy, detail=None if names else self.emptiness())

    def check_collection(self, name: str) -> None:
        """Raise the errors of ``check_exists``, and InvalidInputError for an alias."""
        if name not in self.collections() and (real := self.collection_of(name)) != name:
            raise InvalidInputError(
                f"{name!r} is an alias of collection {real!r}: name the collection itself, or delete the alias with: ",
                call("home.delete_alias", name),
            )
        self.check_exists(name)

    def check_unnamed(self, collection: str) -> None:
        """Raise NotReadyError if an alias stands for a collection."""
        if aliases := [alias for alias, target in self.aliases().items() if target == collection]:
            raise NotReadyError(
                f"collection {collection!r} has the alias {aliases[0]!r}: point the alias to another collection with: ",
                call("home.set_alias", aliases[0], "NAME"),
                ", or delete it with: ",
                call("home.delete_alias", aliases[0]),
            )

    def set_alias(self, alias: str, collection: str) -> str:
        """Make a name stand for a collection; return the collection, which is that of another alias if one is named."""
        self.check_exists(collection)
        with self._changing():
            if alias in self.collections():
                raise AlreadyExistsError(
                    f"{alias!r} is a collection: give the alias another name, or first give the collection one with: ",
                    call("home.rename", alias, "NEW"),
                )
            if alias not in self.aliases():
                self.check_new(alias)
            self.check_exists(collection)
            target = self.collection_of(collection)
            with CollectionFolder(self._home / target).writing():  # so that nobody deletes it meanwhile
                self._link(alias, target)
        return target

    def delete_alias(self, alias: str) -> None:
        """Delete an alias; its collection stays."""
        aliases = self.aliases()
        if alias in self.collections():
            raise InvalidInputError(
                f"{alias!r} is a collection, not an alias: delete a collection with: ", call("home.delete", alias)
            )
        if alias not in aliases:
            there = f"there are: {', '.join(aliases)}" if aliases else "there are none"
            raise NotFoundError(f"no alias {alias!r}; {there}")
        with self._changing(), suppress(FileNotFoundError):
            (self._home / alias).unlink()

    def rename(self, old: str, new: str, keep: bool) -> None:
        """Rename a collection; its aliases follow. With ``keep``, its old name becomes an alias."""
        self.check_collection(old)
        self.check_new(new)
        with self._changing():
            self.check_collection(old)
            self.check_new(new)
            folder = CollectionFolder(self._home / old)
            with folder.renaming(), folder.writing():
                os.symlink(new if keep else f"{new}/", self._home / f"{_RENAMED}{old}")
                sync_folder(self._home)
                os.rename(self._home / old, self._home / new)

    def emptiness(self) -> str:
        """Return a sentence about a home without collections: whether its folder exists."""
        if not self._home.is_dir():
            return f"the folder {self._home} does not exist"
        return f"there are none in {self._home}"

    def _entries(self) -> list[Path]:
        if not self._home.is_dir():
            return []
        with file_errors():
            return [path for path in self._home.iterdir() if not path.name.startswith(".")]

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Hold the lock; before and after the block, end what a killed process or the block began."""
        with self._lock.hold(), file_errors():
            self._end_changes()
            try:
                yield
            finally:
                self._end_changes()
                sync_folder(self._home)

    def _end_changes(self) -> None:
        for link in self._home.glob(f"{_LINK}*"):
            link.unlink()
        for note in self._home.glob(f"{_RENAMED}*"):
            old, new = note.name.removeprefix(_RENAMED), _target(note)
            renamed = new is not None and not os.path.lexists(self._home / old) and (self._home / new).exists()
            if renamed and new is not None:
                for path in self._entries():
                    if _target(path) == old:
                        self._link(path.name, new)
            if renamed and not os.readlink(note).endswith("/"):
                os.replace(note, self._home / old)
            else:
                note.unlink()

    def _link(self, alias: str, collection: str) -> None:
        """Make or replace the link of an alias in one step."""
        link = self._home / f"{_LINK}{uuid.uuid4().hex}"
        os.symlink(collection, link)
        try:
            os.replace(link, self._home / alias)
        except IsADirectoryError:
            link.unlink()
            raise AlreadyExistsError(f"collection {alias!r} exists already") from None


def _target(link: Path) -> str | None:
    """Return the collection of an alias by its path; None for any other file, such as a link that leaves the home."""
    try:
        target = os.readlink(link).removesuffix("/")
    except OSError:
        return None
    return target if NAME.fullmatch(target) else None
