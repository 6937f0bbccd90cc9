"""The hashing benchmark averages over the orders of ties, states its databases, and writes figures and a report."""

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
from benchmarks.hashing.methods import METHODS, OURS, Method, learners_of_papers
from benchmarks.hashing.stages import Stages
from crossview.engine.learners.registry import parse_chain
from crossview.engine.training.measures import average_precision


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.booleans()), min_size=1, max_size=6))
def test_measures_are_means_over_all_orders_of_ties(items):
    """Expected average precision is the mean over all orders of the ties, for codes and for any distances."""
    distances, relevant = np.array([[one[part] for one in items] for part in (0, 1)])
    orders = [
        list(order)
        for order in itertools.permutations(range(len(items)))
        if np.all(np.diff(distances[list(order)]) >= 0)
    ]
    ranked = relevant.astype(bool)[np.array(orders)]
    given_as = distances[None], relevant.astype(bool)[None]
    for measure in (ties.average_precision, ties.average_precision_of_codes):
        np.testing.assert_allclose(measure(*given_as), average_precision(ranked).mean(), equal_nan=True)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 9), st.integers(1, 40))
def test_both_ways_to_measure_codes_agree(seed, levels, count):
    """They agree for few distances with many ties, and for many distances with few."""
    generator = np.random.default_rng(seed)
    distances, relevant = generator.integers(0, levels, (5, count)), generator.random((5, count)) < 0.3
    one, other = (measure(distances, relevant) for measure in (ties.average_precision, ties.average_precision_of_codes))
    np.testing.assert_allclose(one, other, equal_nan=True)


@pytest.fixture(autouse=True)
def with_learners_of_papers():
    """Chains may name the learners that are only compared with; other tests find the product's alone."""
    with learners_of_papers():
        yield


def split(published=False):
    """Return three classes in two views, with sixty training items and twenty queries."""
    generator = np.random.default_rng(0)
    labels = np.arange(80) % 3
    rows = [generator.random((3, width))[labels] + 0.2 * generator.random((80, width)) for width in (6, 8)]
    return hashing_trial.Split(
        data="wikipedia" if published else "corel",
        seed=0,
        views=("one", "two"),
        steps=("l1,sqrt", "l1,kernel:chi2"),
        train=[x[:60] for x in rows],
        test=[x[60:] for x in rows],
        train_labels=labels[:60],
        test_labels=labels[60:],
        published=published,
    )


@pytest.mark.parametrize("published", [False, True])
@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_every_method_is_tuned_and_measured(method, published):
    """Each method finds settings of its own grid for each database, and has a mAP there for all pairs of views."""
    data = split(published)
    short = Method(**{**vars(method), "grid": {name: values[:1] for name, values in method.grid.items()}})
    chosen = hashing_trial.tuned(short, data)
    databases = [*(["labelled"] if method.binary else []), "trained", "unseen"]
    assert list(chosen) == databases
    assert all(settings.items() >= {n: v[0] for n, v in method.grid.items()}.items() for settings in chosen.values())
    rows = list(hashing_trial.figures(short, chosen, data, 16 if method.binary else None))
    figures = [row for row in rows if row["metric"] != "map"]
    assert {(row["database"], row["query_view"] != row["database_view"]) for row in figures} == {("unseen", True)}
    assert len(figures) == 2 * 5
    rows = [row for row in rows if row["metric"] == "map"]
    databases += ["test"] if published else []
    pairs = list(itertools.product(("one", "two"), repeat=2))
    assert sorted((row["database"], row["query_view"], row["database_view"]) for row in rows) == sorted(
        (database, *pair) for database in databases for pair in pairs
    )
    assert all(0.3 < row["value"] <= 1 for row in rows)


def test_settings_are_chosen_for_each_database(monkeypatch):
    """They are those of the best mAP in a database of its kind, and every point of the grid is measured once there."""
    asked = []

    def scores(method, settings, data, databases):
        asked.append(settings["eta"])
        return {database: -abs(settings["eta"] - best) for database, best in zip(databases, (1, 2, 3), strict=True)}

    monkeypatch.setattr(hashing_trial, "_scores", scores)
    method = Method("any", "npp:{bits}", {"eta": [1, 2, 3]}, fixed={"gamma": 5}, seeded=["random_state"])
    chosen = hashing_trial.tuned(method, split())
    assert chosen == {
        database: {"gamma": 5, "random_state": 0, "eta": best}
        for database, best in (("labelled", 1), ("trained", 2), ("unseen", 3))
    }
    assert sorted(asked) == [1, 2, 3]


def test_stages_are_a_chain():
    """A chain that is cut into stages makes the same of new rows as the whole chain, as items and as queries."""
    data = split()
    stages = Stages(data.train, data.train_labels, data.test)
    for spec, params in (
        ("l1,sqrt,posteriors,lsh:8", {"random_state": 0, "lsh__random_state": 0}),
        ("l1,sqrt,posteriors,dot", {"random_state": 0}),
        ("l1,sqrt,npp-hash:8", {"random_state": 0}),
    ):
        found, chain = stages.embedded(spec, params), parse_chain(spec, params).fit(data.train, data.train_labels)
        for view in (0, 1):
            np.testing.assert_array_equal(found.items[view], chain.transform(data.test[view], view=view))
            np.testing.assert_array_equal(found.queries[view], chain.transform_queries(data.test[view], view))
            np.testing.assert_array_equal(found.learned[view], chain.transform(data.train[view], view=view))


