"""Conversion of counts of values, and of facets, to messages and back."""

from crossview.engine.values.facet import Bin, Facet, Period
from crossview.engine.values.item import ValueCount
from crossview.server.wire.convert_conditions import from_field_value, to_field_value
from crossview.server.wire.fields import to_message, to_value
from crossview.v1 import facets_pb2 as pb


def from_value_count(counted: ValueCount) -> pb.ValueCount:
    """Return the message of a value and its items."""
    return pb.ValueCount(value=from_field_value(counted.value), items=counted.items)


def to_value_count(message: pb.ValueCount) -> ValueCount:
    """Return the value of a message and its items."""
    return ValueCount(to_field_value(message.value), message.items)


def from_facet(facet: Facet) -> pb.Facet:
    """Return the message of a facet."""
    return to_message(
        pb.Facet,
        facet,
        values=map(from_value_count, facet.values),
        numbers=[to_message(pb.Facet.Bin, one) for one in facet.numbers],
        times=[to_message(pb.Facet.Period, one) for one in facet.times],
    )


def to_facet(message: pb.Facet) -> Facet:
    """Return the facet of a message."""
    return to_value(
        Facet,
        message,
        values=tuple(map(to_value_count, message.values)),
        numbers=tuple(to_value(Bin, one) for one in message.numbers),
        times=tuple(to_value(Period, one) for one in message.times),
    )
