"""Learners are compared without a training: fitted on each split, measured across the views, and not stored."""

from collections import Counter
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
from rows import each, fill, item

from crossview.engine.learners.frame.chain import Chain
from crossview.engine.training import evaluator, trainer
from crossview.engine.values.errors import InvalidInputError, NotEnoughMemoryError
from crossview.engine.values.evaluation import EvaluationRequest
from crossview.engine.values.item import NewItem
from crossview.engine.values.recipe import Grouping, Recipe


@pytest.fixture
def groups(home):
    """Labelled items of three groups, in two views."""
    with fill(home, "groups", [item(*one) for one in each(12)]) as made:
        yield made


def figures(found, space, **place):
    rows = [row for row in found.rows if row.space == space]
    rows = [row for row in rows if all(getattr(row, name) == value for name, value in place.items())]
    return {(row.metric, row.k): row.value for row in rows}


def test_a_learner_is_measured_as_its_space_is(groups):
    """The same split gives the same figures of each direction; the means are over the directions."""
    learners = ("cca", "sqrt,cca")
    found = groups.evaluate(EvaluationRequest(learners=learners, seed=3))
    assert groups.spaces()[0].name == "raw"
    assert {row.space for row in found.rows} == {*learners}
    groups.train(Recipe(spec="sqrt,cca", holdout=0.2, seed=3))
    for view, target in (("color", "gist"), ("gist", "color")):
        wanted = EvaluationRequest(view=view, targets=(target,), databases=("unseen",), k=(10,))
        alone = figures(groups.evaluate(wanted), "cca")
        compared = figures(found, "sqrt,cca", query_view=view, database_view=target)
        assert {name: compared[name] for name in alone} == pytest.approx(alone)
        assert compared.keys() - alone.keys() == {("label_recall", 10), ("ndcg", 10), ("r_precision", None)}
        assert not figures(found, "cca", query_view=view, database_view=view)
    mean = figures(found, "sqrt,cca", query_view="", database="unseen")
    ways = [figures(found, "sqrt,cca", query_view=view) for view in ("color", "gist")]
    assert mean == {name: pytest.approx(np.mean([way[name] for way in ways])) for name in ways[0]}
    assert figures(found, "cca", query_view="", database="")["seconds", None] > 0


def test_differences_are_paired_over_the_splits(groups):
    found = groups.evaluate(EvaluationRequest(learners=("cca", "default"), splits=3))
    each_split = [groups.evaluate(EvaluationRequest(learners=("cca", "default"), seed=seed)) for seed in range(3)]
    gains = [figures(one, "default", query_view="")["map", None] for one in each_split]
    gains = np.subtract(gains, [figures(one, "cca", query_view="")["map", None] for one in each_split])
    (gain,) = [one for one in found.differences if (one.metric, one.query_view) == ("map", "")]
    assert gain.value == pytest.approx(gains.mean())
    assert gain.standard_error == pytest.approx(gains.std(ddof=1) * np.sqrt(1 / 3 + 7 / 29))
    assert "default is class-instance,dot" in found.protocol


def test_spaces_are_measured_of_every_view_too(groups):
    """A learner within the views answers there only, beside one across them."""
    groups.train(Recipe(spec="cca", holdout=0.3))
    found = groups.evaluate(EvaluationRequest())
    assert {(row.query_view, row.database_view) for row in found.rows} == {
        *(("color", "gist"), ("gist", "color"), ("", ""))
    }
    assert {row.database for row in found.rows} == {"unseen"}
    within = groups.evaluate(EvaluationRequest(spaces=("raw",)))
    assert {(row.query_view, row.database_view) for row in within.rows} == {
        *(("color", "color"), ("gist", "gist"), ("", ""))
    }
    beside = groups.evaluate(EvaluationRequest(learners=("cca", "pca"), splits=2))
    assert {row.space for row in beside.rows} == {"cca"}
    assert "pca answers within a view only" in beside.protocol


def test_without_labels_items_find_their_own_view(home):
    with fill(home, "bare", [item(*one, labels=()) for one in each(8)]) as bare:
        found = bare.evaluate(EvaluationRequest(learners=("cca", "instances"), splits=2))
    assert {row.metric for row in found.rows} == {"recall", "median_rank", "coverage", "hubness", "seconds"}


def test_a_fit_learns_from_all_other_items(home, monkeypatch):
    """Every label of many counts, as many dimensions as the items allow, and nothing is fitted but the splits."""
    random = np.random.default_rng(0)
    with home.create("many", ["a=vectors:dim=150", "b=vectors:dim=150"]) as many:
        many.items.put(
            [
                NewItem(str(n), rows={view: random.normal(size=150) + n % 105 for view in "ab"}, labels=(str(n % 105),))
                for n in range(315)
            ]
        )
        sizes = learned_from(monkeypatch)
        found = many.evaluate(EvaluationRequest(learners=("cca:120", "posteriors"), test_size=1 / 3))
    assert {row.space for row in found.rows} == {"cca:120", "posteriors"}
    assert [len(items) for items in sizes] == [210, 210]


