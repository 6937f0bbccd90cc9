"""The description of the HTTP interface as OpenAPI 3.1, from the descriptors of the services and their comments."""

import json
import re
from functools import cache
from http import HTTPStatus
from typing import Any

from google.protobuf.descriptor import Descriptor

from crossview.server.edge.http.exchange import EXACT_STATUSES
from crossview.server.edge.http.schemas import Schema, Schemas
from crossview.server.edge.http.uploads import UPLOAD_PATH
from crossview.server.wire.connect import HTTP_STATUSES, code_name
from crossview.server.wire.methods import METHODS, SERVICES, Method
from crossview.server.wire.status import Code, refusal
from crossview.v1 import search_pb2
from crossview.v1.comments import COMMENTS

_SENTENCE = re.compile(r"[.:;](?:\s|$)")
_UNSEEN = {Code.CANCELLED, Code.UNIMPLEMENTED}
"""Codes that no response of a method has: nobody reads the first, and the other is that of a wrong address."""
_CODES = [code_name(code) for code in HTTP_STATUSES]
_ERROR: Schema = {
    "type": "object",
    "properties": {
        "code": {"type": "string", "enum": _CODES},
        "message": {"type": "string"},
        "details": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "type": {"type": "string"},
                    "value": {"type": "string", "contentEncoding": "base64", "pattern": "^[A-Za-z0-9+/]*$"},
                },
                "required": ["type", "value"],
            },
        },
    },
    "required": ["code", "message"],
}
_KEY = {"type": "http", "scheme": "bearer", "description": "A key; a server without keys answers everyone."}
_INFO = {
    "title": "crossview",
    "license": {"name": "Apache 2.0", "identifier": "Apache-2.0"},
    "description": "Searches within and across views of items. The methods of gRPC as JSON, by the protocol Connect.",
}
_UPLOAD = "Searches by uploaded pictures"
_JSON = "application/json"


@cache
def openapi(version: str) -> bytes:
    """Return the description of all methods with one response, as JSON; one message is a stream of one."""
    schemas, refusals = Schemas(), _refusals()
    paths = {path: _verbs(method, schemas) for path, method in METHODS.items() if method.each is None}
    paths[UPLOAD_PATH] = {"post": _upload(schemas)}
    components = {
        "schemas": {"connect.error": _ERROR, **dict(sorted(schemas.named.items()))},
        "responses": refusals,
        "securitySchemes": {"key": _KEY},
    }
    document = {
        "openapi": "3.1.0",
        "info": _INFO | {"version": version},
        "servers": [{"url": "/", "description": "The server of this description."}],
        "security": [{"key": []}, {}],
        "tags": [{"name": service, "description": COMMENTS[service]} for service in SERVICES],
        "paths": paths,
        "components": components,
    }
    return json.dumps(document, separators=(",", ":")).encode()


def _verbs(method: Method, schemas: Schemas) -> Schema:
    request = schemas.reference(method.descriptor.input_type)
    operation = _operation(method, schemas)
    body = {"required": True, "content": {_JSON: {"schema": request}}}
    verbs = {"post": {**operation, "requestBody": body}}
    if method.in_address:
        message = {"name": "message", "in": "query", "required": True, "content": {_JSON: {"schema": request}}}
        parameters = [message, _parameter("encoding", "json", required=True), _parameter("connect", "v1")]
        verbs["get"] = {**operation, "operationId": f"{operation['operationId']}.get", "parameters": parameters}
    return verbs


def _parameter(name: str, value: str, required: bool = False) -> Schema:
    return {"name": name, "in": "query", "required": required, "schema": {"type": "string", "enum": [value]}}


def _operation(method: Method, schemas: Schemas) -> Schema:
    comment = COMMENTS[f"{method.service}.{method.name}"]
    return {
        "operationId": f"{method.service.rpartition('.')[2]}.{method.name}",
        "summary": _SENTENCE.split(comment, maxsplit=1)[0],
        "description": comment,
        "tags": [method.service],
        "security": [{"key": []}, {}],
        "responses": _responses(method.descriptor.output_type, schemas),
    }


def _upload(schemas: Schemas) -> Schema:
    search = METHODS["/crossview.v1.SearchService/Search"]
    request = {"type": "object", **schemas.message(search_pb2.SearchRequest.DESCRIPTOR, without=("parent",))}
    fields = {
        "image": {"type": "array", "items": {"type": "string", "contentMediaType": "application/octet-stream"}},
        "view": {"type": "string"},
        "target": {"type": "array", "items": {"type": "string"}},
        "where": {"type": "string"},
        "request": request,
    }
    form = {"type": "object", "properties": fields, "additionalProperties": True}
    name = {"type": "string", "pattern": "^[a-z0-9][a-z0-9_-]{0,62}$"}
    return _operation(search, schemas) | {
        "operationId": "SearchService.Upload",
        "summary": _UPLOAD,
        "description": f"{_UPLOAD}, as a form. Other fields of the form are those of a SearchRequest, as JSON.",
        "parameters": [{"name": "collection", "in": "path", "required": True, "schema": name}],
        "requestBody": {"required": True, "content": {"multipart/form-data": {"schema": form}}},
    }


def _responses(output: Descriptor, schemas: Schemas) -> Schema:
    answer = {"description": "The response.", "content": {_JSON: {"schema": schemas.reference(output)}}}
    return {"200": answer} | {status: {"$ref": f"#/components/responses/{status}"} for status in _refusals()}


def _refusals() -> Schema:
    """Return the descriptions of all refusals by HTTP status, and of any other."""
    codes = [(status, code) for code, status in HTTP_STATUSES.items() if code not in _UNSEEN]
    codes += [(status, refusal(error("")).code) for error, status in EXACT_STATUSES.items()]
    refused: dict[str, list[str]] = {}
    for status, code in sorted(codes):
        refused.setdefault(str(status), []).append(f"`{code_name(code)}`")
    content = {_JSON: {"schema": {"$ref": "#/components/schemas/connect.error"}}}
    responses: dict[str, Any] = {
        status: {"description": f"{HTTPStatus(int(status)).phrase}: {', '.join(names)}.", "content": content}
        for status, names in refused.items()
    }
    responses["429"]["headers"] = {"retry-after": {"description": "Seconds to wait.", "schema": {"type": "integer"}}}
    return responses | {"default": {"description": "A refusal.", "content": content}}
