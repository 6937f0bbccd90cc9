"""Metrics learned from comparisons of items: held-out items, views that items lack, later views, evaluation."""

import numpy as np
import pytest
from once import Once

from crossview.engine.collections.home import Home
from crossview.engine.learners.frame.comparisons import Comparisons
from crossview.engine.values.comparisons import ItemComparisons
from crossview.engine.values.errors import InvalidInputError, NotReadyError
from crossview.engine.values.evaluation import EvaluationRequest
from crossview.engine.values.item import NewItem
from crossview.engine.values.query import Query, SearchRequest
from crossview.engine.values.recipe import Pair, Recipe, Tune

VIEWS = {"one": 4, "two": 6}
COUNT = 60
QUICK = {"max_iter": 200}


def told() -> np.ndarray:
    """Return the hidden number of each item, from 0 to 1, which makes items alike."""
    return np.random.default_rng(0).uniform(0, 1, COUNT)


def triplets(names=range(COUNT), count=400) -> ItemComparisons:
    """Return which of two items is nearer to a third by the hidden number."""
    chosen = np.random.default_rng(1).choice(list(names), (count, 3))
    chosen = chosen[[len(set(row)) == 3 for row in chosen.tolist()]]
    value = told()
    near, far = (np.abs(value[chosen[:, 0]] - value[chosen[:, place]]) for place in (1, 2))
    ordered = np.where((near < far)[:, None], chosen, chosen[:, [0, 2, 1]])
    return ItemComparisons(tuple(f"{number:02}" for number in range(COUNT)), Comparisons(ordered))


def rows_of(view: str) -> np.ndarray:
    """Return rows whose first column is the hidden number, small beside the others, which are noise."""
    noise = np.random.default_rng(VIEWS[view]).normal(size=(COUNT, VIEWS[view] - 1))
    return np.column_stack([told(), noise]).astype(np.float32)


def fill(home: Home, name: str, labelled: bool):
    """Return items of two views, the first ten of which lack the second; labelled, by halves of the hidden number."""
    views = {view: rows_of(view) for view in VIEWS}
    halves = [("low",) if value < 0.5 else ("high",) for value in told()]
    made = home.create(name, [f"{view}=vectors:dim={width}" for view, width in VIEWS.items()])
    rows = [{v: views[v][number] for v in VIEWS if v == "one" or number >= 10} for number in range(COUNT)]
    labels = halves if labelled else [()] * COUNT
    made.items.put([NewItem(f"{number:02}", rows=rows[number], labels=labels[number]) for number in range(COUNT)])
    return made


@pytest.fixture
def items(home: Home, once: Once):
    with once.copy(home, fill, "rows", True) as made:
        yield made


def spread(collection, view: str) -> float:
    """Return the mean difference of the hidden number between an item and its five nearest; by chance it is a third."""
    queries = [Query(view, vector=row) for row in rows_of(view)[10:]]
    found = collection.search(SearchRequest(queries, targets=[view], k=6))
    return float(
        np.mean([abs(told()[10 + answer.query] - told()[int(h.key)]) for answer in found for h in answer.hits])
    )


def test_neighbours_are_what_the_comparisons_say(items):
    """They are in every view, in a space as wide as the requested rank."""
    before = {view: spread(items, view) for view in VIEWS}
    info = items.train(Recipe(spec="fantope", views=list(VIEWS), dim=1, constraints=triplets(), settings=QUICK))
    assert info.dim == {"one": 1, "two": 1}
    assert not info.cross_view
    assert (info.constraints.kind, info.constraints.given) == ("triplets", len(triplets()))
    assert info.constraints.used["one"] == len(triplets()) > info.constraints.used["two"] > 0
    for view in VIEWS:
        assert spread(items, view) < 0.07 < 0.2 < before[view]


def test_comparisons_of_held_out_items_are_left_out_and_counted(items):
    """Training leaves them out, the evaluation states it, and so does a refit with another split."""
    info = items.train(
        Recipe(spec="fantope", views=("one",), dim=1, holdout=0.2, constraints=triplets(), settings=QUICK), space="held"
    )
    assert info.held_out == 12
    counts = info.constraints
    assert counts.held_out == counts.given - counts.used["one"] > 0
    assert "name held-out items" in counts.sentence()
    measured = items.evaluate(EvaluationRequest(spaces=("held",), view="one", k=(5,)))
    assert counts.sentence() in measured.protocol
    again = items.evaluate(EvaluationRequest(spaces=("held",), view="one", k=(5,), refit=True, test_size=0.5))
    assert f"of {counts.given} triplets" in again.protocol
    assert counts.sentence() not in again.protocol
    assert next(row.value for row in again.rows if row.metric == "accuracy") > 0.8


