"""Searches by every view: a query without a view asks by each view that its input has."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from crossview.engine.catalog.extractors import inputs_of
from crossview.engine.errors import InvalidInputError, NotReadyError
from crossview.engine.hits import Hit, HitList
from crossview.engine.query import Query, SearchRequest
from crossview.engine.spaces.fusion import fuse
from crossview.engine.spaces.space import Space
from crossview.engine.spaces.version import Version

_OPTIONS = (
    "give the query a view: a search by every view takes no other options than targets, k, a filter and min_match"
)


def check_without_view(request: SearchRequest, plain: bool) -> None:
    """Raise InvalidInputError for a query without a view that needs one; ``plain``: whether it finds the nearest."""
    for number, query in enumerate(request.queries):
        if not query.view and (query.vector is not None or query.label is not None):
            raise InvalidInputError(f"query {number}: a vector or a class needs a view: give the view that it is of")
        if not query.view and not plain:
            raise InvalidInputError(_OPTIONS)


def views_of(version: Version, space: Space, query: Query) -> list[str]:
    """Return the views of a space by which a query can ask: its own, or all that accept its picture or its text.

    Raises InvalidInputError if there is none.
    """
    if query.view:
        return [query.view]
    given = "image" if query.image is not None else "text" if query.text is not None else ""
    views = [
        view
        for view in space.views
        if not given or all(given in inputs_of(part) for part in version.joined_view(view).parts)
    ]
    if not views:
        what = {"image": "a picture", "text": "a text"}[given]
        raise InvalidInputError(f"no view of space {space.name!r} accepts a query by {what}")
    return views


def in_each_view(version: Version, space: Space, queries: Sequence[Query]) -> list[Query]:
    """Return the queries, those without a view once for each view by which they can ask."""
    return [replace(query, view=view) for query in queries for view in views_of(version, space, query)]


def by_every_view(
    version: Version, space: Space, request: SearchRequest, answer: Callable[[SearchRequest], list[HitList]]
) -> list[HitList]:
    """Return the answers; a query without a view gets one list, merged by match, or by rank without a match.

    A view without a row for the query, such as one that finds nothing in the picture, is left out, and so is a view
    without matches if the request has a minimum. Raises the error of the first view if every view is left out.
    """
    found: list[HitList] = []
    for number, query in enumerate(request.queries):
        lists, errors = list[HitList](), list[InvalidInputError | NotReadyError]()
        for view in views_of(version, space, query):
            try:
                lists += answer(_only(request, replace(query, view=view)))
            except (InvalidInputError, NotReadyError) as error:
                errors.append(error)
        if not lists:
            raise errors[0]
        if query.view:
            found += [replace(one, query=number) for one in lists]
        else:
            words = next((one.words for one in lists if one.words is not None), None)
            found.append(HitList(number, "", _merged(lists, request.k), words=words))
    return found


def _only(request: SearchRequest, query: Query) -> SearchRequest:
    return SearchRequest([query], request.strategy, k=request.k, space=request.space, filter=request.filter)


def _merged(lists: Sequence[HitList], k: int) -> tuple[Hit, ...]:
    """Return the k best hits by match, each item once, without lists that have no match; by rank if none has one."""
    hits = [hit for one in lists for hit in one.hits if hit.match is not None]
    if not hits:
        return fuse(lists, k)
    best: dict[str, Hit] = {}
    for hit in sorted(hits, key=lambda hit: -(hit.match or 0)):
        best.setdefault(hit.key, hit)
    return tuple(best.values())[:k]
