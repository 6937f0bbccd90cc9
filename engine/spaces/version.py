"""Versions: a collection in memory in one state of its catalog; a search that finds its data there reads no table."""

from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from crossview.engine.catalog.bulk import batches
from crossview.engine.catalog.catalog import Catalog, Transaction
from crossview.engine.catalog.description import RAW, no_space
from crossview.engine.catalog.item_pages import ItemPages, Shown
from crossview.engine.catalog.joined import JoinedView, joined_view
from crossview.engine.catalog.lookup import item_id, with_views
from crossview.engine.catalog.rows import ViewRows
from crossview.engine.catalog.views import ViewRecord
from crossview.engine.spaces.answer_size import check_room
from crossview.engine.spaces.filters import Filters, Ids
from crossview.engine.spaces.indexed import IndexedSpace
from crossview.engine.spaces.loaded import Identity
from crossview.engine.spaces.remembered import Remembered
from crossview.engine.spaces.space import Space
from crossview.engine.spaces.target import Target
from crossview.engine.values.conditions.tree import Condition, Field, FieldTest, Value
from crossview.engine.values.errors import Argument, NotReadyError
from crossview.engine.values.info import Threshold
from crossview.engine.values.query import calibration_step
from crossview.index.base import Selection

if TYPE_CHECKING:
    from crossview.engine.spaces.live_recall import LiveRecall

_SHOWN_AT_ONCE = 1_000
"""Items read at a time."""


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
    found: dict[str, int] | None = None
    """The ids of the items of all hits so far, by key, if hits have no content but their keys; None if they have it."""

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
        known = self._joined.get(name)
        if known is None:
            known = self._joined[name] = joined_view(self, name)
        return known

    @cached_property
    def _joined(self) -> dict[str, JoinedView]:
        """Cache of ``joined_view``."""
        return {}

    def rows(self, view: str, ids: Iterable[int]) -> ViewRows:
        """Return the rows of those of the items that have a view."""
        with self.read() as tx:
            return self.joined_view(view).rows(tx, ids)

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
        place = (space.name, space.own_generation(view), view, target)
        if place not in self._thresholds:
            with self.read() as tx:
                found = tx.spaces.thresholds(*place[:2])
            for one in found:
                self._thresholds[*place[:2], one.view, one.target] = one
        if place not in self._thresholds:
            raise NotReadyError(
                f"generation {space.generation} of space {space.name!r} has no threshold for queries of view {view!r} "
                f"and items in {target!r}: calibrate it, by labels or ",
                Argument("pairs"),
                ", with: ",
                calibration_step(space.name, view, target),
            )
        return self._thresholds[place]

    @cached_property
    def _thresholds(self) -> dict[tuple[str, int, str, str], Threshold]:
        """Cache of ``threshold``."""
        return {}

    def ids(self, condition: Condition) -> Ids:
        """Return the ascending ids of the items that fulfil a condition on stored columns."""
        return self.filters.ids(condition, self.sequence, self.read)

    def selection(self, only: Condition, space: IndexedSpace, target: Target) -> Selection:
        """Return the selection of the items of a target that pass a filter."""
        return self.filters.selection(only, self.sequence, self.read, space.searcher(target))

    def shown(self, ids: Set[int]) -> dict[int, Shown]:
        """Return the content of items for hits."""
        found = self.pages.known(ids)
        if self.found is not None:
            return self._keys(ids, found, self.found)
        if len(found) < len(ids):
            size = sum([shown.size for shown in found.values()])
            with self.read() as tx:
                for some in batches(sorted(ids - found.keys()), _SHOWN_AT_ONCE):
                    read = self.pages.read(tx, some)
                    more = {item: read[item] for item in some if item in read}
                    size += sum([shown.size for shown in more.values()])
                    check_room(size)  # stop before reading more
                    found |= more
        return found

    def _keys(self, ids: Set[int], known: Mapping[int, Shown], found: dict[str, int]) -> dict[int, Shown]:
        """Return the keys of items without other content, and add the items to ``found``."""
        keys = {item: shown.key for item, shown in known.items()}
        if len(keys) < len(ids):
            with self.read() as tx:
                keys |= {item: key for item, key in tx.items.each("key", ids - keys.keys())}  # noqa: C416 - rows are not pairs
        found |= {key: item for item, key in keys.items()}
        return {item: Shown(key, (), "{}", "", "") for item, key in keys.items()}

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
