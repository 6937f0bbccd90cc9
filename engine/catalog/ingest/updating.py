"""Updates of the labels, attributes and texts of existing items, without their pictures."""

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

from crossview.engine.catalog.bulk import batches
from crossview.engine.catalog.catalog import Catalog, Transaction
from crossview.engine.catalog.checks import (
    check_attribute_name,
    check_attributes,
    check_key,
    check_labels,
    check_source,
    check_text,
)
from crossview.engine.catalog.extractors import TextExtractors, text_extractors
from crossview.engine.catalog.ingest.capturing import check_capture
from crossview.engine.catalog.ingest.label_texts import Entry, with_text
from crossview.engine.catalog.ingest.texts import text_rows
from crossview.engine.catalog.item_writer import NewRecord, changed_attributes
from crossview.engine.catalog.lookup import named_keys
from crossview.engine.catalog.writing import put_records
from crossview.engine.runtime.progress import Progress
from crossview.engine.values.comparisons import check_notion
from crossview.engine.values.errors import InvalidInputError, ModelInputError
from crossview.engine.values.item import Failure, ImportReport, Item, ItemUpdate, NewItem, check_metadata

_AT_ONCE = 5_000
"""Updates of one commit: other writers wait about a tenth of a second, and each commit writes whole pages."""
_NO_TEXTS = TextExtractors({}, {})


def check_entry(entry: Entry) -> Entry | Failure:
    """Return an entry with its attributes as plain JSON, or its failure; pictures and rows are not checked here."""
    try:
        if isinstance(entry, NewItem):
            check_key(entry.key)
            check_metadata(entry.metadata)
            check_source(entry.source)
        else:
            for name in entry.removed_attributes:
                check_attribute_name(name)
        if entry.text is not None:
            check_text(entry.text)
        labels = None if entry.labels is None else check_labels(entry.labels)
        by_notion = {check_notion(notion): check_labels(tags) for notion, tags in entry.notion_labels.items()}
        attributes = None if entry.attributes is None else check_attributes(entry.attributes)
        if entry.capture is not None:
            check_capture(entry.capture)
    except InvalidInputError as error:
        return Failure(entry.key, str(error))
    if (labels, attributes, by_notion) == (entry.labels, entry.attributes, entry.notion_labels):
        return entry
    return replace(entry, labels=labels, attributes=attributes, notion_labels=by_notion)


def update_items(
    catalog: Catalog, updates: Collection[ItemUpdate], match_paths: bool = False, progress: Progress | None = None
) -> ImportReport:
    """Change existing items; see ``Collection.items.update``."""
    began = time.monotonic()
    failures, updated, matched, done = list[Failure](), set[str](), set[str](), 0
    for batch in batches(updates, _AT_ONCE):
        checked = [check_entry(entry) for entry in batch]
        planned = _update(catalog, [entry for entry in checked if isinstance(entry, ItemUpdate)], match_paths)
        failures += (entry for entry in checked if isinstance(entry, Failure))
        failures += planned.failures
        matched |= planned.named
        updated |= {record.key for record in planned.records}
        done += len(batch)
        if progress is not None:
            progress("updating", done, len(updates))
    return ImportReport(
        updated=len(updated),
        unchanged=len(matched - updated),
        failures=tuple(failures),
        seconds=time.monotonic() - began,
    )


@dataclass(frozen=True)
class _Planned:
    """The effect of updates in one state of the catalog."""

    state: tuple[str, int]
    named: set[str]
    """Keys of the items that the updates name, without failures."""
    records: list[NewRecord]
    """The changes of these items."""
    failures: list[Failure]
    """Those of updates without an item, and of texts that a model fails on."""

    @classmethod
    def of(cls, tx: Transaction, updates: Sequence[ItemUpdate], match_paths: bool) -> Self:
        """Compare updates with the stored items."""
        resolved, missing = _resolved(tx, updates, match_paths)
        failed = dict[str, Failure]()
        records = changed_records(tx, resolved, text_extractors(tx), failed)
        keys = {update.key for update in resolved} - failed.keys()
        return cls(tx.head().state, keys, records, [*missing, *failed.values()])


def _update(catalog: Catalog, updates: Sequence[ItemUpdate], match_paths: bool) -> _Planned:
    """Commit updates; return their effect."""
    with catalog.read() as tx:
        planned = _Planned.of(tx, updates, match_paths)
    if planned.records:
        with catalog.write() as tx:
            # another commit came first: items that needed no change may need one now
            if tx.head().state != planned.state:
                planned = _Planned.of(tx, updates, match_paths)
            put_records(tx, planned.records)
    return planned


def changed_records(
    tx: Transaction, updates: Sequence[ItemUpdate], texts: TextExtractors, failed: dict[str, Failure]
) -> list[NewRecord]:
    """Return the records of updates of existing items, without updates that change nothing.

    Add updates to ``failed``, by key, if a model fails on their texts.
    """
    ids = tx.items.ids_of(update.key for update in updates)
    stored, given_labels = tx.items.by_id(list(ids.values())), tx.items.with_given_labels(list(ids.values()))
    records = list[NewRecord]()
    for update in updates:
        try:
            record = changed_record(update, stored[ids[update.key]], ids[update.key] in given_labels, texts)
        except ModelInputError as error:
            failed[update.key] = Failure(update.key, str(error))
            continue
        records += () if record is None else (record,)
    return records


