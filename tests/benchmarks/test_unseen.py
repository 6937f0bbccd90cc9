"""The benchmark of unseen databases draws its splits, measures, and judges by its rule."""

import json

import numpy as np
import pytest
from faces import planted

from benchmarks.__main__ import main as run_named
from benchmarks.sets.named import load
from benchmarks.sets.split import Split
from benchmarks.sets.standing import interval
from benchmarks.unseen import report, tuning
from benchmarks.unseen.trial import DEFAULT, METHODS, measured
from crossview.engine.training.settling import OF_LABELS
from crossview.engine.values.recipe import Tune


@pytest.fixture
def split(tmp_path) -> Split:
    return load("pubfig", planted(tmp_path), tmp_path)(0)


def test_groups_stay_together(tmp_path):
    """Each speaker is on one side, and the split of a seed is always the same."""
    generator = np.random.default_rng(0)
    (tmp_path / "isolet_g1_g5").mkdir()
    speaker = np.repeat(np.arange(12), 10)
    rows, y = generator.normal(size=(120, 6)), np.tile(np.arange(5), 24)
    np.savez(tmp_path / "isolet_g1_g5/isolet_g1_g5.npz", X=rows, y=y, speaker=speaker)
    data = load("isolet", tmp_path, tmp_path)
    for seed in range(5):
        one, again = data(seed), data(seed)
        assert not set(speaker[one.train]) & set(speaker[one.held_out])
        assert len(one.train) + len(one.held_out) == 120
        assert (one.held_out == again.held_out).all()


def test_every_database_leaves_the_query_out(split):
    """The default finds what is planted in each, in all four directions; random rows would find about a quarter."""
    found = {tuple(key): value for *key, value in measured(METHODS[DEFAULT], split)}
    for database in ("trained", "unseen", "mixed"):
        for query in ("gist", "lab"):
            for target in ("gist", "lab"):
                assert found[database, query, target, "map"] > 0.6
    # Here all class mates are equally right; the instance part of the default orders them, as it pleases.
    assert found["mixed", "gist", "lab", "unseen_share"] > 0.5
    of_classes = {tuple(key): value for *key, value in measured(METHODS["posteriors, dot"], split)}
    assert 0.5 < of_classes["mixed", "gist", "lab", "unseen_share"] < 1.6
    for database in ("unseen", "mixed"):
        assert 0 <= found[database, "gist", "lab", "recall@1"] <= found[database, "gist", "lab", "recall@10"] <= 1
    assert ("trained", "gist", "lab", "recall@1") not in found


def test_learners_that_keep_views_apart_are_measured_within_them(split):
    """The raw views are measured so, too."""
    for method in ("raw", "pca"):
        found = [(query, target) for _, query, target, metric, _ in measured(METHODS[method], split) if metric == "map"]
        assert set(found) == {("gist", "gist"), ("lab", "lab")}


def test_the_default_is_the_products():
    """The benchmark measures what a recipe without a learner takes."""
    assert METHODS[DEFAULT] == OF_LABELS


def test_the_interval_is_wider_than_that_of_independent_splits():
    """The interval is Nadeau and Bengio's: its variance includes the overlap of the splits."""
    differences = np.array([0.01, 0.03, 0.02, 0.04])
    mean, half = interval(differences, 0.25)
    assert mean == pytest.approx(0.025)
    expected = 3.1824 * np.sqrt((1 / 4 + 0.25) * differences.var(ddof=1))
    assert half == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize(
    ("mean", "half", "kept"),
    [(0.1, 0.5, True), (-0.009, 0.001, True), (-0.011, 0.001, False), (-0.015, 0.019, True), (-0.015, 0.03, False)],
)
def test_the_rule(mean, half, kept):
    """The default is at most a hundredth behind, or its interval contains 0 and reaches at most two hundredths."""
    assert report.holds(mean, half) is kept


def test_a_run_writes_rows_and_a_report(tmp_path, monkeypatch, capsys):
    """The report has the verdict in every direction, and the mean over all."""
    monkeypatch.setattr("benchmarks.unseen.trial.METHODS", {DEFAULT: OF_LABELS, "semantic": "semantic", "raw": ""})
    out = tmp_path / "unseen.json"
    arguments = ["--data", str(planted(tmp_path)), "--sets", "pubfig", "--trials", "2", "--workers", "1"]
    assert run_named(["unseen", *arguments, "--json", str(out)]) == 0
    document = json.loads(out.read_text())
    assert {row["method"] for row in document["rows"]} == {DEFAULT, "semantic", "raw"}
    text = capsys.readouterr().out
    assert "gist → lab" in text
    assert "unseen share" in text
    assert "| own in first 10 | own median rank | coverage | hubness |" in text
    assert "(semantic)" in report.headline(document)[2]


def test_tuning_is_measured_beside_what_it_starts_from(tmp_path, monkeypatch, capsys):
    """The report has the default beside its tuning, and settings chosen with labels beside those chosen without."""
    monkeypatch.setitem(tuning.METHODS, tuning.BY_LABELS, ("cca", Tune({"n_components": (2, 4)}, "map")))
    monkeypatch.setitem(tuning.METHODS, tuning.BY_ITEMS, ("cca", Tune({"n_components": (2, 4)}, "items")))
    monkeypatch.setattr(tuning, "UNLABELLED", ("pubfig",))
    out = tmp_path / "tuning.json"
    arguments = ["--data", str(planted(tmp_path)), "--sets", "pubfig", "--trials", "2", "--workers", "1"]
    assert run_named(["tuning", *arguments, "--json", str(out)]) == 0
    document = json.loads(out.read_text())
    assert {row["method"] for row in document["rows"]} == set(tuning.METHODS)
    assert all("n_components" in trial["chosen"][tuning.BY_ITEMS] for trial in document["trials"])
    assert capsys.readouterr().out.count("gist → lab") == 2
