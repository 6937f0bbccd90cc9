"""Versions: a collection in memory in one state of its catalog; searches of what is in memory touch no table."""

from collections.abc import Iterator, Mapping, Set
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property

from crossview.engine.catalog.batches import batches
from crossview.engine.catalog.catalog import Catalog, Transaction
from crossview.engine.catalog.description import RAW, no_space
from crossview.engine.catalog.item_pages import ItemPages, Shown
from crossview.engine.catalog.joined import JoinedView, joined_view
from crossview.engine.catalog.views import ViewRecord
from crossview.engine.condition import Condition
from crossview.engine.errors import NotReadyError
from crossview.engine.info import Threshold
from crossview.engine.query import calibration_step
from crossview.engine.spaces.answer_size import check_room
from crossview.engine.spaces.filters import Filters, Ids
from crossview.engine.spaces.indexed import IndexedSpace
from crossview.engine.spaces.loaded import Identity
from crossview.engine.spaces.remembered import Remembered
from crossview.engine.spaces.space import Space
from crossview.engine.spaces.target import Target
from crossview.index.base import Selection

_SHOWN_AT_ONCE = 1_000
"""Items that are read at a time."""


class StaleError(Exception):
    """The catalog has changed since, and what is asked for is not in memory: begin again with the next version."""


class Views(tuple[ViewRecord, ...]):
    """The views of a version."""

    def all(self) -> tuple[ViewRecord, ...]:
        """Return every view in the order of its creation."""
        return self


@dataclass(frozen=True, eq=False, kw_only=True)
class Version:
    """One state of a collection. What it lacks in memory it reads, while the catalog is still in that state.

    Methods may be called from several threads.
    """

    catalog: Catalog
    collection: str
    """The collection's name."""
    sequence: int
    """The number of the last change."""
    history: str
    """The history that the sequence numbers are of."""
    active: str
    """The space that answers by default."""
    views: Views
    identities: Mapping[str, Identity]
    """What distinguishes each space from others of its name."""
    spaces: Mapping[str, IndexedSpace]
    """Those that have been used."""
    pages: ItemPages
    filters: Filters
    remembered: Remembered
    """What was computed of this state, such as calibrations of votes."""
    at_hand: bool = False
    """Whether it gives only what is in memory: what would have to be read raises StaleError."""
    transaction: Transaction | None = None
    """One that sees this state, of the thread that holds the version; as a rule each reading opens its own."""

    def name(self) -> str:
        """Return the collection's name."""
        return self.collection

    @contextmanager
    def read(self) -> Iterator[Transaction]:
        """Open a transaction that sees this state; StaleError where the catalog is in another one by now."""
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
        """This version, as far as it is in memory."""
        return replace(self, at_hand=True)

    def joined_view(self, name: str) -> JoinedView:
        """Return what the name of a view stands for; errors as those of ``engine.catalog.joined.joined_view``."""
        known = self._joined.get(name)
        if known is None:
            known = self._joined[name] = joined_view(self, name)
        return known

    @cached_property
    def _joined(self) -> dict[str, JoinedView]:
        """What ``joined_view`` has returned."""
        return {}

    @property
    def default_space(self) -> str:
        """The space of searches that name none."""
        return self.active or RAW

    def space(self, name: str) -> IndexedSpace | None:
        """Return a space that has been used, by default the active one."""
        return self.spaces.get(name or self.default_space)

    def identity(self, space: str) -> Identity:
        """Return the identity of a space; NotFoundError lists those that exist."""
        if space not in self.identities:
            with self.read() as tx:
                raise no_space(tx, space)
        return self.identities[space]

    def threshold(self, space: Space, view: str, target: str) -> Threshold:
        """Return up to which distance a query of a view and what it finds in a target are the same.

        Raises NotReadyError where nothing has told yet.
        """
        place = (space.name, space.own_generation(view), view, target)
        if place not in self._thresholds:
            with self.read() as tx:
                found = tx.spaces.thresholds(*place[:2])
            for one in found:
                self._thresholds[*place[:2], one.view, one.target] = one
        if place not in self._thresholds:
            raise NotReadyError(
                f"generation {space.generation} of space {space.name!r} knows no distance up to which a query of view "
                f"{view!r} and an item in {target!r} are the same: calibrate it, by labels or `pairs`, with: "
                f"{calibration_step(space.name, view, target)}"
            )
        return self._thresholds[place]

    @cached_property
    def _thresholds(self) -> dict[tuple[str, int, str, str], Threshold]:
        """What ``threshold`` has read."""
        return {}

    def ids(self, condition: Condition) -> Ids:
        """Return the ids of the items that fulfil a condition on what the catalog stores, ascending."""
        return self.filters.ids(condition, self.sequence, self.read)

    def selection(self, only: Condition, space: IndexedSpace, target: Target) -> Selection:
        """Return what passes a filter of the vectors of a target."""
        return self.filters.selection(only, self.sequence, self.read, space.indexes[target].index)

    def shown(self, ids: Set[int]) -> dict[int, Shown]:
        """Return what hits show of items."""
        found = self.pages.known(ids)
        if len(found) < len(ids):
            with self.read() as tx:
                for some in batches(sorted(ids - found.keys()), _SHOWN_AT_ONCE):
                    read = self.pages.read(tx, some)
                    found |= {item: read[item] for item in some if item in read}
                    check_room(sum([shown.size for shown in found.values()]))  # before more is read
        return found
