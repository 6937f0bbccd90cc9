"""The benchmark of relative attributes: all ways learn from the same pairs, and every figure is written."""

import json

import numpy as np
import pytest

from benchmarks.attributes import benchmark as attributes
from benchmarks.attributes import methods, report
from benchmarks.attributes.data import TRAIN, Pictures
from benchmarks.registry import benchmark
from engine.spaces.parts import Part

LEVELS = np.array([[0, 1, 1, 2, 3, 4], [3, 0, 4, 2, 2, 1]], np.float64)


def drawn(seed: int = 0, each: int = 36) -> Pictures:
    """Pictures of six classes whose rows tell two attributes."""
    generator = np.random.default_rng(seed)
    codes = np.repeat(np.arange(6), each)
    rows = generator.normal(0, 0.6, (len(codes), 10))
    rows[:, :2] += LEVELS.T[codes]
    names = [str(code) for code in range(6)]
    return Pictures(name="pubfig", rows=rows, codes=codes, levels=LEVELS, parts=[Part(6), Part(4)], names=names)


@pytest.fixture
def division() -> methods.Division:
    pictures = drawn()
    train = pictures.split(3)
    return methods.Division(pictures, train, np.setdiff1d(np.arange(len(pictures.codes)), train), 3)


def test_all_ways_learn_from_the_same_pairs_as_long_as_they_can(division: methods.Division):
    """Those that quadruplets can be made of come first, for pairs, too."""
    relations = methods.ATTRIBUTE_METHODS
    for attribute in range(len(LEVELS)):
        quadruplets = division.pairs(attribute, relations["OQWSL-1"])
        everything = division.pairs(attribute, relations[methods.RA])
        assert everything[: len(quadruplets)] == quadruplets
        assert len(everything) == 15
        assert len(division.pairs(attribute, relations["OQWSL + pairs"])) == 15


def test_scores_tell_classes_that_attributes_tell(division: methods.Division):
    """By all ways, far above chance."""
    for name, relations in methods.ATTRIBUTE_METHODS.items():
        assert methods.gaussian(division.scores(relations, 100.0)) > 0.5, name


def test_training_pictures_are_30_of_each_class():
    """And the others are never among them."""
    pictures = drawn()
    train = pictures.split(0)
    assert np.bincount(pictures.codes[train]).tolist() == [TRAIN] * 6
    assert len(np.unique(train)) == len(train)


def test_the_report_has_both_papers_and_our_figures(tmp_path, monkeypatch):
    """From a run of two splits of one set, with its plot."""
    monkeypatch.setattr(attributes, "faces", lambda folder: drawn())
    monkeypatch.setattr(methods, "WEIGHTS", (100.0,))
    monkeypatch.setattr(methods, "LMNN_GRID", methods.LMNN_GRID[:1])
    monkeypatch.setattr(attributes, "PAIRS", (1, 5))
    out = tmp_path / "out.json"
    arguments = ["--data", tmp_path, "--sets", "pubfig", "--json", out, "--report", tmp_path, "--trials", 2]
    benchmark("attributes").main([*map(str, arguments), "--workers", "1"])
    document = json.loads(out.read_text())
    text = report.markdown(document)
    assert "| Q+Pwise | LMNN |" in text
    assert "77.6" in text
    assert "gain over RA, points, paired" in text
    assert report.headline(document)[2] == "77.6"
    assert (tmp_path / "attributes.png").stat().st_size > 1000
