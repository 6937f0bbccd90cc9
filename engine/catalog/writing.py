"""Writing of items with their rows: each batch is one change of the catalog."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from crossview.engine.catalog.catalog import Transaction
from crossview.engine.catalog.checks import check_key, check_labels, check_source, normal
from crossview.engine.catalog.extractors import text_extractors
from crossview.engine.catalog.item_writer import NewRecord
from crossview.engine.catalog.model_rows import row_of_text
from crossview.engine.catalog.views import ViewRecord
from crossview.engine.runtime.cancellation import checkpoint
from crossview.engine.values.errors import ModelInputError, NotReadyError
from crossview.engine.values.item import FileChanges
from crossview.features.base import FeatureRows

Result = TypeVar("Result")


class OvertakenError(NotReadyError):
    """Data read before a commit has changed since, so that results computed from the data must not be written."""


class ViewsChangedError(OvertakenError):
    """A view was fitted again or deleted after the computation of its rows."""


@dataclass
class Written:
    """The outcome of writing records."""

    added: set[str] = field(default_factory=set)
    """Keys of new items."""
    missing: list[str] = field(default_factory=list)
    """Keys of records that may only change existing items, and whose items do not exist."""


def until_not_overtaken(work: Callable[[], Result]) -> Result:
    """Return the result of work that reads and commits; repeat it while its data changes before the commit."""
    while True:
        checkpoint()
        try:
            return work()
        except OvertakenError:
            continue


def check_views(tx: Transaction, seen: Iterable[ViewRecord]) -> None:
    """Raise ViewsChangedError, which names the view, if a view has changed since its rows were computed.

    Without an error, item ids that were read together with the views also still mean the same items.
    """
    now, history = {view.name: (view.id, view.revision) for view in tx.views.all()}, tx.head().history
    for view in seen:
        if view.history != history:
            raise ViewsChangedError(f"collection {tx.name()!r} was just restored from a copy: try again")
        if view.name not in now:
            raise ViewsChangedError(f"view {view.name!r} was just deleted: try again without it")
        if now[view.name] != (view.id, view.revision):
            raise ViewsChangedError(
                f"view {view.name!r} was just fitted again, so rows of its revision {view.revision} are "
                "obsolete: try again"
            )


def put_records(tx: Transaction, records: Sequence[NewRecord], seen: Iterable[ViewRecord] = ()) -> Written:
    """Write items with their rows under one sequence number, in order.

    ``seen`` are the views at the time when the rows were computed. Before any write, the function raises
    ViewsChangedError if one of them has changed since, and InvalidInputError for an invalid label.
    """
    by_notion = (label for record in records for tags in record.notion_labels.values() for label in tags)
    check_labels({*by_notion, *(label for record in records for label in record.labels or ())})
    used = {name for record in records for name in record.rows}
    # A view can be fitted after a picture or text was read without it: the item would lack the row.
    computed = any(record.picture is not None or record.text is not None for record in records)
    check_views(tx, [view for view in seen if computed or view.name in used])
    written = Written()
    sequence = tx.next_sequence() if records else 0
    for distinct in _distinct(tx, records):
        _put_distinct(tx, distinct, sequence, written)
    return written


def _distinct(tx: Transaction, records: Sequence[NewRecord]) -> list[list[NewRecord]]:
    """Return the records in lists that contain each item once; the records of one item keep their order."""
    if len({normal(record.key) for record in records}) == len(records):
        return [list(records)] if records else []
    ids = tx.items.ids_of(record.key for record in records)
    counts: Counter[int | str] = Counter()
    lists: list[list[NewRecord]] = []
    for record in records:
        identity = ids.get(record.key, normal(record.key))
        if counts[identity] == len(lists):
            lists.append([])
        lists[counts[identity]].append(record)
        counts[identity] += 1
    return lists


def _put_distinct(tx: Transaction, records: Sequence[NewRecord], sequence: int, written: Written) -> None:
    known_ids = tx.items.ids_of(record.key for record in records)
    written.missing += [record.key for record in records if record.existing and record.key not in known_ids]
    records = [record for record in records if not record.existing or record.key in known_ids]
    new = {record.key: record for record in records if record.key not in known_ids}
    new = {record.key: record for record in tx.kept_fields.returned(list(new.values()))}
    records = [_with_text_rows(tx, record, new.get(record.key, record)) for record in records]
    written.added.update(new)
    ids = tx.item_writer.put(records, known_ids, sequence)
    by_view: dict[str, dict[int, NDArray[np.float32] | None]] = defaultdict(dict)
    for record, item in zip(records, ids, strict=True):
        for name, row in record.rows.items():
            by_view[name][item] = row
    for view in tx.views.all():
        put_rows(tx, view, by_view.get(view.name, {}))


def _with_text_rows(tx: Transaction, before: NewRecord, record: NewRecord) -> NewRecord:
    """Return a record with the rows of its text if it did not have this text ``before``."""
    if record.text is None or record.text == before.text:
        return record
    extractors = text_extractors(tx).of(record.picture is not None)
    rows: dict[str, FeatureRows | None] = {}
    for view, extractor in extractors.items():
        with suppress(ModelInputError):  # the next indexing names the item
            rows[view] = row_of_text(extractor, record.text, view)
    return replace(record, rows={**rows, **record.rows} if before.text is None else {**record.rows, **rows})


def put_rows(tx: Transaction, view: ViewRecord, rows: Mapping[int, NDArray[np.float32] | None]) -> None:
    """Write rows of a view by item; None removes the item's row."""
    written = {item: row for item, row in rows.items() if row is not None}
    if written:
        tx.rows.put(view, list(written), np.stack(list(written.values())))
    tx.rows.remove([item for item in rows if item not in written], view)


