"""openapi.json states what the proto states, and what the server does."""

import contextlib
import json
import re
from collections.abc import Iterator
from typing import Any

import httpx
import jsonschema
import pytest
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from hypothesis import given
from hypothesis import strategies as st
from web import SEARCH

from crossview.engine.catalog.description import check_space_name
from crossview.engine.catalog.names import NAME
from crossview.engine.values.errors import InvalidInputError
from crossview.server.edge.http.openapi import openapi
from crossview.server.edge.http.schemas import choices_of, is_required, pattern_of
from crossview.server.edge.listen import RunningServer
from crossview.server.wire.connect import HTTP_STATUSES
from crossview.server.wire.json_reading import from_json
from crossview.server.wire.methods import METHODS, Method, Touch
from crossview.server.wire.names import (
    collection_name,
    item_name,
    parse_collection,
    parse_item,
    parse_operation,
    parse_space,
    space_name,
)
from crossview.v1 import options_pb2, search_pb2

DOCUMENT: dict[str, Any] = json.loads(openapi("1.0.0"))
SCHEMAS: dict[str, Any] = DOCUMENT["components"]["schemas"]
DESCRIBED = [method for method in METHODS.values() if method.each is None]
KEY = "pictures/dots/dots-00.jpg"
PATTERNS = {
    value.name: str(value.GetOptions().Extensions[options_pb2.pattern])
    for value in options_pb2.TextForm.DESCRIPTOR.values
    if value.number
}
PLAUSIBLE = {
    "TEXT_FORM_COLLECTION_NAME": "collections/drawn",
    "TEXT_FORM_ITEM_NAME": f"collections/drawn/items/{KEY}",
    "TEXT_FORM_SPACE_NAME": "collections/drawn/spaces/cca",
    "TEXT_FORM_COLLECTION_ID": "none",
    "view": "color",
    "spec": "gist",
    "key": KEY,
    "first": KEY,
    "second": "pictures/dots/dots-01.jpg",
    "anchor": KEY,
}
"""Texts that requests can have, by form or by name of the field."""


def valid(name: str, value: Any) -> bool:
    """Return whether a value has the schema of a message."""
    schema = {"$ref": f"#/components/schemas/{name}", "components": DOCUMENT["components"]}
    return bool(jsonschema.Draft202012Validator(schema).is_valid(value))


@pytest.mark.parametrize("method", DESCRIBED, ids=lambda method: method.name)
def test_every_method_says_what_it_does_and_how_it_refuses(method: Method) -> None:
    """It has a summary, the key, and the body of each refusal; GET for the methods that the proto marks."""
    verbs = DOCUMENT["paths"][method.path]
    assert set(verbs) == ({"get", "post"} if method.in_address else {"post"})
    for operation in verbs.values():
        assert 3 < len(operation["summary"]) < 150
        assert operation["description"].startswith(operation["summary"])
        assert {"key": []} in operation["security"]
        assert {str(status) for status in HTTP_STATUSES.values()} - {"499", "501"} <= set(operation["responses"])
        for status in ("400", "401", "403", "404", "409", "413", "415", "429"):
            name = operation["responses"][status]["$ref"].rpartition("/")[2]
            refusal = DOCUMENT["components"]["responses"][name]["content"]["application/json"]["schema"]
            assert refusal == {"$ref": "#/components/schemas/connect.error"}


def test_the_names_of_operations_differ() -> None:
    """Generators of clients make a function of each; the server of the document answers them."""
    operations = [one for verbs in DOCUMENT["paths"].values() for one in verbs.values()]
    names = [one["operationId"] for one in operations]
    assert len(names) == len(set(names)) > 90
    assert {tag for one in operations for tag in one["tags"]} == {tag["name"] for tag in DOCUMENT["tags"]}
    assert DOCUMENT["servers"][0]["url"] == "/"
    assert DOCUMENT["components"]["securitySchemes"]["key"]["scheme"] == "bearer"


