"""The benchmark of stores draws its data, takes turns, reports stores that fail, and writes a report."""

import json

import numpy as np
import pytest
from filter_oracle import Oracle

from benchmarks.frame import asking
from benchmarks.store.benchmark import BENCHMARK
from benchmarks.store.data import KEPT, draw
from benchmarks.store.peers import Contender, measure_stores, writes_of
from benchmarks.store.searching import FILTERS
from benchmarks.store.stores import PEERS
from benchmarks.store.timing import OURS, compared, take_turns
from crossview.engine.values.item import Item


@pytest.fixture
def no_peers(monkeypatch, tmp_path):
    """Remove the environment of the peers."""
    monkeypatch.setattr(asking, "STORES", tmp_path / "missing" / "python")


def test_filters_keep_the_shares_that_they_say():
    """Every item has two labels, and each filter's share of the items is exact up to rounding."""
    data = draw(10_000, 3, seed=1)
    assert data.vectors.shape == (10_000, 50)
    assert data.queries.shape == (3, 50)
    assert list(FILTERS) == list(KEPT)
    for percent, chosen in FILTERS.items():
        assert len(data.kept(percent)) == round(float(percent) * 100)
        items = [Item("", labels=(str(one), str(two))) for one, two in zip(data.first, data.second, strict=True)]
        passing = [chosen.condition.accept(Oracle(item)) for item in items]
        np.testing.assert_array_equal(np.flatnonzero(passing), data.kept(percent))


def test_data_are_the_same_for_a_seed():
    """A seed gives the same vectors, queries and labels again, and another seed gives others."""
    one, again, other = draw(50, 2, 3), draw(50, 2, 3), draw(50, 2, 4)
    np.testing.assert_array_equal(one.vectors, again.vectors)
    np.testing.assert_array_equal(one.first, again.first)
    assert (one.vectors != other.vectors).any()


def test_methods_take_turns():
    """Each method begins a round in turn, and is called first with the round before, untimed."""
    calls = []
    runs = {name: lambda number, name=name: calls.append((name, number)) for name in ("a", "b")}
    seconds = take_turns(runs, 2)
    assert calls == [("a", -1), ("a", 0), ("b", -1), ("b", 0), ("b", 0), ("b", 1), ("a", 0), ("a", 1)]
    assert {name: len(values) for name, values in seconds.items()} == {"a": 2, "b": 2}


def test_ratios_are_of_the_same_turn():
    """A machine that is slow for a while slows both methods of a turn, and leaves the ratio as it is."""
    rows = compared("task", {OURS: np.array([2.0, 20.0, 4.0]), "peer": np.array([1.0, 10.0, 2.0])}, per=2)
    assert {(row["method"], row["metric"]): row["value"] for row in rows} == {
        (OURS, "ms"): 2000.0,
        ("peer", "ms"): 1000.0,
        ("peer", "ratio"): 2.0,
    }


@pytest.mark.usefixtures("no_peers")
def test_a_store_that_is_not_installed_is_reported_with_the_remedy():
    """A missing peer is named, and the others are measured."""
    rows = measure_stores(draw(60 + writes_of(5), 5, 0), ["lancedb"], 5, 300)
    found = {(row["method"], row["metric"]): row["value"] for row in rows}
    assert found["lancedb", "failed"] == "creation: not installed; make its environment with: make stores"
    assert {metric for store, metric in found if store == "lancedb"} == {"failed"}
    assert found[OURS, "query, recall"] == found[OURS, "filter 50 %, recall"] == 1.0
    assert found[OURS, "bytes per item"] > 50 * 4


def test_a_store_that_takes_too_long_is_ended(tmp_path):
    """A store that has used up its time gets no more calls, and the reason says in which task it ended."""
    store = Contender(OURS, tmp_path, tmp_path, limit=0.0)
    store.ask("open", "creation", new=True)
    store.ask("ready", "import")
    assert store.failed == "more than 0 s in all, ended in: creation"
    assert not store.seconds


def test_what_a_store_reports_is_the_reason(tmp_path):
    """An error in the store's process becomes its failure, in one line."""
    store = Contender(OURS, tmp_path, tmp_path, limit=300.0)
    store.ask("open", "opening", new=False)
    store.end()
    assert store.failed.startswith("opening: NotFoundError: no collection 'vectors'")


@pytest.mark.skipif(not asking.STORES.exists(), reason="the peers' environment is not there: make stores")
@pytest.mark.parametrize("name", PEERS)
def test_a_peer_answers_as_ours_does(name):
    """Every peer stores, filters and finds the same neighbours, also after it was opened again."""
    rows = measure_stores(draw(300 + writes_of(5), 5, 0), [name], 5, 300)
    found = {row["metric"]: row["value"] for row in rows if row["method"] == name}
    assert "failed" not in found
    assert found["query, recall"] > 0.9
    assert found["filter 1 %, recall"] > 0.9
    assert found["opening, ms"] > 0


@pytest.mark.long
@pytest.mark.usefixtures("no_peers")
def test_a_small_run_writes_figures_and_report(tmp_path):
    """Every task has its figures, exact searches find all, and the report names the stores that are missing."""
    out = tmp_path / "a.json"
    options = ["--sizes", "300", "--queries", "3", "--peers", "chroma", "--json", str(out)]
    assert BENCHMARK.main([*options, "--report", str(tmp_path / "report")]) == 0
    rows = json.loads(out.read_text())["rows"]
    assert {row["value"] for row in rows if row["metric"] == "recall"} == {1.0}
    tasks = {row["task"] for row in rows}
    assert {f"a filter that keeps {percent} %" for percent in KEPT} <= tasks
    assert {"64-bit codes: a batch of 64", "opening, to the first answer", "the first search after a write"} <= tasks
    report = (tmp_path / "report" / "store.md").read_text()
    assert "| 300 | a query by vector |" in report
    assert "| 300 | chroma | failed: creation: not installed" in report
