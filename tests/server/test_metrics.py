"""The port for administrators: metrics for Prometheus, health, and the numbers of calls, rooms and collections."""

import json
import re
import socket
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from long_jobs import until
from ports import free_port
from prometheus_client.parser import text_string_to_metric_families

from crossview.engine.collections.home import Home
from crossview.engine.values.errors import CrossviewError, NotFoundError, StorageError
from crossview.engine.values.query import Query, SearchRequest
from crossview.server.client.client import Client
from crossview.server.core.observing.call_metrics import Histogram
from crossview.server.edge.listen import RunningServer
from crossview.server.wire.settings import ServerSettings

SEARCH = SearchRequest([Query("color", key="dots/dots-00.jpg")], k=3, targets=("color",))
Values = dict[tuple[str, tuple[str, ...]], float]


@pytest.fixture(scope="module")
def watched(home: Home) -> Iterator[RunningServer]:
    settings = ServerSettings(home=home.path, port=0, admin_port=free_port())
    with RunningServer(settings) as running:
        yield running


def page(server: RunningServer, path: str) -> tuple[int, str]:
    assert server.admin is not None
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{server.admin.port}{path}", timeout=300) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def scraped(server: RunningServer) -> Values:
    """Return the values of a scrape, by name and the values of the labels in the order of their names."""
    _, text = page(server, "/metrics")
    return {
        (one.name, tuple(value for _, value in sorted(one.labels.items()))): one.value
        for family in text_string_to_metric_families(text)
        for one in family.samples
    }


def test_each_call_counts_once_with_its_status_bytes_and_stages(watched: RunningServer) -> None:
    """It counts exactly: calls, errors, hits, bytes, and one value of each stage of a call in a thread."""
    before = scraped(watched)
    with Client(watched.address) as client:
        collection = client.open("drawn")
        item = collection.items()[0].key
        request = SearchRequest([Query("color", key=item)], k=3, targets=("color",))
        for _ in range(5):
            assert len(collection.search(request)[0].hits) == 3
        with pytest.raises(NotFoundError):
            collection.search(SearchRequest([Query("color", key="no-such")], targets=("color",)))

        def more(name: str, *labels: str) -> float:
            return scraped(watched).get((name, labels), 0.0) - before.get((name, labels), 0.0)

        assert more("crossview_calls_total", "OK", "Search") == 5
        assert more("crossview_calls_total", "NOT_FOUND", "Search") == 1
        assert more("crossview_errors_total", "NotFoundError", "Search") == 1
        assert more("crossview_hits_total", "Search") == 15
        assert more("crossview_request_bytes_total", "Search") > 0
        assert more("crossview_response_bytes_total", "Search") > 0
        assert more("crossview_call_seconds_count", "Search", "whole") == 6
        assert more("crossview_call_seconds_bucket", "+Inf", "Search", "whole") == 6
        assert more("crossview_call_seconds_count", "ListItems", "wait") >= 1
        assert more("crossview_call_seconds_count", "ListItems", "work") >= 1
        assert more("crossview_call_seconds_count", "ListItems", "encode") >= 1
        assert scraped(watched)["crossview_connections", ()] == 1


def test_the_parts_of_the_server_have_their_numbers(watched: RunningServer) -> None:
    with Client(watched.address) as client:
        client.open("drawn").search(SearchRequest([Query("color", key=client.open("drawn").items()[0].key)], k=1))
        seen = scraped(watched)
    assert seen["crossview_items", ("drawn",)] == 18
    assert seen["crossview_index_bytes", ("drawn",)] > 0
    assert seen["crossview_versions", ("drawn",)] >= 1
    assert seen["crossview_open_collections", ()] == 1
    assert seen["crossview_bytes_in_flight", ()] == seen["crossview_calls_in_progress", ()] == 0
    rooms = {labels[0] for name, labels in seen if name == "crossview_room_waiting"}
    assert rooms == {"pictures", "texts", "searches", "reads", "writes", "long", "fits"}
    assert seen["crossview_room_threads", ("searches",)] == watched.settings.threads
    assert {labels for name, labels in seen if name == "crossview_jobs"} == {
        (lane, state) for lane in ("long", "quick") for state in ("waiting", "running", "done", "failed", "cancelled")
    }
    assert seen["crossview_picture_processes", ()] == 0
    assert seen["process_resident_memory_bytes", ()] > 1e6


