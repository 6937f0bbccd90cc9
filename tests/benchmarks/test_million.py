"""A collection from files to answers: every step is measured, and the report has a line for each."""

from argparse import Namespace

import pytest

from benchmarks.scale import million


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_every_step_is_measured():
    found = million.BENCHMARK.run(Namespace(items=12_000, queries=70, seed=0))
    rows = found["rows"]
    assert {row["method"] for row in rows if row["part"] == "load"} == set(million.LOADS)
    assert {row["method"] for row in rows if row["part"] == "write"} == set(million.KINDS)
    recalls = [row["value"] for row in rows if row["metric"].endswith("recall")]
    assert len(recalls) == 10
    assert min(recalls) >= 0.95
    report = million.markdown(found)
    assert report.count("\n| load, ") == 4
    assert report.count(" to a | ") == 5
