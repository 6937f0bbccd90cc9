"""The benchmark of quadruplet-wise metrics draws its data and writes a report."""

import json

import numpy as np

from benchmarks.speed.qwise import BENCHMARK, FLIPPED, METHODS, Size, draw


def test_quadruplets_are_ordered_by_the_target_but_for_a_share():
    """The same size and seed give the same data, in which about one order in twenty is wrong."""
    size = Size(quadruplets=4000, rows=200, width=8, weight=1.0, seed=1000)
    weights = 1 / np.arange(1, 9)
    for signed in (True, False):
        rows, items = draw(size, signed)
        assert (draw(size, signed)[1] == items).all()
        gaps = [rows[a] - rows[b] for a, b in (items.T[:2], items.T[2:])]
        near, far = ((gap if signed else np.square(gap)) @ weights for gap in gaps)
        assert abs(np.mean(near > far) - FLIPPED) < 0.02


def test_a_small_run_writes_what_every_form_took(tmp_path):
    """Every form has its line; those that bound how far they are from the minimum keep to the tolerance."""
    options = ["--quadruplets", "2000", "--rows", "100", "--width", "8", "--weight", "100", "--long-steps", "500"]
    out = tmp_path / "a.json"
    assert BENCHMARK.main([*options, "--seed", "1000", "--json", str(out), "--report", str(tmp_path)]) == 0
    rows = json.loads(out.read_text())["rows"]
    assert {row["method"] for row in rows} == set(METHODS)
    assert all(row["value"] <= 0.01 for row in rows if row["metric"] == "gap")
    assert all(row["value"] <= 0.01 for row in rows if row["metric"] == "above the long run")
    text = (tmp_path / "qwise-speed.md").read_text()
    assert all(f"| {method} |" in text for method in METHODS)
