"""The benchmark of conditions counts what SQLite counts, and known conditions find all neighbours."""

import json
from pathlib import Path

import pytest

from benchmarks.__main__ import main as run_named
from benchmarks.store import conditions


@pytest.mark.long
def test_a_small_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The counts are compared during the run."""
    monkeypatch.setattr(conditions, "ITEMS_AT_ONCE", 500)
    out = tmp_path / "found.json"
    assert run_named(["conditions", "--size", "2000", "--rounds", "3", "--json", str(out)]) == 0
    found = json.loads(out.read_text())
    tasks = {row["task"] for row in found["rows"]}
    assert set(conditions._KINDS) < tasks
    assert all(row["value"] == 1 for row in found["rows"] if row["metric"] == "recall")
    text = conditions.markdown(found)
    assert all(task in text for task in tasks)
