"""Traces: the spans of calls and jobs, through threads, processes that read pictures, and indexes."""

import json
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import grpc
import httpx
import pytest
from long_jobs import until
from open_homes import copy_home

from crossview.engine.collections.home import Home
from crossview.engine.values.errors import InvalidInputError, NotInstalledError, StorageError
from crossview.features.extras import install_command
from crossview.features.picture_pool import PicturePool
from crossview.features.pictures import PictureTask
from crossview.features.reading import rows
from crossview.features.stages import MOST, Recording, listening, present, stage, within
from crossview.server.client.client import Client
from crossview.server.core.dispatch.origin import NO_TRACE, Trace
from crossview.server.core.keys.keys import Keys
from crossview.server.edge.listen import RunningServer
from crossview.server.wire.settings import ServerSettings
from crossview.v1 import jobs_pb2, search_pb2

ROOT = Path(__file__).parents[2]
TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
TRACEPARENT = f"00-{TRACE}-{PARENT}-01"
SEARCH = "/crossview.v1.SearchService/Search"
Span = dict[str, Any]
Tree = tuple[str, list["Tree"]]
Traced = Callable[..., RunningServer]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "traces.jsonl"


@pytest.fixture
def traced(home: Home, file: Path) -> Iterator[Traced]:
    running: list[RunningServer] = []

    def start(**settings: Any) -> RunningServer:
        given = {"home": home.path, "port": 0, "http_port": 0, "trace_file": file} | settings
        running.append(RunningServer(ServerSettings(**given)))
        return running[-1]

    yield start
    for one in running:
        one.stop()


def spans(server: RunningServer, file: Path) -> list[Span]:
    """Return all spans, after the end of the server."""
    server.stop()
    return [json.loads(line) for line in file.read_text().splitlines()]


def tree(found: Sequence[Span], root: Span) -> Tree:
    """Return the names of a span and of all spans below it, in the order of their starts."""
    below = [one for one in found if one["parent_id"] == root["span_id"]]
    return root["name"], [tree(found, one) for one in sorted(below, key=lambda one: one["start"])]


def named(found: Sequence[Span], name: str) -> Span:
    (one,) = [span for span in found if span["name"] == name]
    return one


def warm(server: RunningServer, view: str = "color") -> None:
    """Load the collection, so that the next search does not."""
    with Client(server.address) as client:
        key = client.open("drawn").items()[0].key
    call(server, search_pb2.SearchRequest(parent="collections/drawn", k=1, queries=[{"view": view, "key": key}]))


def call(server: RunningServer, request: search_pb2.SearchRequest, *headers: tuple[str, str]) -> None:
    with grpc.insecure_channel(server.address) as channel:
        channel.unary_unary(SEARCH, lambda one: one.SerializeToString(), lambda data: data)(request, metadata=headers)


