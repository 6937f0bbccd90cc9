"""Importing items that a program hands over: pictures as bytes, texts, ready feature rows, or several of them."""

import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.catalog.catalog import Catalog, Transaction
from engine.catalog.checks import normal
from engine.catalog.extractors import check_fitted, image_extractors, text_extractors, views_of
from engine.catalog.items import NewRecord
from engine.catalog.values import check_row
from engine.catalog.views import ViewRecord
from engine.catalog.writing import put_records
from engine.errors import InvalidInputError
from engine.ingest.extraction import content_hash, extract
from engine.ingest.texts import text_rows
from engine.ingest.updating import changed_record, check_entry
from engine.item import Failure, ImportReport, Item, ItemUpdate, NewItem
from engine.learners.cancellation import checkpoint
from features.base import ImageExtractor, TextExtractor
from features.errors import ImageError


def import_items(catalog: Catalog, items: Sequence[NewItem], workers: int = 1) -> ImportReport:
    """Add or update items by key; see ``Collection.import_items``. The caller holds the writer lock."""
    began = time.monotonic()
    checked = [check_entry(item) for item in items]
    items = [item for item in checked if isinstance(item, NewItem)]
    with catalog.read() as tx:
        views = {view.name: view for view in tx.views.all()}
        pictured = [item for item in items if item.image is not None]
        needed = {view.name for view in views_of(tx, "image") if any(view.name not in item.rows for item in pictured)}
        for name in sorted({name for item in items for name in item.rows if name in views}):
            check_fitted(tx, views[name])
        extractors = _Extractors(views, image_extractors(tx, needed), text_extractors(tx))
        known = _known(tx, items)
        same = _unchanged(tx, items, known, views_of(tx, "image"))
    todo = [item for item in items if item.key not in same]
    with ThreadPoolExecutor(max(1, workers)) as pool:
        results: list[NewRecord | Failure] = []
        for result in pool.map(lambda item: _record(item, extractors, known.get(item.key)), todo):
            checkpoint()  # leaving the loop, what the pool has not begun is dropped
            results.append(result)
    results = list(_with_features(results, known))
    records = [result for result in results if isinstance(result, NewRecord)]
    added = 0
    if records:
        with catalog.write() as tx:
            added = put_records(tx, records)
    failures = tuple(result for result in (*checked, *results) if isinstance(result, Failure))
    updated = len({record.key for record in records}) - added
    return ImportReport(
        added=added,
        updated=updated,
        unchanged=len(items) - len(todo),
        failures=failures,
        seconds=time.monotonic() - began,
    )


def _known(tx: Transaction, items: Sequence[NewItem]) -> dict[str, Item]:
    """Return the existing items, by the keys of new ones."""
    ids = tx.items.ids_of(item.key for item in items)
    stored = tx.items.by_id(list(ids.values()))
    return {key: stored[number] for key, number in ids.items()}


@dataclass(frozen=True)
class _Extractors:
    """What makes rows."""

    views: Mapping[str, ViewRecord]
    images: Mapping[str, ImageExtractor]
    texts: Mapping[str, TextExtractor]


def _with_features(results: Sequence[NewRecord | Failure], known: Collection[str]) -> Iterator[NewRecord | Failure]:
    """Yield the results, a failure in place of a new item with nothing that it could be found by."""
    existing = {normal(key) for key in known}
    for one in results:
        if isinstance(one, Failure):
            yield one
        elif normal(one.key) in existing or one.picture is not None or one.text is not None or one.rows:
            existing.add(normal(one.key))
            yield one
        else:
            yield Failure(one.key, "a new item needs an image, a text or feature rows")


def _unchanged(
    tx: Transaction, items: Sequence[NewItem], known: Mapping[str, Item], views: Sequence[ViewRecord]
) -> set[str]:
    """Return the keys of items with a picture and no ready rows that are already as they would become."""
    ids = tx.items.ids_of(known)
    complete = set(ids.values())
    for view in views:
        complete &= set(tx.rows.get(view, ids.values()).ids.tolist())
    given = tx.items.with_given_labels(list(ids.values()))
    counts = Counter(item.key for item in items)
    single = [item for item in items if counts[item.key] == 1 and ids.get(item.key) in complete]
    return {item.key for item in single if _same(item, known[item.key], ids[item.key] in given)}


def _same(new: NewItem, stored: Item, given: bool) -> bool:
    if new.image is None or new.rows or content_hash(new.image) != stored.content_hash:
        return False
    return changed_record(_update(new), stored, given) is None


def _update(new: NewItem) -> ItemUpdate:
    """Return what a new item changes of one that exists, besides its picture and rows."""
    return ItemUpdate(
        key=new.key, labels=new.labels, attributes=new.attributes, text=new.text, labels_given=new.labels_given
    )


def _record(item: NewItem, extractors: _Extractors, stored: Item | None) -> NewRecord | Failure:
    try:
        given = _given_rows(item, extractors.views)
        rows = text_rows(extractors.texts, item.text)
        picture, source = None, item.source or None
        if item.image is not None:
            found = extract(item.image, {name: one for name, one in extractors.images.items() if name not in given})
            rows |= found.rows
            picture = found.picture
            if stored is None or stored.content_hash != picture.content_hash:
                source = item.source  # where another picture came from is not known any more
    except (InvalidInputError, ImageError) as error:
        return Failure(item.key, str(error))
    return NewRecord(**vars(_update(item)), source=source, picture=picture, rows={**rows, **given})


def _given_rows(item: NewItem, views: Mapping[str, ViewRecord]) -> dict[str, NDArray[np.float32]]:
    if unknown := sorted(set(item.rows) - set(views)):
        raise InvalidInputError(f"no view {unknown[0]!r}; there are: {', '.join(views)}")
    return {name: check_row(row, views[name]) for name, row in item.rows.items()}
