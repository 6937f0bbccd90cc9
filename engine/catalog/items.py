"""Items in the catalog: written under a sequence number, deleted to tombstones, read by key, filter or change.

Keys are equal if their Unicode normal forms (NFC) are; an item keeps the form that it was first given.
"""

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from engine.catalog.batches import SIZE, batches
from engine.catalog.checks import normal
from engine.catalog.schema import items, labels, thumbnails
from engine.item import Attributes, DeletedPicture, Item, PictureRecord
from engine.query import TEXT_SHOWN, Filter

_ITEM = tuple(getattr(items.c, name) for name in Item.__dataclass_fields__ if name in items.c)


@dataclass(frozen=True, kw_only=True)
class NewRecord:
    """What is written of one item; None keeps what it has."""

    key: str
    labels: tuple[str, ...] | None = None
    labels_given: bool = True
    """False for the name of a folder: it labels only items whose labels nobody chose."""
    attributes: Attributes | None = None
    """They are added to those that it has, in place of those of the same name; none at all removes all."""
    removed_attributes: tuple[str, ...] = ()
    text: str | None = None
    source: str | None = None
    picture: PictureRecord | None = None
    rows: Mapping[str, NDArray[np.float32] | None] = field(default_factory=dict)
    """Feature rows by view name; None removes the one that it has."""


class Stored(NamedTuple):
    """What decides whether a file must be read again."""

    id: int
    size: int
    modified_ns: int
    content_hash: str
    labels: tuple[str, ...]
    source: str


class Changes(NamedTuple):
    """The items that changed, by their ids."""

    live: list[int]
    deleted: list[int]


