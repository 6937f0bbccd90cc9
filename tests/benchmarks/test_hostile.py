"""The hostile run and the soak send damaged requests, keep the inputs of failures, and write figures."""

import itertools
import json

import pytest

from benchmarks.serve import hostile, many, soak
from benchmarks.serve.attacks import ATTACKS, WITHIN
from benchmarks.serve.findings import Findings
from benchmarks.serve.load import OK, status_of
from benchmarks.serve.malformed import in_turn, methods, requests
from benchmarks.serve.mutations import large_pictures, mutated

LIMIT = 64 * 2**20


def test_damage_is_the_same_for_a_seed():
    """The same seed sends the same damage again, so that a failure can be repeated."""
    one, again, other = (list(itertools.islice(mutated(seed), 60)) for seed in (1, 1, 2))
    assert one == again != other
    assert len(set(one)) > 50


def test_bombs_are_small():
    """Each fits into one message."""
    assert {name for name, data in large_pictures().items() if len(data) > LIMIT // 4} == set()


def test_every_method_has_its_share():
    """Methods that are added later have theirs, too: the descriptors list them."""
    shares = list(in_turn(1_000))
    assert {path for path, _, _ in shares} == set(methods())
    assert {"/crossview.v1.SearchService/Search", "/crossview.v1.CollectionService/Train"} <= set(methods())
    drawn = []
    hostile.each_of(requests(methods()["/crossview.v1.SearchService/Search"]), 20, 0, drawn.append)
    assert len(drawn) > 10
    assert {type(one) for one in drawn} == {bytes}


def test_the_shortest_input_of_a_failure_is_kept():
    """Failures that differ only in a number or a name are one; those that a client may cause are only counted."""
    findings = Findings()
    findings.note("messages", "/s/A", b"long", "INTERNAL", "error 17 in 'x'")
    findings.note("messages", "/s/A", b"ab", "INTERNAL", "error 4 in 'other'")
    findings.note("messages", "/s/A", b"", "INVALID_ARGUMENT", "no")
    (fault,) = findings.faults.values()
    assert fault.as_json()["request"] == "YWI="
    assert findings.total("INTERNAL") == 2
    assert {row["metric"]: row["value"] for row in findings.rows()} == {"INTERNAL": 2, "INVALID_ARGUMENT": 1}


def test_errors_in_a_stream_have_a_status():
    """Field 2 of an answer is an error, however long it is."""
    long = b"\x12\x83\x01" + b"\x08\x0d\x12\x7f" + bytes(127)
    assert [status_of(answer) for answer in (b"\x0a\x00", b"\x12\x02\x08\x03", long)] == [OK, 3, 13]


def test_a_small_hostile_run(tmp_path):
    """Every part runs and has its figures."""
    out = tmp_path / "a.json"
    sizes = ["--pictures", "4", "--messages", "1", "--clients", "20", "--megabytes", "64", "--requests", "120"]
    assert hostile.BENCHMARK.main([*sizes, "--json", str(out)]) == 0
    document = json.loads(out.read_text())
    found = {row["metric"]: row["value"] for row in document["rows"] if row["task"] == "all"}
    assert hostile.LIMITS.keys() <= found.keys()
    assert {"pictures", "messages", "clients", "http"} <= {row["part"] for row in document["rows"]}
    assert found["ends of the server"] == 0


@pytest.mark.long
def test_short_attacks(tmp_path, monkeypatch):
    """The server survives each attack, with health and searches answered; the report has their limits."""
    monkeypatch.setattr("benchmarks.serve.attacks._SETTLED", 3.0)
    monkeypatch.setattr("benchmarks.serve.findings.HEALTH_WAITS", 60.0)  # other tests may have the processor
    out = tmp_path / "a.json"
    given = ["--parts", "attacks", "--seconds", "5", "--json", str(out), "--report", str(tmp_path)]
    assert hostile.BENCHMARK.main(given) == 0
    rows = json.loads(out.read_text())["rows"]
    assert {row["task"] for row in rows} == set(ATTACKS)
    for metric in ("health checks failed", "ends of the server", "searches answered afterwards"):
        assert all(row["value"] in WITHIN[metric] for row in rows if row["metric"] == metric), rows
    assert "| ends of the server |" in (tmp_path / "hostile.md").read_text()


@pytest.mark.parametrize("count", [30, pytest.param(500, marks=pytest.mark.long)])
def test_collections_are_touched_in_turn(tmp_path, count):
    """A server of few descriptors serves more collections than may be open at once, and no call fails."""
    out = tmp_path / "a.json"
    descriptors = "256" if count > 100 else "128"
    assert many.BENCHMARK.main(["--collections", str(count), "--descriptors", descriptors, "--json", str(out)]) == 0
    found = {row["metric"]: row["value"] for row in json.loads(out.read_text())["rows"]}
    assert found["failures"] == 0
    assert found["most descriptors of a process"] < int(descriptors)


def test_a_small_soak(tmp_path):
    """All figures with limits are there, and nothing that was acknowledged is gone."""
    out = tmp_path / "a.json"
    sizes = ["--minutes", "0.1", "--items", "300", "--data", str(tmp_path)]
    assert soak.BENCHMARK.main([*sizes, "--json", str(out), "--report", str(tmp_path / "report")]) == 0
    found = {row["metric"]: row["value"] for row in json.loads(out.read_text())["rows"]}
    assert soak.LIMITS.keys() <= found.keys()
    assert {value for name, value in found.items() if name.startswith("acknowledged")} == {0}
    assert "| memory grown, % |" in (tmp_path / "report" / "soak.md").read_text()
