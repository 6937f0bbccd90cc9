"""The port for HTTP answers as the port for gRPC: the same methods, errors, deadlines and limits."""

import base64
import gzip
import json
import re
import socket
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import httpx
import pytest
from google.protobuf import json_format
from google.protobuf.message import Message
from google.rpc import status_pb2
from long_jobs import ENDLESS, until
from web import JSON, SEARCH, STREAM, frame, json_frames, trailers

from crossview.engine.values.errors import InvalidInputError, NotInstalledError, StorageError
from crossview.features.extras import install_command
from crossview.server.core.services.search_service import SearchService
from crossview.server.edge.listen import RunningServer
from crossview.server.edge.processes import Processes
from crossview.server.wire.methods import METHODS, Method, Touch
from crossview.server.wire.settings import ServerSettings
from crossview.server.wire.status import DETAILS_KEY, Code
from crossview.v1 import search_pb2

PLAIN = [method for method in METHODS.values() if not method.streams and method.each is None]
"""The methods with one request and one response."""
QUERY = {"parent": "collections/drawn", "k": 2, "queries": [{"view": "color", "key": "pictures/dots/dots-00.jpg"}]}


@pytest.fixture
def web(server: RunningServer) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=f"http://127.0.0.1:{server.http_port}", timeout=300) as client:
        yield client


def call(channel: grpc.Channel, method: Method, request: Message) -> Message | grpc.Call:
    """Return the response over gRPC, or the failed call."""
    path = channel.unary_unary(method.path, lambda one: one.SerializeToString(), method.response.FromString)
    try:
        response: Message = path(request, timeout=300)
    except grpc.RpcError as error:
        return error
    return response


def plausible(method: Method) -> Message:
    """Return a request that names existing things: the collection, one of its items, a view."""
    request = method.request()
    for field in method.descriptor.input_type.fields:
        if field.type == field.TYPE_STRING and not field.is_repeated and field.name in ("parent", "name", "view"):
            names = {"parent": "collections/drawn", "name": "collections/drawn", "view": "color"}
            if "Item" in method.name or "Thumbnail" in method.name:
                names["name"] = "collections/drawn/items/pictures/dots/dots-00.jpg"
            if "Space" in method.name:
                names["name"] = "collections/drawn/spaces/default"
            setattr(request, field.name, names[field.name])
    if "queries" in method.descriptor.input_type.fields_by_name:
        request.queries.add(view="color", key="pictures/dots/dots-00.jpg")
    return request


@pytest.mark.parametrize("method", [one for one in PLAIN if one.reads], ids=lambda one: one.name)
@pytest.mark.parametrize("encoding", ["json", "proto"])
def test_every_reading_method_answers_as_over_grpc(
    web: httpx.Client, channel: grpc.Channel, method: Method, encoding: str
) -> None:
    """The response is the same message; a refusal has the same code and message, and its status is not a fault."""
    request = plausible(method)
    if method.name == "WaitOperation":
        request = method.request(name="operations/none")
    wanted = call(channel, method, request)
    text = json_format.MessageToJson(request).encode() if encoding == "json" else request.SerializeToString()
    found = web.post(method.path, content=text, headers={"content-type": f"application/{encoding}"})
    response = method.response()
    if not isinstance(wanted, Message):
        assert found.json()["code"] == wanted.code().name.lower()
        assert (found.json()["message"], found.status_code < 500) == (wanted.details(), True)
    elif encoding == "json":
        assert found.status_code == 200, found.text
        json_format.Parse(found.content, response)
    else:
        response.MergeFromString(found.content)
    if isinstance(wanted, Message):
        for message in (wanted, response):
            if "seconds" in message.DESCRIPTOR.fields_by_name:
                message.ClearField("seconds")
        assert response == wanted
    kind = "json" if found.status_code >= 400 else encoding
    assert found.headers["content-type"] == f"application/{kind}"


@pytest.mark.parametrize("method", [one for one in PLAIN if one.touches is not Touch.NOTHING], ids=lambda one: one.name)
def test_every_writing_method_refuses_as_over_grpc(web: httpx.Client, channel: grpc.Channel, method: Method) -> None:
    """An empty request has the same refusal, or the same response, on both ports."""
    wanted = call(channel, method, method.request())
    found = web.post(method.path, content=b"{}", headers=JSON)
    if isinstance(wanted, Message):
        assert json_format.Parse(found.content, method.response()) == wanted
    else:
        assert (found.json()["code"], found.json()["message"]) == (wanted.code().name.lower(), wanted.details())
        assert 400 <= found.status_code < 500