def reachable(descriptor: Descriptor, seen: dict[str, Descriptor]) -> dict[str, Descriptor]:
    """Return the messages in a message, by full name."""
    if descriptor.full_name not in seen:
        seen[descriptor.full_name] = descriptor
        for field in descriptor.fields:
            if field.message_type is not None:
                reachable(field.message_type, seen)
    return seen


def described() -> list[tuple[str, Descriptor]]:
    """Return the messages with a schema of their own."""
    found: dict[str, Descriptor] = {}
    for method in DESCRIBED:
        reachable(method.request.DESCRIPTOR, found)
        reachable(method.response.DESCRIPTOR, found)
    return [(name, one) for name, one in found.items() if name in SCHEMAS]


def test_required_fields_and_patterns_follow_the_proto() -> None:
    """In every message they are what its options state, and nothing else."""
    required = 0
    for name, descriptor in described():
        expected = [field.json_name for field in descriptor.fields if is_required(field)]
        assert SCHEMAS[name].get("required", []) == expected, name
        required += len(expected)
        for field in descriptor.fields:
            schema = SCHEMAS[name]["properties"][field.json_name]
            if field.type == field.TYPE_STRING and not field.is_repeated:
                pattern = pattern_of(field)
                assert schema.get("pattern", "") == (pattern if is_required(field) or not pattern else f"^$|{pattern}")
            if field.cpp_type == field.CPPTYPE_INT64 and not field.is_repeated:
                assert (schema["type"], schema["pattern"]) == ("string", "^-?[0-9]{1,19}$")
    assert required > 90


def test_of_a_choice_one_field_may_be_set() -> None:
    """The schema refuses two as the server does; and none, too, if the proto requires one."""
    choices = [(name, choice) for name, one in described() for choice in choices_of(one)]
    assert {name for name, _ in choices} >= {"crossview.v1.Query", "crossview.v1.Condition"}
    for name, choice in choices:
        names = [field.json_name for field in choice.fields]
        (alternatives,) = (SCHEMAS[name]["oneOf"],)
        needed = choice.GetOptions().Extensions[options_pb2.required]
        assert [one["required"][0] for one in alternatives if "required" in one] == names
        assert len(alternatives) == len(names) + (not needed)
        for one in alternatives:
            forbidden = {field for field, schema in one["properties"].items() if schema is False}
            assert forbidden == {*names} - {*one.get("required", ())}
    two = {"view": "color", "key": KEY, "text": "dots"}
    assert not valid("crossview.v1.Query", two)
    with pytest.raises(InvalidInputError, match="same choice"):
        from_json(json.dumps({"queries": [two]}).encode(), search_pb2.SearchRequest, 1000)
    assert valid("crossview.v1.Query", {"view": "color"})
    assert valid("crossview.v1.Query", {"view": "color", "key": KEY})
    assert valid("crossview.v1.FieldValue", {"null": None})
    assert not valid("crossview.v1.FieldValue", {})
    assert not valid("crossview.v1.SubmitJobRequest", {"requestId": "a"})


@given(st.data())
def test_a_pattern_is_that_of_the_names(data: st.DataObject) -> None:
    """The parsers take each text that matches, and each name of a collection, an item or a space matches."""
    collection = data.draw(st.from_regex(NAME, fullmatch=True))
    space = data.draw(st.from_regex(r"[a-z0-9][a-z0-9_.-]{0,62}", fullmatch=True))
    key = data.draw(st.text(min_size=1))
    names = {
        "TEXT_FORM_COLLECTION_NAME": (collection_name(collection), parse_collection),
        "TEXT_FORM_ITEM_NAME": (item_name(collection, key), parse_item),
        "TEXT_FORM_SPACE_NAME": (space_name(collection, space), parse_space),
    }
    for form, (name, parse) in names.items():
        assert re.search(PATTERNS[form], name)
        parse(data.draw(st.from_regex(PATTERNS[form], fullmatch=True)))


