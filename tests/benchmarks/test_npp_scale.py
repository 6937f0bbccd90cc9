"""The scale benchmark draws the data that it states, and writes every figure."""

import json

import numpy as np

from benchmarks.speed import npp_scale


def test_writes_figures_for_every_size(tmp_path):
    """Every size has time, memory and accuracy of every method, and the report shows them."""
    out = tmp_path / "out.json"
    assert npp_scale.BENCHMARK.main(["--sizes", "300", "--json", str(out), "--report", str(tmp_path)]) == 0
    document = json.loads(out.read_text())
    assert {(row["method"], row["metric"]) for row in document["rows"]} == {
        (method, metric) for method in npp_scale.METHODS for metric in ("seconds", "peak memory, MiB", "accuracy")
    }
    assert all(row["items"] == 300 for row in document["rows"])
    assert "| 300 | all pairs |" in (tmp_path / "npp-scale.md").read_text()
    assert (tmp_path / "npp-scale.png").stat().st_size > 1000


def test_seeds_share_their_classes():
    """Other seeds draw other items of the same classes, in the same views."""
    (first, _), labels = npp_scale.pairs(2_000, 0)
    (second, _), others = npp_scale.pairs(2_000, 1)
    assert not np.array_equal(labels, others)
    means = [
        np.array([rows[which == label].mean(axis=0) for label in range(npp_scale.CLASSES)])
        for rows, which in ((first, labels), (second, others))
    ]
    correlations = np.corrcoef(means[0][:, :50], means[1][:, :50])[: npp_scale.CLASSES, npp_scale.CLASSES :]
    assert (correlations.argmax(axis=1) == np.arange(npp_scale.CLASSES)).mean() > 0.95
