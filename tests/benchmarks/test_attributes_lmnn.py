"""The attribute benchmark: training images stay apart from test ones, and it writes every figure."""

import json

import numpy as np
import pytest

from benchmarks.attributes_lmnn import benchmark as attributes_lmnn
from benchmarks.attributes_lmnn import methods as attributes_lmnn_methods
from benchmarks.attributes_lmnn.benchmark import PAPER
from benchmarks.attributes_lmnn.methods import FANTOPE, METHODS, PEER, PLAIN, TRACE, Images, Method
from benchmarks.frame.benchmark import MissingDataError
from crossview.engine.spaces.pipeline import Part


def data(count=160, width=12):
    """Return eight classes of which two columns say how much of two attributes they have."""
    generator = np.random.default_rng(0)
    labels = np.arange(count) % 8
    rows = generator.normal(size=(count, width))
    orderings = {str(label): [label, label % 3] for label in range(8)}
    rows[:, :2] += [orderings[str(label)] for label in labels]
    return {"features": rows, "labels": labels, "orderings": orderings, "parts": [Part(8), Part(width - 8)]}


@pytest.fixture
def folder(tmp_path):
    made = data()
    orderings = np.array(list(made["orderings"].values())).T
    views = np.repeat([0, 1], [part.width for part in made["parts"]])
    arrays = {"X": made["features"], "y": made["labels"], "relative_ordering": orderings, "view_of_feature": views}
    np.savez(tmp_path / attributes_lmnn.FILE, **arrays)
    return tmp_path


def test_a_split_has_as_many_training_images_of_every_class_and_differs_by_seed(monkeypatch):
    """Every class gives as many images to train on, none twice."""
    monkeypatch.setattr(attributes_lmnn, "TRAIN", 12)
    labels = data()["labels"]
    first, second = (attributes_lmnn.split(labels, seed) for seed in (0, 1))
    assert np.bincount(labels[first]).tolist() == [12] * 8
    assert len(set(first)) == 96
    assert set(first) != set(second)


def test_held_out_images_have_no_part_in_their_scores():
    """Attributes are learned without the images that judge them, in the test and in every fold."""
    made = data()
    train = np.arange(96)
    images = Images(**made, train=train, seed=0)
    changed = made["features"].copy()
    changed[96:] = 1e3
    np.testing.assert_array_equal(
        images.test(10.0).rows, Images(changed, *list(made.values())[1:], train, 0).test(10.0).rows
    )
    for (_, held), part in zip(images._folds, images.folds(10.0), strict=True):
        changed = made["features"].copy()
        changed[held] = 1e3
        other = Images(changed, *list(made.values())[1:], train, 0)
        again = [p for p, (_, h) in zip(other.folds(10.0), other._folds, strict=True) if np.array_equal(h, held)]
        np.testing.assert_array_equal(part.rows, again[0].rows)


def test_the_accuracy_is_the_mean_over_classes():
    """A class counts as much as another, however many images it has."""
    predicted, labels = np.array([0, 0, 0, 1]), np.array([0, 0, 0, 0])
    assert attributes_lmnn_methods.accuracy(predicted, labels) == 0.75
    assert attributes_lmnn_methods.accuracy(np.array([0, 0, 0, 0]), np.array([0, 0, 0, 1])) == 0.5


def test_writes_figures_of_every_method(folder, monkeypatch):
    """Every method has its figures beside the paper's, and later rows keep the settings of LMNN."""
    short = {
        name: Method(method.predict, {k: v[:2] for k, v in method.grid.items()}, method.after, method.fixed)
        for name, method in METHODS.items()
        if name != PEER
    }
    monkeypatch.setattr(attributes_lmnn, "METHODS", short)
    monkeypatch.setattr(attributes_lmnn, "TRAIN", 12)
    monkeypatch.setattr(attributes_lmnn_methods, "FOLDS", 2)
    monkeypatch.setattr(attributes_lmnn_methods, "REPEATS", 1)
    monkeypatch.setattr(attributes_lmnn_methods, "LEARNER", {"n_components": 2, "max_iter": 5})
    out = folder / "out.json"
    arguments = ["--data", str(folder), "--trials", "2", "--first-seed", "5", "--workers", "1", "--json", str(out)]
    assert attributes_lmnn.BENCHMARK.main([*arguments, "--report", str(folder)]) == 0
    document = json.loads(out.read_text())
    assert [trial["seed"] for trial in document["trials"]] == [5, 6]
    for trial in document["trials"]:
        assert list(trial["methods"]) == list(short)
        chosen = {name: figures["settings"] for name, figures in trial["methods"].items()}
        for name in (TRACE, FANTOPE):
            assert chosen[name]["C"] == chosen[PLAIN]["C"]
    text = (folder / "attributes-lmnn.md").read_text()
    assert all(figure in text for figure in PAPER.values())
    assert "LMNN + Fantope − LMNN + trace" in text
    assert (folder / "attributes-lmnn.png").stat().st_size > 1000


def test_missing_data_are_named(tmp_path):
    """A folder without the file, and a file without an array, end with a message that says so."""
    with pytest.raises(MissingDataError, match=r"holds no pubfig_relattr\.npz"):
        attributes_lmnn.read(tmp_path)
    np.savez(tmp_path / attributes_lmnn.FILE, X=np.zeros((2, 2)))
    with pytest.raises(MissingDataError, match="has no relative_ordering, view_of_feature, y"):
        attributes_lmnn.read(tmp_path)
