"""Items in the catalog, read by key, filter or change; ``item_writer`` writes them.

Keys are equal if their Unicode normal forms (NFC) are equal; an item keeps the form of its first key.
"""

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from crossview.engine.catalog.bulk import batches, each, listed, select, select_among
from crossview.engine.catalog.captures import Captures
from crossview.engine.catalog.checks import normal
from crossview.engine.catalog.moves import Moves
from crossview.engine.catalog.schema import (
    is_deleted_picture,
    items,
    labels,
    missing_files,
    notion_labels,
    previews,
    thumbnails,
)
from crossview.engine.values.hits import TEXT_SHOWN
from crossview.engine.values.item import FILE, Attributes, DeletedPicture, Item, Stored

LIVE = items.c.deleted.is_(False)
_ATTRIBUTES_AS_TEXT = sa.type_coerce(items.c.attributes, sa.Text())
_FEW_IDS = 20_000
"""Number of ids that a statement takes; among more, pages are found by reading all keys in order."""
_KEYS_AT_ONCE = 5_000
_EACH = {column: sa.select(items.c.id, items.c[column]).where(LIVE) for column in ("key", "source", "text")}
_KEYS = sa.select(items.c.key).where(LIVE).order_by(items.c.key)
_READ_AT_ONCE = 1 << 12
_ATTRIBUTES = sa.select(sa.func.group_concat(items.c.id), sa.func.group_concat(_ATTRIBUTES_AS_TEXT)).where(
    LIVE, items.c.id.between(sa.bindparam("first"), sa.bindparam("last"))
)
"""Returns many items as one row: reading takes a third of the time."""
_THUMBNAILS = sa.select(thumbnails.c.item_id, thumbnails.c.jpeg)
_PREVIEWS = sa.select(previews.c.item_id, previews.c.jpeg)
_EACH_LABEL = sa.select(labels.c.item_id, labels.c.label)
_ITEM = tuple(getattr(items.c, name) for name in Item.__dataclass_fields__ if name in items.c)
_FIELDS = tuple(column.name for column in _ITEM)

