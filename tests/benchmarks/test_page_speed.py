"""A small run of the benchmark of pages, in a real browser."""

import json
from pathlib import Path

import pytest
from browsing import CHROMIUM

from benchmarks.serve import pages


@pytest.mark.long
def test_a_small_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("chromium is not installed: apt-get install chromium")
    monkeypatch.setattr(pages, "ROUNDS", 2)
    monkeypatch.setattr(pages, "SECONDS", 0.5)
    out = tmp_path / "pages.json"
    words = ["--items", "300", "--data", str(tmp_path), "--json", str(out), "--report", str(tmp_path / "report")]
    assert pages.BENCHMARK.main(words) == 0
    found = {one["metric"]: one["value"] for one in json.loads(out.read_text())["rows"]}
    assert set(pages.LIMITS) <= set(found)
    assert all(value > 0 for value in found.values())
    assert "| frames a second, grid |" in next((tmp_path / "report").glob("*.md")).read_text()