def test_a_search_by_picture_over_http_is_one_trace_through_the_process_that_reads_it(
    traced: Traced, file: Path, pictures: Path
) -> None:
    """It has the exact tree, the caller's trace and state, times inside each other, facts, and no content."""
    server, picture = traced(), next(pictures.rglob("dots-01.jpg"))
    warm(server)
    address = f"http://127.0.0.1:{server.http_port}/v1/collections/drawn:search"
    given = {"traceparent": TRACEPARENT, "tracestate": "vendor=1", "x-request-id": "picture-1"}
    answer = httpx.post(
        address,
        files={"image": picture.read_bytes()},
        data={"view": "color", "target": "color", "k": "3"},
        headers=given,
        timeout=300,
    )
    assert answer.status_code == 200, answer.text
    found = [one for one in spans(server, file) if one["trace_id"] == TRACE]
    root = named(found, SEARCH[1:])
    assert root["parent_id"] == PARENT
    reading = ("read a picture", [("decode", []), ("extract", [])])
    work = [("read pictures", [("wait for a process", []), reading]), ("map queries", []), ("search an index", [])]
    near = [("search near copies", []), ("read hits", [])]
    before = [("read the request", []), ("decode the request", []), ("wait for a thread", [])]
    assert tree(found, root) == (root["name"], [*before, ("work", [*work, *near]), ("encode the response", [])])
    by_id = {one["span_id"]: one for one in found}
    for one in found:
        if one["parent_id"] in by_id:
            assert by_id[one["parent_id"]]["start"] <= one["start"]
            assert one["ms"] <= by_id[one["parent_id"]]["ms"] + 0.01
    assert root["attributes"] == {
        "rpc.service": "crossview.v1.SearchService",
        "rpc.method": "Search",
        "crossview.status": "OK",
        "crossview.request_id": "picture-1",
        "crossview.collection": "drawn",
        "crossview.queries": 1,
        "crossview.hits": 3,
    }
    assert named(found, "search an index")["attributes"] == {"crossview.target": "color"}
    assert named(found, "read a picture")["attributes"]["crossview.process"] > 0
    assert "dots" not in file.read_text()
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_search_by_vector_over_grpc_has_exactly_these_spans(
    traced: Traced, file: Path, home: Home, caplog: pytest.LogCaptureFixture
) -> None:
    """The first search, in a thread, loads the space; the second is answered in the event loop. Logs name the trace."""
    caplog.set_level("INFO", "crossview.requests")
    server = traced(http_port=None)
    with home.open("drawn") as collection:
        (dim,) = [view.dim for view in collection.info().views if view.name == "color"]
    request = search_pb2.SearchRequest(parent="collections/drawn", k=2, targets=["color"])
    request.queries.add(view="color", vector={"values": [1 / dim] * dim})
    for _ in range(2):
        call(server, request, ("traceparent", TRACEPARENT), ("tracestate", "a=1"), ("tracestate", "b=2"))
    found = spans(server, file)
    first, second = (one for one in found if one["parent_id"] == PARENT)
    names = ("map queries", "search an index", "search near copies", "read hits")
    work = ("work", [(name, []) for name in names])
    around = [("read the request", []), ("decode the request", [])], [("encode the response", [])]
    assert tree(found, second) == (second["name"], [*around[0], work, *around[1]])
    opened = ("work", [("open the collection", []), ("load a space", []), *work[1]])
    waited = ("wait for a thread", [])
    assert tree(found, first) == (first["name"], [*around[0], waited, opened, *around[1]])
    assert {one["trace_id"] for one in found} == {TRACE}
    logged = [vars(record)["fields"]["trace"] for record in caplog.records if record.name == "crossview.requests"]
    assert logged == [TRACE, TRACE]


def test_concurrent_calls_keep_their_stages_apart(traced: Traced, file: Path, pictures: Path) -> None:
    """Calls may be alone, answered together or by pictures: each has its own trace, with one index search."""
    server = traced(workers=2)
    warm(server)
    image = next(pictures.rglob("*.jpg")).read_bytes()
    request = search_pb2.SearchRequest(parent="collections/drawn", k=2, targets=["color"])

    def search(number: int) -> None:
        made = search_pb2.SearchRequest()
        made.CopyFrom(request)
        if number % 3:
            made.queries.add(view="color", key="pictures/dots/dots-00.jpg")
        else:
            made.queries.add(view="color", image=image)
        call(server, made, ("traceparent", f"00-{number + 1:032x}-{PARENT}-01"), ("x-request-id", f"call-{number}"))

    with ThreadPoolExecutor(12) as threads:
        list(threads.map(search, range(60)))
    found = spans(server, file)
    for number in range(60):
        own = [one for one in found if one["trace_id"] == f"{number + 1:032x}"]
        root = named(own, SEARCH[1:])
        assert root["attributes"]["crossview.request_id"] == f"call-{number}"
        assert len([one for one in own if one["name"] == "search an index"]) == 1
        assert len([one for one in own if one["name"] == "read a picture"]) == (0 if number % 3 else 1)
        assert len({one["span_id"] for one in own}) == len(own)
        ids = {one["span_id"] for one in own}
        assert all(one["parent_id"] in ids for one in own if one is not root)


