"""The explanation of a result: what adds to its place, and what agrees in both pictures, drawn over them."""

import math
from dataclasses import dataclass
from typing import Any

from crossview.server.edge.pages.answer import Answer
from crossview.server.edge.pages.page_calls import PageError
from crossview.server.edge.pages.search_requests import searches
from crossview.server.edge.pages.search_state import SearchState
from crossview.server.edge.pages.site import Page
from crossview.server.edge.pages.visit import Visit
from crossview.v1 import collections_pb2
from crossview.v1 import search_pb2 as pb

_WORDS, _POINTS, _BINS = 8, 6, 8
"""Maximum number of visual words that are drawn, of key points of each in a picture, and of bars."""
_LEAST = 0.005
"""Least agreement of a part that gets a bar."""


@dataclass(frozen=True)
class Mark:
    """A key point over a picture: its place and size as percentages, and the number of its word."""

    x: float
    y: float
    size: float
    word: int


@dataclass(frozen=True)
class Cell:
    """A rectangle over a picture, as percentages, and its strength from 0 to 1."""

    box: tuple[float, float, float, float]
    strength: float


@dataclass(frozen=True)
class Drawn:
    """The agreement of a view, as it is drawn: marks or cells over both pictures, or bars."""

    view: str
    agreement: float
    words: tuple[str, ...] = ()
    query_marks: tuple[Mark, ...] = ()
    item_marks: tuple[Mark, ...] = ()
    cells: tuple[Cell, ...] = ()
    bars: tuple[Any, ...] = ()
    most: float = 1.0
    """The share of the longest bar."""


@dataclass(frozen=True)
class Added:
    """The contribution of a view and a target to the place of an item."""

    name: str
    share: float
    """Its part of the whole, below 0 if it counts against the item."""
    note: str


async def show(visit: Visit) -> Answer:
    """Return why the item ``key`` has its place in the list with the number ``list`` of a search."""
    state, key = SearchState.of(visit.query), visit.query.text("key")
    info = await visit.call("GetCollection", collections_pb2.GetCollectionRequest(name=visit.collection))
    wanted = searches(state, info, visit.session.uploads) if state.asks else []
    if not wanted:
        raise PageError(400, "there is no query to explain the item by: search first")
    search = wanted[visit.query.number("list", 0, 0, len(wanted) - 1)]
    request = pb.ExplainRequest(parent=visit.collection, search=search.request, keys=[key])
    explained = await visit.call("Explain", request)
    if not explained.explanations:
        raise PageError(404, "the search cannot find this item, so there is nothing to explain")
    one = explained.explanations[0]
    values = {
        "title": f"Why {key}",
        "tab": "search",
        "state": state,
        "key": key,
        "asked": _asked(state),
        "one": one,
        "match": _match(one.total) if one.measure == pb.EXPLANATION_MEASURE_MATCH else None,
        "added": _added(one),
        "drawn": [_drawn(each) for each in one.agreements],
    }
    return visit.page("why.html", **values)


def _asked(state: SearchState) -> dict[str, str]:
    """Return the query as the page draws it: the key of an item, the id of a picture, or a text."""
    if state.examples:
        return {"kind": state.examples[0].kind, "value": state.examples[0].value}
    return {"kind": "text", "value": state.text}


def _match(total: float) -> float:
    return 1 / (1 + math.exp(-total)) if total > -700 else 0.0


def _added(one: Any) -> list[Added]:
    """Return the contributions, the greatest first, as parts of their absolute sum."""
    whole = sum(abs(each.contribution) for each in one.contributions) or 1.0
    found = []
    for each in sorted(one.contributions, key=lambda each: -abs(each.contribution)):
        name = each.view if each.view == each.target else f"{each.view} → {each.target}"
        notes = [f"rank {each.rank:,} of {each.items:,}"] if each.HasField("rank") else []
        if each.copy:
            notes = ["a near copy of the query"]
        elif each.HasField("match"):
            notes.append(f"match {100 * each.match:.0f} %")
        if each.bits:
            notes.append(f"{len(each.differing_bits)} of {each.bits} bits differ")
        found.append(Added(name, each.contribution / whole, ", ".join(notes)))
    return found


def _drawn(one: Any) -> Drawn:
    """Return an agreement as it is drawn."""
    points = [part for part in one.parts if part.query_places and part.item_places][:_WORDS]
    if points:
        query = tuple(_mark(place, n) for n, part in enumerate(points) for place in part.query_places[:_POINTS])
        item = tuple(_mark(place, n) for n, part in enumerate(points) for place in part.item_places[:_POINTS])
        return Drawn(one.view, one.agreement, tuple(part.name for part in points), query, item)
    boxes = [part for part in one.parts if len(part.box) == 4]
    if boxes:
        return Drawn(one.view, one.agreement, cells=tuple(_cells(boxes)))
    bars = tuple(part for part in one.parts if part.agreement >= _LEAST)[:_BINS]
    return Drawn(one.view, one.agreement, bars=bars, most=max((max(one.query, one.item) for one in bars), default=1.0))


def _mark(place: Any, word: int) -> Mark:
    return Mark(100 * place.x, 100 * place.y, 100 * place.size, word)


def _cells(parts: list[Any]) -> list[Cell]:
    """Return the cells, as strong as their agreement relative to what each picture has there."""
    ratios = [part.agreement / max(part.query, part.item, 1e-9) for part in parts]
    least, most = min(ratios), max(ratios)
    return [
        Cell(tuple(100 * side for side in (x, y, z - x, w - y)), ((ratio - least) / ((most - least) or 1.0)) ** 2)
        for (x, y, z, w), ratio in zip((part.box for part in parts), ratios, strict=True)
    ]


PAGES = (Page("/c/{collection}/why", show),)
