"""Duplicates: copies of twelve kinds, the truth about pairs, and the copies that hashes find."""

import json

import numpy as np
import pytest
from PIL import Image as Pillow

from benchmarks.__main__ import main
from benchmarks.duplicates import benchmark as duplicates
from benchmarks.duplicates.kinds import KINDS, copies
from benchmarks.duplicates.methods import by_fingerprint, by_hash, by_rows
from benchmarks.duplicates.truth import ALL, Found, Truth
from crossview.features.decode import decode


def drawn(folder, count):
    """Write different small pictures into a folder of a class."""
    folder.mkdir(parents=True)
    random = np.random.default_rng(0)
    for number in range(count):
        coarse = random.integers(0, 256, (6, 8, 3), np.uint8)
        Pillow.fromarray(coarse).resize((160, 120)).save(folder / f"{number}.jpg", quality=95)
    return [path.read_bytes() for path in sorted(folder.iterdir())]


def test_copies_are_what_they_are_called(tmp_path):
    (data,) = drawn(tmp_path / "one", 1)
    made = copies(data, seed=3)
    assert tuple(made) == KINDS
    assert made == copies(data, seed=3)
    assert made["exact"] == data
    sizes = {kind: decode(copy).image.shape[:2] for kind, copy in made.items()}
    assert sizes["resized"] == (60, 80)
    assert sizes["rotation 90°"] == (160, 120)
    assert sizes["crop 5 %"] == (114, 152)
    assert sizes["crop 20 %"] == (96, 128)
    assert sizes["watermark"] == sizes["brightness"] == sizes["recompressed"] == (120, 160)
    assert sizes["rotation 2°"] == (114, 154)
    images = {kind: decode(copy).image.astype(int) for kind, copy in made.items()}
    grey = images["greyscale"]
    assert np.ptp(grey, axis=2).max() == 0
    assert np.abs(images["mirrored"] - images["exact"][:, ::-1]).mean() < 3
    assert np.abs(images["rotation 2°"] - images["exact"][3:117, 3:157]).mean() < 30
    assert 1 < np.abs(images["watermark"] - images["exact"]).mean() < 40
    ratio = images["brightness"].mean() / images["exact"].mean()
    assert min(abs(ratio - 0.7), abs(ratio - 1.3)) < 0.1


@pytest.fixture
def truth():
    """Two photographs with two copies each, and a burst of Corel."""
    pictures = [(1, "original"), (1, "exact"), (1, "mirrored"), (2, "original"), (2, "exact"), (2, "mirrored")]
    return Truth([f"pictures/{of}/{kind}.jpg" for of, kind in (*pictures, (761, "original"), (776, "original"))])


def test_the_threshold_is_the_greatest_of_its_precision(truth):
    """Equal distances stay together, and a burst counts neither as right nor as wrong."""
    places = np.arange(8.0)
    distances = np.abs(places[:, None] - places) + 10
    distances[:3, :3] = distances[3:6, 3:6] = [[0, 1, 2], [1, 0, 2], [2, 2, 0]]
    distances[6, 7] = distances[7, 6] = 0.5
    found = truth.at_precision(distances)
    assert found.threshold == 2
    figures = {(kind, metric): value for kind, metric, value in truth.figures(found)}
    assert figures[ALL, "precision"] == figures["exact", "recall"] == figures["mirrored", "recall"] == 1
    assert (figures[ALL, "bursts"], figures[ALL, "confused"]) == (1, 0)
    distances[2, 3] = distances[3, 2] = 2
    assert truth.at_precision(distances).threshold == 1
    assert truth.at_precision(distances, precision=0.8).threshold == 2
    distances[0, 4] = distances[4, 0] = -1
    assert truth.at_precision(distances).threshold == -1


def test_wrong_pairs_are_counted_once_for_two_photographs(truth):
    figures = {(kind, metric): value for kind, metric, value in truth.figures(Found(np.ones((8, 8), bool)))}
    assert figures[ALL, "recall"] == 1
    assert figures[ALL, "precision"] == 6 / 27
    assert figures[ALL, "confused"] == 5
    assert (ALL, "threshold") not in figures


def test_distances_see_copies(tmp_path):
    files = drawn(tmp_path / "one", 3)
    made = copies(files[0], seed=0)
    every = [*files, made["recompressed"], made["mirrored"]]
    for name in duplicates.HASHES:
        away = by_hash(name, every)
        assert away[0, 3] < 8 < away[0, 1]
        assert (away == away.T).all()
    away = by_fingerprint(every)
    assert away[0, 4] < 8 < away[0, 1]
    rows = np.random.default_rng(0).random((4, 3)).astype(np.float32)
    assert np.allclose(by_rows(rows), np.linalg.norm(rows[:, None] - rows, axis=2), atol=1e-6)


def test_a_run_writes_rows_and_a_report(tmp_path, capsys):
    drawn(tmp_path / duplicates.PHOTOGRAPHS / "one", 5)
    drawn(tmp_path / duplicates.PHOTOGRAPHS / "two", 0)
    out = tmp_path / "out.json"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(duplicates, "VIEWS", ("color", "gist"))
        assert main(["duplicates", "--data", str(tmp_path), "--copied", "2", "--json", str(out)]) == 0
    document = json.loads(out.read_text(encoding="utf-8"))
    values = {tuple(row[name] for name in duplicates.NAMES): row["value"] for row in document["rows"]}
    assert {value for (_, kind, metric), value in values.items() if (kind, metric) == ("exact", "recall")} == {1}
    assert values["view color", "mirrored", "recall"] == 1
    assert "| view gist | **1.000** |" in capsys.readouterr().out


def test_missing_data_is_named(tmp_path):
    with pytest.raises(SystemExit, match="holds no corel1k"):
        main(["duplicates", "--data", str(tmp_path), "--json", str(tmp_path / "out.json")])
