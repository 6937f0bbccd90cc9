"""Writing items: one change of the catalog for each batch, rows and all."""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from engine.catalog import NewRecord, Transaction


def put_records(tx: Transaction, records: Sequence[NewRecord]) -> int:
    """Write items with their rows under one sequence number; return how many are new. Of equal keys the last counts."""
    distinct = list({record.key: record for record in records}.values())
    ids, added = tx.items.put(distinct, tx.next_sequence())
    by_view: dict[str, list[tuple[int, NDArray[np.float32]]]] = defaultdict(list)
    for record, item in zip(distinct, ids, strict=True):
        for name, row in record.rows.items():
            by_view[name].append((item, row))
    for view in tx.views.all():
        if pairs := by_view.get(view.name):
            tx.rows.put(view, [item for item, _ in pairs], np.stack([row for _, row in pairs]))
    return added


def delete_items(tx: Transaction, keys: Sequence[str]) -> int:
    """Delete the items that exist of the keys; return how many."""
    ids = list(tx.items.ids_of(keys).values())
    if ids:
        tx.items.delete(ids, tx.next_sequence())
        tx.rows.remove(ids)
    return len(ids)