def test_a_collection_is_made_filled_and_searched(web: httpx.Client, nothing_stays: None) -> None:
    """Every step is JSON alone, as with curl."""
    service = "/crossview.v1.CollectionService/"
    made = web.post(service + "CreateCollection", json={"collectionId": "web", "views": ["v=vectors:dim=3"]})
    assert made.status_code == 200, made.text
    items = [
        {"key": f"k{n}", "labels": ["even" if n % 2 == 0 else "odd"], "rows": {"v": {"values": [n, 0, 1.5]}}}
        for n in range(6)
    ]
    imported = web.post(service + "ImportItems", json={"parent": "collections/web", "items": items})
    assert imported.status_code == 200, imported.text
    assert imported.json()["added"] == "6"
    query = {"view": "v", "vector": {"values": [2.1, 0, 1.5]}}
    search = {"parent": "collections/web", "k": 2, "queries": [query], "filter": {"where": "label = even"}}
    found = web.post(SEARCH, json=search)
    assert [hit["key"] for hit in found.json()["results"][0]["hits"]] == ["k2", "k4"]


def test_a_refusal_has_details_for_programs(web: httpx.Client) -> None:
    """They are those of gRPC: the name of the error, in base64 without padding."""
    found = web.post(SEARCH, json=QUERY | {"parent": "collections/none"})
    body = found.json()
    assert (found.status_code, body["code"]) == (404, "not_found")
    detail = body["details"][0]
    assert detail["type"] == "google.rpc.ErrorInfo"
    assert b"NotFoundError" in base64.b64decode(detail["value"] + "==")