def put_matrix(
    tx: Transaction, view: ViewRecord, keys: Sequence[str], rows: NDArray[np.float32], known_ids: Mapping[str, int]
) -> int:
    """Write rows of a view, shape (n, d), for distinct keys under one sequence number; return the number of new items.

    ``known_ids`` has the ids of existing keys.
    """
    sequence = tx.next_sequence()
    new = [key for key in keys if key not in known_ids]
    tx.item_writer.touch([known_ids[key] for key in keys if key in known_ids], sequence)
    ids = {**known_ids, **dict(zip(new, tx.item_writer.add(new, sequence), strict=True))}
    tx.rows.put(view, [ids[key] for key in keys], rows)
    return len(new)


def follow_files(tx: Transaction, changes: FileChanges, since: str) -> None:
    """Write what a search of folders found at ``since`` about the files of known items, as one change.

    Raises InvalidInputError for a key or source that no item can have, and OvertakenError if the items have changed
    such that files cannot move, both before any write.
    """
    for move in changes.moved:
        check_key(move.new_key)
        check_source(move.source)
    moved = {move.key: move for move in changes.moved}
    ids = tx.items.ids_of((*moved, *changes.missing, *changes.found))
    holders = tx.items.ids_of(move.new_key for move in changes.moved)
    moving = {ids.get(key) for key in moved}
    if None in moving or len({normal(move.new_key) for move in changes.moved}) < len(moved):
        raise OvertakenError("another process just moved or deleted an item whose file has moved: try again")
    if any(item not in moving for item in holders.values()):
        raise OvertakenError("another item just took the name of a file that has moved: try again")
    marked, lost = tx.moves.missing(), {ids[key] for key in changes.missing if key in ids}
    back = {ids[key] for key in changes.found if key in ids} & marked.keys() - lost
    lost -= marked.keys()
    if not (moved or lost or back):
        return
    sequence = tx.next_sequence()
    tx.moves.move({ids[key]: move for key, move in moved.items()}, sequence)
    tx.moves.mark(sorted(lost), since)
    tx.moves.unmark(sorted(back))
    tx.item_writer.touch(sorted(lost | back), sequence)


def delete_items(tx: Transaction, keys: Sequence[str]) -> int:
    """Delete the existing items among the keys; return how many."""
    ids = sorted(set(tx.items.ids_of(keys).values()))  # two forms of one key are one item
    if ids:
        tx.kept_fields.keep(tx.moves.missing(ids))
        tx.item_writer.delete(ids, tx.next_sequence())
        tx.rows.remove(ids)
    return len(ids)