def test_a_view_added_later_learns_from_the_comparisons_kept(items):
    """It learns as it would have learned beside the others."""
    items.train(
        Recipe(spec="sqrt,fantope", views=("one",), dim=1, constraints=triplets(), settings=QUICK), space="grown"
    )
    grown = items.spaces.extend("grown", ["two"])
    assert grown.added == ("two",)
    both = items.train(
        Recipe(spec="sqrt,fantope", views=list(VIEWS), dim=1, constraints=triplets(), settings=QUICK), space="both"
    )
    assert grown.constraints == both.constraints
    query = [Query("two", vector=rows_of("two")[20])]
    first, second = (
        items.search(SearchRequest(query, targets=["two"], k=5, space=space))[0].hits for space in ("grown", "both")
    )
    assert [(hit.key, hit.distance) for hit in first] == [(hit.key, hit.distance) for hit in second]


def test_neighbours_in_a_view_named_by_its_name_take_the_place_of_labels(items):
    """Items that are near by a second view, of the first column alone, become near by the first, without labels."""
    items.views.add("said=vectors:dim=1")
    items.items.put_vectors("said", [f"{number:02}" for number in range(COUNT)], told()[:, None].astype(np.float32))
    settings = {"similar": "knn", "neighbor_view": "said", "mu": 0.01, "neighbors": 8}
    info = items.train(Recipe(spec="fantope", views=("one", "said"), dim=1, settings=settings))
    assert (info.settings["neighbor_view"], info.constraints) == ("said", None)
    assert spread(items, "one") < 0.06


def test_settings_are_tuned_by_labels_beside_comparisons(items):
    """Folds of items have the comparisons of their own items."""
    tune = Tune({"n_components": (1, 4)}, folds=2)
    info = items.train(
        Recipe(
            spec="fantope",
            views=("one",),
            constraints=triplets(),
            settings=QUICK | {"mu": 0.1, "gamma": 0.0},
            tune=tune,
        )
    )
    assert info.tuning.chosen["n_components"] == 1
    assert all(trial.score is not None or "stopped after" in trial.error for trial in info.tuning.tried)


def test_settings_are_tuned_by_how_well_distances_agree(home):
    """The held-out comparisons measure it; without labels nothing else can tune."""
    how = {"settings": QUICK | {"n_components": 1, "gamma": 0.0, "n_constraints": 10, "neighbors": None}}
    tune = Tune({"mu": (0.1, 0.01)}, measure="order", folds=2)
    with fill(home, "bare", labelled=False) as bare:
        info = bare.train(Recipe(spec="fantope", views=list(VIEWS), constraints=triplets(), tune=tune, **how))
        assert (info.tuning.measure, info.tuning.folds) == ("order", 2)
        assert info.tuning.score > 0.9
        with pytest.raises(InvalidInputError, match="give `constraints`, or tune by map"):
            bare.train(Recipe(spec="fantope", views=("one",), tune=tune, **how))
        with pytest.raises(NotReadyError, match="`constraints` and tune by order"):
            bare.train(Recipe(spec="fantope", views=("one",), constraints=triplets(), tune=Tune(tune.values), **how))
        with pytest.raises(NotReadyError, match="1 constraints are too few for 2 folds"):
            bare.train(Recipe(spec="fantope", views=("one",), constraints=triplets(count=1), tune=tune, **how))


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"learner": "sqrt,pca"}, "pca does not learn from constraints: use a learner that does, one of .*fantope"),
        ({"learner": "fantope", "pairs": [Pair("00", "01")]}, "fantope does not learn from pairs"),
        ({"learner": "fantope", "constraints": triplets(range(10))}, "view 'two' has no usable comparison: each of"),
    ],
)
def test_constraints_that_cannot_be_used_are_told(items, how, words):
    """The message for a learner without comparisons names those that take them, and that for a view names the view."""
    given = {"constraints": triplets(), "views": list(VIEWS)} | how
    with pytest.raises(InvalidInputError, match=words):
        items.train(Recipe(spec=given.pop("learner"), views=given.pop("views"), **given))