def test_a_deadline_ends_a_call(home: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has the code of Connect, while the work still goes on."""
    leave, real = threading.Event(), SearchService.FindDuplicates
    monkeypatch.setattr(SearchService, "FindDuplicates", lambda *given: leave.wait(300) and real(*given))
    with RunningServer(ServerSettings(home=home.path, port=0, http_port=0)) as running:
        url = f"http://127.0.0.1:{running.http_port}/crossview.v1.SearchService/FindDuplicates"
        headers = JSON | {"connect-timeout-ms": "1"}
        found = httpx.post(url, json={"parent": "collections/drawn"}, headers=headers, timeout=200)
        leave.set()
    assert (found.status_code, found.json()["code"]) == (504, "deadline_exceeded")


@pytest.mark.parametrize(
    ("headers", "status", "message"),
    [
        ({"connect-timeout-ms": "soon"}, 400, "whole number of milliseconds"),
        ({"connect-timeout-ms": "1" * 11}, 400, "whole number of milliseconds"),
        ({"connect-protocol-version": "2"}, 400, "must be 1"),
        ({"content-encoding": "br"}, 415, "send identity or gzip"),
        ({"content-encoding": "gzip"}, 415, "not gzip"),
        ({"content-type": "text/plain"}, 415, "application/json"),
        ({"content-type": "application/connect+json"}, 415, "application/json"),
    ],
)
def test_wrong_headers_are_refused(web: httpx.Client, headers: dict[str, str], status: int, message: str) -> None:
    found = web.post(SEARCH, content=json.dumps(QUERY), headers=JSON | headers)
    assert (found.status_code, message in found.json()["message"]) == (status, True), found.text


def test_other_addresses_and_verbs_are_refused(web: httpx.Client) -> None:
    assert (web.get("/none").status_code, web.get("/none").json()["code"]) == (404, "unimplemented")
    assert (web.put(SEARCH).status_code, web.put(SEARCH).headers["allow"]) == (405, "GET, POST")
    assert web.put("/health").status_code == 405
    assert web.post(STREAM, json=QUERY).status_code == 415


def test_a_request_may_be_compressed(web: httpx.Client) -> None:
    """It may use gzip; the limit of a message counts the decompressed bytes."""
    headers = JSON | {"content-encoding": "gzip"}
    found = web.post(SEARCH, content=gzip.compress(json.dumps(QUERY).encode()), headers=headers)
    assert found.json() == web.post(SEARCH, json=QUERY).json()
    bomb = web.post(SEARCH, content=gzip.compress(b" " * (1 << 25)), headers=headers)
    assert (bomb.status_code, "16,777,216 bytes" in bomb.json()["message"]) == (413, True)
    cut = web.post(SEARCH, content=gzip.compress(json.dumps(QUERY).encode())[:-9], headers=headers)
    assert cut.status_code == 415


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_above_the_limit_is_not_read(web: httpx.Client, chunked: bool) -> None:
    """The refusal arrives although the client is still sending."""
    pieces = (b" " * (1 << 20) for _ in range(20))
    length = {} if chunked else {"content-length": str(20 << 20)}
    found = web.post(SEARCH, content=pieces, headers=JSON | length)
    assert (found.status_code, found.json()["code"]) == (413, "invalid_argument")


@pytest.mark.parametrize("size", [1, 3])
def test_a_connect_stream_answers_each_message(web: httpx.Client, size: int) -> None:
    """Answers are in order; the error of a message is the answer to that message alone."""
    bad = QUERY | {"k": -1}
    body = b"".join(frame(json.dumps(one).encode()) for one in [QUERY, bad, QUERY] * size)
    found = web.post(STREAM, content=body, headers={"content-type": "application/connect+json"})
    *answers, end = json_frames(found.content)
    alone = web.post(SEARCH, json=QUERY).json()
    assert [next(iter(one)) for one in answers] == ["response", "error", "response"] * size
    assert answers[0]["response"] == alone
    assert (found.status_code, found.headers["content-type"], end) == (200, "application/connect+json", {})


def test_a_wrong_frame_ends_a_stream_after_the_answers_before(web: httpx.Client) -> None:
    body = frame(json.dumps(QUERY).encode()) + frame(b"{}", 4)
    found = web.post(STREAM, content=body, headers={"content-type": "application/connect+json"})
    answer, end = json_frames(found.content)
    assert list(answer) == ["response"]
    assert (end["error"]["code"], "flags 4" in end["error"]["message"]) == ("invalid_argument", True)


@pytest.mark.parametrize("cut", [3, 9])
def test_a_stream_that_ends_inside_a_frame_is_refused(web: httpx.Client, cut: int) -> None:
    """That of a method with one response is refused, too, and changes nothing."""
    for path in (STREAM, "/crossview.v1.CollectionService/FitViews"):
        body = frame(json.dumps({"parent": "collections/drawn"}).encode())[:cut]
        found = web.post(path, content=body, headers={"content-type": "application/connect+json"})
        (end,) = json_frames(found.content)
        assert end["error"]["message"] == "the body ends inside a frame"


def test_a_stream_of_requests_has_one_response(web: httpx.Client, nothing_stays: None) -> None:
    """Two messages fit views, the last of which is compressed."""
    headers = {"content-type": "application/connect+json", "connect-content-encoding": "gzip"}
    body = frame(b'{"parent": "collections/none"}') + frame(gzip.compress(b"{}"), 1)
    found = web.post("/crossview.v1.CollectionService/FitViews", content=body, headers=headers)
    (end,) = json_frames(found.content)
    assert end["error"]["code"] == "not_found"


def test_grpc_web_carries_calls_and_streams(web: httpx.Client, channel: grpc.Channel) -> None:
    """They are in binary and in base64; trailers have the status and the details of gRPC."""
    request = json_format.ParseDict(QUERY, search_pb2.SearchRequest())
    wanted = call(channel, METHODS[SEARCH], request)
    bad = search_pb2.SearchRequest(parent="collections/none")
    for kind in ("application/grpc-web", "application/grpc-web+proto", "application/grpc-web-text"):
        text = "text" in kind

        def send(path: str, body: bytes, kind: str = kind, text: bool = text) -> Any:
            sent = base64.b64encode(body[:7]) + base64.b64encode(body[7:]) if text else body
            response = web.post(path, content=sent, headers={"content-type": kind})
            assert (response.status_code, response.headers["content-type"]) == (200, kind)
            whole = response.content
            if text:  # every frame may end with padding
                whole = b"".join(base64.b64decode(whole[at : at + 4]) for at in range(0, len(whole), 4))
            return trailers(whole)

        messages, end = send(SEARCH, frame(request.SerializeToString()))
        assert [search_pb2.SearchResponse.FromString(one) for one in messages] == [wanted]
        assert end == {"grpc-status": "0"}
        messages, end = send(SEARCH, frame(bad.SerializeToString()))
        assert (messages, end["grpc-status"]) == ([], str(Code.NOT_FOUND.value))
        assert end["crossview-error"] == "NotFoundError"
        status = status_pb2.Status.FromString(base64.b64decode(end[DETAILS_KEY] + "=="))
        assert (status.code, "none" in status.message) == (Code.NOT_FOUND, True)
        messages, end = send(SEARCH, frame(request.SerializeToString()) * 2)
        assert (messages, end["grpc-status"]) == ([], str(Code.INVALID_ARGUMENT.value))
        messages, end = send(STREAM, frame(request.SerializeToString()) * 3)
        answers = [search_pb2.StreamSearchResponse.FromString(one).response for one in messages]
        assert (answers, end) == ([wanted] * 3, {"grpc-status": "0"})


def test_grpc_web_has_deadlines(web: httpx.Client) -> None:
    headers = {"content-type": "application/grpc-web", "grpc-timeout": "1m"}
    body = frame(b"\x0a\x11collections/drawn")
    found = web.post("/crossview.v1.SearchService/FindDuplicates", content=body, headers=headers)
    assert trailers(found.content)[1]["grpc-status"] == str(Code.DEADLINE_EXCEEDED.value)
    found = web.post(STREAM, content=body, headers=headers | {"grpc-timeout": "soon"})
    assert trailers(found.content)[1]["grpc-status"] == str(Code.INVALID_ARGUMENT.value)


def test_a_picture_is_uploaded_as_a_form(web: httpx.Client, pictures: Path) -> None:
    """The answer is that to the same search as JSON."""
    image = (pictures / "dots/dots-01.jpg").read_bytes()
    query = {"view": "color", "image": base64.b64encode(image).decode()}
    rest = {"k": 3, "targets": ["color"], "filter": {"where": "label = dots"}}
    wanted = web.post(SEARCH, json={"parent": "collections/drawn", "queries": [query], **rest})
    assert wanted.status_code == 200, wanted.text
    address, files = "/v1/collections/drawn:search", {"image": ("a.jpg", image, "image/jpeg")}
    fields = {"view": "color", "k": "3", "target": "color", "where": "label = dots"}
    assert web.post(address, files=files, data=fields).json() == wanted.json()
    assert web.post(address, files=files, data={"view": "color", "request": json.dumps(rest)}).json() == wanted.json()
    two = web.post(address, files=[("image", ("a", image)), ("image", ("b", image))], data=fields).json()
    assert [one["hits"] for one in two["results"]] == [wanted.json()["results"][0]["hits"]] * 2


@pytest.mark.parametrize(
    ("files", "fields", "message"),
    [
        ({"picture": b"x"}, {}, "send pictures as image"),
        ({"image": b"x"}, {"view": "color"}, "picture"),
        ({"image": b"x"}, {"k": "three"}, "not JSON"),
        ({"image": b"x"}, {"kk": "3"}, "no such field"),
        ({"image": b"x"}, {"request": "[]"}, "JSON object"),
        ({"image": b"x"}, {"where": "a" * (1 << 21)}, "1,048,576 bytes"),
        ({"image": b"x"}, {f"f{n}": "1" for n in range(300)}, "256 parts"),
    ],
)
def test_a_wrong_form_is_refused(
    web: httpx.Client, files: dict[str, bytes], fields: dict[str, str], message: str
) -> None:
    found = web.post("/v1/collections/drawn:search", files=files, data=fields)
    assert (found.status_code, message in found.json()["message"]) == (400, True), found.text


def test_health_is_that_of_the_server(home: Any) -> None:
    """A server that still loads is alive, and not ready."""
    with RunningServer(ServerSettings(home=home.path, port=0, http_port=0, load=("drawn",))) as running:
        end = time.monotonic() + 300
        seen = set()
        while 200 not in seen and time.monotonic() < end:
            found = httpx.get(f"http://127.0.0.1:{running.http_port}/health", timeout=300)
            seen.add(found.status_code)
            assert found.json()["status"] == ("SERVING" if found.status_code == 200 else "NOT_SERVING")
            assert found.status_code in (200, 503)
        assert 200 in seen


def test_the_interface_describes_itself(web: httpx.Client) -> None:
    """Every method with one message and one response, and no reference without its schema."""
    text = web.get("/openapi.json").text
    document = json.loads(text)
    described = {method.path for method in METHODS.values() if method.each is None}
    assert set(document["paths"]) == described | {"/v1/collections/{collection}:search"}
    schemas = document["components"]["schemas"]
    names = {part.split('"')[0] for part in text.split("#/components/schemas/")[1:]}
    assert names <= set(schemas)
    assert set(schemas["crossview.v1.Query"]["properties"]) >= {"view", "image", "vector", "key"}


def test_pages_of_other_sites_cannot_call(web: httpx.Client, home: Any) -> None:
    """Without the setting, no origin may; with it, those of the list may."""
    asks = {"origin": "https://a.example", "access-control-request-method": "POST"}
    assert "access-control-allow-origin" not in web.options(SEARCH, headers=asks).headers
    settings = ServerSettings(home=home.path, port=0, http_port=0, http_origins=("https://a.example",))
    with (
        RunningServer(settings) as running,
        httpx.Client(base_url=f"http://127.0.0.1:{running.http_port}", timeout=300) as other,
    ):
        assert other.options(SEARCH, headers=asks).headers["access-control-allow-origin"] == "https://a.example"
        refused = other.options(SEARCH, headers=asks | {"origin": "https://b.example"})
        assert "access-control-allow-origin" not in refused.headers
        answered = other.post(SEARCH, json=QUERY, headers={"origin": "https://a.example"})
        assert answered.headers["access-control-allow-origin"] == "https://a.example"
        assert other.get("/health", headers={"host": "a.example"}).status_code == 200


def test_a_loopback_server_answers_for_no_other_host(web: httpx.Client) -> None:
    """A site whose name leads to 127.0.0.1 reads nothing through a browser."""
    found = web.post(SEARCH, json=QUERY, headers={"host": "evil.example"})
    assert (found.status_code, found.json()["code"]) == (403, "permission_denied")
    for host in ("localhost:80", "127.0.0.1", "[::1]:8080"):
        assert web.get("/health", headers={"host": host}).status_code == 200


def test_a_used_port_is_an_error(server: RunningServer, home: Any) -> None:
    with pytest.raises(StorageError, match="for HTTP; is another program"):
        RunningServer(ServerSettings(home=home.path, port=0, http_port=server.http_port))
    with pytest.raises(InvalidInputError, match="is not one: write the scheme"):
        ServerSettings(http_origins=("example.org",))


def test_a_caller_that_leaves_ends_its_call(
    server: RunningServer, web: httpx.Client, nothing_stays: None, caplog: pytest.LogCaptureFixture
) -> None:
    """As over gRPC, the dispatcher notes a cancelled call."""
    copy = {"name": "collections/drawn", "collectionId": "copy"}
    assert web.post("/crossview.v1.CollectionService/CopyCollection", json=copy).status_code == 200
    job = {"train": {"parent": "collections/copy", "learner": "lmnn", "views": ["color"], **ENDLESS["lmnn"]}}
    name = web.post("/crossview.v1.JobService/SubmitJob", json=job).json()["name"]
    waiting = {"name": name, "timeout": "3600s"}
    head = "POST /google.longrunning.Operations/WaitOperation HTTP/1.1\r\nhost: localhost\r\n"
    content = json.dumps(waiting)
    with caplog.at_level("INFO", "crossview.requests"):
        with socket.create_connection(("127.0.0.1", server.http_port or 0)) as leaving:
            head += f"content-type: application/json\r\ncontent-length: {len(content)}\r\n\r\n"
            leaving.sendall((head + content).encode())
            until(lambda: sum(map(len, server.jobs.waiting._waiting.values())) == 1)
        until(lambda: [one for one in caplog.messages if "WaitOperation" in one])
    (found,) = [one for one in caplog.messages if "WaitOperation" in one]
    web.post("/google.longrunning.Operations/CancelOperation", json={"name": name})
    web.post("/google.longrunning.Operations/WaitOperation", json=waiting)
    assert "status=CANCELLED" in found


def test_the_port_needs_its_libraries(home: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says how to install them."""
    monkeypatch.setitem(sys.modules, "crossview.server.edge.http.port", None)
    with pytest.raises(NotInstalledError, match=re.escape(install_command("http"))):
        RunningServer(ServerSettings(home=home.path, port=0, http_port=0))


@pytest.mark.long
def test_several_processes_share_the_port(home: Any) -> None:
    """Each answers; so does one at a free port that they choose."""
    served = Processes(ServerSettings(home=home.path, port=0, http_port=0, processes=2))
    try:
        for _ in range(6):
            found = httpx.post(f"http://127.0.0.1:{served.http_port}{SEARCH}", json=QUERY, timeout=300)
            assert found.status_code == 200
    finally:
        served.stop()


HEAD = (
    "POST /crossview.v1.CollectionService/GetCollection HTTP/1.1",
    "host: localhost",
    "content-type: application/json",
)
BODY = b'{"name": "collections/drawn"}'
H2C = ("connection: Upgrade, HTTP2-Settings", "upgrade: h2c", "http2-settings: AAMAAABkAAQCAAAAAAIAAAAA")


def _sent(port: int, *lines: str, body: bytes = BODY, apart: bool = False) -> bytes:
    """Return the answers to a request, whose body may arrive apart from its head, and to a plain one behind it."""
    head = "\r\n".join([*lines, "", ""]).encode()
    plain = "\r\n".join(["GET /health HTTP/1.1", "host: localhost", "connection: close", "", ""]).encode()
    with socket.create_connection(("127.0.0.1", port), timeout=300) as connection:
        connection.sendall(head if apart else head + body + plain)
        if apart:
            time.sleep(0.05)  # so that two packets arrive
            connection.sendall(body + plain)
        answer = b""
        while piece := connection.recv(65_536):
            answer += piece
        return answer


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("offer", [H2C, ("connection: upgrade", "upgrade: websocket", "sec-websocket-key: eA==")])
def test_an_offer_of_another_protocol_is_ignored(server: RunningServer, offer: tuple[str, ...], apart: bool) -> None:
    """curl --http2 and Java make the offer with a POST: its body was lost, or read as a further request."""
    assert server.http_port is not None
    chunked = b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)
    for length, body in ((f"content-length: {len(BODY)}", BODY), ("transfer-encoding: chunked", chunked)):
        answer = _sent(server.http_port, *HEAD, *offer, length, body=body, apart=apart)
        assert answer.count(b"HTTP/1.1 200 OK") == 2
        assert b'"name":"collections/drawn"' in answer
        assert b"upgrade" not in answer.lower()


