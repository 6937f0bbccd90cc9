"""``crossview stats`` prints the numbers of a running server."""

import json
from pathlib import Path

import pytest
from ports import free_port
from terminal import fill_rows, run

from crossview.engine.collections.home import Home
from crossview.engine.values.query import Query, SearchRequest
from crossview.server.client.client import Client
from crossview.server.commands.stats import Sample, Stats
from crossview.server.edge.listen import RunningServer
from crossview.server.wire.settings import ServerSettings


def test_the_numbers_of_a_server(tmp_path: Path) -> None:
    """They are those of calls, rooms, collections and jobs, for people and as JSON."""
    fill_rows(Home(tmp_path), 10)
    port = free_port()
    with RunningServer(ServerSettings(home=tmp_path, port=0, admin_port=port)) as running:
        with Client(running.address) as client:
            rows = client.open("rows")
            for _ in range(4):
                rows.search(SearchRequest([Query("color", key="cat/0")], space="raw", targets=("color",), k=3))
        printed = run("stats", "--admin", f"127.0.0.1:{port}")
        values = json.loads(run("stats", "--admin", f"127.0.0.1:{port}", "--json").stdout)["result"]["samples"]
        other = run("stats", "--admin", running.address)
    assert printed.exit_code == 0, printed.stderr
    cells = {line.split("\t")[0]: line.split("\t")[1:] for line in printed.stdout.splitlines()}
    assert (cells["Search"][0], cells["Search"][1], cells["Search"][-1]) == ("4", "0", "12")
    assert cells["searches"][1] == "4"
    assert cells["rows"][0] == "20"
    assert "jobs: none" in printed.stdout
    assert {"name": "crossview_hits_total", "labels": {"method": "Search"}, "value": 12} in values
    assert other.exit_code == 1
    assert "is not the port for metrics" in other.stderr


@pytest.mark.parametrize(("address", "words"), [("127.0.0.1:1", "no server answers"), ("nowhere", "HOST:PORT")])
def test_a_wrong_address_is_an_error_with_a_remedy(address: str, words: str) -> None:
    failed = run("stats", "--admin", address)
    assert (failed.exit_code, words in failed.stderr) == (1, True)


def test_percentiles_are_the_buckets_that_hold_them() -> None:
    """It is the upper limit of the first bucket that has the share of the calls."""
    counts = {"0.001": 50.0, "0.01": 98.0, "0.1": 99.0, "+Inf": 100.0}
    labels = {"method": "Search", "stage": "whole"}
    stats = Stats([Sample("crossview_call_seconds_bucket", labels | {"le": le}, n) for le, n in counts.items()])
    assert [stats.below("Search", share) for share in (0.5, 0.6, 0.99, 1.0)] == ["1", "10", "100", "more"]
