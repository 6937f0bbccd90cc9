"""Conversion of requests for maps, of maps and of their points to messages and back."""

import numpy as np

from crossview.engine.values.conditions.filter import condition_of
from crossview.engine.values.conditions.tree import Value
from crossview.engine.values.map import MapInfo, MapPoints, MapRequest
from crossview.server.wire import pages
from crossview.server.wire.convert import from_filter, to_filter
from crossview.server.wire.convert_conditions import from_field_value, to_field_value
from crossview.server.wire.fields import to_message, to_value
from crossview.server.wire.identity import identity_here
from crossview.v1 import maps_pb2 as pb

_HIDDEN = "a condition on paths, which the key of this call does not see"


def to_map_request(message: pb.MakeMapRequest) -> MapRequest:
    """Return the request of a message."""
    return to_value(MapRequest, message, filter=to_filter(message.filter))


def from_map_request(request: MapRequest, parent: str) -> pb.MakeMapRequest:
    """Return the message of a request to the collection with a resource name."""
    return to_message(pb.MakeMapRequest, request, parent=parent, filter=from_filter(request.filter))


def to_map(message: pb.Map) -> MapInfo:
    """Return the map of a message."""
    return to_value(MapInfo, message)


def from_map(made: MapInfo) -> pb.Map:
    """Return the message of a map, without a condition on paths for a caller that sees no paths."""
    hidden = not identity_here().paths and any(test.field.kind == "path" for test in condition_of(made.where).tests())
    return to_message(pb.Map, made, where=_HIDDEN if hidden else made.where)


def to_map_points(message: pb.ListMapPointsResponse) -> MapPoints:
    """Return a page of points."""
    values = [to_field_value(one) for one in message.values]
    return MapPoints(
        keys=tuple(message.keys),
        points=np.column_stack([np.fromiter(one, np.float32, len(one)) for one in (message.x, message.y)]),
        values=tuple(values[place] if place >= 0 else None for place in message.places),
        after=pages.number_from_token(message.next_page_token) or 0,
    )


def from_map_points(page: MapPoints) -> pb.ListMapPointsResponse:
    """Return the message of a page of points."""
    known: dict[tuple[type, Value], int] = {}
    places = [-1 if one is None else known.setdefault((type(one), one), len(known)) for one in page.values]
    return pb.ListMapPointsResponse(
        keys=page.keys,
        x=page.points[:, 0].tolist(),
        y=page.points[:, 1].tolist(),
        values=[from_field_value(value) for _, value in known],
        places=places,
        next_page_token=pages.to_token(str(page.after)) if page.after else "",
    )
