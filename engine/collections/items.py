"""The items of a collection."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from crossview.engine.catalog.catalog import Transaction, now
from crossview.engine.catalog.condition_checks import check_filter
from crossview.engine.catalog.ingest.vectors import index_vectors, put_vectors
from crossview.engine.catalog.item_columns import ItemColumns
from crossview.engine.catalog.lookup import item_id, with_views
from crossview.engine.catalog.writing import delete_items, follow_files
from crossview.engine.collections.opened import Opened
from crossview.engine.collections.views import Views
from crossview.engine.runtime.progress import Progress
from crossview.engine.values.conditions.filter import EVERY_ITEM, Filter, FilterForm, field_of
from crossview.engine.values.conditions.tree import Field, FieldTest
from crossview.engine.values.errors import InvalidInputError, NotFoundError
from crossview.engine.values.facet import FACET_VALUES, MOST_FACETS, Facet
from crossview.engine.values.item import (
    THUMBNAIL_SIZES,
    DeletedPicture,
    FileChanges,
    ImportReport,
    Item,
    ItemUpdate,
    NewItem,
    ValueCount,
    new_items,
    one_or_several,
)
from crossview.engine.values.numbers import check_count, check_seed
from crossview.engine.values.query import ITEMS_AT_ONCE, ItemEmbeddings, ItemNeighbors

Ids = NDArray[np.int64]


@dataclass(frozen=True)
class Listing:
    """The items that pass a filter, all or a sample, by key or by the values of a field."""

    filter: Filter = EVERY_ITEM
    sort_by: str = ""
    """``label`` or an attribute, the greatest value first; with a minus, the least first [default: "", by key]."""
    sample: int = 0
    """Number of items to draw at random [default: 0, all items]."""
    seed: int = 0
    """Number that determines the draw; the same items give the same sample."""

    def check(self) -> None:
        """Raise InvalidInputError for a negative sample, a wrong seed, and a field without an order."""
        check_count("sample", self.sample, 0)
        check_seed(self.seed)
        if self.sort_by and field_of(self._field).kind not in ("label", "attribute"):
            raise InvalidInputError(f"items are sorted by label or by an attribute, not by {self._field}")

    @property
    def _field(self) -> str:
        return self.sort_by.removeprefix("-")

    def page(
        self, tx: Transaction, columns: ItemColumns, matching: Ids | None, after: str, limit: int
    ) -> dict[int, Item]:
        """Return up to ``limit`` items after a key, among those that the filter chose (None: all), by id, in order."""
        among = self._drawn(tx, matching)
        if not self.sort_by:
            return tx.items.page(after, limit, among)
        ids = np.array(tx.items.ids(), np.int64) if among is None else among
        ids = ids[columns.order(tx, field_of(self._field), ids, not self.sort_by.startswith("-"))]
        first = 1 + self._place(tx, ids, after) if after else 0
        some = ids[first : first + limit].tolist()
        items = tx.items.by_id(some)
        return {item: items[item] for item in some}

    def _drawn(self, tx: Transaction, matching: Ids | None) -> Ids | None:
        """Return the ids of the sample, ascending: those of the least hash, so that a change of an item changes no
        other."""
        if not self.sample:
            return matching
        ids = np.array(tx.items.ids(), np.int64) if matching is None else matching
        if len(ids) <= self.sample:
            return ids
        return np.sort(ids[np.argpartition(_hashes(ids, self.seed), self.sample - 1)[: self.sample]])

    def _place(self, tx: Transaction, ids: Ids, after: str) -> int:
        places = np.flatnonzero(ids == tx.items.ids_of([after]).get(after, -1))
        if not len(places):
            raise NotFoundError(
                f"item {after!r}, after which the list should go on, is not in it: start the list again"
            )
        return int(places[0])


def _hashes(ids: Ids, seed: int) -> NDArray[np.uint64]:
    """Return a pseudo-random number for each id, (n,): splitmix64 (Steele, Lea and Flood, OOPSLA 2014)."""
    with np.errstate(over="ignore"):
        mixed = (ids.astype(np.uint64) + np.uint64(1 + seed) * np.uint64(0xD1342543DE82EF95)) * _GOLDEN
        for shift, factor in _STEPS:
            mixed = (mixed ^ (mixed >> shift)) * factor
    return mixed ^ (mixed >> np.uint64(31))


_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_STEPS = tuple(
    (np.uint64(shift), np.uint64(factor)) for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))
)


_FIRST_ITEMS, _MOST_CHARACTERS = 32, 1 << 23
"""Number of items that a page reads first, and number of characters of texts and attributes after which it stops."""


class Items:
    """The items of a collection: call it to list them."""

    def __init__(self, opened: Opened, views: Views) -> None:
        self._opened, self._views = opened, views

    def __call__(
        self,
        filter: FilterForm = EVERY_ITEM,
        after: str = "",
        limit: int = 100,
        *,
        sort_by: str = "",
        sample: int = 0,
        seed: int = 0,
    ) -> list[Item]:
        """Return up to ``limit`` items with keys above ``after`` that pass the filter, in the order of keys.

        With ``sort_by``, ``label`` or an attribute, the items have the order of its values, the greatest first, or with
        a minus, as in ``-year``, the least first; ``after`` is then the key of the item before. With ``sample``, the
        items are so many, drawn at random by the ``seed``.
        """
        check_count("limit", limit)
        listing = Listing(check_filter(filter), sort_by, sample, seed)
        listing.check()
        with self._opened.read() as tx:
            return with_views(tx, self._listed(tx, listing, self._matching(tx, listing.filter), after, limit))

    def page(
        self, filter: FilterForm, after: str, most: int, *, sort_by: str = "", sample: int = 0, seed: int = 0
    ) -> tuple[list[Item], bool]:
        """Return at most ``most`` of the items, fewer if their texts and attributes are long, and whether more follow.

        The method reads a few items first, and estimates from their size how many more the page has room for. All items
        are from one state of the collection.
        """
        listing = Listing(check_filter(filter), sort_by, sample, seed)
        listing.check()
        items, room = list[Item](), min(most, _FIRST_ITEMS)
        with self._opened.read() as tx:
            among = self._matching(tx, listing.filter)
            while room > 0:
                some = with_views(tx, self._listed(tx, listing, among, after, room + 1))
                items += some[:room]
                if len(some) <= room:
                    return items, False
                after = items[-1].key
                size = sum(len(item.text) + len(str(item.attributes)) for item in items)
                room = min(most - len(items), (_MOST_CHARACTERS - size) * len(items) // max(1, size))
        return items, True

    def _listed(
        self, tx: Transaction, listing: Listing, matching: NDArray[np.int64] | None, after: str, limit: int
    ) -> dict[int, Item]:
        if name := listing.sort_by.removeprefix("-"):
            self._opened.unmet.warn(tx, FieldTest(field_of(name), "exists"), False)
        return listing.page(tx, self._opened.columns, matching, after, limit)

    def get(self, key: str) -> Item:
        """Return one item; NotFoundError if the key does not exist."""
        with self._opened.read() as tx:
            return with_views(tx, tx.items.by_id([item_id(tx, key)]))[0]

    def count(self, filter: FilterForm = EVERY_ITEM) -> int:
        """Return how many items pass the filter."""
        checked_filter = check_filter(filter)
        with self._opened.read() as tx:
            among = self._matching(tx, checked_filter)
            return tx.items.count() if among is None else len(among)

    def counts(self, field: str, filter: FilterForm = EVERY_ITEM, limit: int = 100) -> list[ValueCount]:
        """Return the values of a field with how many items that pass the filter have each, the most frequent first.

        ``field`` is ``label``, ``view`` or an attribute, as in a condition; at most ``limit`` values are returned.
        ``facets`` also returns the folders and the histograms of numbers and times, of several fields at once.
        """
        return list(self.facets([field], filter, limit)[0].values)

    def facets(
        self, fields: Sequence[str], filter: FilterForm = EVERY_ITEM, limit: int = FACET_VALUES, below: str = ""
    ) -> list[Facet]:
        """Return how the items that pass the filter are distributed over the values of each field.

        A field is ``label``, ``view``, ``missing`` or an attribute, as in a condition; or ``key`` or ``path``, whose
        values are the folders of the next level below the folder ``below`` [default: of the first level]. At most
        ``limit`` values of a field are returned, the most frequent first.
        """
        parsed_fields = [field_of(field) for field in one_or_several(fields)]
        _check_facets(parsed_fields, limit, below)
        checked_filter = check_filter(filter)
        with self._opened.read() as tx:
            self._matching(tx, checked_filter)
            facets = self._opened.columns.facets(tx, parsed_fields, checked_filter.condition, limit, below)
            for field, facet in zip(parsed_fields, facets, strict=True):
                if field.kind == "attribute":
                    self._opened.unmet.warn(tx, FieldTest(field, "exists"), not facet.values)
        return facets

    def _matching(self, tx: Transaction, checked_filter: Filter) -> NDArray[np.int64] | None:
        """Return the ascending ids of the items that pass a filter, None for an empty filter; warn of what the filter
        names and no item has."""
        if checked_filter.is_empty:
            return None
        ids = self._opened.columns.matching(tx, checked_filter.condition)
        self._opened.unmet.warn(tx, checked_filter.condition, not len(ids))
        return ids

    def thumbnail(self, key: str, size: str = "small") -> bytes:
        """Return an item's small or large picture (JPEG), at most 128 or 512 pixels on its longer side.

        The picture of an item without a large one, such as one that an earlier version indexed, is its small one.
        Raises NotFoundError if the item has no picture, InvalidInputError for another size.
        """
        _check_size(size)
        with self._opened.read() as tx:
            number = item_id(tx, key)
            jpeg = tx.items.pictures([number], size).get(number)
        if jpeg is None:
            raise NotFoundError(f"item {key!r} has no thumbnail: it was imported without a picture")
        return jpeg

    def thumbnails(self, keys: Sequence[str], size: str = "small") -> list[bytes]:
        """Return the pictures of many items as ``thumbnail``; b"" for an item without a picture, or an unknown key."""
        _check_size(size)
        keys = one_or_several(keys)
        with self._opened.read() as tx:
            ids = tx.items.ids_of(keys)
            pictures = tx.items.pictures(set(ids.values()), size)
        return [pictures.get(ids.get(key, 0), b"") for key in keys]

    def keys(self) -> tuple[str, ...]:
        """Return the keys of all items, in their order."""
        with self._opened.read() as tx:
            return tx.items.sorted_keys()

    def attribute_names(self) -> tuple[str, ...]:
        """Return the names of the attributes that any item has, sorted."""
        with self._opened.read() as tx:
            return tuple(tx.items.attribute_names())

    def deleted(self) -> list[DeletedPicture]:
        """Return the pictures of deleted items, in the order of keys."""
        with self._opened.read() as tx:
            return tx.items.deleted()

    def deleted_after(self, after: str, limit: int) -> list[DeletedPicture]:
        """Return up to ``limit`` pictures of deleted items with keys above ``after``, in the order of keys."""
        with self._opened.read() as tx:
            return tx.items.deleted(after, limit)

    def put(self, items: Sequence[NewItem], workers: int = 1) -> ImportReport:
        """Add or update items by key, in one change; a bad item is a failure of the report.

        Fields of existing items that you do not name keep their values; an empty value clears a field (``NewItem``).

        Raises NotReadyError while a view that is needed is not fitted, BusyError, StorageError.
        """
        from crossview.engine.catalog.ingest.importing import put_items

        return put_items(self._opened.writable, list(new_items(items)), self._opened.pictures, workers)

    def update(
        self, updates: Collection[ItemUpdate], match_paths: bool = False, progress: Progress | None = None
    ) -> ImportReport:
        """Change labels, attributes and texts of existing items; other fields keep their values.

        Keys are equal in any Unicode form. With ``match_paths``, updates may also name items by the path of their file,
        full or below its root. An update of no item is a failure of the report.

        Raises BusyError, StorageError.
        """
        from crossview.engine.catalog.ingest.updating import update_items

        return update_items(self._opened.writable, updates, match_paths, progress)

    def annotate(
        self,
        path: str | PathLike[str],
        cell: str = "label",
        replace_labels: bool = False,
        notion: str = "",
        new_attributes: bool = False,
        progress: Progress | None = None,
    ) -> ImportReport:
        """Annotate items with the labels, captions and attributes of a CSV file
        (``engine.catalog.ingest.annotation_file``).

        ``path`` is the file, or its annotations if it has been read. It names items by key, path below the root, or
        full path. Fields that it does not name keep their values; an empty cell clears a field. With
        ``replace_labels``, items without a label in the file lose their labels. ``cell`` is the meaning of the second
        column in a file without a line of names: "label" or "caption". ``notion`` is the notion of the labels. A line
        without an item is a failure of the report. With ``new_attributes``, the name of a new attribute may resemble an
        existing one, label or caption. ``annotate("labels", "caption")`` reads no file: items without a text of their
        own get the words of their labels as their text.

        Raises InvalidInputError (the file cannot be used, or names no item), BusyError, StorageError.
        """
        from crossview.engine.catalog.ingest.annotations import annotate

        return annotate(self, path, cell, replace_labels, notion, new_attributes, progress)

    def put_vectors(self, view: str, keys: Sequence[str], rows: NDArray[np.float32]) -> ImportReport:
        """Store (n, d) rows as rows of a view of the items with these keys; missing items are created.

        Raises InvalidInputError, NotFoundError, NotReadyError, BusyError, StorageError.
        """
        return put_vectors(self._opened.writable, view, one_or_several(keys), rows)

    def index_vectors(
        self, view: str, path: Path, keys: Path | None = None, progress: Progress | None = None
    ) -> ImportReport:
        """Store the rows of a file as items' rows of a view, which is added if the collection lacks it.

        ``path`` is a ``.npy`` of shape (n, d), with one key a line in the file ``keys``, or an ``.npz`` with the arrays
        ``keys`` and ``vectors``. Missing items are created. Without keys, the file has one row for each item, in the
        order of keys. Nothing is written unless all rows can be; the same call finishes an interrupted run.

        Raises InvalidInputError, NotReadyError (a view to be fitted first), BusyError, StorageError.
        """
        return index_vectors(self, self._views, view, path, keys, progress)

    def follow_files(self, changes: FileChanges) -> None:
        """Move items along with their files, mark those whose files are missing, and unmark others, as one change.

        An item keeps its rows, annotations, answers and judgements under its new key. ``Collection.index`` finds the
        changes of folders on this machine.

        Raises InvalidInputError (key, source), NotReadyError if the items have changed such that the files cannot move,
        BusyError, StorageError.
        """
        with self._opened.writable.write() as tx:
            follow_files(tx, changes, now())

    def delete(self, keys: Sequence[str]) -> int:
        """Delete items by key; return the number of deleted items."""
        with self._opened.writable.write() as tx:
            return delete_items(tx, one_or_several(keys))

    def embed(
        self,
        view: str,
        *,
        space: str = "",
        target: str = "",
        filter: FilterForm = EVERY_ITEM,
        after: str = "",
        limit: int = ITEMS_AT_ONCE,
    ) -> ItemEmbeddings:
        """Return the vectors of the items that have a view and pass the filter, for keys above ``after``.

        A page contains at most ``limit`` items, fewer if vectors are wide. ``target`` is necessary if the space has
        several metrics of the view. ``every_page`` of ``engine.spaces.item_files`` goes through all items.

        Raises InvalidInputError, NotFoundError, NotReadyError (no item has the view), StorageError.
        """
        from crossview.engine.spaces.item_vectors import Page, embed_items

        checked_filter = check_filter(filter)
        with self._opened.read() as tx:
            among = self._matching(tx, checked_filter)
            return embed_items(tx, self._opened.loaded.get(tx, space), view, target, Page(after, limit, among))

    def neighbors(
        self,
        view: str,
        *,
        target: str = "",
        space: str = "",
        k: int = 15,
        filter: FilterForm = EVERY_ITEM,
        after: str = "",
        limit: int = ITEMS_AT_ONCE,
    ) -> ItemNeighbors:
        """Return the k nearest other items of the items that have a view, by their distance in a target, as ``embed``.

        Both pass the filter. ``target`` is the view itself by default. Distances are those of the target, also to near
        copies, which come first in lists of searches. ``every_page`` and ``write_graph`` of
        ``engine.spaces.item_files`` go through all items.

        Raises InvalidInputError, NotFoundError, NotReadyError (no item has the view), StorageError.
        """
        from crossview.engine.spaces.item_vectors import Page, neighbors_of, target_of

        checked_filter = check_filter(filter)
        check_count("limit", limit)
        check_count("k", k)
        with self._opened.read() as tx:
            among = self._matching(tx, checked_filter)
        return self._opened.versions().answered(
            space,
            lambda _, used_space: [target_of(used_space, view, target)],
            lambda state: neighbors_of(
                state, view, target_of(state.space, view, target), k, Page(after, limit, among), checked_filter
            ),
        )


def _check_facets(fields: Sequence[Field], limit: int, below: str) -> None:
    """Raise InvalidInputError for fields without facets, too many fields, or a limit out of its range."""
    for field in fields:
        if field.kind not in ("label", "view", "missing", "key", "path", "attribute"):
            raise InvalidInputError(
                f"items are counted per label, view, missing, key, path or value of an attribute, not per {field}"
            )
    check_count("limit", limit)
    if len(fields) > MOST_FACETS:
        raise InvalidInputError(f"one call counts at most {MOST_FACETS} fields, not {len(fields):,}")
    if below and not any(field.kind in ("key", "path") for field in fields):
        raise InvalidInputError(f"only key and path have folders below {below!r}: count one of them")


def _check_size(size: str) -> None:
    if size not in THUMBNAIL_SIZES:
        raise InvalidInputError(f"the size of a thumbnail is {' or '.join(THUMBNAIL_SIZES)}, not {size!r}")
