"""Writing of items under a sequence number, and their deletion to tombstones."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from crossview.engine.catalog import bulk
from crossview.engine.catalog.bulk import batches, listed
from crossview.engine.catalog.captures import Captures
from crossview.engine.catalog.checks import MAX_ATTRIBUTES, check_attributes, check_labels, check_text, normal
from crossview.engine.catalog.items import Items
from crossview.engine.catalog.moves import Moves
from crossview.engine.catalog.schema import (
    captures,
    fingerprints,
    items,
    kept_fields,
    labels,
    notion_labels,
    previews,
    thumbnails,
)
from crossview.engine.values.errors import InvalidInputError
from crossview.engine.values.item import Attributes, Capture, ItemUpdate, PictureRecord

_PICTURE = ("size", "modified_ns", "content_hash", "width", "height")
_COLUMNS = (
    *("id", "key", "normal_key", "labels_given", "sequence", "deleted"),
    *("attributes", "text", "text_from_labels", "source", *_PICTURE),
)
_NO_PICTURE = PictureRecord()


@dataclass(frozen=True, kw_only=True)
class NewRecord:
    """The new values of one item; None keeps the stored value."""

    key: str
    labels: tuple[str, ...] | None = None
    labels_given: bool = True
    """False for the name of a folder, which only labels items without chosen labels."""
    attributes: Attributes | None = None
    """Added to the stored attributes, replacing those of the same name; an empty mapping removes all."""
    removed_attributes: tuple[str, ...] = ()
    text: str | None = None
    text_from_labels: bool = False
    """Whether ``text`` is the words of labels rather than a person's."""
    source: str | None = None
    picture: PictureRecord | None = None
    rows: Mapping[str, NDArray[np.float32] | None] = field(default_factory=dict)
    """Feature rows by view name; None removes the stored row."""
    notion_labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Labels by notion; they replace the stored labels of these notions."""
    capture: Capture | None = None
    existing: bool = False
    """Whether the record only changes an existing item, and is skipped if the item is gone."""


class ItemWriter:
    """Changes the items of one transaction."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection
        self._items = Items(connection)
        self._captures = Captures(connection)

    def put(self, records: Sequence[NewRecord], known_ids: Mapping[str, int], sequence: int) -> list[int]:
        """Write items with different keys under one change; return their ids in order. ``known_ids``: existing ids."""
        new = [record for record in records if record.key not in known_ids]
        existing = [record for record in records if record.key in known_ids]
        new_ids = self._insert(new, sequence)
        self.touch([known_ids[record.key] for record in existing], sequence)
        self._update(existing, known_ids)
        ids = [known_ids.get(record.key) or new_ids[record.key] for record in records]
        self._put_labels(records, ids, existing={known_ids[record.key] for record in existing})
        self._put_notion_labels(records, ids)
        self._put_thumbnails(records, ids)
        pairs = zip(ids, records, strict=True)
        self._captures.put({item: record.capture for item, record in pairs if record.capture is not None})
        return ids

    def add(self, keys: Sequence[str], sequence: int) -> list[int]:
        """Make new items that have only keys; return their ids in order."""
        first = self._free_id()
        forms = zip(keys, map(normal, keys), strict=True)
        defaults = (False, sequence, False, "{}", "", False, "", *(getattr(_NO_PICTURE, name) for name in _PICTURE))
        rows = ((item, key, None if form == key else form, *defaults) for item, (key, form) in enumerate(forms, first))
        bulk.insert(self._connection, items, _COLUMNS, rows)
        return list(range(first, first + len(keys)))

    def refresh(self, stamps: Mapping[int, int]) -> None:
        """Write new modification times of unchanged files; searches do not need them, so the sequence stays."""
        rows = ((modified_ns, item) for item, modified_ns in stamps.items())
        bulk.update(self._connection, items, ["modified_ns"], rows)

    def put_captures(self, by_item: Mapping[int, Capture], sequence: Callable[[], int]) -> list[int]:
        """Write captures by item; return the items whose metadata changes, which takes the next ``sequence``."""
        stored = dict(self._captures.files(by_item))
        if changed := [item for item, capture in by_item.items() if capture.file != stored.get(item, {})]:
            self.touch(changed, sequence())
        self._captures.put(by_item)
        return changed

    def delete(self, ids: Sequence[int], sequence: int) -> None:
        """Turn items into tombstones; the caller removes their rows from the row store."""
        self.touch(ids, sequence, deleted=True, attributes={}, text="", text_from_labels=False)
        self._execute(sa.delete(labels), ids, labels.c.item_id)
        self._execute(sa.delete(notion_labels), ids, notion_labels.c.item_id)
        self._execute(sa.delete(thumbnails), ids, thumbnails.c.item_id)
        self._execute(sa.delete(previews), ids, previews.c.item_id)
        self._execute(sa.delete(fingerprints), ids, fingerprints.c.item_id)
        self._execute(sa.delete(captures), ids, captures.c.item_id)
        # The content of a tombstone keeps its file out of the collection. A missing file may come back.
        missing = Moves(self._connection).missing(ids)
        self._execute(sa.update(items).values(content_hash=""), missing)
        Moves(self._connection).unmark(missing)

    def touch(self, ids: Sequence[int], sequence: int, **values: Any) -> None:
        """Record a change of items, such as new rows; ``values`` are their new columns."""
        self._execute(sa.update(items).values(sequence=sequence, **values), ids)

    def _insert(self, records: Sequence[NewRecord], sequence: int) -> dict[str, int]:
        """Write new items; return their ids by key."""
        first = self._free_id()
        rows = (_row(item, record, sequence) for item, record in enumerate(records, first))
        bulk.insert(self._connection, items, _COLUMNS, rows)
        return {record.key: item for item, record in enumerate(records, first)}

    def _free_id(self) -> int:
        """Return the first free id: tombstones keep their ids, and the writer lock keeps other writers away."""
        return int(self._connection.scalar(sa.select(sa.func.max(items.c.id))) or 0) + 1

    def _update(self, records: Sequence[NewRecord], known_ids: Mapping[str, int]) -> None:
        """Write the columns of existing items, and merge their attributes with the stored ones."""
        attributes = self._items.attributes([known_ids[r.key] for r in records if r.attributes or r.removed_attributes])
        by_columns: dict[tuple[str, ...], list[tuple[Any, ...]]] = defaultdict(list)
        for record in records:
            item, values = known_ids[record.key], _changes(record)
            if item in attributes:
                values["attributes"] = _joined(record, attributes[item])
            if values:
                by_columns[tuple(values)].append((*values.values(), item))
        for columns, rows in by_columns.items():
            bulk.update(self._connection, items, columns, rows)

    def _put_thumbnails(self, records: Sequence[NewRecord], ids: Sequence[int]) -> None:
        pictures = {item: record.picture for record, item in zip(records, ids, strict=True) if record.picture}
        jpegs = [(item, new.thumbnail) for item, new in pictures.items() if new.thumbnail is not None]
        bulk.insert(self._connection, thumbnails, ("item_id", "jpeg"), jpegs, replacing=("item_id",))
        with_thumbnail = [item for item, _ in jpegs]
        self._execute(sa.delete(previews), with_thumbnail, previews.c.item_id)  # those of the former pictures
        larger = [(item, new.preview) for item, new in pictures.items() if new.preview is not None]
        bulk.insert(self._connection, previews, ("item_id", "jpeg"), larger, replacing=("item_id",))
        codes = [(item, new.fingerprints) for item, new in pictures.items() if new.fingerprints is not None]
        bulk.insert(self._connection, fingerprints, ("item_id", "codes"), codes, replacing=("item_id",))
        unknown = [item for item, new in pictures.items() if new.thumbnail is not None and new.fingerprints is None]
        self._execute(sa.delete(fingerprints), unknown, fingerprints.c.item_id)  # those of the former picture

    def _put_labels(self, records: Sequence[NewRecord], ids: Sequence[int], existing: set[int]) -> None:
        labelled = [(record, item) for record, item in zip(records, ids, strict=True) if record.labels is not None]
        # The name of a folder must not replace labels that a person chose.
        folders = [item for record, item in labelled if item in existing and not record.labels_given]
        protected = self._items.with_given_labels(folders)
        written = {item: record for record, item in labelled if item not in protected}
        self._execute(sa.delete(labels), existing & written.keys(), labels.c.item_id)
        relabelled = [item for item, record in written.items() if item in existing and record.labels_given]
        self._execute(sa.update(items).values(labels_given=True), relabelled)
        pairs = ((label, item) for item, record in written.items() for label in set(record.labels or ()))
        # In the order of the index of labels, each of its pages is read and written once.
        bulk.insert(self._connection, labels, ("label", "item_id"), sorted(pairs))

    def _put_notion_labels(self, records: Sequence[NewRecord], ids: Sequence[int]) -> None:
        triples = [
            (item, *of_notion)
            for record, item in zip(records, ids, strict=True)
            for of_notion in record.notion_labels.items()
        ]
        for notion in {notion for _, notion, _ in triples}:
            former = sa.delete(notion_labels).where(notion_labels.c.notion == notion)
            self._execute(former, (item for item, other, _ in triples if other == notion), notion_labels.c.item_id)
        rows = ((item, notion, label) for item, notion, tags in triples for label in sorted(set(tags)))
        bulk.insert(self._connection, notion_labels, ("item_id", "notion", "label"), rows)

    def _execute(
        self, statement: "sa.Update | sa.Delete", ids: Iterable[int], column: "sa.ColumnElement[int]" = items.c.id
    ) -> None:
        """Change or delete the rows whose column is among the ids."""
        for batch in batches(ids):
            self._connection.execute(statement.where(column.in_(listed(batch))))


