"""The versions of an open collection: the current one, the making of the next, and reading ahead for searches."""

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import TypeVar
from weakref import WeakSet

from crossview.engine.catalog.catalog import Catalog, Transaction
from crossview.engine.catalog.description import RAW, raw_identity
from crossview.engine.catalog.extractors import inputs_of
from crossview.engine.catalog.item_columns import ItemColumns
from crossview.engine.catalog.item_pages import ITEMS_A_PAGE
from crossview.engine.catalog.snapshots import Snapshot
from crossview.engine.runtime.cancellation import checkpoint
from crossview.engine.runtime.locks import Locks, held
from crossview.engine.spaces.index_recall import LiveRecall
from crossview.engine.spaces.indexed import Covered, IndexedSpace, choices_of, stored_generation
from crossview.engine.spaces.loaded import LoadedSpaces, space_identity
from crossview.engine.spaces.snapshot_files import SnapshotFiles
from crossview.engine.spaces.space import Space
from crossview.engine.spaces.target import Target
from crossview.engine.spaces.version import SearchState, StaleError, Version, next_version
from crossview.engine.values.errors import BusyError, CrossviewError, NotFoundError, NotReadyError
from crossview.features.background import begun
from crossview.features.inputs import MODELS
from crossview.features.stages import stage
from crossview.index.base import EXACT, Index

MOST_ITEMS = 1 << 17
"""Maximum number of items of a collection that is read ahead, about 50 MB without texts and attributes."""
AFTER_SECONDS = 1.0
"""Seconds between opening a collection and reading ahead: a program that searches only once does not need it."""
_PAUSE = 3.0
"""Pause between two pages, as a multiple of the time of reading one, so that searches get the interpreter lock."""


