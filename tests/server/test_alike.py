"""Searches that wait share an answer only if nothing except the input of their query differs."""

from pathlib import Path
from typing import Any

import pytest
from google.protobuf.struct_pb2 import Struct

from crossview.server.core.services.search_service import SearchService
from crossview.server.wire.settings import ServerSettings
from crossview.v1 import search_pb2, types_pb2

ALIKE = SearchService(None, ServerSettings(home=Path())).alike  # type: ignore[arg-type]
PLAIN = {"parent": "collections/a", "queries": [search_pb2.Query(view="v", key="x")]}
CHANGED: dict[str, Any] = {
    "parent": "collections/b",
    "queries": [search_pb2.Query(view="other", key="x")],
    "options": Struct(fields={"new": {"bool_value": True}}),  # type: ignore[dict-item]
    "filter": types_pb2.Filter(labels=["cat"]),
}
"""A value of each field that is not a plain number, text, list or map of them."""


def changed(field: Any) -> Any:
    """Return a value of a field that is not its default."""
    if field.name in CHANGED:
        return CHANGED[field.name]
    if field.message_type is not None:
        return {"x": 1.0}
    value = {field.TYPE_STRING: "x", field.TYPE_BOOL: True}.get(field.type, 0.5 if "rate" in field.name else 7)
    return [value] if field.is_repeated else value


@pytest.mark.parametrize("field", list(search_pb2.SearchRequest.DESCRIPTOR.fields), ids=lambda field: field.name)
def test_a_search_is_never_answered_with_one_that_differs_in_a_field(field: Any) -> None:
    """Every field belongs to the common part of searches that share an answer."""
    plain = search_pb2.SearchRequest(**PLAIN)
    other = search_pb2.SearchRequest(**{**PLAIN, field.name: changed(field)})
    assert other != plain
    # Examples are the queries of one question, and pages belong to one caller, so that these share with no other.
    alone = "combine", "with_examples", "feedback", "page_size", "page_token"
    assert (ALIKE(other) is None) == (field.name in alone)
    assert ALIKE(other) != ALIKE(plain)


@pytest.mark.parametrize("inside", [False, True], ids=["request", "query"])
def test_a_field_that_is_added_later_is_never_shared(inside: bool) -> None:
    """The field of a request or of its query is unknown to this version."""
    plain, other = (search_pb2.SearchRequest(**PLAIN) for _ in range(2))
    (other.queries[0] if inside else other).MergeFromString(b"\xf8\x3f\x01")  # field 1023 = 1
    assert ALIKE(other) not in (None, ALIKE(plain))


def test_searches_by_different_inputs_are_answered_as_one() -> None:
    by_key = search_pb2.SearchRequest(**PLAIN)
    for query in ({"key": "y"}, {"vector": {"values": [1, 2]}}, {"text": "sea"}):
        asked = search_pb2.SearchRequest(**{**PLAIN, "queries": [search_pb2.Query(view="v", **query)]})
        assert ALIKE(asked) == ALIKE(by_key)


def test_pictures_classes_lists_and_searches_for_many_hits_are_answered_alone() -> None:
    for query in ({"image": b"jpeg"}, {"label": "cat"}, {}):
        assert ALIKE(search_pb2.SearchRequest(**{**PLAIN, "queries": [search_pb2.Query(view="v", **query)]})) is None
    assert ALIKE(search_pb2.SearchRequest(**PLAIN, k=101)) is None
    assert ALIKE(search_pb2.SearchRequest(**{**PLAIN, "queries": 2 * PLAIN["queries"]})) is None  # type: ignore[operator]
