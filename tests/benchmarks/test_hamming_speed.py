"""The benchmark of Hamming search states its data, judges every method by FAISS's scan, and writes its report."""

import json

import numpy as np

from benchmarks.speed.hamming import BENCHMARK, OURS, SCAN, codes, measure


def test_the_generator_is_the_same_for_a_seed_and_clusters():
    """A seed gives the same codes again, and clustered codes have nearer neighbours than uniform ones."""
    assert (codes("clustered", 500, 64, 3) == codes("clustered", 500, 64, 3)).all()
    assert codes("uniform", 5, 128, 3).shape == (5, 16)
    spread = {}
    for kind in ("clustered", "uniform"):
        rows = codes(kind, 5000, 64, 1000)
        nearest = [np.sort(np.bitwise_count(rows ^ row).sum(axis=1))[1] for row in rows[:20]]
        spread[kind] = np.mean(nearest)
    assert spread["clustered"] < spread["uniform"] / 2


def test_ours_are_exact_and_the_others_are_judged_by_distance():
    """Ours give the answers of FAISS's scan; a graph may miss some, and equal distances count as found."""
    rows = measure({"distribution": "clustered", "codes": 2000, "bits": 64}, seed=1000, approximate=True)
    figures = {(row["method"], row["metric"]): row["value"] for row in rows}
    for method in [SCAN, *OURS]:
        assert figures[method, "equal answers"] == figures[method, "recall"] == 1.0
    assert 0.5 < figures["FAISS HNSW", "recall"] <= 1.0
    assert figures["FAISS HNSW", "equal answers"] <= figures["FAISS HNSW", "recall"]
    assert 0 <= figures["data", "repeated"] < 1


def test_a_small_run_writes_figures_table_and_plot(tmp_path):
    """Every set has its figures, a line of the table and the plot."""
    options = ["--sizes", "1000", "--other-bits", "", "--approximate", "0", "--json", str(tmp_path / "a.json")]
    assert BENCHMARK.main([*options, "--report", str(tmp_path / "report")]) == 0
    document = json.loads((tmp_path / "a.json").read_text())
    assert {row["distribution"] for row in document["rows"]} == {"clustered", "uniform"}
    assert "| 1,000 clustered | 64 | multi-index hashing |" in (tmp_path / "report" / "hamming-speed.md").read_text()
    assert (tmp_path / "report" / "hamming-speed.png").stat().st_size > 1000