def _joined(record: NewRecord, attributes: Attributes) -> str:
    """Return the attributes of an item after a change, as JSON; InvalidInputError if they become too long."""
    joined = json.dumps(changed_attributes(attributes, record))
    if len(joined) > MAX_ATTRIBUTES and len(joined) > len(json.dumps(attributes)):
        raise InvalidInputError(
            f"the attributes of item {record.key!r}, old and new, would have {len(joined):,} characters as JSON, "
            f"and may have {MAX_ATTRIBUTES:,}: remove some first"
        )
    return joined


def changed_attributes(attributes: Attributes, record: NewRecord | ItemUpdate) -> dict[str, Any]:
    """Return the attributes of an item after a change."""
    if record.attributes is not None and not record.attributes:
        return {}
    removed = record.removed_attributes
    remaining = {name: value for name, value in attributes.items() if name not in removed} if removed else attributes
    return {**remaining, **(record.attributes or {})}


def _row(item: int, record: NewRecord, sequence: int) -> tuple[Any, ...]:
    """Return a new item's values of ``_COLUMNS``."""
    form, picture = normal(record.key), record.picture or _NO_PICTURE
    return (
        item,
        record.key,
        None if form == record.key else form,
        record.labels is not None and record.labels_given,
        sequence,
        False,
        json.dumps(record.attributes) if record.attributes else "{}",
        record.text or "",
        bool(record.text) and record.text_from_labels,
        record.source or "",
        picture.size,
        picture.modified_ns,
        picture.content_hash,
        picture.width,
        picture.height,
    )


