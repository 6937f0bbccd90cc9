"""The map of a space: its items as points in a plane, to look at and to choose items from."""

import json
from typing import Any

from crossview.server.edge.pages.answer import NO_STORE, Answer
from crossview.server.edge.pages.page_calls import PageError
from crossview.server.edge.pages.page_jobs import work_of
from crossview.server.edge.pages.search_requests import short
from crossview.server.edge.pages.site import Page
from crossview.server.edge.pages.visit import Visit
from crossview.server.wire.status import Code
from crossview.v1 import collections_pb2, jobs_pb2, maps_pb2

_LISTED = 60
"""Number of points that the page lists for browsers without scripts."""


async def show(visit: Visit) -> Answer:
    """Return the map with the number ``id``, or the newest; the progress of the job ``job`` that makes one."""
    info, listed, attributes = await visit.call_all(
        ("GetCollection", collections_pb2.GetCollectionRequest(name=visit.collection)),
        ("ListMaps", maps_pb2.ListMapsRequest(parent=visit.collection)),
        ("ListAttributes", collections_pb2.ListAttributesRequest(parent=visit.collection)),
    )
    name = visit.query.text("job")
    job = await work_of(visit, name, maps_pb2.Map) if name else None
    if name and job is None:
        raise PageError(404, f"no job {name!r}: the server keeps ended jobs for 7 days", Code.NOT_FOUND)
    number, field = visit.query.number("id", 0, 0, 2**31 - 1), visit.query.text("field", "label")
    chosen = next((map_ for map_ in listed.maps if number in (0, map_.id)), None)  # the newest is the first
    if number and chosen is None:
        raise PageError(404, f"the collection has no map {number} any more", Code.NOT_FOUND)
    points = None
    if chosen is not None:
        request = maps_pb2.ListMapPointsRequest(parent=visit.collection, id=chosen.id, page_size=_LISTED)
        points = await visit.call("ListMapPoints", request)
    values = {
        "title": f"Map · {visit.path['collection']}",
        "tab": "map",
        "info": info,
        "maps": listed.maps,
        "map": chosen,
        "points": points,
        "field": field,
        "fields": ("label", *(name for name in attributes.names if name != "file")),
        "job": job,
        "spaces": [(short(space.name), tuple(space.views)) for space in info.spaces],
        "active": info.active_space or "raw",
    }
    return visit.page("map.html", **values)


async def points(visit: Visit) -> Answer:
    """Return a page of the points of the map ``id`` as JSON, with their values of ``field``."""
    query = visit.query
    request = maps_pb2.ListMapPointsRequest(
        parent=visit.collection,
        id=query.number("id", 0, 0, 2**31 - 1),
        field=query.text("field"),
        page_token=query.text("token"),
    )
    page = await visit.call("ListMapPoints", request)
    value = {
        "keys": list(page.keys),
        "x": [round(x, 5) for x in page.x],
        "y": [round(y, 5) for y in page.y],
        "values": [_value(value) for value in page.values],
        "places": list(page.places),
        "next": page.next_page_token,
    }
    return Answer(json.dumps(value).encode(), "application/json", headers=(NO_STORE,))


def _value(value: Any) -> Any:
    kind = value.WhichOneof("kind")
    return None if kind in ("null", None) else getattr(value, kind)


async def make(visit: Visit) -> Answer:
    """Begin a job that makes a map of ``space`` by ``view`` and ``method``."""
    form = await visit.form()
    request = maps_pb2.MakeMapRequest(
        parent=visit.collection,
        space=form.text("space"),
        view=form.text("view"),
        method=form.text("method"),
        renew=form.text("renew") == "1",
    )
    operation = await visit.call("SubmitJob", jobs_pb2.SubmitJobRequest(make_map=request))
    return visit.redirect(f"/c/{visit.path['collection']}/map", job=short(operation.name))


PAGES = (
    Page("/c/{collection}/map", show),
    Page("/c/{collection}/map/points", points),
    Page("/c/{collection}/map/make", make, "POST"),
)
