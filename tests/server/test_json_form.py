"""Messages as JSON follow protobuf's mapping exactly, within limits, with errors that name the place."""

import json
import tracemalloc
from typing import Any

import numpy as np
import pytest
from google.longrunning import operations_pb2
from google.protobuf import json_format
from google.protobuf.message import Message
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.serve.malformed import messages
from crossview.engine.values.errors import InvalidInputError
from crossview.server.wire.json_reading import from_json
from crossview.server.wire.json_writing import to_json
from crossview.server.wire.methods import METHODS
from crossview.v1 import collections_pb2, neighbors_pb2, search_pb2, types_pb2

MOST = 500_000
TYPES = sorted(
    {
        one.full_name: one
        for method in METHODS.values()
        for one in (method.descriptor.input_type, method.descriptor.output_type)
        if not one.full_name.startswith("google.") and one.name != "Audit"  # its values are not the drawn numbers
    }.items()
)


def single(value: Any) -> Any:
    """Return the JSON value with the single-precision numbers that it denotes: a denormal one has several texts."""
    if isinstance(value, dict):
        return {name: single(one) for name, one in value.items()}
    if isinstance(value, list):
        return [single(one) for one in value]
    return np.float32(value) if isinstance(value, float) and abs(value) < 1e38 else value


@pytest.mark.parametrize("descriptor", [one for _, one in TYPES], ids=[name for name, _ in TYPES])
@settings(max_examples=4)
@given(data=st.data())
def test_the_mapping_is_that_of_protobuf(descriptor: Any, data: st.DataObject) -> None:
    """Any message of any method gives the same JSON, and the same message back."""
    message = data.draw(messages(descriptor))
    try:
        wanted = json_format.MessageToDict(message)
    except (ValueError, TypeError, json_format.SerializeToJsonError):
        return  # NaN in a struct, or an Any of an unknown type
    text = to_json(message)
    assert single(json.loads(text)) == single(wanted)
    kind = type(message)
    try:
        back = json_format.ParseDict(wanted, kind())
    except json_format.ParseError:  # it refuses the largest float, which it writes as 3.4028235e+38
        back = message
    assert from_json(text, kind, MOST) == back
    assert from_json(json_format.MessageToJson(message).encode(), kind, MOST) == back
    snake = json_format.MessageToJson(message, preserving_proto_field_name=True)
    assert from_json(snake.encode(), kind, MOST) == back


def test_the_largest_number_of_single_precision_is_read() -> None:
    """protobuf writes it with a text that is above it, and refuses to read that text."""
    message = neighbors_pb2.ListNeighborsResponse()
    message.items.add(distances=[float(np.finfo(np.float32).max)])
    text = json_format.MessageToJson(message).encode()
    assert b"3.4028235e+38" in text
    assert from_json(text, type(message), MOST) == message
    with pytest.raises(InvalidInputError, match="too large"):
        from_json(text.replace(b"3.4028235e", b"3.4028236e"), type(message), MOST)


