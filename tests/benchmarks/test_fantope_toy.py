"""The Fantope toy benchmark draws the data that it states, and writes every figure."""

import json

import numpy as np

from benchmarks.fantope_toy import benchmark as fantope_toy
from benchmarks.fantope_toy import report as fantope_toy_report
from crossview.engine.learners.papers.losses.differences import Differences

SMALL = {"rows": 200, "train": 300, "validation": 500, "test": 500}


def test_data_follow_the_target():
    """Every quadruplet is ordered by a target of rank 10 on the first 10 of 50 columns, and seeds differ."""
    toy = fantope_toy.draw(0, SMALL)
    assert toy.rows.shape == (200, 50)
    assert np.linalg.matrix_rank(toy.factor) == 10
    assert not toy.factor[:, 10:].any()
    features = Differences(toy.rows)
    for constraints, margin in ((toy.train, 1.0), (toy.validation, 0.0), (toy.test, 0.0)):
        near, far = (features.distances(toy.factor, pairs) for pairs in (constraints.near, constraints.far))
        assert (far > near).all()
        assert (constraints.margins == margin).all()
    assert not np.array_equal(toy.rows, fantope_toy.draw(1, SMALL).rows)


def test_writes_figures_of_every_method(tmp_path, monkeypatch):
    """Every method has its figures beside the paper's, and Fantope metrics have the rank asked for."""
    monkeypatch.setattr(fantope_toy, "MUS", (0.1,))
    monkeypatch.setattr(fantope_toy, "ADMM_GRID", ({"mu": 0.1, "rho": 1.0},))
    monkeypatch.setattr(fantope_toy, "ADMM", {**fantope_toy.ADMM, "max_iter": 5})
    monkeypatch.setattr(fantope_toy, "COMMON", {**fantope_toy.COMMON, "max_iter": 30})
    out = tmp_path / "out.json"
    sizes = [part for name, size in SMALL.items() for part in (f"--{name}", str(size))]
    assert fantope_toy.BENCHMARK.main(
        ["--trials", "2", "--first-seed", "5", "--workers", "1", *sizes, "--json", str(out), "--report", str(tmp_path)]
    ) == 0  # fmt: skip
    document = json.loads(out.read_text())
    assert [trial["seed"] for trial in document["trials"]] == [5, 6]
    for trial in document["trials"]:
        assert list(trial["methods"]) == list(fantope_toy_report.METHODS)
        for method in (fantope_toy_report.FANTOPE, fantope_toy_report.BOTH, fantope_toy_report.ADMM):
            assert trial["methods"][method]["rank"] == 10
    text = (tmp_path / "fantope-toy.md").read_text()
    assert "| Fantope |" in text
    assert "| 97.5 |" in text
    assert "trace − no regularisation" in text
    assert (tmp_path / "fantope-toy.png").stat().st_size > 1000
