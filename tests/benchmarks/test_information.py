"""Each kind of information is drawn as its name says, and every method learns from the same draw."""

import numpy as np
import pytest

from benchmarks.__main__ import main as run_named
from benchmarks.information import benchmark as information
from benchmarks.information import report
from benchmarks.information.kinds import KINDS, known
from benchmarks.information.methods import METHODS, default_for
from benchmarks.sets.split import Split
from crossview.engine.training.settling import OF_LABELS, OF_PAIRS, OF_SOME_LABELS, OF_VIEWS


@pytest.fixture
def split() -> Split:
    random = np.random.default_rng(0)
    labels = np.repeat(np.array(["a", "b", "c", "d"]), 30)
    rows = {"first": random.normal(size=(120, 4)), "second": random.normal(size=(120, 3))}
    views = {name: view.astype(np.float32) for name, view in rows.items()}
    order = random.permutation(120)
    return Split(rows=views, labels=labels, train=np.sort(order[:100]), held_out=np.sort(order[100:]))


@pytest.mark.parametrize("kind", KINDS)
def test_a_seed_draws_the_same(split, kind):
    one, two = (known(kind, split, split.train, 3) for _ in range(2))
    np.testing.assert_array_equal(one.classes, two.classes)
    np.testing.assert_array_equal(one.mask, two.mask)
    assert one.mask.any(axis=1).all()


@pytest.mark.parametrize(("kind", "count"), [("1 label a class", 4), ("5 labels a class", 20), ("views alone", 0)])
def test_so_many_labels_are_known(split, kind, count):
    given = known(kind, split, split.train, 0)
    assert given.supervision().labelled.sum() == count
    right = np.unique(split.labels, return_inverse=True)[1][split.train]
    named = given.classes >= 0
    np.testing.assert_array_equal(given.classes[named], right[named])


def test_a_share_of_the_labels_is_wrong(split):
    right = np.unique(split.labels, return_inverse=True)[1][split.train]
    given = known("40 % of the labels wrong", split, split.train, 0)
    assert 0.2 < (given.classes != right).mean() < 0.6


def test_pairs_join_items_of_one_class_and_become_classes_and_pairs(split):
    given = known("1 pair an item", split, split.train, 0)
    right = split.labels[split.train]
    first, second = given.pairs.nonzero()
    assert (right[first] == right[second]).all()
    classes = given.by_classes().classes
    assert (classes[first] == classes[second]).all()
    assert given.by_pairs().neighbors.nnz == given.pairs.nnz + len(right)


def test_labels_and_pairs_are_told_together(split):
    given = known("2 labels a class, 1 pair for 2 items", split, split.train, 0)
    links = given.by_pairs().neighbors
    named = [np.flatnonzero(given.classes == one) for one in range(4)]
    assert all(links[one[0], one[1]] for one in named)
    classes = given.by_classes().classes
    assert all(len(np.unique(classes[one])) == 1 for one in named)


@pytest.mark.parametrize(
    ("kind", "spec"),
    [
        ("2 labels a class", OF_SOME_LABELS),
        ("40 % of the labels wrong", OF_LABELS),
        ("1 pair an item, 10 % wrong", OF_PAIRS),
        ("views alone", OF_VIEWS),
    ],
)
def test_the_default_is_what_the_product_chooses(kind, spec, split):
    assert default_for(known(kind, split, split.train, 0)).spec == spec


def test_at_most_so_many_items_are_learned_from_and_asked(split, monkeypatch):
    monkeypatch.setattr(information, "MOST_ITEMS", 50)
    monkeypatch.setattr(information, "MOST_QUERIES", 15)
    found = information.drawn(split, 0)
    assert (len(found.train), len(found.held_out), len(found.labels)) == (50, 15, 65)
    assert set(map(tuple, found.rows["first"][found.train])) <= set(map(tuple, split.rows["first"][split.train]))


def test_a_run_shows_where_the_default_stands_and_what_more_labels_change(split, tmp_path, monkeypatch, capsys):
    """A method that learns from views alone runs once for all kinds."""
    few = {name: METHODS[name] for name in ("posteriors", "csa", "tuned ridge")}
    monkeypatch.setattr(information, "METHODS", few)
    monkeypatch.setattr(information, "default_for", lambda given: METHODS["posteriors"])
    monkeypatch.setattr(information, "load", lambda name, data, cache: lambda seed: split)
    out = tmp_path / "information.json"
    arguments = ["--sets", "pubfig", "--kinds", "5 labels a class", "all labels", "--trials", "1", "--workers", "1"]
    assert run_named(["information", "--data", str(tmp_path), *arguments, "--json", str(out)]) == 0
    text = capsys.readouterr().out
    assert "Development sets, on which defaults are chosen: pubfig." in text
    assert "| 5 labels a class → all labels | " in text
    lines = [line.strip("| ").split(" | ") for line in text.partition("## pubfig")[2].splitlines() if "| " in line]
    cells = {name: line for name, *line in lines if name != "---"}
    assert set(cells) == {"method", "default", *few, "best rival", "default is ahead"}
    assert cells["default"][:2] == cells["posteriors"][:2]
    assert cells["csa"][0] == cells["csa"][1]
    assert set(cells["best rival"][:2]) <= {"csa", "tuned ridge"}
    assert all(float(cells[name][-1]) >= 0 for name in few)


def test_figures_beside_map_are_shown_by_kind(split):
    """The report shows them across views for every method that learns from the kind."""
    given = known("all labels", split, split.train, 0)
    figures = [
        ["all labels", method, *figure]
        for method in ("co-em", "csa")
        for figure in information.measured(METHODS[method], given, split)
    ]
    trials = [{"data": name, "sizes": (100, 20), "figures": figures} for name in ("drawn texts", "digits")]
    text = report.markdown({"trials": trials, "settings": {"most_items": 1000, "looks": ()}})
    development, _, text = text.partition("## Report sets")
    assert ("### drawn texts" in development, "### digits" in text) == (True, True)
    assert "#### own in first 10" in text
    tables = text.partition("### Own items, coverage and hubness")[2].partition("### digits")[0]
    assert tables.count("| known | co-em | csa |") == 5
    lines = [line.split(" | ")[1:] for line in tables.splitlines() if line.startswith("| all labels")]
    assert len(lines) == 5
    assert all(cell.strip(" |") for line in lines for cell in line)