class ReadingAhead:
    """Reads the pages of the current version once in the background; searches read the items that change later."""

    def __init__(self, current: Callable[[], Version]) -> None:
        self._current = current
        self._from = time.monotonic() + AFTER_SECONDS
        self._thread: threading.Thread | None = None
        self._beginning = threading.Lock()
        self._stop = threading.Event()

    def begin(self) -> None:
        """Start reading ahead unless it has started, or the collection was opened less than ``AFTER_SECONDS`` ago."""
        if self._thread is not None or time.monotonic() < self._from or not self._beginning.acquire(blocking=False):
            return
        if self._thread is None:
            self._thread = begun(self._read, "reading ahead")
        self._beginning.release()

    def close(self) -> None:
        """Stop reading, and wait for the thread."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def _read(self) -> None:
        try:
            with self._current().catalog.read() as tx:
                count, last = tx.items.extent()
            first = 0 if count <= MOST_ITEMS else last + 1
            pause = 0.0
            while first <= last and not self._stop.wait(pause):
                began = time.monotonic()
                if self._read_page(first, last):
                    first += ITEMS_A_PAGE
                pause = _PAUSE * (time.monotonic() - began)
        except CrossviewError:  # a search that needs these items reports it
            return

    def _read_page(self, first: int, last: int) -> bool:
        """Read a page of items from an id on; return False if a commit intervened."""
        version = self._current()
        try:
            with version.read() as tx:
                version.pages.read(tx, range(first, min(first + ITEMS_A_PAGE, last + 1)))
        except StaleError:
            return False
        return True


_log = logging.getLogger(__name__)
_FEWEST_SAVED = 10_000
"""Minimum number of changes since the last snapshot for a new one while the collection is open."""

_UNTIL_NEXT_SAVE = 60.0
"""Seconds between a failed snapshot and the next attempt while the collection is open."""
T = TypeVar("T")
TargetsOf = Callable[[Version, Space], Sequence[Target]]


class Versions:
    """Keeps the version that matches the state of the catalog.

    While nothing changes, getting the version only reads the database's counter of commits. A reader keeps its version
    during later changes. The first reader after a change makes the next version, in time proportional to the change.
    Several threads may call the methods at once.
    """

    files: SnapshotFiles

    def __init__(
        self, catalog: Catalog, files: SnapshotFiles, spaces: LoadedSpaces, columns: ItemColumns | None = None
    ) -> None:
        self._catalog, self.files, self._spaces = catalog, files, spaces
        self._latest: tuple[int | None, Version] | None = None
        self._living: WeakSet[Version] = WeakSet()
        """The versions that searches or pages still use, and the latest one."""
        self._changing = threading.Lock()
        self._loading = Locks()
        self._upkeep: threading.Thread | None = None
        self._save_after = 0.0
        self._columns = columns or ItemColumns()
        self._ahead = ReadingAhead(self.current)
        self.live: LiveRecall = LiveRecall()

    def current(self) -> Version:
        """Return the version of the catalog's current state."""
        unchanged = self._unchanged()
        if unchanged is not None:
            return unchanged
        with held(self._changing):
            return self._next()

    def _unchanged(self) -> Version | None:
        """Return the latest version if the catalog is still in its state; None otherwise."""
        counter, latest = self._catalog.counter(), self._latest
        return latest[1] if latest is not None and latest[0] == counter else None

    def at_hand(self, name: str) -> SearchState | None:
        """Return the current state, restricted to its data in memory, with a space [default: the active one].

        Return None if the next version is not made yet, or no search has used the space. This method never waits.
        """
        version = self._unchanged()
        space = None if version is None else version.space(name)
        return None if version is None or space is None else SearchState(version.in_memory, space)

    def least_bytes(self, name: str) -> int:
        """Return roughly the least bytes that a search in a space reads; 0 if its latest version has no index."""
        space = None if self._latest is None else self._latest[1].space(name)
        indexes = () if space is None else [covered.index for covered in space.indexes.values()]
        return min((index.read_bytes(min(index.efforts(1), default=EXACT)) for index in indexes), default=0)

    def runs_models_on_texts(self, views: Collection[str]) -> bool:
        """Return whether a model computes rows of texts for one of some views ("": any); True if this is unknown."""
        if self._latest is None:
            return True
        models = {view.name for view in self._latest[1].views if view.extractor in MODELS and "text" in inputs_of(view)}
        return bool(models) and any(not view or not models.isdisjoint(view.split("+")) for view in views)

    def figures(self) -> tuple[int, int]:
        """Return the bytes of all indexes of the latest version, and the number of versions in memory."""
        spaces = () if self._latest is None else tuple(self._latest[1].spaces.values())
        return sum(covered.index.nbytes for space in spaces for covered in space.indexes.values()), len(self._living)

    def answered(self, name: str, targets_of: TargetsOf, answer: Callable[[SearchState], T]) -> T:
        """Return an answer from the current state with a space [default: the active one] with indexes of its targets.

        Raises NotFoundError for an unknown space, NotReadyError if a view was fitted again since the training, and the
        errors of ``answer``.

        The answer reads data missing in memory from the version's own state, also under constant writes: if the catalog
        has changed, the transaction that makes the next version stays open for the answer. Loading a space or an index
        that is not in memory can take long; other searches continue.
        """
        checkpoint()
        self._ahead.begin()
        unchanged = self._unchanged()
        if unchanged is not None and (state := _ready(unchanged, name, targets_of)) is not None:
            with suppress(StaleError):
                return answer(state)
        while True:
            with self._held_version() as version:
                if (state := _ready(version, name, targets_of)) is not None:
                    return answer(state)
            with suppress(StaleError), stage("load a space"):  # another space may have taken its name
                self._load(name, targets_of)
            checkpoint()

    def index_at(self, tx: Transaction, space: Space, target: Target) -> Index | None:
        """Return the index of a target in the state that a transaction sees; None if it is in a later state already."""
        indexed = self.answered(space.name, lambda *_: [target], lambda state: state.indexed)
        covered, head = indexed.indexes[target], tx.head()
        if (indexed.identity, indexed.history) != (space_identity(tx, space.name), head.history):
            return None
        if covered.sequence > head.sequence:
            return None
        return indexed.with_target(tx, target, covered).indexes[target].index

    def kept(self, name: str, targets_of: TargetsOf) -> tuple[SearchState, Callable[[], None]]:
        """Return a state that can be read until the returned function ends it, with a space [default: the active one]
        and indexes of its targets; raises the errors of ``answered``."""
        while True:
            self.answered(name, targets_of, lambda _: None)  # loads what is not in memory
            with held(self._changing):
                counter, reading = self._catalog.counter(), self._catalog.keep()
                try:
                    version = replace(self._made(counter, reading.transaction), transaction=reading.transaction)
                    state = _ready(version, name, targets_of)
                except BaseException:
                    reading.close()
                    raise
            if state is not None:
                return state, reading.close
            reading.close()  # another process has just replaced the space

    def _load(self, name: str, targets_of: TargetsOf) -> None:
        """Load a space [default: the active one] and those indexes of its targets that the current version lacks."""
        name = name or self.current().default_space
        with held(self._loading.of(name)):
            space = self.current().space(name) or self._loaded_space(name)  # another thread may have been faster
            lacking = [target for target in targets_of(self.current(), space.space) if target not in space.indexes]
            self._with(replace(space, indexes={target: self._index(space, target) for target in lacking}))

    def take(self, space: IndexedSpace, in_use: bool) -> None:
        """Take over a newly stored generation with its indexes, and write their snapshots.

        Snapshots must wait for the commit: the next generation has the number of one that was never stored, and would
        load its snapshots.
        """
        if in_use:
            with suppress(StaleError):  # another process has already stored a later generation
                self._with(space)
        self._save(space)

    def save(self) -> None:
        """Write a snapshot of every index that has changed much since its last one.

        Snapshots only save the time to build the indexes again; the catalog has all data.
        """
        for space in self.current().spaces.values():
            self._save(space)

    def compact(self) -> None:
        """Remove dead rows from the indexes in memory and from all snapshots, one after another."""
        for space in self.current().spaces.values():
            whole = {
                target: replace(covered, index=covered.index.compacted())
                for target, covered in space.indexes.items()
                if covered.index.waste
            }
            with suppress(StaleError):
                self._with(replace(space, indexes=whole))
        for space in self.current().spaces.values():
            self._save(space, everything=True)
        for snapshot in self.files.all():
            checkpoint()
            self._renew(snapshot)

    def close(self) -> None:
        """Wait for work in the background."""
        self._ahead.close()
        self.live.close()
        if self._upkeep is not None:
            self._upkeep.join()

    def _save(self, space: IndexedSpace, everything: bool = False) -> None:
        """Write snapshots of a space's indexes that have changed much (or, with ``everything``, at all), one by one."""
        if not any(covered.is_due(everything) for covered in space.indexes.values()):
            return
        try:
            with self.files.writing():
                for target, covered in space.indexes.items():
                    current = self._known(space)  # another thread may have been faster
                    covered = covered if current is None else current.indexes.get(target, covered)
                    if covered.is_due(everything):
                        self._save_index(space.holding({target: covered}), target)
        except (OSError, BusyError) as error:
            self._save_after = time.monotonic() + _UNTIL_NEXT_SAVE
            _log.warning("an index snapshot was not written, so the index may have to be built again: %s", error)

    def _save_index(self, space: IndexedSpace, target: Target) -> None:
        """Write the snapshot of an index and record it in the catalog, unless another space has taken the name."""
        covered = space.indexes[target]
        written = space.save(self.files, target)
        with self.files.changing(written) as tx:
            if _exists(tx, space):
                tx.snapshots.put(written)
            tx.purge()
        with held(self._changing):
            current = self._known(space)
            if self._latest is not None and current is not None:
                saved = current.saved({target: covered.unsaved})
                version = self._latest[1]
                self._latest = None, replace(version, spaces={**version.spaces, space.space.name: saved})

    def _known(self, space: IndexedSpace) -> IndexedSpace | None:
        """Return a space in the latest version; None if it is gone or another space has taken its name."""
        latest = None if self._latest is None else self._latest[1].spaces.get(space.space.name)
        same = latest is not None and (latest.history, latest.identity) == (space.history, space.identity)
        return latest if same else None

    def _renew(self, snapshot: Snapshot) -> None:
        """Write a snapshot again if its index has changed; delete its record if it cannot be used."""
        with self._catalog.read() as tx:
            if snapshot.sequence == tx.sequence():
                return
        try:
            with self._catalog.read() as tx:
                space = stored_generation(tx, snapshot.space, snapshot.generation)
            target = next(target for target in space.space.indexed_targets if str(target) == snapshot.target)
            stored = space.stored(self.files, target)
            with self._catalog.read() as tx:
                if stored is None:
                    raise NotReadyError(f"{snapshot.file_name} cannot be used")
                space = space.with_target(tx, target, stored)
        except (NotReadyError, NotFoundError):
            with self.files.changing() as tx:
                if tx.snapshots.get(snapshot.place) == snapshot:
                    tx.snapshots.delete(snapshot.place)
        else:
            self._save(space, everything=True)

    @contextmanager
    def _held_version(self) -> Iterator[Version]:
        """Give the current version, with a transaction that sees its state during the whole block."""
        with ExitStack() as stack:
            with held(self._changing):
                counter = self._catalog.counter()
                tx = stack.enter_context(self._catalog.read())
                version = self._made(counter, tx)
            yield replace(version, transaction=tx)

    def _loaded_space(self, name: str) -> IndexedSpace:
        with self._catalog.read() as tx:
            space, identity = self._spaces.get(tx, name), space_identity(tx, name)
            choices = choices_of(tx.spaces.index_choices(), space)
            return IndexedSpace(space, identity or (), tx.head().history, choices=choices)

    def _index(self, space: IndexedSpace, target: Target) -> Covered:
        """Return a target's index in the catalog's current state; StaleError if another space has taken the name."""
        # load before the transaction begins, so that the transaction sees every change in the snapshot
        stored = space.stored(self.files, target)
        with self._catalog.read() as tx:
            if tx.head().history != space.history or space_identity(tx, space.space.name) != space.identity:
                raise StaleError
            return space.with_target(tx, target, stored).indexes[target]

    def _with(self, space: IndexedSpace) -> tuple[Version, IndexedSpace]:
        """Return the next version, which also has a space with its indexes."""
        name = space.space.name
        with held(self._changing):
            version = self._next()
            if version.history != space.history or version.identities.get(name) != space.identity:
                raise StaleError
            current = version.spaces.get(name, space)
            if current.choices != space.choices:
                raise StaleError
            joined = current.holding(space.indexes)
            self._latest = None, replace(version, spaces={**version.spaces, name: joined})
            version = self._next()  # another process may just have replaced or deleted the space
            if name not in version.spaces:
                raise StaleError
            return version, version.spaces[name]

    def _next(self) -> Version:
        """Return the version of the catalog's current state; the caller holds the lock on changes."""
        counter = self._catalog.counter()
        with self._catalog.read() as tx:
            return self._made(counter, tx)

    def _made(self, counter: int, tx: Transaction) -> Version:
        """Make the version of the state that a transaction sees, which is not earlier than the latest version.

        The caller reads ``counter`` before it opens the transaction: a commit in between then only makes the next call
        look again, and no version counts as newer than it is.
        """
        latest = None if self._latest is None else self._latest[1]
        version = next_version(latest, self._catalog, tx, self._spaces, self._columns, self.live)
        self._spaces.of_history(version.history)
        for name, space in () if latest is None else latest.spaces.items():
            if name not in version.spaces or version.spaces[name].choices != space.choices:
                self.live.forget(name)
        self._latest = counter, version
        self._living.add(version)
        self._keep_up(version)
        return version

    def _keep_up(self, version: Version) -> None:
        """Compact an index with many dead rows, or save indexes that have changed much, in the background."""
        if self._upkeep is not None and self._upkeep.is_alive():
            return
        if work := self._compaction(version) or self._saving(version):
            self._upkeep = begun(work, "upkeep")

    def _saving(self, version: Version) -> Callable[[], None] | None:
        """Return a function that saves a space whose indexes have changed much since their snapshots, or None."""
        if time.monotonic() < self._save_after:
            return None
        for space in version.spaces.values():
            if any(covered.is_due() and covered.unsaved >= _FEWEST_SAVED for covered in space.indexes.values()):
                return partial(self._save, space)
        return None

    def _compaction(self, version: Version) -> Callable[[], None] | None:
        """Return a function that compacts an index with many dead rows, if there is one."""
        for space in version.spaces.values():
            for target, covered in space.indexes.items():
                if covered.index.worth_compacting:
                    return partial(self._compacted, space, target, covered)
        return None

    def _compacted(self, space: IndexedSpace, target: Target, covered: Covered) -> None:
        compacted = replace(covered, index=covered.index.compacted())  # later changes are replayed on it
        # If the space is gone, or the catalog cannot be read, a later version tries again.
        with suppress(StaleError, CrossviewError):
            self._with(replace(space, indexes={target: compacted}))


def _ready(version: Version, name: str, targets_of: TargetsOf) -> SearchState | None:
    """Return a version with a space [default: the active one] if the indexes of its targets are in memory."""
    space = version.space(name)
    if space is None or any(target not in space.indexes for target in targets_of(version, space.space)):
        return None
    return SearchState(version, space)


def _exists(tx: Transaction, space: IndexedSpace) -> bool:
    """Return whether a space is in the catalog, in use or not, and its indexes belong to the catalog's history."""
    name = space.space.name
    if tx.head().history != space.history:
        return False
    if name == RAW:
        return raw_identity(tx.views.all()) == space.identity
    return any((record.generation, record.sequence) == space.identity for record in tx.spaces.generations(name))
