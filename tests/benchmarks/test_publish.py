"""A collection beside its publication: both are measured, and the report has a line for each."""

from argparse import Namespace
from pathlib import Path

import pytest

from benchmarks.publishing import benchmark


def test_both_are_measured():
    if not benchmark.SERVER.exists():
        pytest.skip("needs a Milvus server: make engines")
    options = Namespace(items=(12_000,), indexes=["flat"], queries=20, seconds=0.5, seed=0)
    found = benchmark.BENCHMARK.run(options)
    recalls = {row["method"]: row["value"] for row in found["rows"] if row["metric"] == "recall"}
    assert recalls == {benchmark.OURS: 1, benchmark.ENGINE: 1}
    assert benchmark.markdown(found).count("\n| 12,000 | flat |") == 2


def test_without_a_server_the_remedy_is_named(monkeypatch):
    monkeypatch.setattr(benchmark, "SERVER", Path("missing"))
    with pytest.raises(FileNotFoundError, match="make engines"):
        benchmark.BENCHMARK.run(Namespace())
