"""Importing items that a program hands over: pictures as bytes, texts, ready feature rows, or several of them."""

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.catalog import Catalog, NewRecord, PictureRecord, Transaction, ViewRecord
from engine.errors import InvalidInputError
from engine.extraction import content_hash, extract
from engine.item import Failure, ImportReport, Item, NewItem
from engine.learners.cancellation import checkpoint
from engine.search import check_row
from engine.texts import check_text, text_rows
from engine.views import check_fitted, image_extractors, text_extractors, views_of
from engine.writing import check_key, put_records
from features import ImageError, ImageExtractor, TextExtractor


def import_items(catalog: Catalog, items: Sequence[NewItem], workers: int = 1) -> ImportReport:
    """Add or update items by key; see ``Collection.import_items``. The caller holds the writer lock."""
    began = time.monotonic()
    with catalog.read() as tx:
        views = {view.name: view for view in tx.views.all()}
        needed = {view.name for view in views_of(tx, "image") if any(_wants(item, view.name) for item in items)}
        for name in sorted({name for item in items for name in item.rows if name in views}):
            check_fitted(tx, views[name])
        extractors = _Extractors(views, image_extractors(tx, needed), text_extractors(tx))
        same = _unchanged(tx, items, views_of(tx, "image"))
    todo = [item for item in items if item.key not in same]
    with ThreadPoolExecutor(max(1, workers)) as pool:
        answers: list[NewRecord | Failure] = []
        for answer in pool.map(lambda item: _record(item, extractors), todo):
            checkpoint()  # leaving the loop, what the pool has not begun is dropped
            answers.append(answer)
    records = [answer for answer in answers if isinstance(answer, NewRecord)]
    added = 0
    if records:
        with catalog.write() as tx:
            added = put_records(tx, records)
    failures = tuple(answer for answer in answers if isinstance(answer, Failure))
    updated = len({record.key for record in records}) - added
    return ImportReport(added, updated, len(items) - len(todo), failures, time.monotonic() - began)


@dataclass(frozen=True)
class _Extractors:
    """What makes rows."""

    views: Mapping[str, ViewRecord]
    images: Mapping[str, ImageExtractor]
    texts: Mapping[str, TextExtractor]


def _wants(item: NewItem, view: str) -> bool:
    """Whether a view's row has to be computed from the item's picture."""
    return item.image is not None and view not in item.rows


def _unchanged(tx: Transaction, items: Sequence[NewItem], views: Sequence[ViewRecord]) -> set[str]:
    """Return the keys of items with a picture and no ready rows that are already there just as they would become."""
    ids = tx.items.ids_of(item.key for item in items)
    stored = tx.items.by_id(list(ids.values()))
    complete = set(ids.values())
    for view in views:
        complete &= set(tx.rows.get(view, ids.values()).ids.tolist())
    return {item.key for item in items if ids.get(item.key) in complete and _same(item, stored[ids[item.key]])}


def _same(new: NewItem, stored: Item) -> bool:
    return (
        new.image is not None
        and not new.rows
        and content_hash(new.image) == stored.content_hash
        and tuple(sorted(set(new.labels))) == stored.labels
        and dict(new.attributes) == dict(stored.attributes)
        and new.text in (None, stored.text)
    )


def _record(item: NewItem, extractors: _Extractors) -> NewRecord | Failure:
    try:
        check_key(item.key)
        given = _given_rows(item, extractors.views)
        if item.image is None and item.text is None and not given:
            raise InvalidInputError("an item needs an image, a text or feature rows")
        text = None if item.text is None else check_text(item.text)
        rows = text_rows(extractors.texts, text)
        picture, source = None, item.source or None
        if item.image is not None:
            found = extract(item.image, {name: one for name, one in extractors.images.items() if name not in given})
            rows |= found.rows
            source = item.source
            picture = PictureRecord(len(item.image), 0, found.content_hash, found.width, found.height, found.thumbnail)
    except (InvalidInputError, ImageError) as error:
        return Failure(item.key, str(error))
    return NewRecord(item.key, item.labels, item.attributes, text, source, picture, {**rows, **given})


def _given_rows(item: NewItem, views: Mapping[str, ViewRecord]) -> dict[str, NDArray[np.float32]]:
    if unknown := sorted(set(item.rows) - set(views)):
        raise InvalidInputError(f"no view {unknown[0]!r}; there are: {', '.join(views)}")
    return {name: check_row(row, views[name]) for name, row in item.rows.items()}
