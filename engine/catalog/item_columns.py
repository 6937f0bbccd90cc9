"""The items that fulfil a condition, decided by columns in memory that follow the catalog."""

import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from crossview.engine.catalog.bulk import batches
from crossview.engine.catalog.column import Column, Ids, Part, order_of
from crossview.engine.catalog.facets import facet_of, folders_of
from crossview.engine.catalog.words import Mask
from crossview.engine.runtime.cancellation import checkpoint
from crossview.engine.values.conditions.tree import All, Condition, Either, Field, FieldTest, Not, Value, Visitor
from crossview.engine.values.errors import InvalidInputError
from crossview.engine.values.facet import Facet
from crossview.engine.values.item import FILE

if TYPE_CHECKING:
    from crossview.engine.catalog.catalog import Transaction

MOST_BYTES = 1 << 30
"""Maximum memory for columns; the one that was used least recently is dropped first."""
_ITEMS_A_PART, _DECODED_AT_ONCE = 1 << 17, 1 << 13
"""Maximum number of items of a part, and of items whose attributes are in memory at once."""
_OF_HITS = ("score", "match")
_LIVE = Field("live")
"""A field without values that every item has."""


class ItemColumns:
    """The columns of the fields that conditions have tested. Several threads may call the methods at once."""

    def __init__(self) -> None:
        self._columns: dict[Field, Column] = {}
        self._held = 0  # bytes of the columns; to add them up at each look takes longer than most looks
        self._history, self._sequence = "", 0
        self._lock = threading.Lock()

    def matching(self, tx: "Transaction", condition: Condition) -> Ids:
        """Return the ids of the live items that fulfil a condition on stored fields, ascending."""
        return _passing(tx, condition, self._of(tx, _fields(condition)))

    def facets(
        self, tx: "Transaction", fields: Sequence[Field], condition: Condition, limit: int, below: str = ""
    ) -> list[Facet]:
        """Return the facets of fields of the live items that fulfil a condition, with at most ``limit`` values each.

        The values of ``key`` and ``path`` are the folders of the next level below ``below``.
        """
        parts = self._of(tx, {*fields, *_fields(condition)})
        mask = np.zeros(tx.items.last_id() + 1, bool)
        mask[_passing(tx, condition, parts)] = True
        return [
            folders_of(field, parts[field], mask, limit, below)
            if field.kind in ("key", "path")
            else facet_of(field, parts[field], mask, limit)
            for field in fields
        ]

    def values(self, tx: "Transaction", field: Field, ids: Ids) -> dict[int, tuple[Value, ...]]:
        """Return the values of a field of those of the items, (n,), that have any except null."""
        mask = np.zeros(tx.items.last_id() + 1, bool)
        mask[ids] = True
        by_item: dict[int, tuple[Value, ...]] = {}
        for part in self._of(tx, (field,))[field]:
            for item, value in part.values(mask):
                by_item[item] = (*by_item.get(item, ()), value)
        return by_item

    def order(self, tx: "Transaction", field: Field, ids: Ids, greatest_first: bool) -> NDArray[np.intp]:
        """Return the places of items, (n,), in the order of their values of a field; see ``order_of``."""
        return order_of(self._of(tx, (field,))[field], ids, greatest_first)

    def _of(self, tx: "Transaction", fields: Collection[Field]) -> dict[Field, Iterable[Part]]:
        """Return the values of fields in the state that a transaction sees."""
        with self._lock:
            # If another thread has followed a later state, read this one without keeping it. Views can change without
            # their items.
            current = self._follow(tx)
            if current:
                self._read_together(tx, fields)
            return {
                field: self._parts(tx, field) if current and field.kind != "view" else _Unkept(tx, field)
                for field in fields
            }

    def _read_together(self, tx: "Transaction", fields: Collection[Field]) -> None:
        """Read the columns of several attributes at once, because decoding the attributes takes most of the time."""
        every = [field for field in fields if field.kind == "attribute" and field not in self._columns]
        for of_files in (False, True):  # attributes and the metadata of files come from different tables
            new = [field for field in every if (field.path[0] == FILE) is of_files]
            if len(new) > 1:
                self._read_attributes(tx, new, of_files)

    def _read_attributes(self, tx: "Transaction", new: Sequence[Field], of_files: bool) -> None:
        every = _attributes(tx, of_files)
        values: dict[Field, list[tuple[int, Any]]] = {field: [] for field in new}
        parts: dict[Field, list[Part]] = {field: [] for field in new}
        for number, some in enumerate(batches(every, _DECODED_AT_ONCE), start=1):
            checkpoint()
            for field in new:
                values[field] += _at(field.path, some)
                if number % (_ITEMS_A_PART // _DECODED_AT_ONCE) == 0:
                    parts[field].append(Part.of(values[field]))
                    values[field] = []
            if sum(part.nbytes for of_field in parts.values() for part in of_field) > MOST_BYTES:
                return
        self._columns |= {field: Column((*parts[field], Part.of(values[field]))) for field in new}

    def _parts(self, tx: "Transaction", field: Field) -> Iterable[Part]:
        """Return the values of a field in the state of the columns, which the transaction sees."""
        if (column := self._columns.pop(field, None)) is None:
            parts, size = list[Part](), 0
            for part in (unkept := _Unkept(tx, field)):
                parts.append(part)
                size += part.nbytes
                if size > MOST_BYTES:
                    return unkept
            column = Column(tuple(parts))
            self._held += column.nbytes
        self._columns[field] = column  # at the end: the most recently used
        while self._held > MOST_BYTES:
            self._held -= self._columns.pop(next(iter(self._columns))).nbytes
        return [*column.first, *column.later]

    def _follow(self, tx: "Transaction") -> bool:
        """Bring the columns to the state that a transaction sees; return False if they are in a later state."""
        head = tx.head()
        if head.history != self._history or self._sequence < head.purged:
            self._columns, self._held = {}, 0
        elif head.sequence < self._sequence:
            return False
        elif head.sequence > self._sequence and self._columns:
            self._replace_changed(tx)
        self._history, self._sequence = head.history, head.sequence
        return True

    def _replace_changed(self, tx: "Transaction") -> None:
        changes = tx.items.changed_since(self._sequence)
        gone = np.zeros(tx.items.last_id() + 1, bool)
        gone[[*changes.live, *changes.deleted]] = True
        if gone.any():
            self._columns = {
                field: column.after(gone, Part.of(_values(tx, field, changes.live)))
                for field, column in self._columns.items()
                if column.has_room(len(changes.live))
            }
            self._held = sum(column.nbytes for column in self._columns.values())


def matching_among(tx: "Transaction", condition: Condition, ids: Iterable[int]) -> Ids:
    """Return those of a few live items that fulfil a condition on stored fields, ascending."""
    some = sorted(ids)
    parts = {field: (Part.of(_values(tx, field, some)),) for field in _fields(condition)}
    return _passing(tx, condition, parts)


def _fields(condition: Condition) -> set[Field]:
    """Return the fields whose columns decide a condition."""
    return {_LIVE, *(test.field for test in condition.tests() if not _is_looked_up(test))}


def _is_looked_up(test: FieldTest) -> bool:
    """Return whether the catalog's own indexes decide a test."""
    return test.field.kind in ("view", *_OF_HITS) or (test.field.kind, test.operator) == ("key", "in")


def _passing(tx: "Transaction", condition: Condition, parts: Mapping[Field, Iterable[Part]]) -> Ids:
    live = np.zeros(tx.items.last_id() + 1, bool)
    for part in parts[_LIVE]:
        part.mark_present(live)
    return np.flatnonzero(condition.accept(_Masks(tx, live, parts)))


class _Masks(Visitor[Mask]):
    """A visitor that returns which of the ``live`` items fulfil a condition, as a mask over ids."""

    def __init__(self, tx: "Transaction", live: Mask, parts: Mapping[Field, Iterable[Part]]) -> None:
        self._tx, self._live = tx, live
        self._parts = parts

    def every(self, condition: All) -> Mask:
        mask = self._live.copy()
        for part in condition.parts:
            mask &= part.accept(self)
        return mask

    def either(self, condition: Either) -> Mask:
        mask = np.zeros_like(self._live)
        for part in condition.parts:
            mask |= part.accept(self)
        return mask

    def negated(self, condition: Not) -> Mask:
        return self._live & ~condition.part.accept(self)

    def test(self, condition: FieldTest) -> Mask:
        checkpoint()
        mask = np.zeros_like(self._live)
        if condition.field.kind in _OF_HITS:
            raise only_in_a_search(condition.field)
        if _is_looked_up(condition):
            self._look_up(mask, condition)
        else:
            for part in self._parts[condition.field]:
                part.mark(mask, condition)
        return np.logical_and(mask, self._live, out=mask)

    def _look_up(self, mask: Mask, test: FieldTest) -> None:
        if test.field.kind == "key":
            mask[self._tx.items.with_keys(map(str, test.values))] = True
            return
        views = self._tx.views.all()
        matching = np.zeros(len(views), bool)
        Part.of((number, view.name) for number, view in enumerate(views)).mark(matching, test)
        for number in np.flatnonzero(matching):
            mask[self._tx.rows.with_view(views[number])] = True


def only_in_a_search(field: Field) -> InvalidInputError:
    """Return the error for a score or a match in a request that only lists items."""
    return InvalidInputError(
        f"items have {'scores' if field.kind == 'score' else 'a match'} only in a search: use the bound of "
        f"{'.'.join(field.path) or field.kind!r} in a search, not in a list of items"
    )


class _Unkept:
    """The values of a field of all live items, read from the catalog part by part each time."""

    def __init__(self, tx: "Transaction", field: Field) -> None:
        self._tx, self._field = tx, field

    def __iter__(self) -> Iterator[Part]:
        if self._field.kind == "view":
            for view in self._tx.views.all():
                yield Part.of_text(self._tx.rows.with_view(view), view.name)
            return
        for values in batches(_values(self._tx, self._field), _ITEMS_A_PART):
            checkpoint()
            yield Part.of(values)


def _values(tx: "Transaction", field: Field, ids: Iterable[int] | None = None) -> Iterator[tuple[int, Any]]:
    """Yield the id and the value of each live item that has a field, of all items or of those in ``ids``."""
    if field == _LIVE:
        yield from ((item, {}) for item in (tx.items.ids() if ids is None else ids))
    elif field.kind == "label":
        yield from ((item, label) for item, label in tx.items.each_label(ids))
    elif field.kind == "missing":
        yield from tx.moves.missing(ids).items()
    elif field.kind == "attribute":
        yield from _at(field.path, _attributes(tx, field.path[0] == FILE, ids))
    else:
        column = "source" if field.kind == "path" else field.kind
        yield from ((item, value) for item, value in tx.items.each(column, ids) if value)


def _attributes(tx: "Transaction", files: bool, ids: Iterable[int] | None = None) -> Iterable[tuple[int, Any]]:
    """Return the id and the attributes of all items or of those in ``ids``, with the metadata of ``files``."""
    some = None if ids is None else list(ids)
    every = tx.items.attributes_of_all() if some is None else tx.items.attributes(some).items()
    return _with_files(every, tx.captures.files(some)) if files else every


def _with_files(every: Iterable[tuple[int, Any]], files: Iterable[tuple[int, Any]]) -> Iterator[tuple[int, Any]]:
    """Yield attributes and, for items without an attribute of this name of their own, the metadata of their files."""
    own = set()
    for item, attributes in every:
        if FILE in attributes:
            own.add(item)
            yield item, attributes
    yield from ((item, {FILE: facts}) for item, facts in files if item not in own)


def _at(path: Sequence[str], attributes: Iterable[tuple[int, Any]]) -> Iterator[tuple[int, Any]]:
    """Yield the id and the value at a path of each item whose attributes have it."""
    for item, value in attributes:
        for name in path:
            if not isinstance(value, dict) or name not in value:
                break
            value = value[name]
        else:
            yield item, value
