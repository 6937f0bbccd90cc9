"""The changes between successive pictures of one page or scene: when, where, and both pictures of each."""

from typing import Any

from crossview.engine.values.changes import Changes
from crossview.server.edge.pages.answer import Answer
from crossview.server.edge.pages.site import Page
from crossview.server.edge.pages.visit import Visit
from crossview.server.wire.fields import to_value
from crossview.v1 import changes_pb2 as pb
from crossview.v1 import collections_pb2

_SHOWN = 24
_AT_ONCE = 5_000
"""Number of items up to which changes are searched for without a click."""


async def show(visit: Visit) -> Answer:
    """Return the most important changes, or all in the order of time (``all`` is "1"), from the number ``from`` on."""
    info = await visit.call("GetCollection", collections_pb2.GetCollectionRequest(name=visit.collection))
    request = pb.FindChangesRequest(parent=visit.collection, period=visit.query.text("period"))
    changes, error = None, None
    if info.items <= _AT_ONCE or visit.query.text("find") == "1":
        response, error = await visit.answered("FindChanges", request)
        changes = None if response is None else to_value(Changes, response)
    every = visit.query.text("all") == "1"
    values: dict[str, Any] = {
        "title": f"Changes · {visit.path['collection']}",
        "tab": "changes",
        "info": info,
        "found": changes,
        "error": error,
        "every": every,
        "period": visit.query.text("period"),
        "at_once": _AT_ONCE,
    }
    if changes is not None:
        first = visit.query.number("from", 0, 0, len(changes.changes))
        chosen = [(n, change) for n, change in enumerate(changes.changes) if every or change.important]
        if not every:
            chosen.sort(key=lambda pair: -pair[1].importance)
        values |= {
            "pairs": chosen[first : first + _SHOWN],
            "first": first,
            "after": first + _SHOWN if first + _SHOWN < len(chosen) else 0,
            "important": sum(change.important for change in changes.changes),
        }
    return visit.page("changes.html", 200 if error is None else error.status, **values)


PAGES = (Page("/c/{collection}/changes", show),)
