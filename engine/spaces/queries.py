"""Queries: the views by which they ask, their feature rows, and their vectors in the targets of a space."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from itertools import compress
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crossview.engine.catalog.checks import check_text
from crossview.engine.catalog.extractors import check_fitted, inputs_of, item_inputs_of
from crossview.engine.catalog.joined import JoinedView
from crossview.engine.catalog.model_rows import computed_row, model_of
from crossview.engine.catalog.values import check_row
from crossview.engine.catalog.views import ViewRecord
from crossview.engine.runtime.cancellation import checkpoint
from crossview.engine.spaces.match import Familiarity
from crossview.engine.spaces.space import Space, Vectors
from crossview.engine.spaces.target import Target
from crossview.engine.spaces.version import SearchState, Version
from crossview.engine.values.errors import (
    CrossviewError,
    InvalidInputError,
    ModelInputError,
    NotFoundError,
    Text,
    call,
    few,
)
from crossview.engine.values.query import Query
from crossview.features.base import Extractor, FeatureRows, ImageExtractor, QueryWords, TextExtractor
from crossview.features.contract import extracted
from crossview.features.errors import ImageError
from crossview.features.inputs import space_of
from crossview.features.pictures import Pictures, PictureTask
from crossview.features.reading import rows as read_rows
from crossview.features.stages import stage

_TEXT_QUOTED = 80


Probes = Mapping[Target, Vectors]
OwnItems = Sequence[int | None]
"""The item behind each query; the query must not find it."""


class QueryRows(NamedTuple):
    """The rows of queries of one view."""

    rows: NDArray[np.float32]
    """(n, d)."""
    own: list[int | None]
    """The item ids of queries by key, (n,); None for other queries."""


class Asked(NamedTuple):
    """Queries of one view, all by a class, all by text, or neither: the other queries of a request change none."""

    view: str
    numbers: list[int]
    """The positions of the queries in the request, (n,)."""
    rows: NDArray[np.float32] | None
    """Their raw rows, (n, d); None for queries by a class, which have none."""
    probes: Probes
    own: OwnItems


@dataclass(frozen=True)
class DescribedQuery(Query):
    """A query by picture with its rows, so that several views need not read the picture again."""

    _: KW_ONLY
    rows: Mapping[str, FeatureRows] = field(default_factory=dict)
    """The row of each view that describes the picture, (d,)."""


class NoViewError(InvalidInputError):
    """No view of a space accepts the kind of a query."""


def views_of(version: Version, space: Space, query: Query, names: Sequence[str]) -> dict[str, Sequence[str]]:
    """Return the views of a space by which a query can ask: its own, or all that accept its picture or its text.

    Each view has those of the ``names`` of targets that it can find; the views without any are left out if others have
    some. Raises InvalidInputError if there is no view, and NotFoundError for an unknown name.
    """
    if query.view:
        return {query.view: names}
    kind = "image" if query.image is not None else "text" if query.text is not None else ""
    views = [
        view
        for view in space.views
        if not kind or all(kind in inputs_of(part) for part in version.joined_view(view).parts)
    ]
    if query.text is not None and space.cross_view:
        views = _one_of_each_space(version, views)
    within = {view: [name for name in names if space.target(view, name).view == view] for view in views}
    searched: dict[str, Sequence[str]] = {view: some for view, some in within.items() if some}
    if not views:
        what = {"image": "a picture", "text": "a text"}[kind]
        no_texts = kind == "text" and not any("text" in inputs_of(view) for view in version.views)
        remedy = (": ", ADD_TEXTS) if no_texts else ()
        raise NoViewError(f"no view of space {space.name!r} accepts a query by {what}", *remedy)
    return dict.fromkeys(views, names) if space.cross_view or not searched else searched


def _one_of_each_space(version: Version, views: Sequence[str]) -> list[str]:
    """Return views in which a text has different rows: of those that share a space of a model, the one of texts."""
    by_space: dict[str, str] = {}
    for view in views:
        parts = version.joined_view(view).parts
        space = space_of(parts[0].extractor, parts[0].params) if len(parts) == 1 else ""
        of_texts = len(parts) == 1 and "image" not in item_inputs_of(parts[0])
        if of_texts or (space or view) not in by_space:
            by_space[space or view] = view
    return [view for view in views if view in by_space.values()]


def described(version: Version, query: Query, view_names: Iterable[str]) -> Query:
    """Return a query by picture with its rows of these views, without those that find nothing; others as they are.

    Raises ImageError for an unreadable picture.
    """
    if query.image is None:
        return query
    views = [version.joined_view(name) for name in view_names]
    extractors = {part.name: version.loaded.extractor(part) for view in views for part in view.parts}
    parts = _rows_of_pictures(version.loaded.pictures, extractors, {0: query.image}, [query])[0]
    having = [view for view in views if all(part.name in parts for part in view.parts)]
    rows = {view.name: np.concatenate([parts[part.name] for part in view.parts]) for view in having}
    return DescribedQuery(**vars(query), rows=rows)


def check_inputs(version: Version, view_name: str, queries: Sequence[Query], numbers: Sequence[int]) -> None:
    """Check that a view accepts the inputs of the queries with these numbers.

    Raises NotFoundError for an unknown view, NotReadyError for an unfitted view, InvalidInputError for an input
    that the view does not accept.
    """
    view = version.joined_view(view_name)
    for number in numbers:
        query = queries[number]
        kind = "image" if query.image is not None else "text" if query.text is not None else ""
        refusing = [part for part in view.parts if kind not in inputs_of(part)] if kind else []
        if refusing:
            with _naming(number, queries):
                raise InvalidInputError(_wrong_input(version, view, refusing[0], kind))
    for part in view.parts:
        check_fitted(version, part)


def query_rows(version: Version, view_name: str, queries: Sequence[Query], numbers: Sequence[int]) -> QueryRows:
    """Return the rows of the queries with these numbers, which have the same view and passed ``check_inputs``.

    Raises NotFoundError, ImageError, StaleError and InvalidInputError; with several queries, the error gives the
    number of the query.
    """
    view = version.joined_view(view_name)
    by_key = {number: key for number in numbers if (key := queries[number].key) is not None}
    stored = _stored(version, view, by_key, queries) if by_key else {}
    rows = {number: row for number, (_, row) in stored.items()}
    pictures: dict[int, bytes] = {}
    texts: dict[int, str] = {}
    for number in numbers:
        query = queries[number]
        with _naming(number, queries):
            if query.vector is not None:
                rows[number] = check_row(query.vector, view)
            elif isinstance(query, DescribedQuery) and view_name in query.rows:
                rows[number] = query.rows[view_name]
            elif query.image is not None:
                pictures[number] = query.image
            elif query.text is not None:
                texts[number] = _checked_text(query.text)
    extractors = {part.name: version.loaded.extractor(part) for part in view.parts} if pictures or texts else {}
    by_number = _rows_of_pictures(version.loaded.pictures, extractors, pictures, queries) if pictures else {}
    if texts:
        by_number |= _rows_of_texts(extractors, texts, queries)
    for number, parts in by_number.items():
        rows[number] = _joined(view, parts, number, queries)
    own = [stored[number][0] if number in stored else None for number in numbers]
    return QueryRows(np.stack([rows[number] for number in numbers]) if len(own) > 1 else rows[numbers[0]][None], own)


def by_view(queries: Sequence[Query]) -> dict[str, list[int]]:
    """Return the positions of queries by their view."""
    groups: dict[str, list[int]] = defaultdict(list)
    for number, query in enumerate(queries):
        groups[query.view].append(number)
    return groups


def query_probes(
    state: SearchState, queries: Sequence[Query], names: Sequence[str], as_items: bool = False
) -> Iterator[Asked]:
    """Yield each group of queries, with their vectors by target: those that the queries would have ``as_items``, or
    those that search the items, which can differ."""
    groups: dict[tuple[str, bool, bool], list[int]] = defaultdict(list)
    for number, query in enumerate(queries):
        groups[query.view, query.label is not None, query.text is not None].append(number)
    for (view, by_class, _), numbers in groups.items():
        if by_class:
            labels = [queries[number].label or "" for number in numbers]
            yield Asked(view, numbers, None, state.space.probe_classes(view, labels, names), [None] * len(labels))
            continue
        rows = query_rows(state.version, view, queries, numbers)
        with stage("map queries", view=view):
            probes = state.space.probe(view, rows.rows, names, items=as_items)
        yield Asked(view, numbers, rows.rows, probes, rows.own)


def familiarity(state: SearchState, group: Asked, queries: Sequence[Query]) -> list[Familiarity] | None:
    """Return the familiarity of each query of a group, by its raw row; ``queries`` are all queries.

    None if their match is not calibrated: that of queries by a class, and of texts in a view with the rows of pictures,
    whose calibration had pictures as queries.
    """
    novelty = state.space.novelty_of.get(group.view)
    if novelty is None or group.rows is None or is_foreign(state.version, group, queries):
        return None
    return novelty.familiarity(group.rows)


def is_foreign(version: Version, group: Asked, queries: Sequence[Query]) -> bool:
    """Return whether a group asks by texts in a view with the rows of pictures; ``queries`` are all queries."""
    parts = version.joined_view(group.view).parts
    return queries[group.numbers[0]].text is not None and any("image" in item_inputs_of(part) for part in parts)


def _rows_of_pictures(
    pictures: Pictures, extractors: Mapping[str, Extractor], images: Mapping[int, bytes], queries: Sequence[Query]
) -> dict[int, dict[str, FeatureRows]]:
    """Return the rows of pictures by query number and by view; a view without a row is left out."""
    taking = {view: extractor for view, extractor in extractors.items() if isinstance(extractor, ImageExtractor)}
    tasks = [PictureTask(image, taking) for image in images.values()]
    with stage("read pictures", pictures=len(tasks)):
        results = pictures.run(read_rows, tasks, checkpoint)
    by_number = {}
    for number, result in zip(images, results, strict=True):
        with _naming(number, queries):
            if isinstance(result, ImageError):
                raise result
        by_number[number] = result
    return by_number


def words_of_queries(version: Version, queries: Sequence[Query]) -> dict[int, QueryWords]:
    """Return the words of queries by text by query number; a part of a joined view without words adds none."""
    by_number = {}
    for number, query in enumerate(queries):
        if query.text is not None and query.view:
            extractors = [version.loaded.extractor(entry) for entry in version.joined_view(query.view).parts]
            words = [part.words_of_query(query.text) for part in extractors if isinstance(part, TextExtractor)]
            if present := [entry for entry in words if entry is not None]:
                by_number[number] = present[0]
    return by_number


def _rows_of_texts(
    extractors: Mapping[str, Extractor], texts: Mapping[int, str], queries: Sequence[Query]
) -> dict[int, dict[str, FeatureRows]]:
    """Return the rows of texts by query number and by view; a view without a row is left out.

    Raises InvalidInputError for a text without a known word that is not a stop word, ModelInputError for a text that a
    model fails on.
    """
    by_number: dict[int, dict[str, FeatureRows]] = {number: {} for number in texts}
    for view, extractor in extractors.items():
        if not isinstance(extractor, TextExtractor):
            continue
        for number, text in texts.items():
            if (words := extractor.words_of_query(text)) is not None and not words.known:
                with _naming(number, queries):
                    raise InvalidInputError(_without_words(view, text, words, extractor.frequent_words()))
        if (model := model_of(extractor)) is not None:
            for number, text in texts.items():
                with _naming(number, queries):
                    by_number[number][view] = computed_row(model, extractor.query_text(text), view)
            continue
        extraction = extracted(extractor, [extractor.query_text(text) for text in texts.values()])
        for number, row in zip(compress(texts, extraction.present), extraction.rows, strict=True):
            by_number[number][view] = row
    return by_number


def _joined(view: JoinedView, parts: Mapping[str, FeatureRows], number: int, queries: Sequence[Query]) -> FeatureRows:
    """Return the concatenated rows of a view's parts; InvalidInputError if a part is missing."""
    for part in view.parts:
        if part.name not in parts:
            with _naming(number, queries):
                raise InvalidInputError(_without_row(part, queries[number]))
    return np.concatenate([parts[part.name] for part in view.parts])


