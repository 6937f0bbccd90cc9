"""The benchmark of pictures by words runs on a few drawings and tiny models."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
import tiny_models as tiny
from drawn import CLASSES, draw, encode

from benchmarks.pretrained.words import BENCHMARK, LENGTHS, RANDOM
from benchmarks.pretrained.words_trial import CCA_GRID, CONSE, FUSED, METHODS

pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
CONCEPTS = 30


@pytest.fixture
def places(tmp_path: Path) -> list[str]:
    """Return options that name a folder with two artists' drawings, and one with two models."""
    data, colors = tmp_path / "data" / "emoji2", sorted(CLASSES)
    with (tmp_path / "items.csv").open("w") as file:
        writer = csv.writer(file)
        writer.writerow(["key", "name", "category"])
        for number in range(CONCEPTS):
            name = f"{colors[number % len(colors)]} {tiny.WORDS[2 + number % 4]}"
            writer.writerow([f"k{number}", name, "all"])
            for artist in ("google", "twitter"):
                folder = data / artist / "all"
                folder.mkdir(parents=True, exist_ok=True)
                picture = draw(colors[number % len(colors)], number)
                (folder / f"k{number}.png").write_bytes(encode(picture))
    (tmp_path / "items.csv").rename(data / "items.csv")
    models = tmp_path / "models"
    tiny.picture_folder(models / "lite0", "model.onnx", classes=("red", "green", "dog"))
    (models / "minilm").mkdir()
    tiny.text_folder(models / "minilm", "model.onnx")
    return ["--data", str(tmp_path / "data"), "--models", str(models)]


@pytest.mark.long
def test_a_small_run_has_the_recall_of_each_method(
    places: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each length has one; the fused list is compared with each other list."""
    out = tmp_path / "words.json"
    monkeypatch.setitem(CCA_GRID, "n_components", (2,))  # the tiny models have no more
    assert BENCHMARK.main([*places, "--artists", "google", "--trials", "1", "--workers", "1", "--json", str(out)]) == 0
    rows = json.loads(out.read_text())["rows"]
    assert len(rows) == len(LENGTHS) * (1 + len(METHODS))
    assert all(0 <= row["value"] <= 1 for row in rows)
    for row in rows:
        assert ("ahead" in row) == (row["method"] not in (RANDOM, FUSED))
    ranks = json.loads(out.read_text())["trials"][0]["ranks"]
    assert all(len(ranks[method]) == CONCEPTS for method in METHODS)
    of_first = [row for row in rows if (row["data"], row["method"]) == ("google", CONSE)]
    assert of_first[-1]["value"] == pytest.approx(np.mean(np.array(ranks[CONSE]) > 0))


def test_missing_models_are_named(places: list[str], tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="holds no folder lite0"):
        BENCHMARK.main([*places[:2], "--models", str(tmp_path), "--json", str(tmp_path / "out.json")])
