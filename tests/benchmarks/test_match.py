"""The benchmark of match states its queries and measures, and runs whole on planted people."""

import json

import numpy as np
import pytest
from faces import planted

from benchmarks.__main__ import main
from benchmarks.match.trial import calibration_error, divided, reliability
from benchmarks.sets.named import load


def test_every_fifth_class_is_left_out_and_all_its_items_are_queries(tmp_path):
    split = load("pubfig", planted(tmp_path), tmp_path)(0)
    parts = divided(split, seed=1)
    assert set(split.labels[parts.unknown]) == {np.unique(split.labels)[1]}
    assert not set(split.labels[parts.items]) & set(split.labels[parts.unknown])
    assert not set(parts.items) & set(parts.known)
    assert len(parts.items) + len(parts.known) + len(parts.unknown) == len(split.labels)


def test_the_calibration_error_is_the_gap_between_match_and_relevance():
    match, relevant = np.array([[0.95, 0.25], [0.95, 0.25]]), np.array([[True, False], [False, False]])
    bins = reliability(match, relevant, np.array([0.75, 0.25]))
    assert bins[9].tolist() == pytest.approx([1.0, 0.95, 0.75])
    assert bins[2].tolist() == pytest.approx([1.0, 0.25, 0.0])
    assert calibration_error(bins) == pytest.approx((0.2 + 0.25) / 2)


def test_a_run_writes_rows_and_a_report(tmp_path):
    """Each direction and the search by all views have both figures; people that are clearly apart are recognised."""
    out = tmp_path / "match.json"
    arguments = ["--sets", "pubfig", "--trials", "1", "--workers", "1", "--json", str(out), "--report", str(tmp_path)]
    assert main(["match", "--data", str(planted(tmp_path, 240)), *arguments]) == 0
    rows = json.loads(out.read_text(encoding="utf-8"))["rows"]
    found = {(row["query_view"], row["database_view"], row["method"], row["metric"]): row["value"] for row in rows}
    for query, target in [("gist", "lab"), ("lab", "lab"), ("all", "all")]:
        assert found[query, target, "match of the first hit", "auc"] > 0.7
        assert 0 <= found[query, target, "match of the first hit", "ece"] <= 1
    assert "| all -> all |" in (tmp_path / "match.md").read_text(encoding="utf-8")