class Items:
    """The items of one transaction."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    # -- reading

    def known(self) -> dict[str, Stored]:
        """Return every item by key, in the order of ids."""
        picture = (items.c.size, items.c.modified_ns, items.c.content_hash, items.c.source)
        found = self._connection.execute(sa.select(items.c.key, items.c.id, *picture).where(_live).order_by(items.c.id))
        tags = self.labels()
        return {r.key: Stored(r.id, r.size, r.modified_ns, r.content_hash, tags.get(r.id, ()), r.source) for r in found}

    def deleted_pictures(self) -> list[DeletedPicture]:
        """Return what is remembered of deleted items that had a picture, each key once, as it was last."""
        query = sa.select(*(items.c[name] for name in DeletedPicture.__dataclass_fields__))
        last: dict[str, DeletedPicture] = {}
        for row in self._connection.execute(query.where(~_live, items.c.content_hash != "").order_by(items.c.id)):
            last[normal(row.key)] = DeletedPicture(**row._mapping)
        return sorted(last.values(), key=lambda one: one.key)

    def ids_of(self, keys: Iterable[str]) -> dict[str, int]:
        """Return the ids of the keys that exist, by the keys in the form given."""
        found: dict[str, int] = {}
        for batch in batches(keys, SIZE // 2):
            forms = sorted({form for key in batch for form in (key, normal(key))})
            same = sa.or_(items.c.key.in_(forms), items.c.normal_key.in_(forms))
            rows = self._connection.execute(sa.select(items.c.key, items.c.id).where(_live, same)).all()
            exact = {row.key: row.id for row in rows}
            equal = {normal(row.key): row.id for row in reversed(rows)}
            for key in batch:
                if (item := exact.get(key, equal.get(normal(key)))) is not None:
                    found[key] = item
        return found

    def with_equal_sources(self) -> list[list[str]]:
        """Return the keys of the items that were read from one file, for every file of several."""
        once = sa.select(items.c.source).where(_live, items.c.source != "").group_by(items.c.source)
        several = once.having(sa.func.count() > 1)
        query = sa.select(items.c.source, items.c.key).where(_live, items.c.source.in_(several)).order_by(items.c.id)
        return _grouped((row.source, row.key) for row in self._connection.execute(query))

    def with_equal_keys(self) -> list[list[str]]:
        """Return the keys that differ in their Unicode form only, for every key of several."""
        others = self.in_other_forms()
        forms = self._connection.scalars(sa.select(items.c.key).where(_live, items.c.key.in_(set(map(normal, others)))))
        return [one for one in _grouped((normal(key), key) for key in (*forms, *others)) if len(one) > 1]

    def in_other_forms(self) -> list[str]:
        """Return the keys that are not in normal form."""
        query = sa.select(items.c.key).where(_live, items.c.normal_key.is_not(None)).order_by(items.c.id)
        return list(self._connection.scalars(query))

    def with_given_labels(self, ids: Sequence[int]) -> set[int]:
        """Return those of the items whose labels somebody chose."""
        return {row.id for row in self._among(sa.select(items.c.id).where(items.c.labels_given.is_(True)), ids)}

    def with_sources(self, paths: Collection[str]) -> dict[str, list[str]]:
        """Return the keys of the items that were read from files, by the path's normal form; they are all read."""
        found: dict[str, list[str]] = defaultdict(list)
        query = sa.select(items.c.key, items.c.source).where(_live, items.c.source != "").order_by(items.c.id)
        for row in self._connection.execute(query):
            if (path := normal(row.source)) in paths:
                found[path].append(row.key)
        return found

    def keys(self) -> dict[int, str]:
        """Return every item's key by id."""
        return {row.id: row.key for row in self._connection.execute(sa.select(items.c.id, items.c.key).where(_live))}

    def keys_after(self, after: str, limit: int) -> dict[int, str]:
        """Return up to ``limit`` keys above ``after`` by id, in the order of keys."""
        query = sa.select(items.c.id, items.c.key).where(_live, items.c.key > after).order_by(items.c.key).limit(limit)
        return {row.id: row.key for row in self._connection.execute(query)}

    def labels(self, ids: Sequence[int] | None = None) -> dict[int, tuple[str, ...]]:
        """Return the labels, sorted, of the labelled items, by id; among the ids, of all by default."""
        query = sa.select(labels.c.item_id, labels.c.label).order_by(labels.c.item_id, labels.c.label)
        found: dict[int, list[str]] = defaultdict(list)
        for row in self._among(query, ids, labels.c.item_id):
            found[row.item_id].append(row.label)
        return {item: tuple(group) for item, group in found.items()}

    def texts(self, ids: Sequence[int] | None = None) -> dict[int, str]:
        """Return the texts of the items that have one, among the ids, of all by default, in the order of ids."""
        query = sa.select(items.c.id, items.c.text).where(_live, items.c.text != "").order_by(items.c.id)
        return {row.id: row.text for row in self._among(query, None if ids is None else sorted(ids))}

    def with_text(self) -> list[int]:
        """Return the ids of the items that have a text, ascending."""
        query = sa.select(items.c.id).where(_live, items.c.text != "").order_by(items.c.id)
        return list(self._connection.scalars(query))

    def label_counts(self) -> dict[str, int]:
        """Return how many items carry each label."""
        query = sa.select(labels.c.label, sa.func.count().label("total")).group_by(labels.c.label)
        return {row.label: row.total for row in self._connection.execute(query.order_by(labels.c.label))}

    def by_id(self, ids: Sequence[int]) -> dict[int, Item]:
        """Return the live items among the ids."""
        tags = self.labels(ids)
        return {row.id: _item(row, tags) for row in self._among(sa.select(items.c.id, *_ITEM).where(_live), ids)}

    def shown(self, ids: Sequence[int]) -> dict[int, tuple[str, tuple[str, ...], str, str, str]]:
        """Return what hits show of the live items among the ids: key, labels, attributes as JSON, source, text."""
        tags = self.labels(ids)
        attributes = sa.type_coerce(items.c.attributes, sa.Text())
        begins = sa.func.substr(items.c.text, 1, TEXT_SHOWN)
        query = sa.select(items.c.id, items.c.key, attributes, items.c.source, begins).where(_live)
        return {row.id: (row.key, tags.get(row.id, ()), row[2], row.source, row[4]) for row in self._among(query, ids)}

    def page(self, chosen: Filter, after: str, limit: int) -> dict[int, Item]:
        """Return up to ``limit`` items that pass the filter with keys above ``after``, by id, in the order of keys."""
        query = sa.select(items.c.id, *_ITEM).where(*_conditions(chosen), items.c.key > after)
        rows = self._connection.execute(query.order_by(items.c.key).limit(limit)).all()
        tags = self.labels([row.id for row in rows])
        return {row.id: _item(row, tags) for row in rows}

    def count(self, chosen: Filter) -> int:
        """Return how many items pass the filter."""
        query = sa.select(sa.func.count()).select_from(items).where(*_conditions(chosen))
        return int(self._connection.scalar(query) or 0)

    def matching(self, chosen: Filter, ids: Sequence[int] | None = None) -> NDArray[np.int64]:
        """Return the ids of the items that pass the filter, ascending; among the ids, of all by default."""
        query = sa.select(items.c.id).where(*_conditions(chosen)).order_by(items.c.id)
        return np.array([row.id for row in self._among(query, None if ids is None else sorted(ids))], np.int64)

    def changed_since(self, sequence: int) -> Changes:
        """Return the items whose last change is after ``sequence``."""
        query = sa.select(items.c.id, items.c.deleted).where(items.c.sequence > sequence).order_by(items.c.id)
        found = self._connection.execute(query).all()
        return Changes([r.id for r in found if not r.deleted], [r.id for r in found if r.deleted])

    def thumbnail(self, item: int) -> bytes | None:
        """Return an item's thumbnail (JPEG)."""
        return self._connection.scalar(sa.select(thumbnails.c.jpeg).where(thumbnails.c.item_id == item))

    # -- writing

    def put(self, records: Sequence[NewRecord], sequence: int) -> tuple[list[int], int]:
        """Write items of different keys under one change; return their ids in order and how many of them are new."""
        known = self.ids_of(record.key for record in records)
        new = [record for record in records if record.key not in known]
        existing = [record for record in records if record.key in known]
        if new:
            inserted = self._connection.execute(
                sa.insert(items).returning(items.c.id, items.c.key),
                [_NEW | _identity(record) | {"sequence": sequence} | _columns(record) for record in new],
            )
            known |= {row.key: row.id for row in inserted}
        self.touch([known[record.key] for record in existing], sequence)
        self._update(existing, known)
        ids = [known[record.key] for record in records]
        self._put_labels(records, ids, existing={known[record.key] for record in existing})
        self._put_thumbnails(records, ids)
        return ids, len(new)

    def _update(self, records: Sequence[NewRecord], known: Mapping[str, int]) -> None:
        """Write the columns of existing items, their attributes beside those that they have."""
        attributes = self.attributes([known[r.key] for r in records if r.attributes or r.removed_attributes])
        for record in records:
            item, values = known[record.key], _columns(record)
            if item in attributes:
                values["attributes"] = changed_attributes(attributes[item], record)
            if values:
                self._connection.execute(sa.update(items).where(items.c.id == item).values(values))

    def attributes(self, ids: Sequence[int]) -> dict[int, Attributes]:
        """Return the attributes of items by id."""
        return {row.id: row.attributes for row in self._among(sa.select(items.c.id, items.c.attributes), ids)}

    def refresh(self, stamps: Mapping[int, int]) -> None:
        """Write new modification times of files whose content is the same; no change that a search would follow."""
        for item, modified_ns in stamps.items():
            self._connection.execute(sa.update(items).where(items.c.id == item).values(modified_ns=modified_ns))

    def delete(self, ids: Sequence[int], sequence: int) -> None:
        """Turn items into tombstones; their rows are the row store's to remove."""
        self.touch(ids, sequence, deleted=True, attributes={}, text="")
        self._execute(sa.delete(labels), ids, labels.c.item_id)
        self._execute(sa.delete(thumbnails), ids, thumbnails.c.item_id)

    def touch(self, ids: Sequence[int], sequence: int, **values: Any) -> None:
        """Record a change of items, such as new rows; ``values`` are their new columns."""
        self._execute(sa.update(items).values(sequence=sequence, **values), ids)

    def _put_thumbnails(self, records: Sequence[NewRecord], ids: Sequence[int]) -> None:
        pictures = {item: record.picture for record, item in zip(records, ids, strict=True) if record.picture}
        jpegs = {item: one.thumbnail for item, one in pictures.items() if one.thumbnail is not None}
        if jpegs:
            self._execute(sa.delete(thumbnails), jpegs, thumbnails.c.item_id)
            new = [{"item_id": item, "jpeg": jpeg} for item, jpeg in jpegs.items()]
            self._connection.execute(sa.insert(thumbnails), new)

    def _put_labels(self, records: Sequence[NewRecord], ids: Sequence[int], existing: set[int]) -> None:
        named = [(record, item) for record, item in zip(records, ids, strict=True) if record.labels is not None]
        # The name of a folder does not replace labels that somebody chose.
        folders = [item for record, item in named if item in existing and not record.labels_given]
        chosen = self.with_given_labels(folders)
        written = {item: record for record, item in named if item not in chosen}
        self._execute(sa.delete(labels), written, labels.c.item_id)
        given = [item for item, record in written.items() if item in existing and record.labels_given]
        self._execute(sa.update(items).values(labels_given=True), given)
        pairs = [(item, label) for item, record in written.items() for label in sorted(set(record.labels or ()))]
        if pairs:
            self._connection.execute(sa.insert(labels), [{"item_id": item, "label": label} for item, label in pairs])

    def _among(
        self, query: "sa.Select[Any]", ids: Iterable[int] | None, column: "sa.ColumnElement[int]" = items.c.id
    ) -> "Iterator[sa.Row[Any]]":
        """Yield the rows of a query whose column is among the ids; all by default."""
        parts = [query] if ids is None else (query.where(column.in_(batch)) for batch in batches(ids))
        for part in parts:
            yield from self._connection.execute(part)

    def _execute(
        self, statement: "sa.Update | sa.Delete", ids: Iterable[int], column: "sa.ColumnElement[int]" = items.c.id
    ) -> None:
        """Change or delete the rows whose column is among the ids."""
        for batch in batches(ids):
            self._connection.execute(statement.where(column.in_(batch)))