# One row for the live items and one for the deleted: for every row the driver releases the interpreter lock and waits
# to get it back. An ORDER BY would read all items.
_CHANGED_SINCE = (
    sa.select(items.c.deleted, sa.func.group_concat(items.c.id))
    .where(items.c.sequence > sa.bindparam("since"))
    .group_by(items.c.deleted)
)


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
        rows = self._connection.execute(sa.select(items.c.key, items.c.id, *picture).where(LIVE).order_by(items.c.id))
        tags, missing = self.labels(), Moves(self._connection).missing()
        return {
            r.key: Stored(
                r.id, r.size, r.modified_ns, r.content_hash, tags.get(r.id, ()), r.source, missing=r.id in missing
            )
            for r in rows
        }

    def deleted(self, after: str = "", limit: int | None = None) -> list[DeletedPicture]:
        """Return the tombstones of items that had a picture, the latest of each key, in the order of keys.

        They are those with keys above ``after``, at most ``limit`` [default: all].
        """
        query = _DELETED_PICTURES.where(items.c.key > after).limit(limit)
        return [DeletedPicture(**row._mapping) for row in self._connection.execute(query)]

    def ids_of(self, keys: Iterable[str]) -> dict[str, int]:
        """Return the ids of the existing keys, by the keys in the given form."""
        ids: dict[str, int] = {}
        other_forms = self._connection.scalar(sa.select(sa.exists().where(LIVE, _in_another_form)))
        for batch in batches(keys):
            forms = {key: normal(key) for key in batch}
            exact = self._by(items.c.key, {*forms, *forms.values()})
            equal = self._by(items.c.normal_key, forms.values()) if other_forms else {}
            for key, form in forms.items():
                item = exact.get(key) or exact.get(form) or equal.get(form)
                if item is not None:
                    ids[key] = item
        return ids

    def _by(self, column: "sa.ColumnElement[str | None]", values: Iterable[str]) -> dict[str, int]:
        """Return, for each value of a column, the id of the oldest item with this value."""
        query = sa.select(column, items.c.id).where(LIVE)
        rows: Iterator[Any] = select_among(self._connection, query, column, values)
        return dict(sorted(rows, key=itemgetter(1), reverse=True))

    def with_equal_sources(self) -> list[list[str]]:
        """Return the keys of each group of items that were read from the same file."""
        once = sa.select(items.c.source).where(LIVE, items.c.source != "").group_by(items.c.source)
        repeated = once.having(sa.func.count() > 1)
        query = sa.select(items.c.source, items.c.key).where(LIVE, items.c.source.in_(repeated)).order_by(items.c.id)
        return _grouped((row.source, row.key) for row in self._connection.execute(query))

    def with_equal_keys(self) -> list[list[str]]:
        """Return the keys of each group that differ only in their Unicode form."""
        other_forms = self.in_other_forms()
        query = sa.select(items.c.key).where(LIVE, items.c.key.in_(listed(set(map(normal, other_forms)))))
        forms = self._connection.scalars(query)
        return [group for group in _grouped((normal(key), key) for key in (*forms, *other_forms)) if len(group) > 1]

    def in_other_forms(self) -> list[str]:
        """Return the keys that are not in normal form."""
        query = sa.select(items.c.key).where(LIVE, _in_another_form).order_by(items.c.id)
        return list(self._connection.scalars(query))

    def with_given_labels(self, ids: Sequence[int]) -> set[int]:
        """Return those of the items whose labels a person chose."""
        return {row.id for row in self._among(sa.select(items.c.id).where(items.c.labels_given.is_(True)), ids)}

    def with_sources(self, paths: Collection[str]) -> dict[str, list[str]]:
        """Return the keys of the items that were read from these files, by the path's normal form; scans all items."""
        by_path: dict[str, list[str]] = defaultdict(list)
        query = sa.select(items.c.key, items.c.source).where(LIVE, items.c.source != "").order_by(items.c.id)
        for row in self._connection.execute(query):
            if (path := normal(row.source)) in paths:
                by_path[path].append(row.key)
        return by_path

    def keys(self) -> dict[int, str]:
        """Return every item's key by id."""
        return {row.id: row.key for row in self._connection.execute(sa.select(items.c.id, items.c.key).where(LIVE))}

    def sorted_keys(self) -> tuple[str, ...]:
        """Return every item's key, in the order of keys."""
        return tuple(key for (key,) in select(self._connection, _KEYS))

    def keys_after(self, after: str, limit: int, among: NDArray[np.int64] | None = None) -> dict[int, str]:
        """Return up to ``limit`` keys above ``after`` by id, of all items or of some ids, in the order of keys."""
        query = sa.select(items.c.id, items.c.key).where(LIVE, items.c.key > after).order_by(items.c.key)
        if among is not None and len(among) <= _FEW_IDS:
            query = query.where(items.c.id.in_(listed(among.tolist())))
        if among is None or len(among) <= _FEW_IDS:
            return {row.id: row.key for row in self._connection.execute(query.limit(limit))}
        mask, page = np.zeros(self.last_id() + 1, bool), dict[int, str]()
        mask[among] = True
        while len(page) < limit and (keys := self.keys_after(after, _KEYS_AT_ONCE)):
            page |= {item: key for item, key in keys.items() if mask[item]}
            after = next(reversed(keys.values()))
        return dict(islice(page.items(), limit))

    def labels(self, ids: Sequence[int] | None = None) -> dict[int, tuple[str, ...]]:
        """Return the sorted labels of the labelled items by id, of all items or of those in ``ids``."""
        query = sa.select(labels.c.item_id, labels.c.label).order_by(labels.c.item_id, labels.c.label)
        tags: dict[int, list[str]] = defaultdict(list)
        for row in self._among(query, ids, labels.c.item_id):
            tags[row.item_id].append(row.label)
        return {item: tuple(group) for item, group in tags.items()}

    def notion_labels(self, ids: Sequence[int] | None = None) -> dict[int, dict[str, tuple[str, ...]]]:
        """Return the sorted labels by notion of the items that have any, of all items or of those in ``ids``."""
        query = sa.select(notion_labels).order_by(*notion_labels.c)
        tags: dict[int, dict[str, tuple[str, ...]]] = defaultdict(dict)
        for row in self._among(query, ids, notion_labels.c.item_id):
            tags[row.item_id][row.notion] = (*tags[row.item_id].get(row.notion, ()), row.label)
        return dict(tags)

    def notion_label_counts(self) -> dict[str, int]:
        """Return how many items have a label in each notion."""
        total = sa.func.count(notion_labels.c.item_id.distinct()).label("total")
        query = sa.select(notion_labels.c.notion, total).group_by(notion_labels.c.notion)
        return {row.notion: row.total for row in self._connection.execute(query.order_by(notion_labels.c.notion))}

    def texts(self, ids: Sequence[int] | None = None) -> dict[int, str]:
        """Return the texts of the items that have one, of all items or of those in ``ids``, in the order of ids."""
        query = sa.select(items.c.id, items.c.text).where(LIVE, items.c.text != "").order_by(items.c.id)
        return {row.id: row.text for row in self._among(query, None if ids is None else sorted(ids))}

    def with_text(self, pictured: bool = True) -> list[int]:
        """Return the ids of the items that have a text, ascending; without ``pictured`` only those without picture."""
        query = sa.select(items.c.id).where(LIVE, items.c.text != "").order_by(items.c.id)
        return list(self._connection.scalars(query if pictured else query.where(items.c.content_hash == "")))

    def label_counts(self) -> dict[str, int]:
        """Return how many items carry each label."""
        query = sa.select(labels.c.label, sa.func.count().label("total")).group_by(labels.c.label)
        return {row.label: row.total for row in self._connection.execute(query.order_by(labels.c.label))}

    def attribute_names(self) -> list[str]:
        """Return the names of the attributes that any item has, sorted; ``file`` stands for metadata."""
        readable = sa.case((sa.func.json_valid(_ATTRIBUTES_AS_TEXT) == 1, _ATTRIBUTES_AS_TEXT), else_="{}")
        # Earlier versions stored NaN, which makes the text invalid.
        entries = sa.func.json_each(readable).table_valued("key").alias()
        names = sa.select(entries.c.key).distinct().select_from(items).join(entries, sa.true()).where(LIVE)
        metadata = (FILE,) if Captures(self._connection).have_files() else ()
        return sorted({*self._connection.scalars(names), *metadata})

    def by_id(self, ids: Sequence[int]) -> dict[int, Item]:
        """Return the live items among the ids."""
        return self._of_rows(list(self._among(sa.select(items.c.id, *_ITEM).where(LIVE), ids)))

    def shown(self, ids: Sequence[int]) -> dict[int, tuple[str, tuple[str, ...], str, str, str, bool]]:
        """Return the content of hits of the live items among the ids: key, labels, attributes as JSON, source, text,
        and whether the file is missing."""
        rows = select_among(self._connection, _SHOWN, items.c.id, ids)
        return {
            item: (key, tuple(sorted(tags)), *rest)
            for (joined,) in rows
            for item, tags, key, *rest in json.loads(joined)
        }

    def page(self, after: str, limit: int, among: NDArray[np.int64] | None = None) -> dict[int, Item]:
        """Return up to ``limit`` items above ``after``, of all items or of some ids, by id, in the order of keys."""
        places = {item: place for place, item in enumerate(self.keys_after(after, limit, among))}
        query = sa.select(items.c.id, *_ITEM).where(LIVE)
        return self._of_rows(sorted(self._among(query, places), key=lambda row: places[row.id]))

    def _of_rows(self, rows: "Sequence[sa.Row[Any]]") -> dict[int, Item]:
        """Return items, in order, with their labels."""
        ids = [row.id for row in rows]
        tags, by_notion, captures = self.labels(ids), self.notion_labels(ids), Captures(self._connection)
        stamps, files, missing = captures.stamps(ids), dict(captures.files(ids)), Moves(self._connection).missing(ids)
        return {
            row.id: Item(
                **dict(zip(_FIELDS, row[1:], strict=True)),
                labels=tags.get(row.id, ()),
                notion_labels=by_notion.get(row.id, {}),
                stamp=stamps.get(row.id, ""),
                missing=missing.get(row.id, ""),
                file=files.get(row.id, {}),
            )
            for row in rows
        }

    def count(self) -> int:
        """Return how many items there are."""
        return int(self._connection.scalar(sa.select(sa.func.count()).select_from(items).where(LIVE)) or 0)

    def last_id(self) -> int:
        """Return the highest id that any item has; 0 without items."""
        return int(self._connection.scalar(sa.select(sa.func.max(items.c.id))) or 0)

    def each(self, column: str, ids: Iterable[int] | None = None) -> Iterator[Sequence[Any]]:
        """Yield id and value of a column of all live items, or of those in ``ids``."""
        return each(self._connection, _EACH[column], items.c.id, ids)

    def ids(self) -> list[int]:
        """Return the ids of all live items, ascending."""
        joined = self._connection.scalar(sa.select(sa.func.group_concat(items.c.id)).where(LIVE))
        return sorted(map(int, joined.split(","))) if joined else []

    def attributes_of_all(self) -> Iterator[tuple[int, Attributes]]:
        """Yield the id and the attributes of all live items."""
        for first in range(0, self.last_id() + 1, _READ_AT_ONCE):
            some = {"first": first, "last": first + _READ_AT_ONCE - 1}
            ids, texts = self._connection.execute(_ATTRIBUTES, some).one()
            if ids is not None:
                yield from zip(map(int, ids.split(",")), json.loads(f"[{texts}]"), strict=True)

    def each_label(self, ids: Iterable[int] | None = None) -> Iterator[Sequence[Any]]:
        """Yield the id and a label of an item, for all labels of all items or of those in ``ids``."""
        return each(self._connection, _EACH_LABEL, labels.c.item_id, ids)

    def with_keys(self, keys: Iterable[str]) -> NDArray[np.int64]:
        """Return the ids of the live items that have one of the keys, in any Unicode form."""
        forms = {form for key in keys for form in (key, normal(key))}
        matches = self._by(items.c.key, forms).values(), self._by(items.c.normal_key, forms).values()
        return np.array(sorted({*matches[0], *matches[1]}), np.int64)

    def last_sequence(self) -> int:
        """Return the number of the last change of an item; 0 before the first change."""
        return int(self._connection.scalar(sa.select(sa.func.max(items.c.sequence))) or 0)

    def extent(self) -> tuple[int, int]:
        """Return the number of live items, and the highest id that any item has had (0 for none)."""
        count, last = self._connection.execute(sa.select(sa.func.count().filter(LIVE), sa.func.max(items.c.id))).one()
        return count, last or 0

    def changed_since(self, sequence: int) -> Changes:
        """Return the items whose last change is after ``sequence``."""
        changed = self._connection.execute(_CHANGED_SINCE, {"since": sequence})
        by_deleted = {deleted: sorted(map(int, ids.split(","))) for deleted, ids in changed}
        return Changes(by_deleted.get(False, []), by_deleted.get(True, []))

    def keys_deleted_since(self, sequence: int) -> list[str]:
        """Return the keys of the items that were deleted after a change, and that no live item has."""
        gone = items.alias()
        live = sa.select(items.c.id).where(LIVE, items.c.key == gone.c.key)
        query = sa.select(gone.c.key).where(gone.c.deleted.is_(True), gone.c.sequence > sequence, ~live.exists())
        return list(self._connection.scalars(query.distinct()))

    def attributes(self, ids: Sequence[int]) -> dict[int, Attributes]:
        """Return the attributes of items by id."""
        return {row.id: row.attributes for row in self._among(sa.select(items.c.id, items.c.attributes), ids)}

    def changed_among(self, ids: Iterable[int], sequence: int) -> set[int]:
        """Return those of the items whose last change is after ``sequence``."""
        return {row.id for row in self._among(sa.select(items.c.id).where(items.c.sequence > sequence), ids)}

    def purge(self, sequence: int) -> int:
        """Remove the tombstones up to a change and return how many; those of pictures stay, to keep the files out."""
        purgeable = items.c.deleted.is_(True), items.c.content_hash == "", items.c.sequence <= sequence
        return int(self._connection.execute(sa.delete(items).where(*purgeable)).rowcount)

    def thumbnail(self, item: int) -> bytes | None:
        """Return an item's thumbnail (JPEG)."""
        return self._connection.scalar(sa.select(thumbnails.c.jpeg).where(thumbnails.c.item_id == item))

    def pictures(self, ids: Iterable[int], size: str, fall_back: bool = True) -> dict[int, bytes]:
        """Return the thumbnails (JPEG) of items, or if ``size`` is large their previews.

        With ``fall_back``, an item without a preview has its thumbnail.
        """
        ids = list(ids)
        if size == "large":
            large = {row[0]: bytes(row[1]) for row in each(self._connection, _PREVIEWS, previews.c.item_id, ids)}
            return large | (self.pictures([item for item in ids if item not in large], "small") if fall_back else {})
        return {row[0]: bytes(row[1]) for row in each(self._connection, _THUMBNAILS, thumbnails.c.item_id, ids)}

    def _among(
        self, query: "sa.Select[Any]", ids: Iterable[int] | None, column: "sa.ColumnElement[int]" = items.c.id
    ) -> "Iterator[sa.Row[Any]]":
        """Yield the rows of a query, all of them or those whose column is among ``ids``."""
        parts = [query] if ids is None else (query.where(column.in_(listed(batch))) for batch in batches(ids))
        for part in parts:
            yield from self._connection.execute(part).all()


