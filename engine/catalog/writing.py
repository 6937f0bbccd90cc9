"""Writing items: one change of the catalog for each batch, rows and all."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from engine.catalog.catalog import Transaction
from engine.catalog.checks import check_labels, normal
from engine.catalog.items import NewRecord
from engine.catalog.views import ViewRecord


def put_records(tx: Transaction, records: Sequence[NewRecord]) -> int:
    """Write items with their rows under one sequence number, in order; return how many are new.

    Raises InvalidInputError, before anything is written, for a label that cannot be one.
    """
    for record in records:
        check_labels(record.labels or ())
    sequence = tx.next_sequence() if records else 0
    return sum(_put_distinct(tx, distinct, sequence) for distinct in _distinct(tx, records))


def _distinct(tx: Transaction, records: Sequence[NewRecord]) -> list[list[NewRecord]]:
    """Return the records in lists that name each item once; those of one item stay in order."""
    known = tx.items.ids_of(record.key for record in records)
    seen: Counter[int | str] = Counter()
    lists: list[list[NewRecord]] = []
    for record in records:
        identity = known.get(record.key, normal(record.key))
        if seen[identity] == len(lists):
            lists.append([])
        lists[seen[identity]].append(record)
        seen[identity] += 1
    return lists


def _put_distinct(tx: Transaction, records: Sequence[NewRecord], sequence: int) -> int:
    ids, added = tx.items.put(records, sequence)
    by_view: dict[str, dict[int, NDArray[np.float32] | None]] = defaultdict(dict)
    for record, item in zip(records, ids, strict=True):
        for name, row in record.rows.items():
            by_view[name][item] = row
    for view in tx.views.all():
        put_rows(tx, view, by_view.get(view.name, {}))
    return added


def put_rows(tx: Transaction, view: ViewRecord, rows: Mapping[int, NDArray[np.float32] | None]) -> None:
    """Write rows of a view by item, removing those that are None."""
    written = {item: row for item, row in rows.items() if row is not None}
    if written:
        tx.rows.put(view, list(written), np.stack(list(written.values())))
    tx.rows.remove([item for item in rows if item not in written], view)


def delete_items(tx: Transaction, keys: Sequence[str]) -> int:
    """Delete the items that exist of the keys; return how many."""
    ids = sorted(set(tx.items.ids_of(keys).values()))  # two forms of one key are one item
    if ids:
        tx.items.delete(ids, tx.next_sequence())
        tx.rows.remove(ids)
    return len(ids)
