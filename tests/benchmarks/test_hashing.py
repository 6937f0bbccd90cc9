"""The hashing benchmark: ties in every order, what is searched, figures and report."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.frame.record import write_json
from benchmarks.hashing import benchmark as hashing
from benchmarks.hashing import report as hashing_report
from benchmarks.hashing import ties
from benchmarks.hashing import trial as hashing_trial
from benchmarks.hashing.methods import COMPARED, METHODS, Method
from engine.training.measures import average_precision, precision_at_k


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.booleans()), min_size=1, max_size=6), st.integers(1, 6))
def test_measures_are_means_over_all_orders_of_ties(items, k):
    """Expected average precision and precision at k are those of every order of the ties, averaged."""
    distances, relevant = np.array([[one[part] for one in items] for part in (0, 1)])
    orders = [
        list(order)
        for order in itertools.permutations(range(len(items)))
        if np.all(np.diff(distances[list(order)]) >= 0)
    ]
    ranked = relevant.astype(bool)[np.array(orders)]
    given_as = distances[None].astype(float), relevant.astype(bool)[None]
    np.testing.assert_allclose(ties.precision_at_k(*given_as, k), precision_at_k(ranked, k).mean())
    np.testing.assert_allclose(ties.average_precision(*given_as), average_precision(ranked).mean(), equal_nan=True)


def split(unseen):
    """Three classes in two views, sixty items to train on and twenty to ask with."""
    generator = np.random.default_rng(0)
    labels = np.arange(80) % 3
    rows = [generator.random((3, width))[labels] + 0.2 * generator.random((80, width)) for width in (6, 8)]
    return hashing_trial.Split(
        data="corel",
        seed=0,
        views=("one", "two"),
        steps=("l1,sqrt", "l1,kernel:chi2"),
        train=[x[:60] for x in rows],
        test=[x[60:] for x in rows],
        train_labels=labels[:60],
        test_labels=labels[60:],
        unseen=unseen,
    )


@pytest.mark.parametrize("unseen", [False, True])
@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_every_method_is_tuned_and_measured(method, unseen):
    """Each finds settings of its own grid, and has a mAP and precisions for all pairs of views that it serves."""
    data = split(unseen)
    short = Method(**{**vars(method), "grid": {name: values[:1] for name, values in method.grid.items()}})
    selection = hashing_trial.tuned(short, data)
    rows = list(hashing_trial.figures(short, selection.settings, data, 16 if method.binary else None))
    pairs = (4 if method.across else 2) * (3 if unseen else 2)
    assert [row["metric"] for row in rows] == ["seconds", *["map", "precision", "precision"] * pairs]
    assert {row["database"] for row in rows[1:]} == {"trained", "unseen", *(["test"] if unseen else [])}
    assert all(0 <= row["value"] <= 1 for row in rows[1:])
    for row in rows[1:]:
        assert (row["query_view"], row["database_view"]) in itertools.product(("one", "two"), repeat=2)
        assert method.across or row["query_view"] == row["database_view"]


def test_a_trial_can_be_written(tmp_path, monkeypatch):
    """What was chosen is among its figures, also of a method with nothing to choose."""
    methods = [method for method in METHODS if method.name in ("npp-hash", "musl, five metrics")]
    monkeypatch.setattr(hashing_trial, "METHODS", methods)
    monkeypatch.setattr(hashing_trial, "corel", lambda *arguments: split(False))
    trial = hashing_trial.run(0, tmp_path, tmp_path, tmp_path, (16,))
    write_json(tmp_path / "trial.json", trial)
    assert json.loads((tmp_path / "trial.json").read_text(encoding="utf-8"))["chosen"] == trial["chosen"]
    assert [(one["method"], one["score"] is None) for one in trial["chosen"]] == [
        ("npp-hash", False),
        ("musl, five metrics", True),
    ]


def test_a_stored_row_is_compared_by_its_own_metric():
    """With several metrics a distance is under the stored row's, or the least where it has none."""
    asked, stored = np.array([[0.0, 0, 1, 1]]), np.array([[1.0, 1, 1, 1], [1.0, 0, 0, 0]])
    under = hashing_trial._under_metrics
    np.testing.assert_array_equal(under(asked, stored, 2, np.array([0, 1])), [[2, 2]])
    np.testing.assert_array_equal(under(asked, stored, 2, np.array([1, 0])), [[0, 1]])
    np.testing.assert_array_equal(under(asked, stored, 2, None), [[0, 1]])
    np.testing.assert_array_equal(under(asked, stored, 1, np.array([0, 0])), [[2, 3]])


