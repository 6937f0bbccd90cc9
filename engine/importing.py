"""Importing items that a program hands over: pictures as bytes, ready feature rows, or both."""

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from engine.catalog import Catalog, NewRecord, Transaction, ViewRecord
from engine.errors import InvalidInputError
from engine.extraction import Extracted, content_hash, extract
from engine.item import Failure, ImportReport, Item, NewItem
from engine.search import check_row
from engine.views import load_extractor
from engine.writing import put_records
from features import Extractor, ImageError

_MAX_KEY = 1024


def import_items(catalog: Catalog, items: Sequence[NewItem], workers: int = 1) -> ImportReport:
    """Add or update items by key; see ``Collection.import_items``. The caller holds the writer lock."""
    began = time.monotonic()
    with catalog.read() as tx:
        views = {view.name: view for view in tx.views.all()}
        needed = {name for item in items if item.image is not None for name in set(views) - set(item.rows)}
        needed |= {name for item in items for name in item.rows if name in views}
        extractors = {name: load_extractor(tx, views[name]) for name in views if name in needed}
        same = _unchanged(tx, items, views)
    todo = [item for item in items if item.key not in same]
    with ThreadPoolExecutor(max(1, workers)) as pool:
        answers = list(pool.map(lambda item: _record(item, views, extractors), todo))
    records = [answer for answer in answers if isinstance(answer, NewRecord)]
    added = 0
    if records:
        with catalog.write() as tx:
            added = put_records(tx, records)
    failures = tuple(answer for answer in answers if isinstance(answer, Failure))
    updated = len({record.key for record in records}) - added
    return ImportReport(added, updated, len(items) - len(todo), failures, time.monotonic() - began)


def _unchanged(tx: Transaction, items: Sequence[NewItem], views: Mapping[str, ViewRecord]) -> set[str]:
    """Return the keys of items with a picture and no ready rows that are already there just as they would become."""
    ids = tx.items.ids_of(item.key for item in items)
    stored = tx.items.by_id(list(ids.values()))
    complete = set(ids.values())
    for view in views.values():
        complete &= set(tx.rows.get(view, ids.values()).ids.tolist())
    return {item.key for item in items if ids.get(item.key) in complete and _same(item, stored[ids[item.key]])}


def _same(new: NewItem, stored: Item) -> bool:
    return (
        new.image is not None
        and not new.rows
        and content_hash(new.image) == stored.content_hash
        and tuple(sorted(set(new.labels))) == stored.labels
        and dict(new.attributes) == dict(stored.attributes)
    )


def _record(item: NewItem, views: Mapping[str, ViewRecord], extractors: Mapping[str, Extractor]) -> NewRecord | Failure:
    try:
        if not item.key or len(item.key) > _MAX_KEY or "\0" in item.key:
            raise InvalidInputError(f"a key has 1 to {_MAX_KEY} characters and no NUL")
        rows = _given_rows(item, views)
        if item.image is None and not rows:
            raise InvalidInputError("an item needs an image or feature rows")
        found = _extracted(item.image, {name: one for name, one in extractors.items() if name not in rows})
    except (InvalidInputError, ImageError) as error:
        return Failure(item.key, str(error))
    return NewRecord(
        item.key,
        item.labels,
        item.attributes,
        item.source,
        len(item.image or b""),
        0,
        found.content_hash if found else "",
        found.width if found else 0,
        found.height if found else 0,
        found.thumbnail if found else None,
        {**(found.rows if found else {}), **rows},
    )


def _given_rows(item: NewItem, views: Mapping[str, ViewRecord]) -> dict[str, NDArray[np.float32]]:
    if unknown := sorted(set(item.rows) - set(views)):
        raise InvalidInputError(f"no view {unknown[0]!r}; there are: {', '.join(views)}")
    return {name: check_row(row, views[name]) for name, row in item.rows.items()}


def _extracted(image: bytes | None, extractors: Mapping[str, Extractor]) -> Extracted | None:
    return None if image is None else extract(image, extractors)
