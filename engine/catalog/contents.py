"""Descriptions and items of an open collection, read from its catalog alone."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Self

import numpy as np

from crossview.engine.catalog.catalog import Catalog, Transaction
from crossview.engine.catalog.description import collection_info, find_space_info, space_infos
from crossview.engine.catalog.extractors import view_info
from crossview.engine.catalog.folder import CollectionFolder
from crossview.engine.catalog.lookup import check_filter, item_id, with_views
from crossview.engine.condition import EVERY_ITEM, Filter
from crossview.engine.errors import InvalidInputError, NotFoundError, NotReadyError
from crossview.engine.info import CollectionInfo, SpaceInfo, ViewInfo
from crossview.engine.item import DeletedPicture, Item
from crossview.features.vectors import MAX_VALUE

_SHOWN = 3
"""Number of keys that a finding names."""


class Contents:
    """The contents of the collection in a folder; a context manager.

    Every method raises NotFoundError after the deletion of the collection, NotReadyError after ``close``, and
    StorageError if the file system or the database fails.
    """

    def __init__(self, folder: CollectionFolder) -> None:
        self._folder = folder
        self._catalog = folder.open_catalog()
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the catalog; later calls raise NotReadyError."""
        self._closed = True
        self._catalog.close()

    @property
    def name(self) -> str:
        """The collection's name."""
        return self._folder.name

    def is_alive(self) -> bool:
        """Return whether the collection still exists as it was opened."""
        return self._folder.is_alive()

    def info(self) -> CollectionInfo:
        """Return the collection's description."""
        with self._read() as tx:
            return collection_info(tx, self._folder.size())

    def findings(self) -> tuple[str, ...]:
        """Return the inconsistencies, one sentence each, such as one file that is two items."""
        with self._read() as tx:
            return tuple(_findings(tx))

    def deleted_pictures(self) -> list[DeletedPicture]:
        """Return the pictures of deleted items, in the order of keys."""
        with self._read() as tx:
            return tx.items.deleted_pictures()

    def views(self) -> tuple[ViewInfo, ...]:
        """Return the views."""
        with self._read() as tx:
            return tuple(view_info(view) for view in tx.views.all())

    def spaces(self) -> tuple[SpaceInfo, ...]:
        """Return the trained spaces, then ``raw``, the views themselves."""
        with self._read() as tx:
            return space_infos(tx)

    def space(self, name: str) -> SpaceInfo:
        """Return one space; NotFoundError lists those that exist."""
        with self._read() as tx:
            return find_space_info(tx, name)

    def made_by(self, request_id: str) -> SpaceInfo | None:
        """Return the space with a generation made by a request; None if no such generation exists any more."""
        with self._read() as tx:
            made = [one.space for one in tx.spaces.generations() if one.summary.get("request_id") == request_id]
            return find_space_info(tx, made[0]) if made and request_id else None

    def items(self, filter: Filter = EVERY_ITEM, after: str = "", limit: int = 100) -> list[Item]:
        """Return up to ``limit`` items with keys above ``after`` that pass the filter, in the order of keys."""
        if limit < 1:
            raise InvalidInputError(f"limit must be at least 1, not {limit}")
        with self._read() as tx:
            return with_views(tx, tx.items.page(check_filter(filter), after, limit))

    def count(self, filter: Filter = EVERY_ITEM) -> int:
        """Return how many items pass the filter."""
        with self._read() as tx:
            return tx.items.count(check_filter(filter))

    def attribute_names(self) -> tuple[str, ...]:
        """Return the names of the attributes that any item has, sorted."""
        with self._read() as tx:
            return tuple(tx.items.attribute_names())

    def item(self, key: str) -> Item:
        """Return one item; NotFoundError if the key does not exist."""
        with self._read() as tx:
            return with_views(tx, tx.items.by_id([item_id(tx, key)]))[0]

    def thumbnail(self, key: str) -> bytes:
        """Return an item's small picture (JPEG); NotFoundError if the item has none."""
        with self._read() as tx:
            found = tx.items.thumbnail(item_id(tx, key))
        if found is None:
            raise NotFoundError(f"item {key!r} has no thumbnail: it was imported without a picture")
        return found

    @property
    def _writable(self) -> Catalog:
        """The catalog, after a check that the collection is open and alive."""
        self._check_open()
        self._folder.check_alive()
        return self._catalog

    def _check_open(self) -> None:
        """Raise NotReadyError if the collection is closed."""
        if self._closed:
            raise NotReadyError(f"collection {self.name!r} is closed: open it again")

    @contextmanager
    def _read(self) -> Iterator[Transaction]:
        self._check_open()
        self._folder.check_alive()
        with self._catalog.read() as tx:
            yield tx


def _findings(tx: Transaction) -> Iterator[str]:
    """Yield each oddity that earlier versions accepted, with its remedy."""
    if groups := tx.items.with_equal_sources():
        what = "1 file is" if len(groups) == 1 else f"{len(groups)} files are"
        yield f"{what} indexed under more than one key, such as {_listed(groups[0])}: delete all but one"
    if groups := tx.items.with_equal_keys():
        what = "1 key stands" if len(groups) == 1 else f"{len(groups)} keys stand"
        yield f"{what} for several items, in different Unicode forms, such as {_listed(groups[0])}: delete all but one"
    if keys := tx.items.in_other_forms():
        what = "1 key is" if len(keys) == 1 else f"{len(keys)} keys are"
        yield f"{what} not in Unicode normal form C, such as {_listed(keys)}: these items are found by either form"
    yield from _large_rows(tx)


def _large_rows(tx: Transaction) -> Iterator[str]:
    for view in tx.views.all():
        found = tx.rows.get(view, tx.rows.suspects(view))
        wrong = found.ids[~(np.abs(found.rows) < MAX_VALUE).all(axis=1)].tolist()
        if wrong:
            keys = [item.key for item in tx.items.by_id(wrong[:_SHOWN]).values()]
            what = "1 row" if len(wrong) == 1 else f"{len(wrong)} rows"
            yield (
                f"{what} of view {view.name!r} cannot be compared, their values are too large: replace the rows of "
                f"{_listed(keys)}"
            )


def _listed(keys: Sequence[str]) -> str:
    return ", ".join(map(repr, keys[:_SHOWN])) + (", ..." if len(keys) > _SHOWN else "")