def test_no_document_meets_itself():
    """Where test rows are the database, a query's own is not in it; among unseen ones nor is that of its other view."""
    learner, data = Learnt(), split(True)
    embedded = hashing_trial._embedded(learner, data)

    def searched(crossing, database):
        return hashing_trial._searched(learner, data, embedded, crossing, database)

    squared, relevant = searched((0, 0), "test")
    assert squared.shape == relevant.shape == (20, 19)
    assert squared.min() > 0
    assert searched((0, 1), "test")[0].shape == (20, 20)
    assert searched((0, 1), "unseen")[0].shape == searched((0, 1), "unseen")[1].shape == (20, 19)
    assert searched((0, 0), "trained")[0].shape == (20, 60)


class Learnt:
    """Stands for a fitted chain: the first columns as they are."""

    n_metrics_ = 1

    def transform(self, rows, view):
        """Returns the first six columns."""
        return rows[:, :6]

    def metric_of_class(self, labels, view):
        """Returns the only metric."""
        return np.zeros(len(labels), dtype=np.intp)


def trials():
    """Two splits of photographs and one of documents, with figures that are their position in the list."""
    found = []
    for data, seed in (("wikipedia", 0), ("corel", 0), ("corel", 1)):
        keys = [(method.name, bits) for method in METHODS for bits in ([16, 64] if method.binary else [None])]
        rows = [
            {"data": data, "method": name, "bits": bits, "query_view": query, "database_view": database,
             "metric": metric, "k": k, "value": (1 + seed + keys.index((name, bits))) / 100}
            for name, bits in keys
            for query in ("a", "b")
            for database in ("a", "b")
            for metric, k in (("map", None), ("precision", 50), ("precision", 100))
        ]  # fmt: skip
        found.append({"data": data, "seed": seed, "rows": rows, "chosen": [], "seconds": 1.0})
    return found


def test_report_shows_every_method_and_the_comparisons(tmp_path):
    """Every method has a line in every table; differences and shares are those of the figures, paired by split."""
    rows = [row for trial in trials() for row in trial["rows"]]
    document = {
        "settings": {"seeds": [0, 1], "bits": [16, 64], "tuning": "tuned", "ties": "averaged"},
        "trials": trials(),
        "rows": hashing.summary(rows),
        "seconds": 1.0,
    }
    text = hashing_report.markdown(document)
    for method in METHODS:
        tables = 12 if method.across else 6
        assert sum(line.startswith(f"| {method.name} |") for line in text.splitlines()) == tables
    one, other = (
        [hashing_report.means(trial, name, 64, "map", None, "across") for trial in trials()[1:]] for name in COMPARED[0]
    )
    assert f"| {np.mean(one) - np.mean(other):+.4f} ± 0.0000 |" in text
    hashing_report.plot(tmp_path / "hashing.png", document)
    assert (tmp_path / "hashing.png").stat().st_size > 10_000
    deviations = {row["std"] for row in document["rows"] if row["data"] == "corel"}
    np.testing.assert_allclose(sorted(deviations), np.std([0.01, 0.02], ddof=1))
    assert {row["std"] for row in document["rows"] if row["data"] == "wikipedia"} == {None}


def test_from_the_command_line(tmp_path, monkeypatch):
    """The splits asked for are run, the documents among them, and written with the settings."""
    asked = []

    def run(seed, images, cache, documents, bits):
        asked.append((seed, images.name, documents.name, bits))
        return trials()[{-1: 0, 5: 1, 6: 2}[seed]]

    for name in (hashing.PHOTOGRAPHS, hashing.DOCUMENTS):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(hashing, "run", run)
    monkeypatch.setattr(hashing, "photographs", lambda images, cache: None)
    out = tmp_path / "out.json"
    arguments = ["--data", str(tmp_path), "--json", str(out), "--workers", "1", "--bits", "64,16"]
    assert (
        hashing.BENCHMARK.main([*arguments, "--trials", "2", "--first-seed", "5", "--report", str(tmp_path / "report")])
        == 0
    )
    assert asked == [(seed, "corel1k", "wikipedia_crossmodal", (16, 64)) for seed in (-1, 5, 6)]
    document = json.loads(out.read_text(encoding="utf-8"))
    assert (document["benchmark"], document["settings"]["seeds"]) == ("hashing", [5, 6])
    assert (tmp_path / "report" / "hashing.md").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--trials", "0"], "must be at least 1"),
        (["--bits", "16"], "64 among them"),
        (["--bits", "many"], "numbers with commas"),
    ],
)
def test_wrong_arguments_are_named(arguments, message, tmp_path, capsys):
    """Wrong numbers end with a line that says which."""
    with pytest.raises(SystemExit):
        hashing.BENCHMARK.main(["--data", str(tmp_path), "--json", str(tmp_path / "out.json"), *arguments])
    assert message in capsys.readouterr().err


def test_missing_data_is_named(tmp_path):
    """A folder without the data sets ends with a line that says what it lacks."""
    with pytest.raises(SystemExit, match="holds no corel1k"):
        hashing.BENCHMARK.main(["--data", str(tmp_path), "--json", str(Path(tmp_path) / "out.json")])
