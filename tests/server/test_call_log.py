"""Logs of calls: ids, lines of JSON, and slow calls without the content of their requests."""

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from terminal import fill_rows

from crossview.engine.collections.home import Home
from crossview.engine.values.errors import CrossviewError
from crossview.engine.values.query import Query, SearchRequest
from crossview.server.client.client import Client
from crossview.server.core.dispatch.call_log import REQUEST_LOG, SLOW_LOG
from crossview.server.core.logs import JsonLines
from crossview.server.core.services.collection_service import CollectionService
from crossview.server.edge.listen import RunningServer
from crossview.server.wire.settings import ServerSettings
from crossview.v1 import collections_pb2 as pb

LIST = "/crossview.v1.CollectionService/ListCollections"


@pytest.fixture
def slow(tmp_path: Path) -> Iterator[RunningServer]:
    """A server that logs every call as a slow one."""
    fill_rows(Home(tmp_path / "home"), 10)
    with RunningServer(ServerSettings(home=tmp_path / "home", port=0, slow_ms=0.0)) as running:
        yield running


def lines(caplog: pytest.LogCaptureFixture, name: str) -> list[dict[str, Any]]:
    """Return the lines of a logger, as JSON."""
    return [json.loads(JsonLines().format(record)) for record in caplog.records if record.name == name]


@pytest.mark.parametrize(
    ("given", "kept"),
    [("run-7.a_B", True), ("a" * 64, True), ("a" * 65, False), ("a b", False), ("", False), ("a=b", False)],
)
def test_a_call_has_the_id_of_its_header_or_a_random_one(
    slow: RunningServer, caplog: pytest.LogCaptureFixture, given: str, kept: bool
) -> None:
    """Only a short and plain id is accepted: no other text comes into the log."""
    with caplog.at_level(logging.INFO, REQUEST_LOG), grpc.insecure_channel(slow.address) as channel:
        channel.unary_unary(LIST)(b"", metadata=[("x-request-id", given)])
        slow.stop()
    (line,) = lines(caplog, REQUEST_LOG)
    assert (line["id"] == given) is kept
    assert kept or len(line["id"]) == 16
    assert (line["method"], line["status"], line["level"]) == ("ListCollections", "OK", "INFO")


def test_an_unexpected_error_has_the_id_of_its_call(
    slow: RunningServer, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is in the answer, in the line of the call, and beside the traceback, which only the log has."""

    def broken(*_: object) -> pb.ListCollectionsResponse:
        raise ZeroDivisionError("of this server")

    monkeypatch.setattr(CollectionService, "ListCollections", broken)
    with RunningServer(slow.settings) as running, grpc.insecure_channel(running.address) as channel:
        with caplog.at_level(logging.INFO, REQUEST_LOG), pytest.raises(grpc.RpcError) as caught:
            channel.unary_unary(LIST)(b"", metadata=[("x-request-id", "job-42")])
        running.stop()
    assert "its log explains error job-42" in str(caught.value)
    assert "ZeroDivisionError" not in str(caught.value)
    (line,) = lines(caplog, REQUEST_LOG)
    assert (line["id"], line["status"]) == ("job-42", "INTERNAL")
    (error,) = [one for one in lines(caplog, "crossview.server") if "job-42" in one["message"]]
    assert "ZeroDivisionError: of this server" in error["error"]


def test_a_slow_search_has_its_stages_and_sizes_and_no_content(
    slow: RunningServer, caplog: pytest.LogCaptureFixture
) -> None:
    condition = "label='cat' and not key='cat/5'"
    with caplog.at_level(logging.WARNING, SLOW_LOG), Client(slow.address) as client:
        found = client.open("rows").search(
            SearchRequest([Query("color", key="cat/0")], space="raw", targets=("color",), k=3, filter=condition)
        )
        slow.stop()
    (line,) = [one for one in lines(caplog, SLOW_LOG) if one["method"] == "Search"]
    assert (line["k"], line["queries"], line["hits"]) == (3, 1, len(found[0].hits))
    assert (line["views"], line["targets"], line["space"]) == ("color", "color", "raw")
    assert line["filter_bytes"] > 0
    assert line["level"] == "WARNING"
    assert 0 < line["work_ms"] <= line["ms"]
    assert line["wait_ms"] + line["work_ms"] + line["encode_ms"] <= line["ms"] + 1
    assert "cat" not in json.dumps(line)


def test_only_slow_calls_are_logged(slow: RunningServer, caplog: pytest.LogCaptureFixture) -> None:
    with RunningServer(ServerSettings(home=slow.settings.home, port=0, slow_ms=1e6)) as running:
        with caplog.at_level(logging.WARNING, SLOW_LOG), Client(running.address) as client:
            client.names()
        running.stop()
    assert lines(caplog, SLOW_LOG) == []


def test_names_with_odd_characters_do_not_break_a_line(slow: RunningServer, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, SLOW_LOG), Client(slow.address) as client:
        with pytest.raises(CrossviewError):
            client.open("rows").search(SearchRequest([Query("co\nlor x", key="cat/0")], targets=("a" * 500,)))
        slow.stop()
    (line,) = [one for one in lines(caplog, SLOW_LOG) if one["method"] == "Search"]
    assert line["views"] == "co?lor?x"
    assert len(line["targets"]) == 100
    assert all("\n" not in record.getMessage() for record in caplog.records if record.name == SLOW_LOG)


def test_a_format_must_be_known() -> None:
    with pytest.raises(CrossviewError, match="log_format is 'xml'; it must be text or json"):
        ServerSettings(log_format="xml")