@given(st.text() | st.from_regex(r"[a-zA-Z0-9._-]{1,65}", fullmatch=True))
def test_a_pattern_is_that_of_the_ids(text: str) -> None:
    """A text matches if, and only if, the server takes it."""
    matches = {form: re.fullmatch(pattern[1:-1], text) is not None for form, pattern in PATTERNS.items()}
    assert matches["TEXT_FORM_COLLECTION_ID"] == (NAME.fullmatch(text) is not None)
    takes = False
    with contextlib.suppress(InvalidInputError):
        takes = parse_operation(f"operations/{text}") == text
    assert matches["TEXT_FORM_REQUEST_ID"] == takes
    takes = False
    with contextlib.suppress(InvalidInputError):
        check_space_name(text)
        takes = True
    assert matches["TEXT_FORM_SPACE_ID"] == (takes or text == "raw")


def test_only_reads_without_jobs_have_no_side_effects() -> None:
    """The level in the proto is that of the table; a read that submits a job puts work in the queue."""
    for method in METHODS.values():
        level = method.descriptor.GetOptions().idempotency_level
        ours = method.service.startswith("crossview.")
        assert (level == 1) == (ours and method.touches is Touch.NOTHING and method.job is None), method.path


def text_of(field: FieldDescriptor) -> str:
    form = options_pb2.TextForm.Name(field.GetOptions().Extensions[options_pb2.text_form])
    return PLAUSIBLE.get(form) or PLAUSIBLE.get(field.name, "none")


def fill(message: Message, left_out: str = "") -> None:
    """Set the required fields of a message, except one, to plausible values."""
    for field in message.DESCRIPTOR.fields:
        if not is_required(field) or field.name == left_out:
            continue
        value = getattr(message, field.name)
        if field.is_repeated:
            value.append(text_of(field)) if field.type == field.TYPE_STRING else fill(value.add())
        elif field.message_type is not None:
            value.SetInParent()
            fill(value)
        else:
            setattr(message, field.name, text_of(field) if field.type == field.TYPE_STRING else 1)


@pytest.fixture
def web(server: RunningServer) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=f"http://127.0.0.1:{server.http_port}", timeout=300) as client:
        yield client


@pytest.mark.parametrize("method", DESCRIBED, ids=lambda method: method.name)
def test_a_request_without_a_required_field_is_refused(web: httpx.Client, method: Method) -> None:
    """The server refuses each request that lacks one, by what the description lists."""
    for field in method.request.DESCRIPTOR.fields:
        if is_required(field):
            request = method.request()
            fill(request, field.name)
            headers = {"content-type": "application/proto"}
            found = web.post(method.path, content=request.SerializeToString(), headers=headers)
            assert found.status_code in (400, 404), (field.name, found.text)
            assert valid("connect.error", found.json())


def test_a_refusal_has_the_described_body(web: httpx.Client) -> None:
    """It is the refusal of a method, of a wrong address or of a wrong verb."""
    for refused in (web.post(SEARCH, json={}), web.get("/none"), web.delete(SEARCH), web.get(SEARCH)):
        assert refused.status_code >= 400
        assert valid("connect.error", refused.json()), refused.text


def test_responses_have_their_schemas(web: httpx.Client) -> None:
    """They are those of reads of a collection with items and spaces."""
    parent = {"parent": "collections/drawn"}
    calls: dict[str, dict[str, Any]] = {
        "SearchService/Search": {**parent, "queries": [{"view": "color", "key": KEY}]},
        "SearchService/Embed": {**parent, "queries": [{"view": "color", "key": KEY}]},
        "CollectionService/GetCollection": {"name": "collections/drawn"},
        "CollectionService/ListItems": parent,
        "CollectionService/CountItems": {**parent, "field": "label", "facets": ["label"]},
        "CollectionService/ListSpaces": parent,
    }
    for name, request in calls.items():
        method = METHODS[f"/crossview.v1.{name}"]
        assert valid(method.request.DESCRIPTOR.full_name, request)
        found = web.post(method.path, json=request)
        assert found.status_code == 200, found.text
        assert valid(method.response.DESCRIPTOR.full_name, found.json())
