"""The benchmark of fitting times draws its data, measures its learners and writes a report."""

import json

import numpy as np

from benchmarks.speed import learners
from crossview.engine.learners.registry import LEARNERS, parse_chain


def test_data_are_what_they_say():
    """Words are counts of 120, most of them 0; both kinds have their shape, and are the same for a seed."""
    for kind in ("words", "dense"):
        shape = learners.Shape(kind, 30, (400, 50), 3)
        views, labels = learners.draw(shape)
        again, _ = learners.draw(shape)
        assert [rows.shape for rows in views] == [(30, 400), (30, 50)]
        assert set(labels) == {0, 1, 2}
        np.testing.assert_array_equal(views[0], again[0])
    words, _ = learners.draw(learners.Shape("words", 30, (400, 50), 3))
    assert (words[0].sum(axis=1) == 120).all()
    assert (words[0] == 0).mean() > 0.5


def test_every_learner_that_pipelines_are_made_for_is_measured():
    """It leaves out only the steps that only change rows, and the learners of several notions (joint-speed)."""
    named = {step.name for method in learners.METHODS for step in parse_chain(method.split()[0]).steps}
    ours = {name for name, learner in LEARNERS.items() if learner.__module__.startswith("crossview.engine.")}
    assert ours - named == {"l1", "l2", "sqrt", "standardize", "scale", "joint", "mt-lmnn"}


def test_writes_figures_and_report(tmp_path, monkeypatch):
    """Every learner has its seconds, also beside other busy processes."""
    monkeypatch.setattr(learners, "SHAPES", {"small": learners.Shape("dense", 40, (12, 60), 3)})
    out = tmp_path / "out.json"
    options = ["--shapes", "small", "--learners", "cca", "semantic logistic", "--repeats", "1", "--busy", "1"]
    assert learners.BENCHMARK.main([*options, "--json", str(out), "--report", str(tmp_path)]) == 0
    found = {(row["method"], row["metric"]) for row in json.loads(out.read_text())["rows"]}
    assert found == {(m, s) for m in ("cca", "semantic logistic") for s in ("seconds", "CPU seconds")}
    assert "Beside 1 other busy processes" in (tmp_path / "learner-speed.md").read_text()