def test_a_job_is_in_the_trace_of_its_call_and_its_record_names_the_call(
    traced: Traced, file: Path, home: Home, tmp_path: Path
) -> None:
    copy_home(home.path / "drawn", tmp_path / "home" / "drawn")
    server = traced(home=tmp_path / "home")
    with Client(server.address) as client:
        with grpc.insecure_channel(server.address) as channel:
            submit = channel.unary_unary(
                "/crossview.v1.JobService/SubmitJob", lambda one: one.SerializeToString(), lambda data: data
            )
            request = jobs_pb2.SubmitJobRequest(request_id="traced")
            request.train.parent = "collections/drawn"
            request.train.learner, request.train.space_id, request.train.activate = "cca", "traced", False
            request.train.views.extend(["color", "sift"])
            headers = ("traceparent", TRACEPARENT), ("x-request-id", "submitted")
            submit(request, metadata=headers)
        until(lambda: client.jobs.get("traced").has_ended, 60)
        job = client.jobs.get("traced")
    assert (job.state, job.error, job.call_id) == ("done", "", "submitted")
    found = spans(server, file)
    submitted = named(found, "crossview.v1.JobService/SubmitJob")
    assert job.traceparent == f"00-{TRACE}-{submitted['span_id']}-01"
    whole = named(found, "job train")
    assert (whole["parent_id"], whole["trace_id"]) == (submitted["span_id"], TRACE)
    assert whole["attributes"] == {
        "crossview.collection": "drawn",
        "crossview.state": "done",
        "crossview.request_id": "submitted",
    }
    _, below = tree(found, whole)
    assert [name for name, _ in below] == ["wait for a place", "work"]
    assert [name for name, _ in below[1][1]] == ["fit", "calibrate"]


def test_a_server_without_traces_imports_no_library(home: Home) -> None:
    code = (
        "import sys; from crossview.server.edge.listen import RunningServer as R;"
        "from crossview.server.wire.settings import ServerSettings as S;"
        f"R(S(home=__import__('pathlib').Path({str(home.path)!r}), port=0)).stop();"
        "assert not [one for one in sys.modules if one.startswith('opentelemetry')]"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_a_wrong_traceparent_begins_a_new_trace() -> None:
    """It is repeated, malformed, zero or in capitals; a long state is left out."""
    good = ("traceparent", TRACEPARENT)
    assert Trace.of([good, ("tracestate", "a=1"), ("tracestate", "b=2")]) == Trace(TRACEPARENT, "a=1,b=2")
    assert Trace.of([good, ("tracestate", "x" * 513)]) == Trace(TRACEPARENT)
    for wrong in (
        *("", "x", TRACEPARENT.upper(), f"ff-{TRACE}-{PARENT}-01", f"00-{'0' * 32}-{PARENT}-01"),
        *(f"00-{TRACE}-{'0' * 16}-01", TRACEPARENT + "-more", TRACEPARENT + "\n"),
    ):
        assert Trace.of([("traceparent", wrong)]) is NO_TRACE
    assert Trace.of([good, good]) is Trace.of([("traceparent-bin", b"")]) is NO_TRACE


def test_the_ratio_holds_for_new_traces_and_a_flag_for_those_of_callers(traced: Traced, file: Path) -> None:
    server = traced(trace_ratio=0.0)
    request = search_pb2.SearchRequest(parent="collections/none", k=1)
    for headers in ([], [("traceparent", TRACEPARENT)], [("traceparent", TRACEPARENT[:-1] + "0")]):
        with pytest.raises(grpc.RpcError):
            call(server, request, *headers)
    (only,) = [one for one in spans(server, file) if one["name"] == SEARCH[1:]]
    assert only["trace_id"] == TRACE
    assert only["attributes"]["crossview.status"] in ("INVALID_ARGUMENT", "NOT_FOUND")
    assert only["status"] == "UNSET"  # a fault of the caller


class _Collector(BaseHTTPRequestHandler):
    """Keeps what it receives, or never answers."""

    bodies: list[tuple[str, bytes]]
    silent: threading.Event | None

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.silent is not None:
            self.silent.wait(300)
        self.bodies.append((self.path, body))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: Any) -> None: ...


