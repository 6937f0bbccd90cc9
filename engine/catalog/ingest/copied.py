"""Copied content: what the catalog already has of a picture, for another file with the same bytes."""

from collections.abc import Iterable

import numpy as np

from crossview.engine.catalog.catalog import Transaction
from crossview.engine.catalog.extractors import views_of
from crossview.engine.catalog.ingest.extraction import Extracted
from crossview.engine.values.item import PictureRecord
from crossview.features.metadata import Metadata


def copied(tx: Transaction, keys: Iterable[str]) -> dict[str, Extracted]:
    """Return the content of the items that have one of the keys, as if their pictures were read again."""
    ids = tx.items.ids_of(keys)
    items = tx.items.by_id(list(ids.values()))
    rows = {view.name: tx.rows.get(view, ids.values()) for view in views_of(tx, "image")}
    codes = {one.id: one.codes for one in tx.fingerprints.pictures(ids.values())}
    found = {}
    for key, number in ids.items():
        item = items[number]
        picture = PictureRecord(
            content_hash=item.content_hash,
            width=item.width,
            height=item.height,
            thumbnail=tx.items.thumbnail(number),
            preview=tx.items.pictures([number], "large", fall_back=False).get(number),
            fingerprints=codes.get(number) or None,
        )
        places = {view: int(np.searchsorted(one.ids, number)) for view, one in rows.items()}
        own = {
            view: rows[view].rows[place]
            for view, place in places.items()
            if place < len(rows[view].ids) and rows[view].ids[place] == number
        }
        if len(own) == len(rows) and item.content_hash:
            found[key] = Extracted(picture, own, Metadata())
    return found
