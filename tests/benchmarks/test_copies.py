"""Copies: learned and later photographs are queried by their copies, within views and across them."""

import json

import numpy as np
import pytest
from PIL import Image as Pillow

from benchmarks.__main__ import main
from benchmarks.copies import benchmark as copies


@pytest.fixture
def planted(tmp_path):
    """Two classes of five small pictures each, all different."""
    random = np.random.default_rng(0)
    for name in ("one", "two"):
        folder = tmp_path / copies.PHOTOGRAPHS / name
        folder.mkdir(parents=True)
        for number in range(5):
            coarse = random.integers(0, 256, (6, 8, 3), np.uint8)
            Pillow.fromarray(coarse).resize((96, 72)).save(folder / f"{number}.png")
    return tmp_path


def test_a_run_writes_rows_and_a_report(planted, monkeypatch, capsys):
    """Raw features find every exact copy first; what they find is the reference across views."""
    monkeypatch.setattr(copies, "VIEWS", ("color", "gist"))
    monkeypatch.setattr(copies, "METHODS", {"default": "cca"})
    out = planted / "copies.json"
    arguments = ["--data", str(planted), "--photographs", "3", "--workers", "1", "--json", str(out)]
    assert main(["copies", *arguments]) == 0
    document = json.loads(out.read_text(encoding="utf-8"))
    values = {tuple(row[name] for name in copies.NAMES): row["value"] for row in document["rows"]}
    for items in ("learned", "later"):
        for view in ("color", "gist"):
            assert values["raw", items, "exact", view, view, "recall@1"] == 1
            assert ("raw", items, "exact", view, "color" if view == "gist" else "gist", "recall@1") not in values
        found = values["default", items, "exact", "color", "gist", copies.FOUND_BY_RAW]
        assert found == values["default", items, "exact", "color", "gist", "recall@10"]
    text = capsys.readouterr().out
    assert "| raw | **1.000** |" in text
    assert "## Later photographs" in text
    assert copies.headline(document)[1] == "1.000; across views, in the first 10: 1.000"


def test_missing_data_is_named(tmp_path):
    with pytest.raises(SystemExit, match="holds no corel1k"):
        main(["copies", "--data", str(tmp_path), "--json", str(tmp_path / "out.json")])
