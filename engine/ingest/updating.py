"""Updating existing items: labels, attributes and texts, without their pictures."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from engine.catalog.batches import batches
from engine.catalog.catalog import Catalog, Transaction
from engine.catalog.checks import check_attribute_name, check_attributes, check_key, check_labels, check_text
from engine.catalog.extractors import text_extractors
from engine.catalog.items import NewRecord, changed_attributes
from engine.catalog.lookup import named_keys
from engine.catalog.writing import put_records
from engine.errors import InvalidInputError
from engine.ingest.texts import text_rows
from engine.item import Failure, ImportReport, Item, ItemUpdate, NewItem
from engine.learners.cancellation import checkpoint
from features.base import TextExtractor

_AT_ONCE = 1_000
_NO_TEXTS: Mapping[str, TextExtractor] = {}

Entry = TypeVar("Entry", NewItem, ItemUpdate)


def check_entry(entry: Entry) -> Entry | Failure:
    """Return an entry with its attributes as plain JSON, or why it cannot be stored; pictures and rows may be bad."""
    try:
        if isinstance(entry, NewItem):
            check_key(entry.key)
        else:
            for name in entry.removed_attributes:
                check_attribute_name(name)
        if entry.text is not None:
            check_text(entry.text)
        labels = None if entry.labels is None else check_labels(entry.labels)
        attributes = None if entry.attributes is None else check_attributes(entry.attributes)
    except InvalidInputError as error:
        return Failure(entry.key, str(error))
    return replace(entry, labels=labels, attributes=attributes)


def update_items(catalog: Catalog, updates: Sequence[ItemUpdate], match_paths: bool = False) -> ImportReport:
    """Change existing items; see ``Collection.update_items``. The caller holds the writer lock."""
    checked = [check_entry(one) for one in updates]
    failures = [one for one in checked if isinstance(one, Failure)]
    updated, matched = set[str](), set[str]()
    for batch in batches((one for one in checked if isinstance(one, ItemUpdate)), _AT_ONCE):
        with catalog.write() as tx:
            found, missing = _resolved(tx, batch, match_paths)
            records = changed_records(tx, found, text_extractors(tx))
            put_records(tx, records)
            checkpoint()
        failures += missing
        matched.update(one.key for one in found)
        updated.update(record.key for record in records)
    return ImportReport(updated=len(updated), unchanged=len(matched - updated), failures=tuple(failures))


def changed_records(
    tx: Transaction, updates: Sequence[ItemUpdate], texts: Mapping[str, TextExtractor]
) -> list[NewRecord]:
    """Return what is to be written of updates of existing items; nothing of those that change nothing."""
    ids = tx.items.ids_of(one.key for one in updates)
    stored, given = tx.items.by_id(list(ids.values())), tx.items.with_given_labels(list(ids.values()))
    records = (changed_record(one, stored[ids[one.key]], ids[one.key] in given, texts) for one in updates)
    return [record for record in records if record is not None]


def changed_record(
    one: ItemUpdate, item: Item, given: bool, texts: Mapping[str, TextExtractor] = _NO_TEXTS
) -> NewRecord | None:
    """Return what an update changes of an item, ``given`` where somebody chose its labels; None for nothing."""
    labels = None if one.labels is None or (given and not one.labels_given) else tuple(sorted(set(one.labels)))
    if labels == item.labels and given >= one.labels_given:
        labels = None
    text = None if one.text == item.text else one.text
    record = NewRecord(**vars(replace(one, labels=labels, text=text)), rows=text_rows(texts, text))
    if changed_attributes(item.attributes, record) == item.attributes:
        record = replace(record, attributes=None, removed_attributes=())
    unchanged = labels is None and text is None and record.attributes is None and not record.removed_attributes
    return None if unchanged else record


def _resolved(
    tx: Transaction, updates: Sequence[ItemUpdate], match_paths: bool
) -> tuple[list[ItemUpdate], list[Failure]]:
    """Return the updates by the keys of the items that they name, and failures for those that name none."""
    names = [one.key for one in updates]
    found = named_keys(tx, names, match_paths)
    reason = "no item has this key" + (", or was read from this path" if match_paths else "")
    missing = [Failure(name, reason) for name in dict.fromkeys(names) if not found.get(name)]
    return [replace(one, key=key) for one in updates for key in found.get(one.key, ())], missing
