"""Importing items from a program: pictures as bytes, texts, ready feature rows, or several of these."""

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from crossview.engine.catalog.catalog import Catalog, Transaction
from crossview.engine.catalog.extractors import (
    TextExtractors,
    check_fitted,
    image_extractors,
    text_extractors,
    unfitted_note,
    views_of,
)
from crossview.engine.catalog.ingest.capturing import capture_of_bytes
from crossview.engine.catalog.ingest.extraction import Extracted, extract
from crossview.engine.catalog.ingest.label_texts import with_texts
from crossview.engine.catalog.ingest.texts import text_rows
from crossview.engine.catalog.ingest.updating import changed_record, check_entry
from crossview.engine.catalog.item_writer import NewRecord
from crossview.engine.catalog.values import check_row, usable
from crossview.engine.catalog.views import ViewRecord
from crossview.engine.catalog.writing import OvertakenError, Written, put_records, until_not_overtaken
from crossview.engine.runtime.cancellation import checkpoint
from crossview.engine.values.errors import InvalidInputError, ModelInputError
from crossview.engine.values.item import Capture, Failure, ImportReport, Item, ItemUpdate, NewItem, content_hash
from crossview.features.base import ImageExtractor, TextExtractor
from crossview.features.errors import ImageError
from crossview.features.pictures import IN_PROCESS, Pictures, PictureTask


def put_items(
    catalog: Catalog, items: Sequence[NewItem], pictures: Pictures = IN_PROCESS, workers: int = 1
) -> ImportReport:
    """Add or update items by key; see ``Collection.items.put``."""
    began = time.monotonic()
    checked = [check_entry(item) for item in items]
    items = [item for item in checked if isinstance(item, NewItem)]
    report = until_not_overtaken(lambda: _import(catalog, items, pictures, workers))
    refused = [entry for entry in checked if isinstance(entry, Failure)]
    return replace(report, failures=(*refused, *report.failures), seconds=time.monotonic() - began)


def _import(catalog: Catalog, items: Sequence[NewItem], pictures: Pictures, workers: int) -> ImportReport:
    """Make records of items, and commit them."""
    with catalog.read() as tx:
        items = with_texts(tx, items)
        views = {view.name: view for view in tx.views.all()}
        pictured = [item for item in items if item.image is not None]
        computed = views_of(tx, "image")
        waiting = [view for view in computed if view.revision == 0 and any(other.revision for other in computed)]
        computed = tuple(view for view in computed if view not in waiting)
        needed = {view.name for view in computed if any(view.name not in item.rows for item in pictured)}
        for name in sorted({name for item in items for name in item.rows if name in views}):
            check_fitted(tx, views[name])
        extractors = _Extractors(views, image_extractors(tx, needed), text_extractors(tx))
        described = [item for item in items if item.image is not None or item.text is not None]
        stored = _known(tx, described)
        known_pictured = {item.key: stored[item.key] for item in pictured if item.key in stored}
        same = _unchanged(tx, items, known_pictured, computed)
        state, notes = tx.head().state, tuple(map(unfitted_note, waiting)) if pictured else ()
        if any(item.text is not None for item in items):
            notes += tuple(unfitted_note(view, "texts") for view in views_of(tx, "text") if not view.revision)
    todo = [item for item in items if item.key not in same]
    results = _records(todo, extractors, stored, lambda tasks: pictures.run(extract, tasks, checkpoint, workers))
    records = [result for result in results if isinstance(result, NewRecord)]
    written = Written()
    if records:
        with catalog.write() as tx:
            if tx.head().state != state and _known(tx, described) != stored:
                raise OvertakenError("another process just wrote items with these keys: try again")
            written = put_records(tx, records, views.values())
    bare = [Failure(key, "a new item needs an image, a text or feature rows") for key in written.missing]
    changed = {record.key for record in records}.difference(written.missing) | written.added
    return ImportReport(
        added=len(written.added),
        updated=len(changed) - len(written.added),
        unchanged=len(items) - len(todo),
        failures=(*(result for result in results if isinstance(result, Failure)), *bare),
        notes=notes,
    )


def _known(tx: Transaction, items: Sequence[NewItem]) -> dict[str, Item]:
    """Return the existing items, by the keys of new ones."""
    ids = tx.items.ids_of(item.key for item in items)
    stored = tx.items.by_id(list(ids.values()))
    return {key: stored[number] for key, number in ids.items()}


def _has_picture(key: str, stored: Mapping[str, Item]) -> bool:
    return key in stored and bool(stored[key].content_hash)


_Read = Callable[[Sequence[PictureTask]], Sequence[Extracted | ImageError]]


@dataclass(frozen=True)
class _Extractors:
    """The extractors of pictures and texts."""

    views: Mapping[str, ViewRecord]
    images: Mapping[str, ImageExtractor]
    texts: TextExtractors


def _records(
    items: Sequence[NewItem], extractors: _Extractors, stored: Mapping[str, Item], read: _Read
) -> list[NewRecord | Failure]:
    """Return the record of each item, or its failure: first check all rows together, then read the pictures."""
    given_rows = _given_rows(items, extractors.views)
    results: list[NewRecord | Failure] = []
    for item, rows in zip(items, given_rows, strict=True):
        checkpoint()
        texts = extractors.texts.of(item.image is not None or _has_picture(item.key, stored))
        results.append(rows if isinstance(rows, Failure) else _record(item, rows, texts))
    pictured, tasks = [], []
    for place, (item, record) in enumerate(zip(items, results, strict=True)):
        if item.image is not None and isinstance(record, NewRecord):
            missing = {name: extractor for name, extractor in extractors.images.items() if name not in item.rows}
            pictured.append((place, record))
            tasks.append(PictureTask(item.image, missing))
    for (place, record), result in zip(pictured, read(tasks), strict=True):
        item = items[place]
        results[place] = (
            Failure(item.key, str(result))
            if isinstance(result, ImageError)
            else _with_picture(item, record, result, stored.get(item.key))
        )
    return results


