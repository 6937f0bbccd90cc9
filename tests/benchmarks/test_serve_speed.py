"""The benchmark of the server's speed draws its data, counts calls by its clients, and writes a report."""

import json
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.serve.benchmark import ABOVE, BENCHMARK, SHARE, markdown
from benchmarks.serve.clients import clients
from benchmarks.serve.data import ASKED_PICTURES, STORED_PICTURES, pictures, requests
from benchmarks.serve.drawn import FORMATS, picture
from benchmarks.serve.figures import ECHO, OURS, REFERENCE, Limit, figure, medians
from benchmarks.serve.load import OK, REFUSED, SEARCH, Calls, Load
from benchmarks.serve.process import reference
from benchmarks.serve.reference import ECHO as ECHO_METHOD
from crossview.features.decode import decode
from crossview.v1 import search_pb2


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    """Return the address of a reference server of 500 vectors."""
    with reference(500, 0, tmp_path_factory.mktemp("reference") / "log") as server:
        yield server.address


@pytest.mark.parametrize("kind", FORMATS)
def test_drawn_pictures_are_pictures(kind):
    """Each format can be read by the server's decoder, and a number always gives the same picture."""
    assert decode(picture(3, kind)).image.shape == (128, 192, 3)
    assert picture(3, kind) == picture(3, kind) != picture(4, kind)


def test_requests_are_of_every_kind(tmp_path):
    """Each request has one query, or 64 in a batch; drawn pictures stand in for photographs."""
    found = requests(100, 0, tmp_path)
    queries = {kind: search_pb2.SearchRequest.FromString(ones[0]).queries for kind, ones in found.items()}
    inputs = {kind: ones[0].WhichOneof("input") for kind, ones in queries.items()}
    assert inputs == {"code": "vector", "batch": "vector"} | {kind: kind for kind in ("vector", "key", "text")} | {
        "picture": "image"
    }
    assert {kind: len(ones) for kind, ones in queries.items() if len(ones) != 1} == {"batch": 64}
    assert len(pictures(tmp_path)) == ASKED_PICTURES + STORED_PICTURES


def test_clients_count_calls_and_statuses(other):
    """They call at once, at a rate and beside another load; a method that does not exist is counted by its status."""
    load = Load(address=other, requests=(b"abc", b"d"), method=ECHO_METHOD, seconds=0.5, warm=0.1)
    steady = Load(address=other, requests=(b"x",), method=ECHO_METHOD, rate=40.0, seconds=1.0)
    absent = Load(address=other, requests=(b"",), method="/no/Method", seconds=0.2, at_once=3)
    with clients(2) as run:
        for longer in (1, 10, 100):  # a busy machine may make no call in a second
            with run.beside(load) as others:
                found = run.run(replace(steady, seconds=longer * steady.seconds))
            if found.statuses() and others[0].result().statuses():
                break
        assert others[0].result().statuses().keys() == found.statuses().keys() == {"OK"}
        since = np.sort(found.began) + steady.warm
        assert (np.arange(len(since)) < 2 * (20 * since + 1)).all()  # never more often than two clients with half each
        calls, missing = ended(run, load), ended(run, absent)
    assert 0 < calls.rate <= len(calls.took) / calls.lasted
    assert missing.statuses().keys() == {"UNIMPLEMENTED"}
    assert missing.rate == 0.0


def ended(run, load):
    """Return the calls of a load of which some have ended within its time: a busy machine may need a longer one."""
    for longer in (1, 10, 100):
        found = run.run(replace(load, seconds=longer * load.seconds))
        if (found.began + found.took <= found.lasted).any():
            break
    return found


def test_percentiles_are_of_one_status():
    """Refused calls, which are quick, do not make accepted ones look quick."""
    calls = Calls(0.0, 1.0, np.zeros(4), np.array([1.0, 3.0, 0.1, 0.1]), np.array([OK, OK, REFUSED, REFUSED]))
    assert calls.milliseconds(100) == 3_000.0
    assert calls.rate == 1.0  # the other call ended too late
    assert calls.milliseconds(50, REFUSED) == pytest.approx(100.0)
    assert np.isnan(calls.milliseconds(50, 3))


def test_the_reference_answers_as_a_search(other, tmp_path):
    """Ten hits with keys and labels, by vectors and by codes, nearest first."""
    import grpc

    with grpc.insecure_channel(other) as channel:
        search = channel.unary_unary(SEARCH, response_deserializer=search_pb2.SearchResponse.FromString)
        for kind in ("vector", "code"):
            (found,) = search(requests(500, 0, tmp_path)[kind][0]).results
            distances = [hit.distance for hit in found.hits]
            assert len(found.hits) == 10
            assert distances == sorted(distances)
            assert all(hit.key and len(hit.labels) == 1 for hit in found.hits)


def test_the_report_shows_what_misses_its_limit():
    """A figure that misses its limit is bold if there are enough items; figures are medians over the trials."""
    rows = [figure("speed", "vector", REFERENCE, SHARE, value, 32) for value in (0.5, 0.1, 0.7)]
    rows += [figure("speed", "vector", REFERENCE, ABOVE, 0.4, 1), figure("speed", "vector", OURS, "calls/s", 5.0, 32)]
    rows += [figure("speed", "vector", REFERENCE, "calls/s", 10.0, clients) for clients in (1, 32)]
    document = {"rows": medians(rows), "settings": {"items": 100_000, "seconds": 1.0, "trials": 3, "clients": 1}}
    text = markdown(document)
    assert f"| vector | 32 | {SHARE}: {REFERENCE} | **0.500** | at least 0.75 |" in text
    assert f"| vector | 1 | {ABOVE}: {REFERENCE} | 0.400 | at most 1 |" in text
    document["settings"]["items"] = 1_000
    assert "**" not in markdown(document)
    assert 0.75 in Limit(0.75)
    assert float("nan") not in Limit(0.75)


def test_a_small_run_writes_figures_and_report(tmp_path):
    """Every kind, condition and load has its figures, and all calls are answered."""
    out = tmp_path / "a.json"
    small = ["--items", "300", "--seconds", "0.2", "--trials", "1", "--at-once", "2", "--data", str(tmp_path)]
    assert BENCHMARK.main([*small, "--json", str(out), "--report", str(tmp_path / "report")]) == 0
    rows = json.loads(out.read_text())["rows"]
    assert {row["method"] for row in rows if row["task"] == "vector"} >= {OURS, REFERENCE, ECHO}
    assert {row["value"] for row in rows if row["part"] == "speed" and row["metric"] == "failed"} == {0}
    text = (tmp_path / "report" / "serve-speed.md").read_text()
    assert "| all of these | a search by vector |" in text
    assert "| searches by 64 vectors | crossview |" in text
    assert "| vector | crossview, both ports | 128 | failed | 0 | at most 0 |" in text
    assert (tmp_path / "report" / "serve-speed.png").exists()