class _naming:  # noqa: N801 -- used as a function; one written with contextmanager takes several times as long
    """Add the number of the query to an error of its input in the block, if there are several queries."""

    def __init__(self, number: int, queries: Sequence[Query]) -> None:
        self._number, self._queries = number, queries

    def __enter__(self) -> None: ...

    def __exit__(self, _type: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, InvalidInputError | ImageError | ModelInputError) and len(self._queries) > 1:
            raise type(error)(f"query {self._number}: ", error) from error


def _stored(
    version: Version, view: JoinedView, by_key: Mapping[int, str], queries: Sequence[Query]
) -> dict[int, tuple[int, NDArray[np.float32]]]:
    """Return the ids and rows of the items of queries by key, by query number."""
    stored = version.rows_of_keys(view.name, by_key.values())
    if other := set(by_key.values()) - stored.keys():  # perhaps in another Unicode form
        ids = version.ids_of(other)
        rows = version.rows(view.name, set(ids.values()))
        row_of = dict(zip(rows.ids.tolist(), rows.rows, strict=True))
        stored |= {key: (item, row_of[item]) for key, item in ids.items() if item in row_of}
    for number, key in by_key.items():
        if key not in stored:
            with _naming(number, queries):
                raise _why_none(version, view, key)
    return {number: stored[key] for number, key in by_key.items()}


