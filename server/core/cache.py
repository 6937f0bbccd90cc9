"""The open collections of a server: the first use opens a collection, and all calls share it.

Callers name a collection or an alias, and each use resolves the alias.
"""

import logging
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field

from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.runtime.locks import wait_for
from crossview.engine.spaces.search import Pages
from crossview.engine.values.errors import BusyError, NotFoundError, StorageError
from crossview.engine.values.info import CollectionInfo
from crossview.features.picture_pool import PicturePool
from crossview.features.stages import stage
from crossview.server.core.keys.keys import Keys
from crossview.server.core.limits import most_collections
from crossview.server.core.open_pages import FoundDuplicates, OpenPages
from crossview.server.wire.identity import identity_here

_log = logging.getLogger("crossview.server")


@dataclass
class _Entry:
    opening: threading.Lock = field(default_factory=threading.Lock)
    collection: Collection | None = None
    users: int = 0
    used: float = 0.0
    """End of the last call, by the monotonic clock, in seconds."""


class OpenCollections:
    """Open collections by name. Deletions and renames wait for the calls that use the collection, and new calls wait.

    Args:
        home: the home that contains the collections.
        deletion_seconds: maximum time that a deletion or a rename waits for other calls.
        pictures: pool of processes that decode pictures from the network; ``close`` ends it.
        kept: names of the collections that stay open when they are idle.
        most: maximum number of open collections; beyond it, the least recently used ones are closed
            [default: as many as the descriptors of this process allow].
    """

    def __init__(
        self,
        home: Home,
        deletion_seconds: float = 30.0,
        pictures: PicturePool | None = None,
        kept: Sequence[str] = (),
        most: int | None = None,
    ) -> None:
        self.home = home
        self.pictures: PicturePool = pictures or PicturePool()
        self._deletion_seconds, self._kept = deletion_seconds, kept
        self._most = most_collections() if most is None else most
        self._entries: dict[str, _Entry] = {}
        self._leaving: set[str] = set()
        """The names of the collections that are being deleted or renamed."""
        self._changed = threading.Condition()
        self.pages: OpenPages[Pages] = OpenPages[Pages]()
        """The pages of searches that clients read."""
        self.found: OpenPages[FoundDuplicates] = OpenPages[FoundDuplicates]()
        """The duplicates that clients read."""

    @contextmanager
    def use(self, name: str) -> Iterator[Collection]:
        """Yield the open collection, which stays open during the block; raise the errors of ``Home.open``."""
        with ExitStack() as using:
            yield self._used(name, using)

    def _used(self, name: str, using: ExitStack) -> Collection:
        while True:
            own_name = self.home.collection_of(name)
            with ExitStack() as trying:
                entry = trying.enter_context(self._entry(own_name))
                try:
                    collection = self._opened(own_name, entry)
                except (NotFoundError, StorageError):
                    if self.home.collection_of(name) == own_name:
                        raise
                    continue  # the alias has just come to stand for another collection
                identity_here().check_reaches(name)  # the name may have passed to another collection during the wait
                using.push(trying.pop_all())
                return collection

    def _opened(self, name: str, entry: _Entry) -> Collection:
        with entry.opening:
            # another process may have deleted or renamed the collection
            if entry.collection is None or not entry.collection.storage.is_alive():
                self._make_room()
                with stage("open the collection"):
                    entry.collection = self.home.open(name, self.pictures)
            return entry.collection

    @contextmanager
    def if_open(self, name: str) -> Iterator[Collection | None]:
        """Yield the collection if it is open, otherwise None; never wait."""
        name = self.home.collection_of(name)
        with self._changed:
            entry = None if name in self._leaving else self._entries.get(name)
            if entry is not None:
                entry.users += 1
        if entry is None:
            yield None
            return
        try:
            collection = entry.collection
            yield collection if collection is not None and collection.storage.is_alive() else None
        finally:
            self._leave(name, entry)

    def names(self) -> list[str]:
        """Return the names of the open collections, in order."""
        with self._changed:
            return sorted(name for name, entry in self._entries.items() if entry.collection is not None)

    def every_name(self) -> list[str]:
        """Return the names of all collections, in order."""
        return self.home.names()

    def create(self, name: str, views: Sequence[str], description: str) -> CollectionInfo:
        """Create a collection and keep it open; raise the errors of ``Home.create``."""
        with self._entry(name) as entry, entry.opening:
            self._make_room()
            collection = self.home.create(name, views or None, description, self.pictures)
            entry.collection = collection
            return collection.info()

    def delete(self, name: str) -> None:
        """Close and delete a collection; raise BusyError if calls use it too long, or errors of ``Home.delete``."""
        with self._left(name), self._freeing(name, f"collection {name!r} is deleted, so these keys lose it"):
            self.home.delete(name)

    def rename(self, name: str, new: str, keep_alias: bool) -> None:
        """Close and rename a collection; raise BusyError if calls use it too long, or errors of ``Home.rename``."""
        with self._left(name), self._freeing(name, f"collection {name!r} is now {new!r}, and these keys keep it"):
            self.home.rename(name, new, keep_alias=keep_alias)
            if keep_alias:
                Keys(self.home.path).keep_alias(name)

    @contextmanager
    def _freeing(self, name: str, outcome: str) -> Iterator[None]:
        """Log the keys that follow a collection, with what happens to them, after the block that frees its name."""
        names = Keys(self.home.path).of_collection(name)
        yield
        if names:
            _log.info("%s: %s", outcome, ", ".join(names))

    @contextmanager
    def _left(self, name: str) -> Iterator[None]:
        """Close a collection; calls that name it wait until the block ends."""
        with self._changed:
            wait_for(self._changed, lambda: name not in self._leaving)
            self._leaving.add(name)
        try:
            self._close(name, self._deletion_seconds)
            yield
        finally:
            with self._changed:
                self._leaving.discard(name)
                self._changed.notify_all()

    def close_idle(self, seconds: float) -> None:
        """Close the collections that no call has used for ``seconds``; the next call opens them again."""
        self.pages.close_idle()
        self.found.close_idle()
        latest = time.monotonic() - seconds
        self._close_all([name for used, name in self._idle() if used <= latest])

    def close(self, patience: float = 1.0) -> bool:
        """Close every collection that no call uses within ``patience`` seconds; return whether all are closed."""
        for name in list(self._entries):
            with suppress(BusyError):
                self._close(name, patience)
        self.pages.close_idle(0.0)
        self.found.close_idle(0.0)
        self.pictures.close()
        return not self._entries

    def _make_room(self) -> None:
        """Close the least recently used collections, so that one more can open."""
        more = len(self._entries) - self._most  # the entries include the collection that is about to open
        self._close_all([name for _, name in self._idle()[: max(0, more)]])

    def _idle(self) -> list[tuple[float, str]]:
        """Return the closable collections with the times of their last use, the least recent first."""
        with self._changed:
            free = {name: entry.used for name, entry in self._entries.items() if not entry.users}
        kept_names = {self.home.collection_of(name) for name in self._kept}
        return sorted((used, name) for name, used in free.items() if name not in kept_names)

    def _close_all(self, names: Sequence[str]) -> None:
        for name in names:
            with suppress(BusyError):  # a call uses the collection again
                self._close(name, 0.0)

    def _close(self, name: str, patience: float) -> None:
        with self._changed:
            entry = self._entries.get(name)
            if entry is None:
                return
            if not wait_for(self._changed, lambda: entry.users == 0, patience):
                raise BusyError(f"collection {name!r} is in use by other calls; try again when they have ended")
            self._entries.pop(name, None)
        if entry.collection is not None:
            entry.collection.close()

    @contextmanager
    def _entry(self, name: str) -> Iterator[_Entry]:
        with self._changed:
            wait_for(self._changed, lambda: name not in self._leaving)
            entry = self._entries.setdefault(name, _Entry())
            entry.users += 1
        try:
            yield entry
        finally:
            self._leave(name, entry)

    def _leave(self, name: str, entry: _Entry) -> None:
        with self._changed:
            entry.users -= 1
            entry.used = time.monotonic()
            if entry.users == 0 and entry.collection is None:
                self._entries.pop(name, None)
            self._changed.notify_all()
