"""Fields of items that were deleted while their files were missing: the files can come back."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import sqlalchemy as sa

from crossview.engine.catalog import bulk
from crossview.engine.catalog.bulk import batches, listed
from crossview.engine.catalog.checks import check_attributes, check_labels, check_text, normal
from crossview.engine.catalog.item_writer import NewRecord
from crossview.engine.catalog.items import Items
from crossview.engine.catalog.schema import items, kept_fields

_GIVEN = (items.c.id, items.c.key, items.c.content_hash, items.c.labels_given, items.c.attributes, items.c.text)


class KeptFields:
    """The kept fields of one transaction. Answers and judgements need no copy, because they name the key."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def keep(self, ids: Iterable[int]) -> None:
        """Keep labels, attributes and text of the items that have any, with the content of their files."""
        for batch in batches(ids):
            stored, query = Items(self._connection), sa.select(*_GIVEN, items.c.text_from_labels)
            labels, notions = stored.labels(batch), stored.notion_labels(batch)
            rows = self._connection.execute(query.where(items.c.id.in_(listed(batch)), items.c.content_hash != ""))
            kept = []
            for item, key, content, labels_given, attributes, text, text_from_labels in rows:
                fields = {"labels": labels.get(item, ()), "notion_labels": notions.get(item, {})}
                fields |= {"labels_given": labels_given, "attributes": attributes}
                fields |= {"text": text, "text_from_labels": text_from_labels}
                if any(fields.values()):
                    kept.append((key, content, json.dumps(fields)))
            bulk.insert(self._connection, kept_fields, ("key", "content_hash", "fields"), kept)

    def returned(self, records: Sequence[NewRecord]) -> list[NewRecord]:
        """Return records of new items, with the kept fields of the items whose files had the same content.

        The fields of an item with an equal key come first, and are kept no longer.
        """
        contents = {record.picture.content_hash for record in records if record.picture is not None}
        kept: dict[str, list[sa.Row[Any]]] = defaultdict(list)
        for batch in batches(contents):
            query = sa.select(kept_fields).where(kept_fields.c.content_hash.in_(listed(batch)))
            for row in self._connection.execute(query.order_by(kept_fields.c.id.desc())):
                kept[row.content_hash].append(row)
        if not kept:
            return list(records)
        back: list[int] = []
        result = []
        for record in records:
            rows = kept.get(record.picture.content_hash, []) if record.picture is not None else []
            own = [row for row in rows if normal(row.key) == normal(record.key)]
            back += [row.id for row in own]
            result.append(_with_fields(record, (own or rows)[0].fields) if rows else record)
        self._connection.execute(sa.delete(kept_fields).where(kept_fields.c.id.in_(listed(back))))
        return result


def _with_fields(record: NewRecord, kept: Mapping[str, Any]) -> NewRecord:
    """Return a record with kept fields where it names none.

    Labels that a person chose replace the name of a folder, and a person's text replaces the words of labels. The rows
    of a copy are not trusted: if a field is invalid, the record stays as it is.
    """
    try:
        labels, text = check_labels(kept["labels"]), check_text(kept["text"])
        notions = {check_text(notion): check_labels(found) for notion, found in kept["notion_labels"].items()}
        joined = check_attributes({**kept["attributes"], **(record.attributes or {})})
        given, from_labels = bool(kept["labels_given"]), bool(kept["text_from_labels"])
    except (AttributeError, KeyError, TypeError, ValueError):
        return record
    chosen = record.labels is not None and record.labels_given
    if not chosen and (given or (record.labels is None and labels)):
        record = replace(record, labels=labels, labels_given=given)
    if text and (record.text is None or (record.text_from_labels and not from_labels)):
        record = replace(record, text=text, text_from_labels=from_labels)
    if joined and (record.attributes is None or record.attributes):
        record = replace(record, attributes=joined)
    return replace(record, notion_labels={**notions, **record.notion_labels})
