"""Texts of items: the rows of the text views, which are computed from the texts in the catalog."""

from collections.abc import Mapping
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from crossview.engine.catalog.bulk import batches
from crossview.engine.catalog.catalog import Catalog, Transaction
from crossview.engine.catalog.extractors import text_extractors
from crossview.engine.catalog.model_rows import row_of_text, rows_of_texts
from crossview.engine.catalog.views import ViewRecord
from crossview.engine.catalog.writing import check_views, put_rows, until_not_overtaken
from crossview.engine.runtime.progress import Progress
from crossview.engine.values.item import Failure
from crossview.features.base import TextExtractor

_TEXTS_AT_ONCE = 1_000

TextRows = dict[str, NDArray[np.float32] | None]


def text_rows(extractors: Mapping[str, TextExtractor], text: str | None) -> TextRows:
    """Return the row of a text in each view, None if the view knows none of its words; {} without a text.

    Raises ModelInputError, with the view, if a model fails on the text.
    """
    return {} if text is None else {view: row_of_text(extractor, text, view) for view, extractor in extractors.items()}


def place_texts(catalog: Catalog, progress: Progress | None = None) -> list[Failure]:
    """Write the missing rows of the items' texts in fitted text views, which can be new or fitted again.

    Return the failures of items whose texts a model fails on; they stay without the row.
    """
    return until_not_overtaken(lambda: _place(catalog, progress))


def _place(catalog: Catalog, progress: Progress | None) -> list[Failure]:
    failures = list[Failure]()
    with catalog.read() as tx:
        extractors, views = text_extractors(tx), {view.name: view for view in tx.views.all()}
        lacking = {name: _lacking(tx, views[name], name in extractors.beside_pictures) for name in extractors.all}
    for name, ids in lacking.items():
        done = 0
        for batch in batches(ids, _TEXTS_AT_ONCE):
            with catalog.read() as tx:
                texts = tx.items.texts(batch)
            extraction, failed = rows_of_texts(extractors.all[name], list(texts.values()), name)
            having = list(compress(texts, extraction.present))
            if failed:
                places = list(texts)
                with catalog.read() as tx:
                    stored = tx.items.by_id([places[place] for place in failed])
                reasons = {places[place]: reason for place, reason in failed.items()}
                failures += (Failure(record.key, reasons[item]) for item, record in stored.items())
            rows = dict.fromkeys(texts) | dict(zip(having, extraction.rows, strict=True))
            with catalog.write() as tx:
                check_views(tx, [views[name]])
                now = tx.items.texts(list(rows))  # a text that has changed since already has its row
                put_rows(tx, views[name], {item: row for item, row in rows.items() if now.get(item) == texts[item]})
                if changed := [item for item in having if now.get(item) == texts[item]]:
                    tx.item_writer.touch(changed, tx.next_sequence())
            done += len(batch)
            if progress:
                progress(f"placing {name}", done, len(ids))
    return failures


def _lacking(tx: Transaction, view: ViewRecord, beside_pictures: bool) -> list[int]:
    """Return the ids of the items with a text whose row the view lacks, ascending."""
    return sorted(set(tx.items.with_text(beside_pictures)) - set(tx.rows.ids(view).tolist()))
