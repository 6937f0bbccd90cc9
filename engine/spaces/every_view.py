"""Searches by every view: a query without a view asks by each view that its input has."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import cast

import numpy as np
from scipy.special import expit, logit

from crossview.engine.catalog.extractors import inputs_of
from crossview.engine.conditions.filter import Filter
from crossview.engine.errors import InvalidInputError, NotReadyError
from crossview.engine.hits import Hit, HitList
from crossview.engine.query import Query, SearchRequest
from crossview.engine.spaces.fusion import fuse
from crossview.engine.spaces.loaded import LoadedSpaces
from crossview.engine.spaces.query_rows import described
from crossview.engine.spaces.space import Space
from crossview.engine.spaces.version import Version
from crossview.engine.strategy import Nearest

Answer = Callable[[SearchRequest], list[HitList]]
Lists = Mapping[str, list[HitList]]
"""The hit lists of one query by view."""
_LEAST = 1e-3
"""Least doubt and least match that one view can have, so that the others still count."""
_OPTIONS = (
    "give the query a view: a search by every view takes no other options than targets, k, a filter and min_match"
)


def check_without_view(request: SearchRequest, plain: bool) -> None:
    """Raise InvalidInputError for a query without a view that needs one; ``plain``: whether it finds the nearest."""
    for number, query in enumerate(request.queries):
        if not query.view and request.strategy.lists_items:
            order = getattr(request.strategy, "sort_by", "")
            raise InvalidInputError(
                f"a list of items by a score needs the `view` of the score; to list items by an attribute, use "
                f"`collection.items(sort_by={order!r})`"
            )
        if not query.view and (query.vector is not None or query.label is not None):
            raise InvalidInputError(f"query {number}: a vector or a class needs a view: give the view that it is of")
        if not query.view and (not plain or getattr(request.strategy, "max_distance", None) is not None):
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
    version: Version, loaded: LoadedSpaces, space: Space, request: SearchRequest, answer: Answer
) -> list[HitList]:
    """Return the answers; a query without a view gets one list, merged by match, or by rank without a match.

    A view without a row for the query, such as one that finds nothing in the picture, is left out, and so is a view
    without matches if the request has a minimum. Raises the error of the first view if every view is left out.
    """
    found: list[HitList] = []
    for number, query in enumerate(request.queries):
        read, lists = lists_of_views(version, loaded, space, replace(request, queries=[query]), answer)
        if query.view:
            found += [replace(one, query=number) for one in lists[query.view]]
        else:
            words = next((one.words for of_view in lists.values() for one in of_view if one.words is not None), None)
            found.append(HitList(number, "", _merged(request, read, lists, answer), words=words))
    return found


def lists_of_views(
    version: Version, loaded: LoadedSpaces, space: Space, request: SearchRequest, answer: Answer
) -> tuple[Query, dict[str, list[HitList]]]:
    """Return the only query of a request with its rows, and the lists of each view; see ``by_every_view``."""
    (query,) = request.queries
    lists, errors = dict[str, list[HitList]](), list[InvalidInputError | NotReadyError]()
    views = views_of(version, space, query)
    read = described(version, loaded, query, dict.fromkeys([*views, *filter(None, [space.robust_view])]))
    for view in views:
        try:
            lists[view] = answer(replace(request, queries=[replace(read, view=view)]))
        except (InvalidInputError, NotReadyError) as error:
            errors.append(error)
    if not lists:
        raise errors[0]
    return read, lists


def judged(request: SearchRequest, query: Query, lists: Lists, answer: Answer) -> Lists:
    """Return the lists of all views with the items that one of them finds, as every view judges them."""
    keys = tuple(dict.fromkeys(hit.key for one in chain(*lists.values()) for hit in one.hits))
    return {view: answer(among(request, replace(query, view=view), keys)) for view in lists}


def among(request: SearchRequest, query: Query, keys: tuple[str, ...], merge: bool | None = None) -> SearchRequest:
    """Return the search for all items of these keys by a query in the targets of a request."""
    strategy = Nearest(targets=request.strategy.names, merge=merge)
    return SearchRequest([query], strategy, k=len(keys), space=request.space, filter=Filter(keys=keys))


def _merged(request: SearchRequest, query: Query, lists: Lists, answer: Answer) -> tuple[Hit, ...]:
    """Return the k best hits of a query in the lists of its views, each item once: by match, or by rank without one.

    All views judge what one of them finds: each searches again, among the hits of all. The match of a hit becomes the
    logistic mean of its matches in the views, so that one view that is certain and wrong does not decide.
    """
    strategy = cast(Nearest, request.strategy)  # see ``check_without_view``
    found = [hit for one in chain(*lists.values()) for hit in one.hits]
    if all(hit.match is None for hit in found):
        return fuse(list(chain(*lists.values())), request.k)
    if len(lists) > 1:
        lists = judged(request, query, lists, answer)
    judgements: dict[str, list[Hit]] = defaultdict(list)
    for of_view in lists.values():
        for key, hit in best_of_view(of_view).items():
            judgements[key].append(hit)
    agreed = [
        replace(max(hits, key=_match), match=_mean([_match(hit) for hit in hits])) for hits in judgements.values()
    ]
    shown = [hit for hit in agreed if _match(hit) >= strategy.min_match]
    return tuple(sorted(shown, key=_match, reverse=True)[: request.k])


def best_of_view(lists: Sequence[HitList]) -> dict[str, Hit]:
    """Return the hit of greatest match of each item, by key."""
    found: dict[str, Hit] = {}
    for hit in chain(*lists):
        if hit.match is not None:
            found[hit.key] = max(found.get(hit.key, hit), hit, key=_match)
    return found


def _match(hit: Hit) -> float:
    return hit.match or 0.0


def _mean(matches: Sequence[float]) -> float:
    """Return the logistic mean of the matches of an item; an item that is a copy in one view is a copy."""
    if max(matches) == 1:
        return 1.0
    return float(expit(np.mean([logit_of(match) for match in matches])))


def logit_of(match: float) -> float:
    """Return the logit of a match in one view, as the mean of several views counts it."""
    return float(logit(np.clip(match, _LEAST, 1 - _LEAST)))