def _unchanged(
    tx: Transaction, items: Sequence[NewItem], stored: Mapping[str, Item], views: Sequence[ViewRecord]
) -> set[str]:
    """Return the keys of items with a picture and without ready rows that the import would not change."""
    if not stored:
        return set()
    ids = tx.items.ids_of(stored)
    complete = set(ids.values())
    for view in views:
        complete &= set(tx.rows.get(view, ids.values()).ids.tolist())
    given_labels = tx.items.with_given_labels(list(ids.values()))
    counts = Counter(item.key for item in items)
    single = [item for item in items if counts[item.key] == 1 and item.key in ids and ids[item.key] in complete]
    return {item.key for item in single if _same(item, stored[item.key], ids[item.key] in given_labels)}


def _same(new: NewItem, stored: Item, labels_given: bool) -> bool:
    if new.image is None or new.rows or content_hash(new.image) != stored.content_hash:
        return False
    needs_capture = new.capture is None and new.metadata != "none"
    same_capture = not needs_capture or stored.stamp == _stamp(stored.content_hash, new)
    return same_capture and changed_record(_update(new), stored, labels_given) is None


def _stamp(hashed: str, new: NewItem) -> str:
    """Return the stamp of the capture of a picture that a program gives as bytes."""
    return f"{hashed} {new.metadata}"


def _update(new: NewItem) -> ItemUpdate:
    """Return the change of an existing item by a new one, without picture and rows."""
    return ItemUpdate(
        key=new.key,
        labels=new.labels,
        attributes=new.attributes,
        text=new.text,
        labels_given=new.labels_given,
        notion_labels=new.notion_labels,
        capture=new.capture,
    )


def _record(
    item: NewItem, rows: Mapping[str, NDArray[np.float32]], texts: Mapping[str, TextExtractor]
) -> NewRecord | Failure:
    """Return the record of an item without results from its picture, or its failure; given rows take precedence."""
    try:
        of_text = text_rows({view: extractor for view, extractor in texts.items() if view not in rows}, item.text)
    except ModelInputError as error:
        return Failure(item.key, str(error))
    return NewRecord(
        key=item.key,
        labels=item.labels,
        labels_given=item.labels_given,
        notion_labels=item.notion_labels,
        attributes=item.attributes,
        text=item.text,
        text_from_labels=item.text_from_labels,
        source=item.source or None,
        capture=item.capture,
        rows={**of_text, **rows},
        existing=not rows and item.image is None and item.text is None,
    )


def _with_picture(item: NewItem, record: NewRecord, extracted: Extracted, stored: Item | None) -> NewRecord:
    """Return an item's record with the results from its picture."""
    source, capture = record.source, record.capture
    new = stored is None or stored.content_hash != extracted.picture.content_hash
    if new:
        source = item.source  # a new picture does not come from the stored source
    if capture is None and item.metadata != "none":
        capture = capture_of_bytes(extracted.metadata, _stamp(extracted.picture.content_hash, item))
    elif capture is None and new and stored is not None and stored.file:
        capture = Capture()  # the stored metadata is that of the former picture
    rows = {**record.rows, **extracted.rows}
    return replace(record, source=source, capture=capture, picture=extracted.picture, rows=rows)


_Rows = dict[str, NDArray[np.float32]]


def _given_rows(items: Sequence[NewItem], views: Mapping[str, ViewRecord]) -> list[_Rows | Failure]:
    """Return the given rows of items by view, or their errors."""
    results: list[_Rows | Failure] = [{} for _ in items]
    by_view: dict[str, list[int]] = defaultdict(list)
    for place, item in enumerate(items):
        for name in item.rows:
            by_view[name].append(place)
    for name, places in by_view.items():
        checked = _checked(name, [items[place].rows[name] for place in places], views)
        for place, row in zip(places, checked, strict=True):
            mine = results[place]
            if isinstance(row, InvalidInputError):
                results[place] = mine if isinstance(mine, Failure) else Failure(items[place].key, str(row))
            elif not isinstance(mine, Failure):
                mine[name] = row
    return results


def _checked(
    name: str, rows: Sequence[NDArray[np.float32] | Sequence[float]], views: Mapping[str, ViewRecord]
) -> Iterable[NDArray[np.float32] | InvalidInputError]:
    """Return rows of one view as (d,) float32, or an error for each unusable one; one check if all are usable."""
    if name not in views:
        return [InvalidInputError(f"no view {name!r}; there are: {', '.join(views)}")] * len(rows)
    if all(isinstance(row, np.ndarray) and row.dtype == np.float32 for row in rows):
        try:
            together = np.stack(rows)
        except ValueError:
            return [_checked_row(row, views[name]) for row in rows]
        if together.shape[1:] == (views[name].dim,) and usable(together).all():
            return together
    return [_checked_row(row, views[name]) for row in rows]


def _checked_row(
    row: NDArray[np.float32] | Sequence[float], view: ViewRecord
) -> NDArray[np.float32] | InvalidInputError:
    try:
        return check_row(row, view)
    except InvalidInputError as error:
        return error
