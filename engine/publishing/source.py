"""The items of a catalog as records of a publication, all of them or those that changed."""

from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

from crossview.engine.catalog.catalog import Transaction
from crossview.engine.catalog.extractors import find_view
from crossview.engine.catalog.lookup import with_views
from crossview.engine.publishing.records import Record

AT_ONCE = 1_000
"""Items that are read and written at a time."""


class Changed(NamedTuple):
    """The changes of items after a change of the collection."""

    live: Sequence[int]
    """Ids of the new and changed ones."""
    gone: Sequence[str]
    """Keys that no item has any more."""
    sequence: int
    """The number of the last change."""
    whole: bool
    """Whether all deleted items are among them: compaction forgets old ones."""


def records_of(tx: Transaction, ids: Sequence[int], views: Sequence[str]) -> list[Record]:
    """Return items with their rows of some single views."""
    items = with_views(tx, tx.items.by_id(ids))
    numbers = tx.items.ids_of(item.key for item in items)
    view_rows = {view: tx.rows.get(find_view(tx, view), ids) for view in views}
    rows = {view: dict(zip(stored.ids.tolist(), stored.rows, strict=True)) for view, stored in view_rows.items()}
    sequence = tx.sequence()
    return [
        Record(
            item=item,
            rows={view: by_id[numbers[item.key]] for view, by_id in rows.items() if numbers[item.key] in by_id},
            written=sequence,
        )
        for item in items
    ]


def ids_after(tx: Transaction, after: int) -> list[int]:
    """Return the next ids of live items above an id, ascending."""
    # Ids are dense but for deletions, so few ranges are empty.
    first, last = after + 1, tx.items.last_id()
    while first <= last:
        ids = sorted(item for item, _ in tx.items.each("key", range(first, first + AT_ONCE)))
        if ids:
            return list(islice(ids, AT_ONCE))
        first += AT_ONCE
    return []


def changed_since(tx: Transaction, sequence: int) -> Changed:
    """Return what happened to items after a change."""
    former = [key for renames in tx.moves.renames_since(sequence) for key in renames]
    existing = set(tx.items.ids_of(former))
    gone = [*tx.items.keys_deleted_since(sequence), *(key for key in former if key not in existing)]
    head = tx.head()
    return Changed(tx.items.changed_since(sequence).live, gone, head.sequence, sequence >= head.purged)
