"""The benchmarks of a taught model run on small data with the real model, and write their reports."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Pillow

from benchmarks.__main__ import main
from benchmarks.pretrained import artists, taught_methods
from benchmarks.pretrained import taught_report as report
from benchmarks.pretrained import taught_trial as trial
from benchmarks.pretrained.probe import LinearProbe
from benchmarks.pretrained.taught_methods import METHODS, RAW, TAUGHT, TAUGHT_BESIDE, Method
from crossview.engine.training.settling import OF_LABELS
from crossview.features.sift import Sift

MODELS = Path(__file__).resolve().parents[3] / "shared" / "models"


@pytest.fixture
def models() -> Path:
    pytest.importorskip("onnxruntime", reason="onnxruntime, which runs the model, is not installed")
    if not (MODELS / "lite0").is_dir():
        pytest.skip("the model lite0 is not beside the repository")
    return MODELS


def draw(path: Path, random: np.random.Generator, dark: bool) -> None:
    """Save a small picture, different from all others, on dark or light ground."""
    path.parent.mkdir(parents=True, exist_ok=True)
    coarse = random.integers(0, 90, (6, 8, 3), np.uint8) + np.uint8(0 if dark else 160)
    Pillow.fromarray(coarse).resize((96, 72)).save(path)


def test_a_small_run_measures_every_method(models, tmp_path, monkeypatch, capsys):
    """Each method has the figures of its directions, and the report names all methods and the doubt on ImageNet."""
    monkeypatch.setattr("benchmarks.photographs.Sift", lambda: Sift(words=8))
    monkeypatch.setitem(METHODS, taught_methods.RAW_CODES, Method("itq:8"))
    random = np.random.default_rng(0)
    for number in range(20):
        draw(tmp_path / "corel1k" / "images" / ("dark", "light")[number % 2] / f"{number}.png", random, number % 2 == 0)
    out = tmp_path / "out.json"
    few = ["--sets", "corel1k", "--trials", "1", "--workers", "1", "--copies", "1", "--json", str(out)]
    assert main(["taught", "--data", str(tmp_path), "--models", str(models), *few]) == 0
    rows = json.loads(out.read_text(encoding="utf-8"))["rows"]
    found = {(row["method"], row["query_view"], row["database_view"]) for row in rows}
    assert found >= {(name, *one) for name, method in METHODS.items() for one in method.directions()}
    searched = {row["method"] for row in rows if row["database"] == trial.SEARCHES}
    assert searched == {RAW, TAUGHT, TAUGHT_BESIDE}
    assert all(0 <= row["value"] <= 1 for row in rows if row["metric"].startswith(("map", "recall", "copy")))
    text = capsys.readouterr().out
    assert all(name in text for name in METHODS)
    assert "ImageNet" in text


def split(draw_rows: np.random.Generator) -> trial.Divided:
    """Two classes that differ in every column, and copies that equal their pictures."""
    classes = np.arange(60) % 2
    rows = (draw_rows.normal(size=(60, 12)) + 3 * classes[:, None]).astype(np.float32)
    blocks = {view: np.stack([rows] * len(trial.KINDS)) for view in taught_methods.ALL}
    return trial.Divided(blocks, {}, classes, np.arange(40), np.arange(40, 60))


@pytest.mark.parametrize("spec", ["", LinearProbe.name, OF_LABELS])
def test_figures_are_those_of_planted_classes(spec):
    """Classes are found, probabilities name them, and the rows themselves find an equal copy first."""
    measured = trial.measured(Method(spec), split(np.random.default_rng(0)), 0)
    found = {tuple(key): value for *key, value in measured}
    for database in ("trained", "unseen"):
        assert found[database, "lite0", "lite0", "map"] > 0.9
        assert 0 < found[database, "lite0", "lite0", "coverage"] <= 1
    if spec:
        assert found["unseen", "lite0", "lite0", trial.ACCURACY] == 1
    else:
        assert found["mixed", "lite0", "lite0", trial.COPY + "cropped"] == 1


def test_few_labels_are_two_of_each_class():
    """The seed draws them, and a rival sees no other label."""
    classes = np.repeat([0, 1, 2], 10)
    chosen = [taught_methods._few(classes, seed) for seed in (0, 0, 1)]
    assert all(np.bincount(classes[known]).tolist() == [2, 2, 2] for known in chosen)
    assert (chosen[0] == chosen[1]).all()
    assert (chosen[0] != chosen[2]).any()


def test_a_broken_promise_is_bold():
    """A figure is bold if it lies more than two standard errors below the promise; a single split has no error."""
    assert report._difference((0.02, 0.001), 0.03) == "**+2.0 ± 0.1**"
    assert report._difference((0.02, 0.006), 0.03) == "+2.0 ± 0.6"
    assert report._difference((-0.01, float("nan")), 0.0) == "**-1.0**"
    assert report._difference(None, 0.0) == ""


def test_a_small_run_on_two_artists(models, tmp_path, capsys):
    """Each method has a recall for both kinds of rows, and missing data is named."""
    folder, random = tmp_path / artists.DRAWINGS, np.random.default_rng(0)
    with pytest.raises(SystemExit, match=r"holds no items\.csv"):
        main(["artists", "--data", str(tmp_path), "--models", str(models), "--json", str(tmp_path / "none.json")])
    keys = [f"{number:x}" for number in range(24)]
    for artist in artists.ARTISTS:
        for number, key in enumerate(keys):
            draw(folder / artist / "things" / f"{key}.png", random, number % 2 == 0)
    with (folder / "items.csv").open("w", encoding="utf-8") as file:
        csv.writer(file).writerows([["key", "category"], *([key, "things"] for key in keys)])
    out = tmp_path / "out.json"
    few = ["--trials", "2", "--workers", "1", "--json", str(out)]
    assert main(["artists", "--data", str(tmp_path), "--models", str(models), *few]) == 0
    rows = json.loads(out.read_text(encoding="utf-8"))["rows"]
    assert {(row["rows"], row["method"]) for row in rows} == {
        (rows, method) for rows in (artists.MODEL, artists.HAND_MADE) for method in artists.METHODS
    }
    assert all(0 <= row["value"] <= 1 for row in rows)
    assert "| lite0 | raw |" in capsys.readouterr().out


def test_a_missing_model_is_named(tmp_path):
    folders = ["--data", str(tmp_path), "--models", str(tmp_path)]
    (tmp_path / artists.DRAWINGS).mkdir()
    (tmp_path / artists.DRAWINGS / "items.csv").write_text("key,category\n1,a\n", encoding="utf-8")
    with pytest.raises(SystemExit, match="holds no lite0"):
        main(["artists", *folders, "--json", str(tmp_path / "out.json")])
