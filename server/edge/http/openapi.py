"""The description of the HTTP interface as OpenAPI 3.1, from the descriptors of the services."""

import json
from functools import cache
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from crossview.server.edge.http.uploads import UPLOAD_PATH
from crossview.server.methods import METHODS, Method
from crossview.server.wire.json_writing import LIST, STRUCT, VALUE, is_map, is_special
from crossview.v1 import search_pb2

_TYPES = FieldDescriptor
_NUMBER = {"oneOf": [{"type": "number"}, {"type": "string", "enum": ["NaN", "Infinity", "-Infinity"]}]}
_SCALARS: dict[int, dict[str, Any]] = {
    _TYPES.TYPE_DOUBLE: _NUMBER,
    _TYPES.TYPE_FLOAT: _NUMBER,
    _TYPES.TYPE_BOOL: {"type": "boolean"},
    _TYPES.TYPE_STRING: {"type": "string"},
    _TYPES.TYPE_BYTES: {"type": "string", "contentEncoding": "base64"},
    _TYPES.TYPE_INT64: {"type": "string", "format": "int64"},
    _TYPES.TYPE_UINT64: {"type": "string", "format": "uint64"},
}
_WHOLE = {"type": "integer", "format": "int32"}
_ANY_JSON: dict[str, dict[str, Any]] = {STRUCT: {"type": "object"}, VALUE: {}, LIST: {"type": "array"}}
_OTHERS: dict[str, dict[str, Any]] = {
    "google.protobuf.Timestamp": {"type": "string", "format": "date-time"},
    "google.protobuf.Duration": {"type": "string", "pattern": r"^-?[0-9]+(\.[0-9]{1,9})?s$"},
    "google.protobuf.FieldMask": {"type": "string"},
    "google.protobuf.Any": {"type": "object", "properties": {"@type": {"type": "string"}}},
}
_ERROR = {
    "type": "object",
    "properties": {
        "code": {"type": "string"},
        "message": {"type": "string"},
        "details": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"type": {"type": "string"}, "value": {"type": "string", "contentEncoding": "base64"}},
            },
        },
    },
}


@cache
def openapi(version: str) -> bytes:
    """Return the description of all methods with one response, as JSON; one message is a stream of one."""
    schemas: dict[str, Any] = {"connect.error": _ERROR}
    paths = {path: {"post": _operation(method, schemas)} for path, method in METHODS.items() if method.each is None}
    paths[UPLOAD_PATH] = {"post": _upload(schemas)}
    document = {
        "openapi": "3.1.0",
        "info": {"title": "crossview", "version": version},
        "paths": paths,
        "components": {"schemas": dict(sorted(schemas.items()))},
    }
    return json.dumps(document, separators=(",", ":")).encode()


def _operation(method: Method, schemas: dict[str, Any]) -> dict[str, Any]:
    request = _reference(method.descriptor.input_type, schemas)
    return {
        "operationId": f"{method.service.rpartition('.')[2]}.{method.name}",
        "tags": [method.service],
        "requestBody": {"required": True, "content": {"application/json": {"schema": request}}},
        "responses": _responses(method, schemas),
    }


def _upload(schemas: dict[str, Any]) -> dict[str, Any]:
    search = METHODS["/crossview.v1.SearchService/Search"]
    fields = {
        "image": {"type": "array", "items": {"type": "string", "contentMediaType": "application/octet-stream"}},
        "view": {"type": "string"},
        "target": {"type": "array", "items": {"type": "string"}},
        "where": {"type": "string"},
        "request": _reference(search_pb2.SearchRequest.DESCRIPTOR, schemas),
    }
    form = {"type": "object", "properties": fields, "additionalProperties": True}
    return {
        "operationId": "SearchService.Upload",
        "tags": [search.service],
        "parameters": [{"name": "collection", "in": "path", "required": True, "schema": {"type": "string"}}],
        "requestBody": {"required": True, "content": {"multipart/form-data": {"schema": form}}},
        "responses": _responses(search, schemas),
    }


def _responses(method: Method, schemas: dict[str, Any]) -> dict[str, Any]:
    response = _reference(method.descriptor.output_type, schemas)
    error = {"$ref": "#/components/schemas/connect.error"}
    return {
        "200": {"description": "The response.", "content": {"application/json": {"schema": response}}},
        "default": {"description": "A refusal.", "content": {"application/json": {"schema": error}}},
    }


def _reference(descriptor: Descriptor, schemas: dict[str, Any]) -> dict[str, Any]:
    """Return a reference to the schema of a message, which is added to the schemas."""
    name = str(descriptor.full_name)
    if name in _ANY_JSON:
        return dict(_ANY_JSON[name])
    if is_special(descriptor):
        return dict(_OTHERS.get(name, {}))
    if name not in schemas:
        schemas[name] = schema = {"type": "object", "additionalProperties": False}  # first, for messages in themselves
        schema["properties"] = {field.json_name: _field(field, schemas) for field in descriptor.fields}
    return {"$ref": f"#/components/schemas/{name}"}


def _field(field: Any, schemas: dict[str, Any]) -> dict[str, Any]:
    if is_map(field):
        return {"type": "object", "additionalProperties": _one(field.message_type.fields_by_name["value"], schemas)}
    one = _one(field, schemas)
    return {"type": "array", "items": one} if field.is_repeated else one


def _one(field: FieldDescriptor, schemas: dict[str, Any]) -> dict[str, Any]:
    if field.message_type is not None:
        return _reference(field.message_type, schemas)
    if field.enum_type is not None:
        return {"type": "string", "enum": [value.name for value in field.enum_type.values]}
    return _SCALARS.get(field.type, _WHOLE)
