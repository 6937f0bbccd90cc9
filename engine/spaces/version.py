"""Versions: a collection in memory in one state of its catalog; a search that finds its data there reads no table."""

import threading
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Set
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from crossview.engine.catalog.bulk import batches
from crossview.engine.catalog.catalog import Catalog, Transaction
from crossview.engine.catalog.description import RAW, no_space, raw_identity
from crossview.engine.catalog.item_columns import ItemColumns, matching_among
from crossview.engine.catalog.item_pages import ItemPages, Shown
from crossview.engine.catalog.items import Changes
from crossview.engine.catalog.joined import JoinedView, joined_view
from crossview.engine.catalog.lookup import item_id, with_views
from crossview.engine.catalog.rows import ViewRows
from crossview.engine.catalog.views import ViewRecord
from crossview.engine.runtime.locks import held
from crossview.engine.spaces.answer_size import check_room
from crossview.engine.spaces.index_recall import LiveRecall
from crossview.engine.spaces.indexed import IndexedSpace, choices_of
from crossview.engine.spaces.loaded import Identity, LoadedSpaces
from crossview.engine.spaces.space import Space
from crossview.engine.spaces.target import Target
from crossview.engine.values.conditions.tree import Condition, Field, FieldTest, Value
from crossview.engine.values.errors import Argument, NotReadyError
from crossview.engine.values.info import Threshold
from crossview.engine.values.query import calibration_step
from crossview.features.stages import stage
from crossview.index.base import Searcher, Selection

if TYPE_CHECKING:
    from crossview.engine.spaces.index_recall import LiveRecall


MOST_BYTES = 1 << 28
"""Maximum memory for the items of remembered filters; the least recently used is dropped first."""
_FILTER = 1_000
"""Bytes of a remembered filter without its items."""
_WORTH_KEEPING = 1_000
"""Changes after which a filter is evaluated again for all items instead of the changed ones."""

Ids = NDArray[np.int64]


@dataclass
class _Passing:
    """The items that pass a filter in one state of the catalog."""

    sequence: int
    ids: Ids
    selections: WeakKeyDictionary[Searcher, Selection] = field(default_factory=WeakKeyDictionary)
    """Prepared selections by searcher. References are weak, so that a filter does not keep an unused searcher in
    memory."""


class Filters:
    """The filters of the latest searches. Several threads may call the methods at once."""

    def __init__(self, columns: ItemColumns) -> None:
        self.columns = columns
        self._passing: dict[Condition, _Passing] = {}
        self._lock = threading.Lock()

    def ids(self, condition: Condition, sequence: int, read: Callable[[], AbstractContextManager[Transaction]]) -> Ids:
        """Return the ids of the items that pass a filter in the state with a sequence number, ascending.

        ``read`` opens a transaction that sees this state. It is called only if this state of the filter is not known.
        """
        return self._of(condition, sequence, read).ids

    def selection(
        self,
        condition: Condition,
        sequence: int,
        read: Callable[[], AbstractContextManager[Transaction]],
        searcher: Searcher,
    ) -> Selection:
        """Return the items that pass a filter, prepared for a searcher of the same state."""
        passing = self._of(condition, sequence, read)
        with self._lock:
            held = passing.selections.get(searcher)
        if held is None:
            held = searcher.selection(passing.ids)
            with self._lock:
                passing.selections[searcher] = held
        return held

    def _of(
        self, condition: Condition, sequence: int, read: Callable[[], AbstractContextManager[Transaction]]
    ) -> _Passing:
        with self._lock:
            passing = self._passing.pop(condition, None)
            if passing is not None:
                self._passing[condition] = passing  # move to the end: the most recently used
        if passing is None or passing.sequence != sequence:
            with stage("filter items"), read() as tx:
                passing = _Passing(sequence, self._matching(tx, condition, passing))
            with self._lock:
                self._passing[condition] = passing
                held = sum(entry.ids.nbytes + _FILTER for entry in self._passing.values())
                while held > MOST_BYTES and len(self._passing) > 1:
                    held -= self._passing.pop(next(iter(self._passing))).ids.nbytes + _FILTER
        return passing

    def _matching(self, tx: Transaction, condition: Condition, earlier: _Passing | None) -> Ids:
        """Return the ids that pass: changed items are evaluated, the others pass as in the earlier state."""
        if earlier is None or earlier.sequence > tx.sequence() or condition.of_kind("view"):
            return self.columns.matching(tx, condition)  # a view can change without its items
        changes = tx.items.changed_since(earlier.sequence)
        changed = np.array(sorted(changes.live + changes.deleted), np.int64)
        if len(changed) > _WORTH_KEEPING:
            return self.columns.matching(tx, condition)
        places = np.searchsorted(earlier.ids, changed)
        held = places < len(earlier.ids)
        held[held] = earlier.ids[places[held]] == changed[held]
        ids = np.delete(earlier.ids, places[held])
        return np.union1d(ids, matching_among(tx, condition, changes.live)) if changes.live else ids


MOST_VALUES = 64
"""Usual maximum number of kept values; the least recently used is dropped first."""
T = TypeVar("T")