def current_records(
    tx: Transaction,
    records: Mapping[str, NewRecord],
    updates: Mapping[str, ItemUpdate],
    sequence: int,
    failed: dict[str, Failure],
) -> list[NewRecord]:
    """Return the records to write in the commit, for updates by key whose records were made at a sequence.

    Items that have changed since are compared again; ``failed`` as in ``changed_records``.
    """
    ids = tx.items.ids_of(records)
    changed = tx.items.changed_among(ids.values(), sequence)
    anew = {key: updates[key] for key, item in ids.items() if item in changed}
    if not anew:
        return list(records.values())
    unchanged = [record for key, record in records.items() if key not in anew]
    return unchanged + changed_records(tx, list(anew.values()), text_extractors(tx), failed)


def still_needed(
    tx: Transaction, records: Sequence[NewRecord], sequence: int, texts: TextExtractors
) -> list[NewRecord]:
    """Return the records of pictures that the commit must still write, after a plan at a sequence.

    If another process has given an item the same picture since, only the other values of its record are left.
    """
    ids = tx.items.ids_of(record.key for record in records)
    changed = sorted(tx.items.changed_among(ids.values(), sequence))
    if not changed:
        return list(records)
    stored, given_labels = tx.items.by_id(changed), tx.items.with_given_labels(changed)
    having = {view.name: set(tx.rows.get(view, changed).ids.tolist()) for view in tx.views.all()}

    def left(record: NewRecord) -> NewRecord | None:
        item = ids.get(record.key, 0)
        if record.text_from_labels and item in stored and stored[item].text and not stored[item].text_from_labels:
            other_rows = {view: row for view, row in record.rows.items() if view not in texts.beside_pictures}
            record = replace(record, text=None, text_from_labels=False, rows=other_rows)
        rows = [view for view, row in record.rows.items() if row is not None]
        same = item in stored and record.picture and record.picture.content_hash == stored[item].content_hash
        if not same or not all(item in having.get(view, ()) for view in rows):
            return record
        update = ItemUpdate(**{name: getattr(record, name) for name in ItemUpdate.__dataclass_fields__ if name != "_"})
        made_text = None if record.text_from_labels else record.text
        try:
            return changed_record(replace(update, text=made_text), stored[item], item in given_labels, texts)
        except ModelInputError:  # the model did not fail on the text before
            return record

    return [record for record in map(left, records) if record is not None]


def changed_record(new: ItemUpdate, item: Item, by_hand: bool, texts: TextExtractors = _NO_TEXTS) -> NewRecord | None:
    """Return the change of an item by an update; ``by_hand`` if a person chose its labels. None for no change.

    Raises ModelInputError, with the view, if a model fails on a new text.
    """
    new = with_text(new, item, by_hand)
    labels = None if new.labels is None or (by_hand and not new.labels_given) else tuple(sorted(set(new.labels)))
    if labels == item.labels and by_hand >= new.labels_given:
        labels = None
    text = None if new.text == item.text else new.text
    by_notion = {notion: tuple(sorted(set(tags))) for notion, tags in new.notion_labels.items()}
    by_notion = {notion: tags for notion, tags in by_notion.items() if tags != item.notion_labels.get(notion, ())}
    capture = None if new.capture is None or new.capture.stamp == item.stamp else new.capture
    attributes, removed = new.attributes, new.removed_attributes
    if changed_attributes(item.attributes, new) == item.attributes:
        attributes, removed = None, ()
    if labels is None and text is None and attributes is None and capture is None and not (removed or by_notion):
        return None
    return NewRecord(
        key=new.key,
        labels=labels,
        labels_given=new.labels_given,
        notion_labels=by_notion,
        attributes=attributes,
        removed_attributes=removed,
        text=text,
        text_from_labels=new.text_from_labels,
        capture=capture,
        rows=text_rows(texts.of(bool(item.content_hash)), text),
        existing=True,
    )


def _resolved(
    tx: Transaction, updates: Sequence[ItemUpdate], match_paths: bool
) -> tuple[list[ItemUpdate], list[Failure]]:
    """Return the updates by the keys of their items, and failures of updates without an item."""
    names = [update.key for update in updates]
    keys_of = named_keys(tx, names, match_paths)
    missing = [Failure(name, _reason(match_paths)) for name in dict.fromkeys(names) if not keys_of.get(name)]
    pairs = ((update, key) for update in updates for key in keys_of.get(update.key, ()))
    return [update if update.key == key else replace(update, key=key) for update, key in pairs], missing


def _reason(match_paths: bool) -> str:
    return "no item has this key" + (" or was read from this path" if match_paths else "")
