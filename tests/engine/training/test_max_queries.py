"""Held-out items become queries up to a limit: the same for every space, drawn with the seed."""

from dataclasses import replace

import numpy as np
import pytest
from rows import each, fill, item

from crossview.engine.values.errors import InvalidInputError
from crossview.engine.values.evaluation import EvaluationRequest
from crossview.engine.values.recipe import Recipe

BOTH = ("color", "gist")
FEW = {"view": "color", "k": (1, 3), "max_queries": 5}


@pytest.fixture
def groups(home):
    """60 items, two spaces that held out the same half, and 6 more held-out items, which lack the view ``color``.

    Their labels do not depend on their rows, so that some queries find more than others.
    """
    items = [item(group, number, labels=["ab"[number % 2]]) for group, number in each(22)]
    late = [replace(one, rows={"gist": one.rows["gist"]}) for one in items if one.key[-2:] in ("20", "21")]
    with fill(home, "groups", [one for one in items if one.key[-2:] not in ("20", "21")]) as made:
        for learner in ("pca", "cca"):
            made.train(Recipe(spec=learner, views=BOTH, dim=2, holdout=0.5, seed=2))
        made.items.put(late)
        yield made


def test_so_many_ask_and_all_can_be_found(groups):
    """The databases are those of all queries, and the protocol says how many held-out items are queries."""
    whole = groups.evaluate(EvaluationRequest(view="color", spaces=("cca",), databases=("trained", "unseen", "mixed")))
    found = groups.evaluate(EvaluationRequest(**FEW, spaces=("cca",), databases=("trained", "unseen", "mixed")))
    assert (found.queries, whole.queries) == (5, 30)
    assert found.databases == whole.databases == {"trained": 30, "unseen": 36, "mixed": 66}
    assert "; 5 of 30 held-out items, drawn at random, are the query set; " in found.protocol
    assert "ask, drawn" not in whole.protocol


def test_as_many_as_there_are_are_all(groups):
    """Then nothing is drawn, and no seed changes a figure."""
    request = {"view": "color", "spaces": ("cca",), "k": (1, 3)}
    whole = groups.evaluate(EvaluationRequest(**request))
    found = groups.evaluate(EvaluationRequest(**request, max_queries=30, seed=7))
    assert (found.rows, found.protocol) == (whole.rows, whole.protocol)


def test_the_seed_draws_the_queries(groups):
    """A seed draws the same, another seed others; the mean over many draws is the figure of all queries."""
    request = {"view": "color", "targets": ("color",), "spaces": ("cca",), "databases": ("unseen",), "k": (9,)}

    def mean_precision(**options):
        (found,) = (row for row in groups.evaluate(EvaluationRequest(**request, **options)).rows if row.metric == "map")
        return found.value

    drawn = [mean_precision(max_queries=3, seed=seed) for seed in range(60)]
    assert drawn[:2] == [mean_precision(max_queries=3, seed=seed) for seed in range(2)]
    assert len(np.unique(drawn)) > 30
    assert np.mean(drawn) == pytest.approx(mean_precision(), abs=4 * np.std(drawn) / np.sqrt(60))


def test_spaces_are_compared_by_the_same_queries(groups):
    """Each has the figures that it has alone, so that differences are paired."""
    found = groups.evaluate(EvaluationRequest(**FEW, spaces=("pca", "cca")))
    for space in ("pca", "cca"):
        alone = groups.evaluate(EvaluationRequest(**FEW, spaces=(space,)))
        assert alone.rows == tuple(row for row in found.rows if row.space == space)
    twice = groups.evaluate(EvaluationRequest(**FEW, spaces=("cca", "pca")))
    values = {(row.space, row.database_view, row.database, row.metric, row.k): row for row in found.rows}
    assert twice.differences
    for one in twice.differences:
        own, other = (values[space, one.database_view, one.database, one.metric, one.k] for space in ("pca", "cca"))
        assert one.value == pytest.approx(own.value - other.value)


def test_every_split_draws_its_own(groups):
    """Each draws with the next seed, as its items do; by items, a query needs the other view, too."""
    request = {**FEW, "spaces": ("cca",), "targets": ("gist",), "refit": True, "by": "items"}
    several = groups.evaluate(EvaluationRequest(**request, splits=2, seed=4))
    single = [groups.evaluate(EvaluationRequest(**request, seed=seed)) for seed in (4, 5)]
    assert several.queries == 5
    for number, row in enumerate(several.rows):
        assert row.value == pytest.approx(np.mean([found.rows[number].value for found in single]))


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ({"max_queries": 0}, "max_queries must be at least 1, not 0"),
        ({"max_queries": -5}, "not -5"),
        ({"seed": -1}, "a seed must be between 0 and 2147483647, not -1"),
    ],
)
def test_what_draws_nothing_is_refused(option, words):
    with pytest.raises(InvalidInputError, match=words):
        EvaluationRequest(view="color", **option)