@dataclass(eq=False)
class _Entry:
    making: threading.Lock = field(default_factory=threading.Lock)
    made: bool = False
    value: Any = None


class Remembered:
    """Values by key, each computed once, also if several threads ask at once."""

    def __init__(self, most: int = MOST_VALUES) -> None:
        self._most, self._entries = most, dict[Hashable, _Entry]()
        self._lock = threading.Lock()

    def value(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the value of a key; ``make`` computes an unknown value, and its errors pass through."""
        with self._lock:
            entry = self._entries[key] = self._entries.pop(key, _Entry())  # move to the end: the most recently used
            while len(self._entries) > self._most:
                del self._entries[next(iter(self._entries))]
        if not entry.made:
            with held(entry.making):
                if not entry.made:
                    entry.value, entry.made = make(), True
        return cast(T, entry.value)


_SHOWN_AT_ONCE = 1_000
"""Items read at a time."""
_MOST_IN_TURN = 100  # keys up to which threads take turns at one connection; more would let others wait


class StaleError(Exception):
    """The catalog has changed, and the version lacks needed data in memory: start again with the next version."""


class Views(tuple[ViewRecord, ...]):
    """The views of a version."""

    def all(self) -> tuple[ViewRecord, ...]:
        """Return every view in the order of its creation."""
        return self


@dataclass(frozen=True, eq=False, kw_only=True)
class Version:
    """One state of a collection. It reads data missing in memory while the catalog is still in this state.

    Several threads may call the methods at once.
    """

    catalog: Catalog
    loaded: LoadedSpaces
    """The extractors that describe queries."""
    collection: str
    """The collection's name."""
    sequence: int
    """The number of the last change."""
    history: str
    """The history to which the sequence numbers belong."""
    active: str
    """The space that answers searches without a space."""
    views: Views
    identities: Mapping[str, Identity]
    """The identity of each space, which differs between spaces of the same name."""
    spaces: Mapping[str, IndexedSpace]
    """The spaces that searches have used."""
    pages: ItemPages
    filters: Filters
    renamed: int
    """The last change that gave items new keys."""
    missing: bool
    """Whether the files of some items are missing."""
    live: "LiveRecall"
    """The checks of approximate searches."""
    remembered: Remembered
    """Results computed from this state, such as calibrations of votes."""
    at_hand: bool = False
    """Whether the version only uses memory: a read raises StaleError."""
    transaction: Transaction | None = None
    """A transaction of one thread that sees this state; without it each read opens its own."""

    def name(self) -> str:
        """Return the collection's name."""
        return self.collection

    @contextmanager
    def read(self) -> Iterator[Transaction]:
        """Open a transaction that sees this state; StaleError if the catalog has changed."""
        if self.at_hand:
            raise StaleError
        if self.transaction is not None:
            yield self.transaction
            return
        with self.catalog.read() as tx:
            if tx.head().state != (self.history, self.sequence):
                raise StaleError
            yield tx

    @cached_property
    def in_memory(self) -> "Version":
        """This version, restricted to its data in memory."""
        return replace(self, at_hand=True)

    def joined_view(self, name: str) -> JoinedView:
        """Return the view of a name; raises the errors of ``engine.catalog.joined.joined_view``."""
        view = self._joined.get(name)
        if view is None:
            view = self._joined[name] = joined_view(self, name)
        return view

    @cached_property
    def _joined(self) -> dict[str, JoinedView]:
        """Cache of ``joined_view``."""
        return {}

    def rows(self, view: str, ids: Iterable[int]) -> ViewRows:
        """Return the rows of those of the items that have a view."""
        with self.read() as tx:
            return self.joined_view(view).rows(tx, ids)

    def rows_of_keys(self, view: str, keys: Collection[str]) -> dict[str, tuple[int, NDArray[np.float32]]]:
        """Return the ids and rows, (d,), of those of the keys that items with a view have in exactly this form."""
        if self.at_hand:
            raise StaleError
        if len(keys) > _MOST_IN_TURN:
            with self.read() as tx:
                return self.joined_view(view).of_keys(tx, keys)[1]
        state, rows = self.joined_view(view).of_keys(self.transaction or self.catalog, keys)
        if state != (self.history, self.sequence):
            raise StaleError
        return rows

    def ids_of(self, keys: Iterable[str]) -> dict[str, int]:
        """Return the ids of those of the keys that items have."""
        with self.read() as tx:
            return tx.items.ids_of(keys)

    def views_of(self, key: str) -> tuple[str, ...]:
        """Return the views that an item has; NotFoundError for an unknown key."""
        with self.read() as tx:
            (item,) = with_views(tx, tx.items.by_id([item_id(tx, key)]))
            return item.views

    @property
    def default_space(self) -> str:
        """The space of searches without a space: the active one, or ``raw``."""
        return self.active or RAW

    def space(self, name: str) -> IndexedSpace | None:
        """Return a space [default: the active one] that a search has used; None otherwise."""
        return self.spaces.get(name or self.default_space)

    def identity(self, space: str) -> Identity:
        """Return the identity of a space; NotFoundError lists the existing ones."""
        if space not in self.identities:
            with self.read() as tx:
                raise no_space(tx, space)
        return self.identities[space]

    def threshold(self, space: Space, view: str, target: str) -> Threshold:
        """Return the distance up to which a query of a view and an item in a target are the same.

        Raises NotReadyError without a calibration.
        """
        of_view = self.thresholds(space, view)
        if target not in of_view:
            raise NotReadyError(
                f"generation {space.generation} of space {space.name!r} has no threshold for queries of view {view!r} "
                f"and items in {target!r}: calibrate it, by labels or ",
                Argument("pairs"),
                ", with: ",
                calibration_step(space.name, view, target),
            )
        return of_view[target]

    def thresholds(self, space: Space, view: str) -> Mapping[str, Threshold]:
        """Return the thresholds of a space for queries of a view, by the target of the items."""
        place = (space.name, space.own_generation(view), view)
        if place not in self._thresholds:
            with self.read() as tx:
                every = tx.spaces.thresholds(*place[:2])
            self._thresholds[place] = {threshold.target: threshold for threshold in every if threshold.view == view}
        return self._thresholds[place]

    @cached_property
    def _thresholds(self) -> dict[tuple[str, int, str], dict[str, Threshold]]:
        """Cache of ``thresholds``."""
        return {}

    def ids(self, condition: Condition) -> Ids:
        """Return the ascending ids of the items that fulfil a condition on stored columns."""
        return self.filters.ids(condition, self.sequence, self.read)

    def selection(self, only: Condition, space: IndexedSpace, target: Target) -> Selection:
        """Return the selection of the items of a target that pass a filter."""
        return self.filters.selection(only, self.sequence, self.read, space.searcher(target))

    def shown(self, ids: Set[int]) -> dict[int, Shown]:
        """Return the content of items for hits."""
        contents = self.pages.known(ids)
        if len(contents) < len(ids):
            size = sum([content.size for content in contents.values()])
            with self.read() as tx:
                for some in batches(sorted(ids - contents.keys()), _SHOWN_AT_ONCE):
                    read = self.pages.read(tx, some)
                    more = {item: read[item] for item in some if item in read}
                    size += sum([content.size for content in more.values()])
                    check_room(size)  # stop before reading more
                    contents |= more
        return contents

    def values(self, field: Field, ids: Ids) -> dict[int, tuple[Value, ...]]:
        """Return the values of a field of those of the items, (n,), that have any except null."""
        with self.read() as tx:
            return self.filters.columns.values(tx, field, ids)

    def order(self, field: Field, ids: Ids, greatest_first: bool) -> NDArray[np.intp]:
        """Return the places of items, (n,), in the order of their values of a field."""
        with self.read() as tx:
            return self.filters.columns.order(tx, field, ids, greatest_first)

    def has_values(self, field: Field) -> bool:
        """Return whether any item has a field."""
        return len(self.ids(FieldTest(field, "exists"))) > 0


class SearchState(NamedTuple):
    """All that a search reads: a collection in one state of its catalog, and one of its spaces with indexes."""

    version: Version
    indexed: IndexedSpace

    @property
    def space(self) -> Space:
        """The space without its indexes."""
        return self.indexed.space


class _ChangesSince(dict[int, Changes]):
    """The changes since each sequence number, read once for all indexes with this number."""

    def __init__(self, tx: Transaction) -> None:
        super().__init__()
        self._tx = tx

    def __missing__(self, sequence: int) -> Changes:
        self[sequence] = self._tx.items.changed_since(sequence)
        return self[sequence]


def next_version(
    version: Version | None,
    catalog: Catalog,
    tx: Transaction,
    loaded: LoadedSpaces,
    columns: ItemColumns,
    live: LiveRecall,
) -> Version:
    """Return the version of the state that a transaction sees, made from an earlier version."""
    head, views = tx.head(), Views(tx.views.all())
    identities: dict[str, Identity] = {**tx.spaces.identities(), RAW: raw_identity(views)}
    fresh = Version(
        catalog=catalog,
        loaded=loaded,
        collection=head.name,
        sequence=head.sequence,
        active=head.active_space,
        history=head.history,
        views=views,
        identities=identities,
        spaces={},
        pages=ItemPages(),
        filters=Filters(columns),
        renamed=tx.moves.last_rename(),
        missing=tx.moves.any_missing(),
        live=live,
        remembered=Remembered(),
    )
    if version is None or version.history != head.history or version.sequence < head.purged:
        return fresh
    changes, same = _ChangesSince(tx), version.sequence == fresh.sequence
    renames = tx.moves.renames_since(version.renamed) if fresh.renamed > version.renamed else ()
    choices = tx.spaces.index_choices()
    return replace(
        fresh,
        spaces={
            name: space.renamed(renames).choosing(choices_of(choices, space.space)).following(tx, head, changes)
            for name, space in version.spaces.items()
            if identities.get(name) == space.identity
        },
        filters=version.filters,
        pages=version.pages if same else version.pages.after(changes[version.sequence]),
        remembered=version.remembered if same else fresh.remembered,
    )