def learned_from(monkeypatch):
    """Return a list to which every refit of an evaluation adds the items that it learns from."""
    seen = []

    def refitted(tx, space, refitting=evaluator.refitting):
        refit = refitting(tx, space)
        return lambda training: (seen.append(training), refit(training))[1]

    monkeypatch.setattr(evaluator, "refitting", refitted)
    return seen


def test_nothing_is_read_while_learners_are_fitted(groups, monkeypatch):
    """Neither the fits nor the measures need the catalog, which others may compact meanwhile."""
    opened = [0]
    read = groups._opened.read

    @contextmanager
    def counted():
        with read() as tx:
            opened[0] += 1
            yield tx
            opened[0] -= 1

    monkeypatch.setattr(groups._opened, "read", counted)
    fit, during = Chain.fit, []
    monkeypatch.setattr(Chain, "fit", lambda *arguments: (during.append(opened[0]), fit(*arguments))[1])
    groups.evaluate(EvaluationRequest(learners=("cca",), splits=2))
    assert during == [0, 0]


def test_learners_that_need_too_much_memory_are_refused(groups, monkeypatch):
    """They would learn from all items of a split, and a comparison has no sample to reduce."""
    monkeypatch.setattr(trainer, "available_memory", lambda: 10_000)
    with pytest.raises(NotEnoughMemoryError, match=r"to learn from 29 items.*name fewer views, choose another learner"):
        groups.evaluate(EvaluationRequest(learners=("cca",)))


def test_notions_are_targets_of_their_learners(home):
    items = [replace(item(*one, labels=()), notion_labels={"kind": (one[0],)}) for one in each(8)]
    with fill(home, "kinds", items) as kinds:
        wanted = {"view": "color", "targets": ("kind",), "test_size": 0.4, "databases": ("trained",)}
        found = kinds.evaluate(EvaluationRequest(learners=("joint",), **wanted))
    assert "distances are those in the notion 'kind'" in found.protocol


def test_items_without_labels_are_learned_from(home, monkeypatch):
    """Queries and items to find have labels, the items that a learner sees need none; groups stay whole."""
    items = [item(*one, labels=None if one[1] < 4 else ()) for one in each(8)]
    items = [replace(one, attributes={"twin": one.key[:4] + str(int(one.key[4:]) % 4)}) for one in items]
    with fill(home, "partly", items) as partly:
        sizes = learned_from(monkeypatch)
        wanted = {"learners": ("class-instance:co-em,dot",), "databases": ("trained",), "test_size": 0.25}
        found = partly.evaluate(EvaluationRequest(**wanted))
        assert found.databases == {"trained": 9}
        partly.evaluate(EvaluationRequest(**wanted, group_by=Grouping("twin")))
    assert [(len(seen), sum(map(bool, seen.labels))) for seen in sizes] == [(21, 9), (18, 9)]
    twins = {key: key[:4] + str(int(key[4:]) % 4) for key in sizes[1].keys}
    assert max(Counter(twins.values()).values()) == 2 == min(Counter(twins.values()).values())


def test_all_directions_have_one_database(home):
    """It is the one that all of them can have; otherwise there would be no mean."""
    items = [item(*one) for one in each(8)] + [item("cat", 20 + n, ("color",)) for n in range(20)]
    with fill(home, "uneven", items) as uneven:
        seeds = [uneven.evaluate(EvaluationRequest(learners=("cca",), test_size=0.1, seed=seed)) for seed in range(8)]
    for found in seeds:
        (database,) = found.databases
        assert {row.database for row in found.rows if row.metric != "seconds"} == {database}
        assert figures(found, "cca", query_view="", database=database)
        assert ("unseen items are not a database" in found.protocol) == (database == "trained")
    assert {name for found in seeds for name in found.databases} == {"trained", "unseen"}


def test_spaces_of_other_views_are_measured_by_the_common_ones(home):
    """A note names the others, and the splits are the same for all directions."""
    with home.create("three", ["a=vectors:dim=3", "b=vectors:dim=3", "c=vectors:dim=3"]) as three:
        random = np.random.default_rng(0)
        three.items.put(
            [
                NewItem(str(n), rows={view: random.normal(size=3) + n % 3 for view in "abc"}, labels=(str(n % 3),))
                for n in range(36)
            ]
        )
        three.train(Recipe(spec="cca", views=("a", "b")), space="two")
        three.train(Recipe(spec="pca", views=("c",)), space="one")
        found = three.evaluate(EvaluationRequest(spaces=("two",), learners=("cca",)))
        assert {(row.query_view, row.database_view) for row in found.rows} == {("a", "b"), ("b", "a"), ("", "")}
        assert {row.space for row in found.rows} == {"two", "cca"}
        assert "views that some spaces lack are left out: c" in found.protocol
        with pytest.raises(InvalidInputError, match="no view that all of two, one have can be searched"):
            three.evaluate(EvaluationRequest(spaces=("two", "one"), refit=True))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"learners": ("cca", "cca")}, "name each space once, and each learner"),
        ({"views": ("color",)}, "leave them out, or name `learners`"),
        ({"learners": ("nothing",)}, "nothing"),
    ],
)
def test_requests_that_make_no_sense_are_refused(groups, options, words):
    with pytest.raises(InvalidInputError, match=words):
        groups.evaluate(EvaluationRequest(**options))