_live = items.c.deleted.is_(False)


def _item(row: "sa.Row[Any]", tags: Mapping[int, tuple[str, ...]]) -> Item:
    return Item(labels=tags.get(row.id, ()), **{column.name: getattr(row, column.name) for column in _ITEM})


_PICTURE = ("size", "modified_ns", "content_hash", "width", "height")
_NEW: dict[str, Any] = {"deleted": False, "attributes": {}, "text": "", "source": ""} | {
    name: getattr(PictureRecord(), name) for name in _PICTURE
}
"""Columns of a new item, where its record leaves them open."""


def _grouped(pairs: Iterable[tuple[str, str]]) -> list[list[str]]:
    groups: dict[str, list[str]] = defaultdict(list)
    for name, key in pairs:
        groups[name].append(key)
    return list(groups.values())


def _identity(record: NewRecord) -> dict[str, Any]:
    """Return the columns of a new item that later changes leave alone, and whether its labels are chosen."""
    form = normal(record.key)
    given = record.labels is not None and record.labels_given
    return {"key": record.key, "normal_key": None if form == record.key else form, "labels_given": given}


def changed_attributes(attributes: Attributes, record: NewRecord) -> dict[str, Any]:
    """Return the attributes of an item after a change."""
    if record.attributes is not None and not record.attributes:
        return {}
    remaining = {name: value for name, value in attributes.items() if name not in record.removed_attributes}
    return {**remaining, **(record.attributes or {})}


