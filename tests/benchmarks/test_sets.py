"""The sets of the benchmarks are divided and drawn as stated."""

import argparse

import numpy as np
import pytest
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier

from benchmarks.frame.benchmark import MissingDataError
from benchmarks.sets import named
from benchmarks.sets.drawn import DRAWN
from benchmarks.sets.real import LOADERS as REAL

REPORT = named.DIVISION["report"]


def test_every_set_is_for_development_or_for_reports_and_never_for_both():
    assert sorted([*named.DEVELOPMENT, *REPORT]) == sorted(named.LOADERS)
    for part in (named.DEVELOPMENT, REPORT):
        assert {"real", "drawn"} == {"drawn" if name in DRAWN else "real" for name in part}


def test_each_look_at_the_report_sets_has_a_date_and_a_reason():
    for look in named.DIVISION["looks"]:
        assert set(look) == {"date", "reason"}
        assert look["reason"]


def test_a_part_of_the_division_stands_for_its_sets():
    parser = argparse.ArgumentParser()
    named.sets_argument(parser, ["digits"])
    assert named.sets_of(parser.parse_args([])) == ["digits"]
    chosen = named.sets_of(parser.parse_args(["--sets", "digits", "report"]))
    assert chosen == ["digits", *[name for name in REPORT if name != "digits"]]


@pytest.mark.parametrize("name", DRAWN)
def test_a_drawn_set_is_always_the_same_and_shows_its_classes(name, tmp_path):
    """Neighbours within one view, by angle or distance, find the classes better than chance: twice, or most."""
    split, again = named.load(name, tmp_path, tmp_path)(0), named.load(name, tmp_path, tmp_path)(0)
    chance = float(np.bincount(split.labels).max() / len(split.labels))
    found = []
    for view, rows in split.rows.items():
        assert np.isfinite(rows).all()
        assert np.array_equal(rows, again.rows[view])
        models = [KNeighborsClassifier(5, metric=metric) for metric in ("cosine", "euclidean")]
        found += [cross_val_score(model, rows, split.labels, cv=3).mean() for model in models]
    assert max(found) > min(2 * chance, 0.6)


@pytest.mark.parametrize("name", [name for name in REAL if name != "digits"])
def test_a_real_set_says_what_is_missing(name, tmp_path):
    with pytest.raises(MissingDataError, match="holds no"):
        named.load(name, tmp_path, tmp_path)


def test_the_halves_of_digits_come_with_the_library(tmp_path):
    split = named.load("digits", tmp_path, tmp_path)(3)
    assert {name: rows.shape[1] for name, rows in split.rows.items()} == {"top": 32, "bottom": 32}
    assert len(split.train) + len(split.held_out) == len(split.labels) == 1797