def without_row(version: Version, view_name: str, keys: Collection[str]) -> dict[str, CrossviewError]:
    """Return an error for each key without a row of a view: the item does not exist, or it lacks the view."""
    view, ids = version.joined_view(view_name), version.ids_of(keys)
    having = set(version.rows(view_name, set(ids.values())).ids.tolist())
    return {key: _why_none(version, view, key) for key in keys if ids.get(key) not in having}


def _why_none(version: Version, view: JoinedView, key: str) -> CrossviewError:
    """Return the error for an unknown key, the more likely mistake, or for an item without a current row of a view."""
    try:
        having = version.views_of(key)
    except NotFoundError as error:
        return error
    lacking = [part.name for part in view.parts if part.name not in having]
    if not lacking:
        return InvalidInputError(
            f"the row of view {view.name!r} of item {key!r} is of an earlier fit of the view; index the item again"
        )
    return InvalidInputError(
        f"item {key!r} has no row of view {lacking[0]!r}; it has rows of: {', '.join(having) or 'no view'}"
    )


def _checked_text(text: str) -> str:
    if not text.strip():
        raise InvalidInputError("the text of the query is empty")
    return check_text(text)


def _without_row(view: ViewRecord, query: Query) -> str:
    """Return why a view has no row for a picture or a text."""
    if query.text is None:
        return f"view {view.name!r} finds nothing in the picture"
    return f"view {view.name!r} does not know any word of {_shown(query.text)}: it was fitted on other texts"


