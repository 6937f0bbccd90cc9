"""The benchmark of relative attributes: all ways learn from the same pairs, and every figure is written."""

import json

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.attributes import benchmark as attributes
from benchmarks.attributes import held_out, methods, report
from benchmarks.attributes.data import TRAIN, Pictures
from benchmarks.registry import benchmark
from crossview.engine.spaces.pipeline import Part

LEVELS = np.array([[0, 1, 1, 2, 3, 4], [3, 0, 4, 2, 2, 1]], np.float64)


def drawn(levels: NDArray[np.float64] = LEVELS, noise: float = 0.6, each: int = 36) -> Pictures:
    """Return pictures of classes whose rows show two attributes."""
    generator = np.random.default_rng(0)
    classes = levels.shape[1]
    codes = np.repeat(np.arange(classes), each)
    rows = generator.normal(0, noise, (len(codes), 10))
    rows[:, :2] += levels.T[codes]
    names = [str(code) for code in range(classes)]
    return Pictures(name="pubfig", rows=rows, codes=codes, levels=levels, parts=[Part(6), Part(4)], names=names)


@pytest.fixture
def division() -> methods.Division:
    pictures = drawn()
    train = pictures.split(3)
    return methods.Division(pictures, train, np.setdiff1d(np.arange(len(pictures.codes)), train), 3)


def test_all_ways_learn_from_the_same_pairs_as_long_as_they_can(division: methods.Division):
    """The pairs that quadruplets can be made of come first, also in the list of pairs."""
    relations = methods.ATTRIBUTE_METHODS
    for attribute in range(len(LEVELS)):
        quadruplets = division.pairs(attribute, relations["OQWSL-1"])
        everything = division.pairs(attribute, relations[methods.RA])
        assert everything[: len(quadruplets)] == quadruplets
        assert len(everything) == 15
        assert len(division.pairs(attribute, relations["OQWSL + pairs"])) == 15


def test_scores_tell_classes_that_attributes_tell(division: methods.Division):
    """Every method separates the classes far better than chance."""
    for name, relations in methods.ATTRIBUTE_METHODS.items():
        assert methods.gaussian(division.scores(relations, 100.0)) > 0.5, name


def test_training_pictures_are_30_of_each_class():
    """The other pictures are never among them."""
    pictures = drawn()
    train = pictures.split(0)
    assert np.bincount(pictures.codes[train]).tolist() == [TRAIN] * 6
    assert len(np.unique(train)) == len(train)


def test_the_report_has_both_papers_and_our_figures(tmp_path, monkeypatch):
    """A run of two splits of one set writes the report and its plot."""
    monkeypatch.setattr(attributes, "faces", lambda folder: drawn())
    monkeypatch.setattr(methods, "WEIGHTS", (100.0,))
    monkeypatch.setattr(methods, "LMNN_GRID", methods.LMNN_GRID[:1])
    monkeypatch.setattr(methods, "FEATURES_GRID", methods.FEATURES_GRID[-1:])
    monkeypatch.setattr(held_out, "HELD_OUT_WEIGHTS", (100.0,))
    monkeypatch.setattr(attributes, "PAIRS", (1, 5))
    out = tmp_path / "out.json"
    arguments = ["--data", tmp_path, "--sets", "pubfig", "--json", out, "--report", tmp_path, "--trials", 2]
    benchmark("attributes").main([*map(str, arguments), "--workers", "1"])
    document = json.loads(out.read_text())
    text = report.markdown(document)
    assert "| Q+Pwise | LMNN |" in text
    assert "77.6" in text
    assert "gain over RA, points, paired" in text
    assert "| places are uncertain | odds chosen by held-out classes |" in text
    assert set(document["trials"][0]["held out"]) == set(held_out.RULES)
    assert report.headline(document)[2] == "77.6 in the paper"
    assert (tmp_path / "attributes.png").stat().st_size > 1000


def test_c_is_chosen_for_each_classifier(division: methods.Division):
    """The folds alone choose C among the values of the grid: the split is looked at once, with the chosen settings."""
    pictures = drawn()
    folds = methods.folds_of(pictures, pictures.split(3), 3)
    for classifier in methods.CLASSIFIERS:
        scores = methods.Scores(division, folds, methods.RA_SQUARED)
        accuracy, settings = methods.classified(scores, classifier)
        assert settings["C"] in methods.WEIGHTS
        assert ("pull" in settings) == ("LMNN" in classifier)
        assert accuracy > 0.5


def test_held_out_classes_are_told_where_places_are_uncertain():
    """Unseen classes are recognised far better than chance, with odds that held-out training classes chose."""
    levels = np.array([[0, 1, 2, 3, 4, 5, 6, 7], [3, 0, 5, 7, 2, 6, 1, 4]], np.float64)
    pictures = drawn(levels, noise=0.3)
    found = held_out.held_out(pictures, pictures.split(3), 3)
    shares = found[held_out.UNCERTAIN][held_out.CHOSEN]
    assert shares["held_out"] > 0.5
    assert shares["seen"] > 0.5