@pytest.mark.parametrize(
    "connection",
    [
        ("connection: close, Upgrade, HTTP2-Settings",),
        ("connection: Upgrade, HTTP2-Settings ,Close",),
        ("connection: close", "connection: Upgrade, HTTP2-Settings"),
    ],
)
def test_a_connection_with_an_offer_closes_if_asked(server: RunningServer, connection: tuple[str, ...]) -> None:
    """It stayed open for a minute: the header left the request together with the offer."""
    assert server.http_port is not None
    head = [*HEAD, *connection, *H2C[1:], f"content-length: {len(BODY)}", "", ""]
    with socket.create_connection(("127.0.0.1", server.http_port), timeout=300) as sent:
        sent.sendall("\r\n".join(head).encode() + BODY)
        answer = b""
        while piece := sent.recv(65_536):
            answer += piece
    assert answer.startswith(b"HTTP/1.1 200 OK")
    assert b"\r\nconnection: close\r\n" in answer.lower()


@pytest.mark.parametrize(
    "lines",
    [
        ("host: evil", f"content-length: {len(BODY)}"),
        ("transfer-encoding: gzip, chunked",),
        ("transfer-encoding: chunked", "transfer-encoding: identity"),
        ("transfer-encoding: chunked", f"content-length: {len(BODY)}"),
    ],
)
def test_a_request_that_two_programs_could_read_differently_is_refused(
    server: RunningServer, lines: tuple[str, ...]
) -> None:
    assert server.http_port is not None
    answer = _sent(server.http_port, *HEAD, *lines)
    assert answer.startswith(b"HTTP/1.1 400")
    assert b"200 OK" not in answer


def test_http_2_is_refused_in_words(server: RunningServer) -> None:
    assert server.http_port is not None
    with socket.create_connection(("127.0.0.1", server.http_port), timeout=300) as connection:
        connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        assert b"This port speaks HTTP/1.1" in connection.recv(65_536)


@pytest.mark.parametrize(("charset", "status"), [("utf-8", 200), ('"UTF-8"', 200), ("latin1", 415), ("utf-16", 415)])
def test_json_is_utf_8(web: httpx.Client, charset: str, status: int) -> None:
    headers = {"content-type": f"application/json; charset={charset}"}
    found = web.post("/crossview.v1.CollectionService/GetCollection", content=BODY, headers=headers)
    assert found.status_code == status