@pytest.mark.parametrize(
    ("kind", "text", "reason"),
    [
        (search_pb2.SearchRequest, "{", "not JSON"),
        (search_pb2.SearchRequest, "[]", "an array must be an object"),
        (search_pb2.SearchRequest, '{"k": NaN}', "NaN is not a number of JSON"),
        (search_pb2.SearchRequest, '{"k": 1, "k": 2}', "a name twice"),
        (search_pb2.SearchRequest, '{"sort_by": "a", "sortBy": "b"}', "sortBy: .*also given"),
        (search_pb2.SearchRequest, '{"targetz": []}', "targetz: SearchRequest has no such field; is it targets?"),
        (search_pb2.SearchRequest, '{"k": 1.5}', "k: 1.5 must be a whole number"),
        (search_pb2.SearchRequest, '{"k": 5000000000}', "k: 5000000000 cannot be a value"),
        (search_pb2.SearchRequest, '{"k": true}', "k: True must be a whole number"),
        (search_pb2.SearchRequest, '{"k": "1' + "0" * 400 + '"}', "must be a whole number"),
        (search_pb2.SearchRequest, '{"k": 1' + "0" * 5000 + "}", "not JSON"),
        (search_pb2.SearchRequest, '{"parent": 7}', "parent: 7 must be a string"),
        (search_pb2.SearchRequest, '{"parent": "\\ud800"}', "half of a surrogate pair"),
        (search_pb2.SearchRequest, '{"queries": {}}', "queries: an object must be an array"),
        (search_pb2.SearchRequest, '{"queries": [{}, {"key": 1}]}', r"queries\[1\].key: 1 must be a string"),
        (search_pb2.SearchRequest, '{"queries": [{"key": "a", "text": "b"}]}', "of the same choice"),
        (search_pb2.SearchRequest, '{"queries": [{"image": "%%%"}]}', r"queries\[0\].image: .*base64"),
        (search_pb2.SearchRequest, '{"queries": [{"vector": {"values": [1e39]}}]}', "vector.values: .*too large"),
        (
            search_pb2.SearchRequest,
            '{"queries": [{"vector": {"values": [1, "x"]}}]}',
            r"values\[1\]: 'x' must be a num",
        ),
        (search_pb2.SearchRequest, '{"weights": {"a": 1e999}}', r"weights\['a'\]: the number is too large"),
        (search_pb2.SearchRequest, '{"weights": []}', "weights: an array must be an object"),
        (search_pb2.SearchRequest, '{"fuse": "FUSE_BEST"}', "fuse: 'FUSE_BEST' must be one of FUSE_UNSPECIFIED"),
        (search_pb2.SearchRequest, '{"merge": "yes"}', "merge: 'yes' must be true or false"),
        (search_pb2.SearchRequest, '{"filter": {"attributes": [1]}}', "attributes: an array must be an object"),
        (
            operations_pb2.WaitOperationRequest,
            '{"timeout": "soon"}',
            "timeout: 'soon' is not a Duration",
        ),
    ],
)
def test_a_wrong_value_is_named_with_its_place(kind: type[Message], text: str, reason: str) -> None:
    with pytest.raises(InvalidInputError, match=reason):
        from_json(text.encode(), kind, MOST)


def test_bytes_that_are_not_text_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="UTF-8"):
        from_json(b'{"parent": "\xff"}', search_pb2.SearchRequest, MOST)


def test_both_alphabets_of_base64_are_read() -> None:
    for text in ("-_8", "-_8=", "+/8", "+/8="):
        found = from_json(b'{"packed": "%s"}' % text.encode(), types_pb2.Code, MOST)
        assert found.packed == b"\xfb\xff"


@pytest.mark.parametrize(
    "text",
    [
        b'{"items":[' + b"{}," * 100_000 + b"{}]}",
        b'{"items":[{"labels":[' + b'"",' * 1_000_000 + b'""]}]}',
        b'{"items":[{"attributes":{"a":' + b"[" * 50_000 + b"]" * 50_000 + b"}}]}",
        b"[" * 1_000_000,
        b'"' + b'\\"' * 1_000_000,
    ],
    ids=["objects", "strings", "deep", "open", "quotes"],
)
def test_values_are_counted_before_they_take_memory(text: bytes) -> None:
    """A text that would become hundreds of megabytes of objects is refused with less than ten times its size."""
    tracemalloc.start()
    try:
        with pytest.raises(InvalidInputError, match=r"more than|not JSON"):
            from_json(text, collections_pb2.ImportItemsRequest, 10_000)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 10 * len(text) + 1_000_000


def test_numbers_of_vectors_count_little() -> None:
    """Rows of vectors may have more numbers than a request may have entries."""
    row = ",".join(["0.5"] * 1_000)
    rows = ",".join(f'{{"key": "k{n}, [{{", "rows": {{"v": {{"values": [{row}]}}}}}}' for n in range(100))
    found = from_json(f'{{"items": [{rows}]}}'.encode(), collections_pb2.ImportItemsRequest, 10_000)
    assert len(found.items) == 100


def test_jobs_and_times_have_their_own_forms() -> None:
    """Any messages of known types, times and durations are those of protobuf."""
    operation = operations_pb2.Operation(name="operations/1")
    operation.response.Pack(search_pb2.SearchResponse(warnings=["none"]))
    wait = operations_pb2.WaitOperationRequest(name="operations/1")
    wait.timeout.FromMilliseconds(1_500)
    for message in (operation, wait):
        assert json.loads(to_json(message)) == json_format.MessageToDict(message)
        assert from_json(to_json(message), type(message), MOST) == message
