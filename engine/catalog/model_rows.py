"""Rows of pictures and texts by models; a file of its own, so that reading a collection imports no model."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import numpy as np

from crossview.engine.runtime.cancellation import checkpoint
from crossview.engine.values.errors import ModelInputError
from crossview.features.base import Extraction, Extractor, FeatureRows, TextExtractor
from crossview.features.contract import extracted
from crossview.features.inputs import MODELS

if TYPE_CHECKING:
    from crossview.features.models.extractor import ModelExtractor


def model_of(extractor: Extractor) -> "ModelExtractor | None":
    """Return an extractor by a model; None for another one."""
    return cast("ModelExtractor", extractor) if extractor.name in MODELS else None


def row_of_text(extractor: TextExtractor, text: str, view: str = "") -> FeatureRows | None:
    """Return the row of an item's text, (dim,) float32; None if it has no row.

    Raises ModelInputError, which names the view, if a model fails on the text, and ModelError.
    """
    model = model_of(extractor)
    if model is None:
        rows = extracted(extractor, [text]).rows
        return rows[0] if len(rows) else None
    from crossview.engine.catalog.row_cache import content_of, keep_row, kept_row

    content = content_of(text.encode(errors="surrogatepass"))
    row = kept_row(model, content)
    if row is None:
        row = computed_row(model, text, view)
        keep_row(model, content, row)
    return row


def computed_row(model: "ModelExtractor", text: str, view: str = "") -> FeatureRows:
    """Return the row of a text by a model, (dim,) float32, which is not kept; raises as ``row_of_text``."""
    from crossview.features.models.texts import heeding

    try:
        with heeding(checkpoint):
            return model.row(text)
    except ModelInputError as error:
        raise ModelInputError(f"view {view!r}, {error.message}" if view else error.message) from error


def rows_of_texts(extractor: TextExtractor, texts: Sequence[str], view: str) -> tuple[Extraction, dict[int, str]]:
    """Return the rows of items' texts, and the reason for each text, by its place, that a model fails on."""
    if model_of(extractor) is None:
        return extracted(extractor, texts), {}
    rows, failures = dict[int, FeatureRows](), dict[int, str]()
    for place, text in enumerate(texts):
        try:
            if (row := row_of_text(extractor, text, view)) is not None:
                rows[place] = row
        except ModelInputError as error:
            failures[place] = error.message
    present = np.array([place in rows for place in range(len(texts))], bool)
    matrix = np.stack(list(rows.values())) if rows else np.empty((0, extractor.dim), np.float32)
    return Extraction(matrix, present), failures
