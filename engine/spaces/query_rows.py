"""Feature rows of queries: extracted from pictures or texts, given as vectors, or stored of items."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import compress
from typing import NamedTuple, NoReturn

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
from engine.spaces.version import Version
from features.base import Extractor
from features.decode import decode
from features.image import Image

_EXTRACTED_AT_ONCE = 64
"""Pictures in memory at a time."""
_TEXT_QUOTED = 80

Extractors = Callable[[ViewRecord], Extractor]


class QueryRows(NamedTuple):
    """What queries of one view are described by."""

    rows: NDArray[np.float32]
    """(n, d)."""
    own: list[int | None]
    """The ids of the items that queries by key name, (n,); None for others."""


def check_inputs(version: Version, view_name: str, queries: Sequence[Query], numbers: Sequence[int]) -> None:
    """Check that the queries of these numbers can be described by a view.

    Raises NotFoundError for an unknown view, NotReadyError for one to be fitted first, InvalidInputError for an input
    that it does not take.
    """
    view = joined_view(version, view_name)
    for number in numbers:
        (given,) = queries[number].inputs()
        for part in view.parts:
            if given in ("image", "text") and given not in inputs_of(part):
                with _naming(number, queries):
                    raise InvalidInputError(_wrong_input(version, view, part, given))
            check_fitted(version, part)


def query_rows(
    version: Version, extractors: Extractors, view_name: str, queries: Sequence[Query], numbers: Sequence[int]
) -> QueryRows:
    """Return the rows of the queries of these numbers, which are of one view and have passed ``check_inputs``.

    Raises NotFoundError, ImageError, StaleError, or InvalidInputError, which names the query of several.
    """
    view = joined_view(version, view_name)
    by_key = {number: key for number in numbers if (key := queries[number].key) is not None}
    stored = _stored(version, view, by_key, queries) if by_key else {}
    rows = {number: row for number, (_, row) in stored.items()}
    for batch in batches([number for number in numbers if number not in rows], _EXTRACTED_AT_ONCE):
        samples: dict[int, Image | str] = {}
        for number in batch:
            with _naming(number, queries):
                if (vector := queries[number].vector) is not None:
                    rows[number] = check_row(vector, view)
                else:
                    samples[number] = _sample(queries[number])
        if samples:
            parts = [_extracted(extractors(part), part, samples, queries) for part in view.parts]
            rows |= zip(samples, np.hstack(parts), strict=True)
    own = [stored[number][0] if number in stored else None for number in numbers]
    return QueryRows(np.stack([rows[number] for number in numbers]), own)


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


def _stored(
    version: Version, view: JoinedView, by_key: Mapping[int, str], queries: Sequence[Query]
) -> dict[int, tuple[int, NDArray[np.float32]]]:
    """Return, by the number of their query, the ids and the rows of the items that queries name by key."""
    with version.read() as tx:
        ids = tx.items.ids_of(by_key.values())
        found = view.rows(tx, set(ids.values()))
        rows = dict(zip(found.ids.tolist(), found.rows, strict=True))
        for number, key in by_key.items():
            if key not in ids or ids[key] not in rows:
                with _naming(number, queries):
                    _refuse(tx, view, item_id(tx, key), key)  # an unknown key is the likelier mistake
    return {number: (ids[key], rows[ids[key]]) for number, key in by_key.items()}


def _refuse(tx: Transaction, view: JoinedView, item: int, key: str) -> NoReturn:
    """Raise the error for an item that lacks a view."""
    having = [one.name for one in tx.views.all() if len(tx.rows.get(one, [item]).ids)]
    lacking = [part.name for part in view.parts if part.name not in having]
    raise InvalidInputError(
        f"item {key!r} has no row of view {lacking[0]!r}; it has rows of: {', '.join(having) or 'no view'}"
    )


def _sample(query: Query) -> Image | str:
    """Return the decoded picture or the checked text of a query."""
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


def _wrong_input(version: Version, view: JoinedView, part: ViewRecord, given: str) -> str:
    """Return why a part of a view takes no queries by a picture or by a text, and what to do."""
    names = {"image": "pictures", "text": "texts"}
    inputs = " or ".join(names[one] for one in sorted(inputs_of(part)))
    source = f"computed from {inputs}" if inputs else "given from outside"
    what = {"image": "a picture", "text": "a text"}[given]
    others = " or ".join(one.name for one in version.views if given in inputs_of(one))
    remedy = f"query by view {others}, with {view.name} as the target" if others else f"no view here takes {what}"
    if not others and given == "text":
        remedy += f" (add one with: crossview add-view {version.name()} text)"
    return (
        f"view {part.name!r} is {source}, so it takes no query by {what}: {remedy}; "
        f"or give a vector of {view.dim} numbers or an item's key"
    )
