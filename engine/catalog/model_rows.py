"""Rows of items' pictures and texts by models, which compute those that the home has not kept."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import numpy as np

from crossview.features.base import Extraction, Extractor, FeatureRows, TextExtractor
from crossview.features.contract import extracted
from crossview.features.inputs import MODELS

if TYPE_CHECKING:
    from crossview.features.models.extractor import ModelExtractor


def model_of(extractor: Extractor) -> "ModelExtractor | None":
    """Return an extractor by a model; None for another one."""
    return cast("ModelExtractor", extractor) if extractor.name in MODELS else None


def row_of_text(extractor: TextExtractor, text: str) -> FeatureRows | None:
    """Return the row of a text, (dim,) float32; None if it has no row."""
    model = model_of(extractor)
    if model is None:
        found = extracted(extractor, [text]).rows
        return found[0] if len(found) else None
    from crossview.engine.catalog.row_cache import content_of, keep_row, kept_row

    content = content_of(text.encode(errors="surrogatepass"))
    row = kept_row(model, content)
    if row is None:
        row = model.row(text)
        keep_row(model, content, row)
    return row


def rows_of_texts(extractor: TextExtractor, texts: Sequence[str]) -> Extraction:
    """Return the rows of at least one text."""
    if model_of(extractor) is None:
        return extracted(extractor, texts)
    rows = [row for text in texts if (row := row_of_text(extractor, text)) is not None]
    return Extraction(np.stack(rows), np.ones(len(texts), bool))