@pytest.mark.parametrize("silent", [False, True])
def test_a_collector_gets_the_spans_and_a_silent_one_holds_up_nothing(
    traced: Traced, silent: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The end of the server sends the last spans, and gives up on a collector that does not answer."""
    monkeypatch.setattr("crossview.server.core.observing.tracing._FLUSH_SECONDS", 0.3 if silent else 300.0)
    waiting = threading.Event() if silent else None
    handler = type("Handler", (_Collector,), {"bodies": [], "silent": waiting})
    with HTTPServer(("127.0.0.1", 0), handler) as collector:
        threading.Thread(target=collector.serve_forever, daemon=True).start()
        server = traced(trace_url=f"http://127.0.0.1:{collector.server_port}")
        warm(server)
        server.stop()
        if waiting is not None:
            waiting.set()
        else:
            assert {path for path, _ in handler.bodies} == {"/v1/traces"}
            assert any(SEARCH[1:].encode() in body for _, body in handler.bodies)
        collector.shutdown()


def test_the_key_of_a_caller_is_named(traced: Traced, file: Path, tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    home.create("one", views=("color",)).close()
    secret, _ = Keys(home.path).create("monitor", "read")
    server = traced(home=home.path)
    with Client(server.address, key=secret) as client:
        assert client.open("one").count() == 0
    counted = named(spans(server, file), "crossview.v1.CollectionService/CountItems")
    assert counted["attributes"]["crossview.key"] == "monitor"
    assert secret not in file.read_text()


def test_what_traces_cannot_be_is_refused(tmp_path: Path, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    for wrong in ("ftp://host", "http://", "", "localhost:4318", "http://a b"):
        with pytest.raises(InvalidInputError, match="the server's trace_url is"):
            ServerSettings(trace_url=wrong)
    with pytest.raises(InvalidInputError, match=r"trace_ratio is 2\.0; it must be a number from 0\.0 to 1\.0"):
        ServerSettings(trace_ratio=2.0)
    with pytest.raises(StorageError):
        RunningServer(ServerSettings(home=home.path, port=0, trace_file=tmp_path / "no" / "file"))
    monkeypatch.setitem(sys.modules, "crossview.server.core.observing.tracing", None)
    with pytest.raises(NotInstalledError, match=re.escape(install_command("tracing"))):
        RunningServer(ServerSettings(home=home.path, port=0, trace_file=tmp_path / "file"))


def test_a_recording_has_limits_and_stays_in_its_thread() -> None:
    recording, other = Recording(), Recording()
    assert present() is None
    with listening(recording), stage("outer"):
        with within(None), stage("unheard"), listening(other), stage("elsewhere"):
            pass
        for _ in range(MOST + 5):
            with stage("inner"):
                pass
        with ThreadPoolExecutor(1) as threads:
            assert threads.submit(present).result() is None
    assert present() is None
    assert [one.name for one in other.stages] == ["elsewhere"]
    assert (len(recording.stages), recording.dropped) == (MOST, 6)
    assert {one.around for one in recording.stages[1:]} == {recording.stages[0]}
    copy = Recording()
    copy.take(json.loads(json.dumps(recording.packed())), None)
    assert [(one.name, one.began, one.ended) for one in copy.stages] == [
        (one.name, one.began, one.ended) for one in recording.stages
    ]


def test_the_pool_records_each_picture_with_the_stages_of_its_process(pictures: Path) -> None:
    pool, recording = PicturePool(1), Recording()
    task = PictureTask(next(pictures.rglob("*.jpg")).read_bytes(), {})
    try:
        with listening(recording), stage("read pictures"):
            pool.run(rows, [task, task], lambda: None)
    finally:
        pool.close()
    names = [one.name for one in recording.stages]
    assert sorted(names) == sorted(["read pictures", *["wait for a process", "read a picture", "decode"] * 2])


def test_the_example_draws_a_trace(tmp_path: Path) -> None:
    """It has a line for each span of the last search, with names as text."""
    shared = {"trace_id": "t", "start": "2026-11-27T05:41:28.320284+00:00", "ms": 2.5}
    root = shared | {"span_id": "a", "parent_id": "", "name": SEARCH[1:], "attributes": {"rpc.method": "Search"}}
    below = shared | {"span_id": "b", "parent_id": "a", "name": "work", "attributes": {"crossview.view": "<script>&"}}
    (tmp_path / "traces").write_text("".join(json.dumps(one) + "\n" for one in (below, root)))
    drawn = subprocess.run(
        [sys.executable, ROOT / "examples" / "waterfall.py", tmp_path / "traces"], capture_output=True, check=True
    )
    texts = [one.text for one in ElementTree.fromstring(drawn.stdout).iter() if one.tag.endswith("text")]  # noqa: S314
    assert texts == ["Search", "2.50 ms", "work, view <script>&", "2.50 ms"]