def test_codes_of_labels_are_those_of_the_class():
    """All items of a class have one code, in all views; if a hasher learns none, it is the majority of the class."""
    data = split()
    for spec in ("l1,sqrt,npp-hash:8", "l1,sqrt,class-codes:8", "l1,sqrt,semantic,sign"):
        found = data.whole.stages.embedded(spec, {})
        one, other = hashing_trial.codes_of_labels(found, data.train_labels)
        np.testing.assert_array_equal(one, other)
        assert len(np.unique(one, axis=0)) == 3
    codes = np.vstack(found.train)[np.tile(data.train_labels, 2) == 1]
    np.testing.assert_array_equal(one[data.train_labels == 1][0], codes.mean(axis=0) > 0.5)


def test_a_trial_can_be_written(tmp_path, monkeypatch):
    """Its figures contain the settings that were chosen for each database."""
    methods = [method for method in METHODS if method.name in ("npp-hash", "posteriors, dot")]
    monkeypatch.setattr(hashing_trial, "METHODS", methods)
    monkeypatch.setattr(hashing_trial, "corel", lambda *arguments: split())
    trial = hashing_trial.run(("corel", 0), tmp_path, tmp_path, tmp_path, (16,))
    write_json(tmp_path / "trial.json", trial)
    assert json.loads((tmp_path / "trial.json").read_text(encoding="utf-8"))["chosen"] == trial["chosen"]
    assert [(one["method"], list(one["settings"])) for one in trial["chosen"]] == [
        ("posteriors, dot", ["trained", "unseen"]),
        ("npp-hash", ["labelled", "trained", "unseen"]),
    ]


def test_no_document_meets_itself():
    """A query's own row is not in a database of test rows; among unseen rows, neither is the row of its other view."""
    data = split(published=True)
    found, asked = data.whole.stages.embedded("l1", {}), []

    def measured(squared, relevant):
        asked.append(squared.shape)
        return squared.min(axis=1)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hashing_trial, "average_precision", measured)
        nearest = data.whole.average_precisions(found, (0, 0), "test", False)
        for crossing, database in (((0, 0), "unseen"), ((0, 0), "trained")):
            data.whole.average_precisions(found, crossing, database, False)
    assert nearest.min() > 0
    assert asked == [(20, 19), (20, 19), (20, 60)]


def trials():
    """Return two seeds of photographs and of documents, with figures that are their position in the list."""
    found = []
    for data, seed in itertools.product(("wikipedia", "corel"), (0, 1)):
        views = {"wikipedia": ("image", "text"), "corel": ("color", "sift")}[data]
        keys = [(method.name, bits) for method in METHODS for bits in ([16, 64] if method.binary else [None])]
        rows = [
            {"data": data, "method": name, "bits": bits, "query_view": query, "database_view": database,
             "database": items, "metric": metric, "value": (1 + seed + keys.index((name, bits))) / 100}
            for name, bits in keys
            for query in views
            for database in views
            for items in ("labelled", "trained", "unseen", "test")
            if bits or items != "labelled"
            for metric in ("map", *(["coverage"] if items == "unseen" and query != database else []))
        ]  # fmt: skip
        found.append({"data": data, "seed": seed, "rows": rows, "chosen": [], "seconds": 1.0})
    return found


def test_report_shows_every_method_and_the_comparisons(tmp_path):
    """Every method has a line in every table; differences and shares are those of the figures, paired by seed."""
    rows = [row for trial in trials() for row in trial["rows"]]
    document = {
        "settings": {"seeds": [0, 1], "bits": [16, 64], "tuning": "tuned", "ties": "averaged"},
        "trials": trials(),
        "rows": hashing.summary(rows),
        "seconds": 1.0,
    }
    text = hashing_report.markdown(document)
    for method in METHODS:
        name = method.name + ("" if method.binary else " (floats)")
        assert sum(line.startswith(f"| {name} |") for line in text.splitlines()) == 7
    assert "| method | mAP | coverage |" in text
    corel = [trial for trial in trials() if trial["data"] == "corel"]
    ours, other = (
        np.mean([hashing_report.means(trial, name, 64, "labelled", "across") for trial in corel])
        for name in (OURS[1], "kernel class codes")
    )
    cell = f"{ours - other:+.4f} ± 0.0000 (kernel class codes)"
    assert any(line.startswith("| corel | labelled | across | all |") and cell in line for line in text.splitlines())
    assert "| JFSSL (published, floats) |" in text
    assert len(hashing_report.headline(document)) == 3
    hashing_report.plot(tmp_path / "hashing.png", document)
    assert (tmp_path / "hashing.png").stat().st_size > 10_000
    deviations = {row["std"] for row in document["rows"] if row["data"] == "corel"}
    np.testing.assert_allclose(sorted(deviations), np.std([0.01, 0.02], ddof=1))


def test_from_the_command_line(tmp_path, monkeypatch):
    """The command runs the requested trials, also those of the documents, and writes them with the settings."""
    asked = []

    def run(task, images, cache, documents, bits):
        asked.append((*task, images.name, documents.name, bits))
        return next(one for one in trials() if (one["data"], one["seed"]) == (task[0], task[1] - 5))

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
    assert asked == [
        (data, seed, "corel1k", "wikipedia_crossmodal", (16, 64)) for seed in (5, 6) for data in ("wikipedia", "corel")
    ]
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
    """A wrong number ends the program with a line that says which."""
    with pytest.raises(SystemExit):
        hashing.BENCHMARK.main(["--data", str(tmp_path), "--json", str(tmp_path / "out.json"), *arguments])
    assert message in capsys.readouterr().err


def test_missing_data_is_named(tmp_path):
    """A folder without the data sets ends the program with a line that says what it lacks."""
    with pytest.raises(SystemExit, match="holds no corel1k"):
        hashing.BENCHMARK.main(["--data", str(tmp_path), "--json", str(Path(tmp_path) / "out.json")])
