"""Large indexes: every method builds, opens and searches, and the report has a line for each."""

from argparse import Namespace

from benchmarks.scale.large import BENCHMARK, RECALL


def test_every_index_is_built_opened_and_searched():
    found = BENCHMARK.run(Namespace(vectors=(12_000,), codes=(60_000,), seed=0))
    recall = {row["method"]: row["value"] for row in found["rows"] if row["metric"] == "recall"}
    assert set(recall) == {"lists of half floats", "scan or tables of codes", "lists of codes"}
    assert recall["lists of half floats"] >= RECALL
    assert recall["scan or tables of codes"] == 1
    assert all(row["value"] >= 0 for row in found["rows"])
    assert BENCHMARK.markdown({"rows": found["rows"], "settings": found["settings"]}).count("\n| ") == 5
