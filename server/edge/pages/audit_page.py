"""The audit of a collection: what is wrong with its items, labels and space, kind by kind."""

from crossview.engine.values.audit import Audit
from crossview.server.edge.pages.answer import Answer
from crossview.server.edge.pages.search_requests import short
from crossview.server.edge.pages.site import Page
from crossview.server.edge.pages.visit import Visit
from crossview.server.wire.fields import to_value
from crossview.v1 import audit_pb2, collections_pb2

_SHOWN = 24


async def show(visit: Visit) -> Answer:
    """Return the findings in the space ``space``, each with some of its items."""
    space, shown = visit.query.text("space"), visit.query.number("limit", _SHOWN, 1, 1_000)
    info = await visit.call("GetCollection", collections_pb2.GetCollectionRequest(name=visit.collection))
    request = audit_pb2.GetAuditRequest(name=visit.collection, space=space, limit=shown)
    response, error = await visit.answered("GetAudit", request)
    values = {
        "title": f"Audit · {visit.path['collection']}",
        "tab": "audit",
        "audit": None if response is None else to_value(Audit, response),
        "error": error,
        "spaces": [short(space.name) for space in info.spaces],
        "shown": shown,
    }
    return visit.page("audit.html", 200 if error is None else error.status, **values)


PAGES = (Page("/c/{collection}/audit", show),)