def _changes(record: NewRecord) -> dict[str, Any]:
    """Return the columns of an existing item that a record changes, without attributes to be merged."""
    values: dict[str, Any] = {} if record.attributes is None or record.attributes else {"attributes": "{}"}
    own = {"text": record.text, "source": record.source}
    values |= {name: value for name, value in own.items() if value is not None}
    if record.text is not None:
        values["text_from_labels"] = bool(record.text) and record.text_from_labels
    if record.picture is not None:
        values |= {name: getattr(record.picture, name) for name in _PICTURE}
    return values


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
            kept_rows = []
            for item, key, content, labels_given, attributes, text, text_from_labels in rows:
                fields = {"labels": labels.get(item, ()), "notion_labels": notions.get(item, {})}
                fields |= {"labels_given": labels_given, "attributes": attributes}
                fields |= {"text": text, "text_from_labels": text_from_labels}
                if any(fields.values()):
                    kept_rows.append((key, content, json.dumps(fields)))
            bulk.insert(self._connection, kept_fields, ("key", "content_hash", "fields"), kept_rows)

    def returned(self, records: Sequence[NewRecord]) -> list[NewRecord]:
        """Return records of new items, with the kept fields of the items whose files had the same content.

        The fields of an item with an equal key come first, and are kept no longer.
        """
        contents = {record.picture.content_hash for record in records if record.picture is not None}
        by_content: dict[str, list[sa.Row[Any]]] = defaultdict(list)
        for batch in batches(contents):
            query = sa.select(kept_fields).where(kept_fields.c.content_hash.in_(listed(batch)))
            for row in self._connection.execute(query.order_by(kept_fields.c.id.desc())):
                by_content[row.content_hash].append(row)
        if not by_content:
            return list(records)
        back: list[int] = []
        result = []
        for record in records:
            rows = by_content.get(record.picture.content_hash, []) if record.picture is not None else []
            own = [row for row in rows if normal(row.key) == normal(record.key)]
            back += [row.id for row in own]
            result.append(_with_fields(record, (own or rows)[0].fields) if rows else record)
        self._connection.execute(sa.delete(kept_fields).where(kept_fields.c.id.in_(listed(back))))
        return result


def _with_fields(record: NewRecord, fields: Mapping[str, Any]) -> NewRecord:
    """Return a record with kept fields where it names none.

    Labels that a person chose replace the name of a folder, and a person's text replaces the words of labels. The rows
    of a copy are not trusted: if a field is invalid, the record stays as it is.
    """
    try:
        labels, text = check_labels(fields["labels"]), check_text(fields["text"])
        notions = {check_text(notion): check_labels(tags) for notion, tags in fields["notion_labels"].items()}
        joined = check_attributes({**fields["attributes"], **(record.attributes or {})})
        labels_given, from_labels = bool(fields["labels_given"]), bool(fields["text_from_labels"])
    except (AttributeError, KeyError, TypeError, ValueError):
        return record
    states_labels = record.labels is not None and record.labels_given
    if not states_labels and (labels_given or (record.labels is None and labels)):
        record = replace(record, labels=labels, labels_given=labels_given)
    if text and (record.text is None or (record.text_from_labels and not from_labels)):
        record = replace(record, text=text, text_from_labels=from_labels)
    if joined and (record.attributes is None or record.attributes):
        record = replace(record, attributes=joined)
    return replace(record, notion_labels={**notions, **record.notion_labels})
