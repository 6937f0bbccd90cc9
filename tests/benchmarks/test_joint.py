"""The benchmarks of notions draw the data that they state, and write every figure."""

import json

import numpy as np

from benchmarks.joint import hidden as joint_hidden
from benchmarks.joint import methods as joint_methods
from benchmarks.joint import speed as joint_speed
from benchmarks.joint import synthetic as joint_synthetic
from benchmarks.joint.data import of, synthetic, triplets
from crossview.engine.learners.papers.joint.joint_fit import JointSettings


def test_triplets_are_of_three_objects_in_the_order_of_their_view():
    """Each view has as many triplets as requested; views have the stated dimensions, and seeds differ."""
    objects = synthetic("clustered", 0, count=30, dimensions=(2, 3))
    assert [view.shape for view in objects.views] == [(30, 2), (30, 3)]
    drawn = triplets(objects.views, (50, 70), np.random.default_rng(0))
    for notion, (view, count) in enumerate(zip(objects.views, (50, 70), strict=True)):
        found = of(drawn, notion)
        assert len(found) == count
        assert all(len(set(one)) == 3 for one in found.tolist())
        near, far = (np.square(view[found[:, 0]] - view[found[:, at]]).sum(axis=1) for at in (1, 2))
        assert (near <= far).all()
    assert not np.array_equal(objects.views[0], synthetic("clustered", 1, count=30, dimensions=(2, 3)).views[0])


def test_hidden_writes_errors_and_likelihoods(tmp_path, monkeypatch):
    """The figures cover hidden notions beside labelled ones, and one notion fewer and more."""
    monkeypatch.setattr(joint_hidden, "GRID", (1e-2,))
    monkeypatch.setattr(joint_hidden, "SOLVING", JointSettings(n_components=2, loss="logistic", max_iter=8, tol=1e-2))
    out = tmp_path / "out.json"
    options = ["--trials", "1", "--workers", "1", "--notions", "2", "--triplets", "60", "--starts", "1"]
    assert joint_hidden.BENCHMARK.main([*options, "--json", str(out), "--report", str(tmp_path)]) == 0
    (trial,) = json.loads(out.read_text())["trials"]
    assert (len(trial["hidden"]), len(trial["labelled"])) == (2, 2)
    assert list(trial["likelihoods"]) == ["2", "1", "3"]
    assert "| points more |" in (tmp_path / "joint-hidden.md").read_text()


def test_speed_writes_seconds_and_objectives(tmp_path):
    """The figures cover objects beside longer runs, and rows."""
    sizes = {"objects": 30, "triplets": 120, "dim": 2, "rows": 30, "row-triplets": 120, "long": 1, "long-iter": 20}
    options = [part for name, size in sizes.items() for part in (f"--{name}", str(size))]
    out = tmp_path / "out.json"
    assert joint_speed.BENCHMARK.main([*options, "--json", str(out), "--report", str(tmp_path)]) == 0
    metrics = [row["metric"] for row in json.loads(out.read_text())["rows"]]
    assert metrics.count("seconds") == 2
    assert "above the best of the long runs, share" in metrics


def test_synthetic_writes_figures_of_every_method(tmp_path, monkeypatch):
    """Errors, areas beside the paper's, 3-NN errors of the clusters and the further questions."""
    monkeypatch.setattr(joint_synthetic, "GRIDS", dict.fromkeys(joint_synthetic.GRIDS, (0.01,)))
    monkeypatch.setattr(joint_synthetic, "TEST", 200)
    monkeypatch.setattr(joint_synthetic, "WIDE", 12)
    monkeypatch.setattr(joint_methods, "SOLVING", JointSettings(max_iter=10, tol=1e-2))
    monkeypatch.setattr(joint_methods, "ENOUGH", 20)
    monkeypatch.setattr(joint_synthetic, "WIDE_BUDGETS", (120,))
    monkeypatch.setattr(joint_synthetic, "ONE_VIEW", 120)
    monkeypatch.setattr(joint_synthetic, "ADDED", (0, 60))
    out = tmp_path / "out.json"
    options = ["--trials", "1", "--first-seed", "7", "--workers", "1", "--budgets", "120,240", "--widths", "2"]
    assert joint_synthetic.BENCHMARK.main([*options, "--json", str(out), "--report", str(tmp_path)]) == 0
    document = json.loads(out.read_text())
    assert [(trial["kind"], trial["seed"]) for trial in document["trials"]] == [("uniform", 7), ("clustered", 7)]
    methods = {row["method"] for row in document["rows"]}
    assert methods == {f"{sharing}, D = 2" for sharing in ("joint", "independent", "pooled")}
    text = (tmp_path / "joint-synthetic.md").read_text()
    for words in ("| less area than independent, % |", "| 26 |", "3-NN error", "60 shared dimensions", "60 more"):
        assert words in text
    assert (tmp_path / "joint-synthetic.png").stat().st_size > 1000
