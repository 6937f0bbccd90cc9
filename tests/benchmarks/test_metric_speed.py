"""The metric speed benchmark draws its data, keeps its time limit, and writes a report."""

import json

import numpy as np
import pytest

from benchmarks import peers
from benchmarks.speed import metrics as metric_speed
from benchmarks.speed.metrics_methods import METHODS, Cell, accuracy, draw, methods

OURS, PEER = "Fantope, 5 steps", "LSML"
CELL = Cell("quadruplets", 12, 300, 200)


@pytest.mark.parametrize("supervision", metric_speed.SIZES)
def test_data_are_what_they_say(supervision):
    """The hidden dimensions order unseen rows better than all do, and every draw is the same."""
    cell = Cell(supervision, 40, 400, 400)
    problem, again = draw(cell), draw(cell)
    np.testing.assert_array_equal(problem.rows, again.rows)
    np.testing.assert_array_equal(problem.tuples, again.tuples)
    between = np.array([problem.rows[problem.labels == label].mean(axis=0) for label in np.unique(problem.labels)])
    hidden = np.linalg.svd(between - between.mean(axis=0))[2][:10]
    assert accuracy(hidden, cell, problem) > accuracy(np.eye(40), cell, problem) + 0.03
    if supervision == "pairs":
        first, second = problem.labels[problem.tuples].T
        np.testing.assert_array_equal(problem.similar > 0, first == second)
        assert 0.45 < np.mean(first == second) < 0.6


def test_writes_figures_and_report(tmp_path, monkeypatch):
    """Every method has its figures or the reason why not, and the report shows both."""
    monkeypatch.setattr(metric_speed, "SIZES", {"quadruplets": ((12, 300),)})
    monkeypatch.setattr(metric_speed, "REPEATS", 1)
    monkeypatch.setattr(peers, "available", lambda: True)
    monkeypatch.setattr(metric_speed.methods, "methods", lambda supervision: [OURS, PEER])
    monkeypatch.setattr(metric_speed, "MEMORY_MIB", 0)
    out = tmp_path / "out.json"
    arguments = ["--supervision", "quadruplets", "--rows", "200", "--threads", "1"]
    assert metric_speed.BENCHMARK.main([*arguments, "--json", str(out), "--report", str(tmp_path)]) == 0
    found = {(row["method"], row["metric"]) for row in json.loads(out.read_text())["rows"]}
    assert found == {
        *((OURS, metric) for metric in ("seconds", "peak memory, MiB", "accuracy", "steps")),
        (PEER, "failed"),
    }
    assert "not run: its tuples" in (tmp_path / "metric-speed.md").read_text()
    assert (tmp_path / "metric-speed.png").stat().st_size > 1000


def test_time_limit():
    """A method that exceeded its time has no figures, only the limit."""
    assert metric_speed.measure(OURS, CELL, 1e-9) == {"failed": "> 1e-09 s"}


def test_what_was_late_is_not_run_from_more(tmp_path, monkeypatch):
    """A method that was stopped gets no more constraints of the same width."""
    monkeypatch.setattr(metric_speed, "SIZES", {"quadruplets": ((12, 300), (12, 600), (24, 300))})
    monkeypatch.setattr(peers, "available", lambda: True)
    monkeypatch.setattr(metric_speed.methods, "methods", lambda supervision: [PEER])
    ran = []
    monkeypatch.setattr(metric_speed, "measure", lambda method, cell, limit: ran.append(cell) or {"failed": "> 7 s"})
    out = tmp_path / "out.json"
    metric_speed.BENCHMARK.main(["--supervision", "quadruplets", "--timeout", "7", "--json", str(out)])
    assert [(cell.width, cell.count) for cell in ran] == [(12, 300), (24, 300)]
    said = [row["value"] for row in json.loads(out.read_text())["rows"]]
    assert said == ["> 7 s", "not run: > 7 s from less", "> 7 s"]


def test_times_faster_are_at_equal_accuracy():
    """A peer is compared with the fastest of ours that is at least as accurate; without one it has no figure."""
    place = {"supervision": "quadruplets", "width": 12, "count": 300}
    figures = {OURS: (1.0, 0.8), "Fantope": (5.0, 0.9), PEER: (100.0, 0.85), "LSML, prior=covariance": (50.0, 0.95)}
    document = {
        "rows": [
            {**place, "method": method, "metric": metric, "value": value}
            for method, values in figures.items()
            for metric, value in zip(("seconds", "accuracy"), values, strict=True)
        ]
    }
    assert metric_speed.faster(document) == {(PEER, ("quadruplets", 12, 300)): 20.0}


def test_methods_that_are_not_registered_are_left_out(monkeypatch):
    """A kind of supervision lists ours and the peers, and only learners that are installed."""
    monkeypatch.setitem(METHODS, "missing", METHODS["Fantope"].__class__("quadruplets", "no such learner"))
    for supervision in metric_speed.SIZES:
        found = methods(supervision)
        assert {METHODS[name].peer for name in found} == {True, False}
        assert "missing" not in found
