"""Lists of items: which, and in which order."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crossview.engine.catalog.catalog import Transaction
from crossview.engine.catalog.item_columns import ItemColumns
from crossview.engine.values.conditions.filter import EVERY_ITEM, Filter, field_of
from crossview.engine.values.errors import InvalidInputError, NotFoundError
from crossview.engine.values.item import Item
from crossview.engine.values.numbers import check_count, check_seed

Ids = NDArray[np.int64]


@dataclass(frozen=True)
class Listing:
    """The items that pass a filter, all or a sample, by key or by the values of a field."""

    filter: Filter = EVERY_ITEM
    sort_by: str = ""
    """``label`` or an attribute, the greatest value first; with a minus, the least first [default: "", by key]."""
    sample: int = 0
    """Number of items to draw at random [default: 0, all items]."""
    seed: int = 0
    """Number that determines the draw; the same items give the same sample."""

    def check(self) -> None:
        """Raise InvalidInputError for a negative sample, a wrong seed, and a field without an order."""
        check_count("sample", self.sample, 0)
        check_seed(self.seed)
        if self.sort_by and field_of(self._field).kind not in ("label", "attribute"):
            raise InvalidInputError(f"items are sorted by label or by an attribute, not by {self._field}")

    @property
    def _field(self) -> str:
        return self.sort_by.removeprefix("-")

    def page(
        self, tx: Transaction, columns: ItemColumns, matching: Ids | None, after: str, limit: int
    ) -> dict[int, Item]:
        """Return up to ``limit`` items after a key, among those that the filter chose (None: all), by id, in order."""
        among = self._drawn(tx, matching)
        if not self.sort_by:
            return tx.items.page(after, limit, among)
        ids = np.array(tx.items.ids(), np.int64) if among is None else among
        ids = ids[columns.order(tx, field_of(self._field), ids, not self.sort_by.startswith("-"))]
        first = 1 + self._place(tx, ids, after) if after else 0
        some = ids[first : first + limit].tolist()
        items = tx.items.by_id(some)
        return {item: items[item] for item in some}

    def _drawn(self, tx: Transaction, matching: Ids | None) -> Ids | None:
        """Return the ids of the sample, ascending: those of the least hash, so that a change of an item changes no
        other."""
        if not self.sample:
            return matching
        ids = np.array(tx.items.ids(), np.int64) if matching is None else matching
        if len(ids) <= self.sample:
            return ids
        return np.sort(ids[np.argpartition(_hashes(ids, self.seed), self.sample - 1)[: self.sample]])

    def _place(self, tx: Transaction, ids: Ids, after: str) -> int:
        found = np.flatnonzero(ids == tx.items.ids_of([after]).get(after, -1))
        if not len(found):
            raise NotFoundError(
                f"item {after!r}, after which the list should go on, is not in it: start the list again"
            )
        return int(found[0])


def _hashes(ids: Ids, seed: int) -> NDArray[np.uint64]:
    """Return a pseudo-random number for each id, (n,): splitmix64 (Steele, Lea and Flood, OOPSLA 2014)."""
    with np.errstate(over="ignore"):
        mixed = (ids.astype(np.uint64) + np.uint64(1 + seed) * np.uint64(0xD1342543DE82EF95)) * _GOLDEN
        for shift, factor in _STEPS:
            mixed = (mixed ^ (mixed >> shift)) * factor
    return mixed ^ (mixed >> np.uint64(31))


_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_STEPS = tuple(
    (np.uint64(shift), np.uint64(factor)) for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))
)
