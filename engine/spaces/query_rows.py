"""Feature rows of queries: extracted from pictures or texts, given as vectors, or stored of items."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from engine.catalog.batches import batches
from engine.catalog.catalog import Transaction
from engine.catalog.checks import check_text
from engine.catalog.extractors import check_fitted, inputs_of
from engine.catalog.joined import JoinedView, joined_view
from engine.catalog.lookup import item_id
from engine.catalog.values import check_row
from engine.catalog.views import ViewRecord
from engine.errors import InvalidInputError
from engine.query import Query
from features.base import Extractor
from features.decode import decode
from features.image import Image

_EXTRACTED_AT_ONCE = 64
"""Pictures in memory at a time."""
_TEXT_QUOTED = 80

Extractors = Callable[[Transaction, ViewRecord], Extractor]


def query_rows(
    tx: Transaction, extractors: Extractors, view_name: str, queries: Sequence[Query], numbers: Sequence[int]
) -> NDArray[np.float32]:
    """Return the rows, (n, d), of the queries of these numbers, which are of one view.

    Raises NotFoundError, NotReadyError, ImageError, or InvalidInputError, which names the query of several.
    """
    view = joined_view(tx, view_name)
    rows: dict[int, NDArray[np.float32]] = {}
    for batch in batches(numbers, _EXTRACTED_AT_ONCE):
        samples: dict[int, Image | str] = {}
        for number in batch:
            with _naming(number, queries):
                if queries[number].image is None and queries[number].text is None:
                    rows[number] = _row(tx, view, queries[number])
                else:
                    samples[number] = _sample(tx, view, queries[number])
        if samples:
            parts = [_extracted(extractors(tx, part), part, samples, queries) for part in view.parts]
            rows |= zip(samples, np.hstack(parts), strict=True)
    return np.stack([rows[number] for number in numbers])


def _extracted(
    extractor: Extractor, view: ViewRecord, samples: dict[int, Image | str], queries: Sequence[Query]
) -> NDArray[np.float32]:
    """Return the rows of samples, by the number of their query, in one view."""
    found = extractor.extract(list(samples.values()))
    if not found.present.all():
        number = next(compress(samples, ~found.present))
        with _naming(number, queries):
            raise InvalidInputError(_without_row(view, samples[number]))
    return found.rows


@contextmanager
def _naming(number: int, queries: Sequence[Query]) -> Iterator[None]:
    """Name the query in an InvalidInputError of the block where there are several."""
    try:
        yield
    except InvalidInputError as error:
        if len(queries) == 1:
            raise
        raise InvalidInputError(f"query {number}: {error}") from error


def _row(tx: Transaction, view: JoinedView, query: Query) -> NDArray[np.float32]:
    """Return the row of a query by a vector or a key."""
    for part in view.parts:
        check_fitted(tx, part)
    if query.vector is not None:
        return check_row(query.vector, view)
    key = str(query.key)
    found = view.rows(tx, tx.items.ids_of([key]).values())
    if not len(found.ids):
        item = item_id(tx, key)  # an unknown key is the likelier mistake
        having = [one.name for one in tx.views.all() if len(tx.rows.get(one, [item]).ids)]
        lacking = [part.name for part in view.parts if part.name not in having]
        raise InvalidInputError(
            f"item {key!r} has no row of view {lacking[0]!r}; it has rows of: {', '.join(having) or 'no view'}"
        )
    row: NDArray[np.float32] = found.rows[0]
    return row


def _sample(tx: Transaction, view: JoinedView, query: Query) -> Image | str:
    """Return the decoded picture or the checked text of a query."""
    (given,) = query.inputs()
    for part in view.parts:
        if given not in inputs_of(part):
            raise InvalidInputError(_wrong_input(tx, view, part, given))
        check_fitted(tx, part)
    if query.image is not None:
        return decode(query.image).image
    text = str(query.text)
    if not text.strip():
        raise InvalidInputError("the text of the query is empty")
    return check_text(text)


def _without_row(view: ViewRecord, sample: Image | str) -> str:
    """Return why a view has no row for a picture or a text."""
    if not isinstance(sample, str):
        return f"view {view.name!r} finds nothing in the picture"
    shown = sample if len(sample) <= _TEXT_QUOTED else sample[:_TEXT_QUOTED] + "..."
    return f"view {view.name!r} knows none of the words of {shown!r}, only those of the texts that it was fitted on"


def _wrong_input(tx: Transaction, view: JoinedView, part: ViewRecord, given: str) -> str:
    """Return why a part of a view takes no queries by a picture or by a text, and what to do."""
    names = {"image": "pictures", "text": "texts"}
    inputs = " or ".join(names[one] for one in sorted(inputs_of(part)))
    source = f"computed from {inputs}" if inputs else "given from outside"
    what = {"image": "a picture", "text": "a text"}[given]
    others = " or ".join(one.name for one in tx.views.all() if given in inputs_of(one))
    remedy = f"query by view {others}, with {view.name} as the target" if others else f"no view here takes {what}"
    if not others and given == "text":
        remedy += f" (add one with: crossview add-view {tx.name()} text)"
    return (
        f"view {part.name!r} is {source}, so it takes no query by {what}: {remedy}; "
        f"or give a vector of {view.dim} numbers or an item's key"
    )
