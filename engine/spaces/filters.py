"""Filters: the items that pass, remembered from one state of the catalog to the next, and prepared for an index."""

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from crossview.engine.catalog.catalog import Transaction
from crossview.engine.catalog.item_columns import ItemColumns, matching_among
from crossview.engine.values.conditions.tree import Condition
from crossview.features.stages import stage
from crossview.index.base import Searcher, Selection

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

    def ids(self, chosen: Condition, sequence: int, read: Callable[[], AbstractContextManager[Transaction]]) -> Ids:
        """Return the ids of the items that pass a filter in the state with a sequence number, ascending.

        ``read`` opens a transaction that sees this state. It is called only if this state of the filter is not known.
        """
        return self._of(chosen, sequence, read).ids

    def selection(
        self,
        chosen: Condition,
        sequence: int,
        read: Callable[[], AbstractContextManager[Transaction]],
        searcher: Searcher,
    ) -> Selection:
        """Return the items that pass a filter, prepared for a searcher of the same state."""
        passing = self._of(chosen, sequence, read)
        with self._lock:
            held = passing.selections.get(searcher)
        if held is None:
            held = searcher.selection(passing.ids)
            with self._lock:
                passing.selections[searcher] = held
        return held

    def _of(
        self, chosen: Condition, sequence: int, read: Callable[[], AbstractContextManager[Transaction]]
    ) -> _Passing:
        with self._lock:
            passing = self._passing.pop(chosen, None)
            if passing is not None:
                self._passing[chosen] = passing  # move to the end: the most recently used
        if passing is None or passing.sequence != sequence:
            with stage("filter items"), read() as tx:
                passing = _Passing(sequence, self._matching(tx, chosen, passing))
            with self._lock:
                self._passing[chosen] = passing
                held = sum(one.ids.nbytes + _FILTER for one in self._passing.values())
                while held > MOST_BYTES and len(self._passing) > 1:
                    held -= self._passing.pop(next(iter(self._passing))).ids.nbytes + _FILTER
        return passing

    def _matching(self, tx: Transaction, chosen: Condition, earlier: _Passing | None) -> Ids:
        """Return the ids that pass: changed items are evaluated, the others pass as in the earlier state."""
        if earlier is None or earlier.sequence > tx.sequence() or chosen.of_kind("view"):
            return self.columns.matching(tx, chosen)  # a view can change without its items
        changes = tx.items.changed_since(earlier.sequence)
        changed = np.array(sorted(changes.live + changes.deleted), np.int64)
        if len(changed) > _WORTH_KEEPING:
            return self.columns.matching(tx, chosen)
        places = np.searchsorted(earlier.ids, changed)
        held = places < len(earlier.ids)
        held[held] = earlier.ids[places[held]] == changed[held]
        kept = np.delete(earlier.ids, places[held])
        return np.union1d(kept, matching_among(tx, chosen, changes.live)) if changes.live else kept