def test_waiting_calls_and_busy_threads_are_seen(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    import threading

    from crossview.server.core.services.collection_service import CollectionService

    leave, real = threading.Event(), CollectionService.ListItems
    monkeypatch.setattr(CollectionService, "ListItems", lambda self, *given: leave.wait(300) and real(self, *given))
    settings = ServerSettings(home=home.path, port=0, admin_port=free_port(), threads=1)
    with RunningServer(settings) as running, Client(running.address) as client, ThreadPoolExecutor(3) as pool:
        asked = [pool.submit(lambda: len(client.open("drawn").items())) for _ in range(3)]

        def state() -> tuple[float, float]:
            seen = scraped(running)
            return seen["crossview_room_busy", ("reads",)], seen["crossview_room_waiting", ("reads",)]

        until(lambda: state() == (1, 2))
        assert scraped(running)["crossview_bytes_in_flight", ()] > 0
        leave.set()
        assert [one.result() for one in asked] == [18] * 3
        until(lambda: state() == (0, 0))


def test_stats_are_the_same_numbers_as_json(watched: RunningServer) -> None:
    with Client(watched.address) as client:
        client.open("drawn").items()
    samples = json.loads(page(watched, "/stats")[1])
    assert {one["name"] for one in samples} >= {"crossview_calls_total", "crossview_items", "crossview_room_busy"}
    assert all(set(one) == {"name", "labels", "value"} for one in samples)


def test_health_over_http(watched: RunningServer) -> None:
    """A server is always alive, and ready only while it serves; other pages name the known ones."""
    assert page(watched, "/healthz") == (200, "ok\n")
    assert page(watched, "/readyz") == (200, "ready\n")
    watched._health.set(serving=False)
    try:
        assert page(watched, "/readyz") == (503, "not ready\n")
        assert page(watched, "/healthz")[0] == 200
    finally:
        watched._health.set(serving=True)
    status, text = page(watched, "/../etc/passwd")
    assert (status, "/metrics" in text) == (404, True)


def test_only_get_and_head_are_answered(watched: RunningServer) -> None:
    assert watched.admin is not None
    with socket.create_connection(("127.0.0.1", watched.admin.port), timeout=300) as raw:
        raw.sendall(b"POST /metrics HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n")
        assert b" 501 " in raw.recv(4096).split(b"\n")[0]
    with socket.create_connection(("127.0.0.1", watched.admin.port), timeout=300) as raw:
        raw.sendall(b"\x00\xff" * 100 + b"\r\n\r\n")
        assert b"400" in raw.recv(4096)
    assert page(watched, "/healthz")[0] == 200


def test_silent_connections_leave_the_port_free(watched: RunningServer) -> None:
    """Beyond the limit, connections are closed; closed ones make room again."""
    assert watched.admin is not None
    opened = [socket.create_connection(("127.0.0.1", watched.admin.port)) for _ in range(40)]
    for one in opened:
        one.close()

    def answers() -> bool:
        try:
            return page(watched, "/healthz")[0] == 200
        except OSError:
            return False

    until(answers)


def test_a_taken_port_is_an_error_and_frees_the_others(home: Home) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port, free = taken.getsockname()[1], free_port()
        with pytest.raises(StorageError, match=f"cannot listen on 127.0.0.1:{port} for administrators"):
            RunningServer(ServerSettings(home=home.path, port=free, admin_port=port))
    with RunningServer(ServerSettings(home=home.path, port=free)) as running:
        assert running.admin is None


def test_the_ports_of_all_processes_must_exist() -> None:
    with pytest.raises(CrossviewError, match="2 processes needs a port"):
        ServerSettings(admin_port=65_535, processes=2)


def test_a_histogram_counts_like_a_sorted_list() -> None:
    bounds, values = (1.0, 2.0, 4.0), [0.5, 1.0, 1.5, 2.0, 4.0, 9.0]
    histogram = Histogram(bounds)
    for value in values:
        histogram.add(value)
    buckets, total = histogram.buckets()
    expected = [(str(one), float(sum(value <= one for value in values))) for one in bounds]
    assert (buckets, total) == ([*expected, ("+Inf", 6.0)], sum(values))


def test_the_dashboard_names_only_metrics_that_exist(watched: RunningServer) -> None:
    """Every metric in deploy/grafana.json is in a scrape, and every metric of crossview is on the dashboard."""
    known = {name for name, _ in scraped(watched)}
    text = page(watched, "/metrics")[1]
    families = {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE crossview_")}
    board: dict[str, Any] = json.loads((Path(__file__).parents[2] / "deploy/grafana.json").read_text())
    named = {
        name
        for panel in board["panels"]
        for target in panel["targets"]
        for name in re.findall(r"\b(?:crossview|process)_[a-z_]+", target["expr"])
    }
    families |= {f"{family}_{part}" for family in families for part in ("bucket", "sum", "count")}
    assert named <= known | families
    assert {re.sub("_(bucket|sum|count)$", "", name) for name in named} >= {
        re.sub("_(bucket|sum|count)$", "", name) for name in known if name.startswith("crossview_")
    }


def test_a_foreign_host_gets_nothing_from_the_port_of_administrators(watched: RunningServer) -> None:
    assert watched.admin is not None
    address = f"http://127.0.0.1:{watched.admin.port}/metrics"
    for host, status in (("evil.example", 403), ("localhost:80", 200), ("127.0.0.1", 200), ("[::1]:9", 200)):
        assert httpx.get(address, headers={"host": host}, timeout=300).status_code == status