_tags = sa.select(sa.func.json_group_array(labels.c.label)).where(labels.c.item_id == items.c.id).scalar_subquery()
_opening = sa.func.substr(items.c.text, sa.literal_column("1"), sa.literal_column(str(TEXT_SHOWN)))
_missing = sa.exists().where(missing_files.c.item_id == items.c.id)
_shown = items.c.id, sa.func.json(_tags), items.c.key, _ATTRIBUTES_AS_TEXT, items.c.source, _opening, _missing
_SHOWN = sa.select(sa.func.json_group_array(sa.func.json_array(*_shown))).where(LIVE)
"""Returns many items as one row, because the driver releases the interpreter lock for each row."""
_in_another_form = items.c.normal_key > ""  # SQLite uses the index for this comparison, but not for "is not null"


def _deleted_pictures() -> "sa.Select[Any]":
    """Return the query of the tombstones of pictures that no later tombstone of an equal key follows.

    It reads as many rows as it returns, by the index ``ix_items_deleted_pictures``.
    """
    later = items.alias()

    def follows(same: "sa.ColumnElement[bool]") -> "sa.ColumnElement[bool]":
        return sa.exists().where(is_deleted_picture(later), later.c.id > items.c.id, same)

    equal = (
        later.c.key == items.c.key,
        later.c.key == items.c.normal_key,
        later.c.normal_key == sa.func.coalesce(items.c.normal_key, items.c.key),
    )
    columns = (items.c[name] for name in DeletedPicture.__dataclass_fields__)
    unfollowed = (~follows(same) for same in equal)
    return sa.select(*columns).where(is_deleted_picture(items), *unfollowed).order_by(items.c.key)


_DELETED_PICTURES = _deleted_pictures()


def _grouped(pairs: Iterable[tuple[str, str]]) -> list[list[str]]:
    groups: dict[str, list[str]] = defaultdict(list)
    for name, key in pairs:
        groups[name].append(key)
    return list(groups.values())
