"""Searches by every view: a query without a view asks by each view that its input has."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from crossview.engine.catalog.extractors import inputs_of, item_inputs_of
from crossview.engine.spaces.columns import Column
from crossview.engine.spaces.fusing import Fusion
from crossview.engine.spaces.matching import query_probes
from crossview.engine.spaces.query_rows import ADD_TEXTS, described, words_of_queries
from crossview.engine.spaces.scores import in_order
from crossview.engine.spaces.space import Space
from crossview.engine.spaces.version import Version
from crossview.engine.values.errors import Argument, InvalidInputError, NotReadyError, call
from crossview.engine.values.hits import HitList
from crossview.engine.values.query import Query, SearchRequest
from crossview.features.base import QueryWords
from crossview.features.inputs import space_of

Answer = Callable[[SearchRequest], list[HitList]]
_OPTIONS = (
    "give the query a view: a search by every view takes no other options than targets, k, a filter, min_match and fuse"
)


def check_without_view(request: SearchRequest, plain: bool) -> None:
    """Raise InvalidInputError for a query without a view that needs one; ``plain``: whether it finds the nearest."""
    for number, query in enumerate(request.queries):
        if not query.view and request.strategy.lists_items:
            order = request.sort_by
            raise InvalidInputError(
                "a list of items by a score needs the ",
                Argument("view"),
                " of the score; to list items by an attribute, use ",
                call("collection.items", sort_by=order),
            )
        if not query.view and (query.vector is not None or query.label is not None):
            raise InvalidInputError(f"query {number}: a vector or a class needs a view: give the view that it is of")
        if not query.view and (not plain or request.max_distance is not None):
            raise InvalidInputError(_OPTIONS)


def views_of(version: Version, space: Space, query: Query, names: Sequence[str]) -> list[str]:
    """Return the views of a space by which a query can ask: its own, or all that accept its picture or its text.

    If the space searches only within views, the views of the targets with these ``names`` are enough. Raises
    InvalidInputError if there is no view.
    """
    if query.view:
        return [query.view]
    given = "image" if query.image is not None else "text" if query.text is not None else ""
    views = [
        view
        for view in space.views
        if not given or all(given in inputs_of(part) for part in version.joined_view(view).parts)
    ]
    if query.text is not None and space.cross_view:
        views = _one_of_each_space(version, views)
    if not space.cross_view:
        searched = {target.view for target in space.targets if str(target) in names}
        views = [view for view in views if view in searched] or views
    if not views:
        what = {"image": "a picture", "text": "a text"}[given]
        no_texts = given == "text" and not any("text" in inputs_of(view) for view in version.views)
        remedy = (": ", ADD_TEXTS) if no_texts else ()
        raise InvalidInputError(f"no view of space {space.name!r} accepts a query by {what}", *remedy)
    return views


def _one_of_each_space(version: Version, views: Sequence[str]) -> list[str]:
    """Return views in which a text has different rows: of those that share a space of a model, the one of texts."""
    chosen: dict[str, str] = {}
    for view in views:
        parts = version.joined_view(view).parts
        space = space_of(parts[0].extractor, parts[0].params) if len(parts) == 1 else ""
        of_texts = len(parts) == 1 and "image" not in item_inputs_of(parts[0])
        if of_texts or (space or view) not in chosen:
            chosen[space or view] = view
    return [view for view in views if view in chosen.values()]


def in_each_view(version: Version, space: Space, queries: Sequence[Query], names: Sequence[str]) -> list[Query]:
    """Return the queries, those without a view once for each view by which they can ask for the targets ``names``."""
    return [replace(query, view=view) for query in queries for view in views_of(version, space, query, names)]


def by_every_view(fusion: Fusion, request: SearchRequest, answer: Answer) -> list[HitList]:
    """Return the answers; a query without a view gets one list, fused over all views and targets.

    A view without a row for the query, such as one that finds nothing in the picture, is left out, and so is a target
    without matches if others have one. Raises the error of the first view if every view is left out.
    """
    found: list[HitList] = []
    for number, query in enumerate(request.queries):
        if query.view:
            found += [replace(one, query=number) for one in answer(replace(request, queries=[query]))]
        else:
            found.append(replace(_fused(fusion, query), query=number))
    return in_order(request.sort_by, found)


def _fused(fusion: Fusion, query: Query) -> HitList:
    """Return the list of a query without a view."""
    columns, words = columns_of(fusion, query)
    name, hits = fusion.found(columns)
    return HitList(0, name, hits, words=words[0] if words else None)


def columns_of(fusion: Fusion, query: Query) -> tuple[list[Column], list[QueryWords]]:
    """Return the columns of a query in each view by which it can ask, and the words of a text."""
    version, space, loaded = fusion.version, fusion.indexed.space, fusion.loaded
    views = views_of(version, space, query, fusion.strategy.targets)
    read = (
        query
        if query.view
        else described(version, loaded, query, dict.fromkeys([*views, *filter(None, [space.robust_view])]))
    )
    columns, words, errors = list[Column](), list[QueryWords](), list[InvalidInputError | NotReadyError]()
    for view in views:
        one = [replace(read, view=view)]
        try:
            for asked in query_probes(version, space, loaded, one, fusion.strategy.targets):
                columns += fusion.columns(asked, one)[0]
            words += words_of_queries(version, loaded, one).values()
        except (InvalidInputError, NotReadyError) as error:
            errors.append(error)
    if not columns:
        raise errors[0]
    return columns, words