def _without_words(view: str, text: str, words: QueryWords, frequent: Sequence[str]) -> str:
    """Return why a text query without a known word is refused, and which words a query can use."""
    why = f"unknown: {few(words.unknown)}" if words.unknown else "stop words do not count"
    use = f"; use words of the items' texts, such as {', '.join(frequent)}" if frequent else ""
    return f"view {view!r} does not know any word of {_shown(text)}: {why}{use}"


def _shown(text: str) -> str:
    return repr(text if len(text) <= _TEXT_QUOTED else text[:_TEXT_QUOTED] + "...")


ADD_TEXTS = Text(
    "get models by which words find pictures with: ",
    call("home.models.download", "words"),
    "; or add a view of the items' own texts with: ",
    call("collection.views.add", "text"),
)


def _wrong_input(version: Version, view: JoinedView, part: ViewRecord, kind: str) -> Text:
    """Return why a part of a view does not accept queries by picture or by text, and the remedy."""
    names = {"image": "pictures", "text": "texts"}
    inputs = " or ".join(names[name] for name in sorted(inputs_of(part)))
    source = f"computed from {inputs}" if inputs else "made by another program"
    what = {"image": "a picture", "text": "a text"}[kind]
    accepting = " or ".join(record.name for record in version.views if kind in inputs_of(record))
    remedy = (
        f"query by view {accepting}, with {view.name} as the target"
        if accepting
        else f"no view of this collection accepts {what}"
    )
    if not accepting and kind == "text":
        remedy = ADD_TEXTS
    return Text(
        f"view {part.name!r} is {source}, so it does not accept a query by {what}: ",
        remedy,
        f"; or give a vector of {view.dim} numbers or an item's key",
    )
