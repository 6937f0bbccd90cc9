"""The benchmark of near pairs checks the join by FAISS's searches, and writes its report."""

import json

import pytest

from benchmarks.speed import near_pairs as speed
from crossview.index.near_pairs import Pairs, near_pairs


def test_clustered_codes_have_near_ones():
    assert (speed.codes("clustered", 500, 3) == speed.codes("clustered", 500, 3)).all()
    pairs = {kind: len(near_pairs(speed.codes(kind, 2000, 1), speed.RADIUS).first) for kind in speed.DISTRIBUTIONS}
    assert pairs["uniform"] < 10
    assert pairs["clustered"] > 2000


def test_a_small_run_writes_figures_and_a_table(tmp_path):
    out = tmp_path / "a.json"
    assert speed.BENCHMARK.main(["--sizes", "1000", "--json", str(out), "--report", str(tmp_path / "report")]) == 0
    document = json.loads(out.read_text())
    assert {row["distribution"] for row in document["rows"]} == set(speed.DISTRIBUTIONS)
    assert "| 1,000 clustered | join |" in (tmp_path / "report" / "near-pairs.md").read_text()


def test_a_join_that_misses_pairs_is_an_error(monkeypatch):
    def incomplete(codes, radius):
        return Pairs(*(column[:-1] for column in near_pairs(codes, radius)))

    monkeypatch.setattr(speed, "near_pairs", incomplete)
    with pytest.raises(AssertionError, match="FAISS flat finds"):
        speed.measure("clustered", 1000, seed=0)
