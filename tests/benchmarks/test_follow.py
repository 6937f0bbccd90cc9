"""The benchmark of following: items keep their labels, and no ghost is found."""

import json
from pathlib import Path

from benchmarks.__main__ import main as run_named
from benchmarks.store import follow


def test_items_follow_and_nothing_is_lost(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(follow, "VIEWS", ("color",))
    out = tmp_path / "out.json"
    assert run_named(["follow", "--files", "60", "--each", "3", "--rounds", "1", "--json", str(out)]) == 0
    found = json.loads(out.read_text())
    rows = {(row["task"], row["metric"]): row["value"] for row in found["rows"]}
    wanted = {"updated": 3, "moved": 6, "added": 0, "labels lost": 0, "ghosts": 0}
    assert {name: rows[follow.CHANGED, name] for name in wanted} == wanted
    assert "| files and root have changed |" in follow.markdown(found)
