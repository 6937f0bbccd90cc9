"""The changes between successive pictures of one page or scene: when, where, and both pictures of each."""

from dataclasses import dataclass
from datetime import UTC
from typing import Any

from crossview.server.edge.pages.answer import Answer
from crossview.server.edge.pages.page_calls import PageError
from crossview.server.edge.pages.site import Page
from crossview.server.edge.pages.visit import Visit
from crossview.server.wire.status import Code
from crossview.v1 import changes_pb2 as pb
from crossview.v1 import collections_pb2

_SHOWN, _MOST_BARS = 24, 600
_AT_ONCE = 5_000
"""Number of items up to which changes are searched for without a click."""
_LEAST = 0.02
"""Share of the strongest region below which a region is not drawn."""


@dataclass(frozen=True)
class Cell:
    """A region of the grid, as percentages of the picture, and its strength from 0 to 1."""

    x: float
    y: float
    size: float
    strength: float


@dataclass(frozen=True)
class Shown:
    """A change as the page shows it."""

    number: int
    change: Any
    when: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Bar:
    """Changes of one moment, or of several moments of a long series: the most important one."""

    number: int
    when: str
    height: float
    important: bool
    importance: float


async def show(visit: Visit) -> Answer:
    """Return the most important changes, or all in the order of time (``all`` is "1"), from the number ``from`` on."""
    info = await visit.call("GetCollection", collections_pb2.GetCollectionRequest(name=visit.collection))
    request = pb.FindChangesRequest(parent=visit.collection, period=visit.query.text("period"))
    found, error = None, None
    try:
        if info.items <= _AT_ONCE or visit.query.text("find") == "1":
            found = await visit.call("FindChanges", request)
    except PageError as failed:
        if failed.code not in (Code.FAILED_PRECONDITION, Code.INVALID_ARGUMENT, Code.NOT_FOUND):
            raise
        error = failed
    every = visit.query.text("all") == "1"
    values: dict[str, Any] = {
        "title": f"Changes · {visit.path['collection']}",
        "tab": "changes",
        "info": info,
        "found": found,
        "error": error,
        "every": every,
        "period": visit.query.text("period"),
    }
    if found is not None:
        first = visit.query.number("from", 0, 0, len(found.changes))
        chosen = [(n, one) for n, one in enumerate(found.changes) if every or one.important]
        if not every:
            chosen.sort(key=lambda pair: -pair[1].importance)
        values |= {
            "pairs": [Shown(n, one, _time(one.time), _cells(one.regions)) for n, one in chosen[first : first + _SHOWN]],
            "total": len(chosen),
            "first": first,
            "after": first + _SHOWN if first + _SHOWN < len(chosen) else 0,
            "bars": _bars(found.changes),
            "where": _cells(found.importance),
            "important": sum(one.important for one in found.changes),
            "began": _time(found.first),
            "ended": _time(found.last),
            "last": found.changes[-1].later if found.changes else "",
        }
    return visit.page("changes.html", 200 if error is None else error.status, **values)


def _time(stamp: Any) -> str:
    return f"{stamp.ToDatetime(UTC):%Y-%m-%d %H:%M}"


def _cells(regions: Any) -> tuple[Cell, ...]:
    """Return the regions that matter, as strong as their share of the strongest."""
    side = round(len(regions) ** 0.5)
    most = max(regions, default=0.0) or 1.0
    return tuple(
        Cell(100 * (n % side) / side, 100 * (n // side) / side, 100 / side, share / most)
        for n, share in enumerate(regions)
        if share > _LEAST * most
    )


def _bars(changes: Any) -> list[Bar]:
    """Return at most ``_MOST_BARS`` bars of the time line; heights end at three times the threshold."""
    step = max(1, -(-len(changes) // _MOST_BARS))
    found = []
    for first in range(0, len(changes), step):
        number = max(range(first, min(first + step, len(changes))), key=lambda n: changes[n].importance)
        one = changes[number]
        height = min(one.importance, 3.0) / 3.0
        found.append(Bar(number, _time(one.time), height, one.important, one.importance))
    return found


PAGES = (Page("/c/{collection}/changes", show),)