def _columns(record: NewRecord) -> dict[str, Any]:
    """Return what is written of an item, its attributes as if it had none before."""
    own = {"attributes": record.attributes, "text": record.text, "source": record.source}
    values: dict[str, Any] = {name: value for name, value in own.items() if value is not None}
    if record.picture is not None:
        values |= {name: getattr(record.picture, name) for name in _PICTURE}
    return values


def _conditions(chosen: Filter) -> list["sa.ColumnElement[bool]"]:
    """SQL of a filter; its lists are expected to be short, as a person or a program would name them."""
    conditions: list[sa.ColumnElement[bool]] = [_live]
    if chosen.labels:
        conditions.append(items.c.id.in_(_labelled(chosen.labels)))
    if chosen.without_labels:
        conditions.append(items.c.id.not_in(_labelled(chosen.without_labels)))
    if chosen.keys:
        forms = sorted({form for key in chosen.keys for form in (key, normal(key))})
        conditions.append(sa.or_(items.c.key.in_(forms), items.c.normal_key.in_(forms)))
    if chosen.key_prefix:
        conditions.append(_begins(chosen.key_prefix))
    for name, value in chosen.attributes.items():
        conditions.append(_attribute_is(name, value))
    return conditions


def _begins(prefix: str) -> "sa.ColumnElement[bool]":
    """Return the condition that a key, in any form, begins so. No LIKE: to SQLite's, A and a are equal."""
    forms = sorted({prefix, normal(prefix)})
    columns = (items.c.key, items.c.normal_key)
    return sa.or_(*(sa.func.substr(column, 1, len(form)) == form for column in columns for form in forms))


def _labelled(names: tuple[str, ...]) -> "sa.Select[tuple[int]]":
    return sa.select(labels.c.item_id).where(labels.c.label.in_(names))


def _attribute_is(name: str, value: Any) -> "sa.ColumnElement[bool]":
    """Return the condition that an item has a top-level attribute which equals a JSON scalar and has its type.

    Numbers are one type: 1 equals 1.0. A missing attribute equals nothing, not even None.

    Raises TypeError for a value that is no string, number, boolean or None.
    """
    # Not by a JSON path: no quoting lets every name through, and SQLite compares it with the name as JSON escapes it.
    text = sa.type_coerce(items.c.attributes, sa.Text())
    # NaN, which earlier versions let in, is no JSON and would stop the statement.
    readable = sa.case((sa.func.json_valid(text) == 1, text), else_="{}")
    each = sa.func.json_each(readable).table_valued("key", "type", "value").alias()
    match value:
        case None:
            equal = [each.c.type == "null"]
        case bool():
            equal = [each.c.type == json.dumps(value)]
        case str():
            equal = [each.c.type == "text", each.c.value == value]
        case int() | float():
            # SQLite reads both numbers from JSON, so that they are rounded alike; it could not bind large integers.
            number = sa.func.json_extract(json.dumps([value]), "$[0]")
            equal = [each.c.type.in_(("integer", "real")), each.c.value == number]
        case _:
            raise TypeError(f"attribute {name!r} compares with a string, a number, a boolean or null, not {value!r}")
    return sa.exists().select_from(each).where(each.c.key == name, *equal)
