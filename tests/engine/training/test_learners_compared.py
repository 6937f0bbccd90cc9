"""Learners are compared without a training: fitted on each split, measured across the views, and not stored."""

import numpy as np
import pytest
from rows import each, fill, item

from crossview.engine.values.errors import InvalidInputError
from crossview.engine.values.evaluation import EvaluationRequest
from crossview.engine.values.recipe import Recipe


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
