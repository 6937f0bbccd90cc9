"""Several spaces are measured on the same queries, and by the same comparisons."""

import numpy as np
import pytest
from drawn import draw, encode
from rows import each, fill, item

from crossview.engine.learners.frame.comparisons import Comparisons
from crossview.engine.values.comparisons import ItemComparisons
from crossview.engine.values.errors import InvalidInputError, NotFoundError, NotReadyError
from crossview.engine.values.evaluation import EvaluationRequest
from crossview.engine.values.item import NewItem
from crossview.engine.values.query import Query
from crossview.engine.values.recipe import Recipe

WIDTH = 5
COUNT = 60
QUICK = {"max_iter": 200}


@pytest.fixture
def groups(home):
    """Labelled items of three groups, in two views."""
    with fill(home, "groups", [item(*one) for one in each(10)]) as made:
        yield made


def figures(found, space):
    return {
        (row.database_view, row.metric, row.k): row.value
        for row in found.rows
        if row.space == space and row.database == "trained"
    }


def test_spaces_that_held_out_the_same_are_as_measured_alone(groups):
    """The figures of each are those of its own evaluation, and the differences theirs."""
    for learner in ("cca", "multi-npp"):
        groups.train(Recipe(spec=learner, views=("color", "gist"), dim=2, holdout=0.3, seed=4))
    found = groups.evaluate(
        EvaluationRequest(view="color", spaces=("cca", "multi-npp"), k=(1, 5), databases=("trained",))
    )
    assert (found.queries, found.databases) == (9, {"trained": 21})
    for space in ("cca", "multi-npp"):
        alone = groups.evaluate(EvaluationRequest(view="color", spaces=(space,), k=(1, 5), databases=("trained",)))
        assert figures(found, space) == figures(alone, space)
        assert (alone.differences, alone.rows[0].space) == ((), space)
    mine, other = figures(found, "cca"), figures(found, "multi-npp")
    assert len(found.differences) == len(mine) == 14
    for one in found.differences:
        key = one.database_view, one.metric, one.k
        assert (one.space, one.baseline) == ("multi-npp", "cca")
        assert one.value == pytest.approx(other[key] - mine[key])
        assert (one.standard_error is None) == (one.metric in ("coverage", "hubness"))
    assert "none of cca (generation 1), multi-npp (generation 1) was trained on" in found.protocol
    assert "left out" not in found.protocol


def test_no_query_was_trained_on_by_any_and_the_database_is_what_all_were(groups):
    """This holds for the views themselves, too; items that only some were trained on are counted and left out."""
    keys = {}
    for seed in (1, 2):
        groups.train(Recipe(spec="pca", views=("color",), dim=2, holdout=0.4, seed=seed), space=f"seed{seed}")
        with groups._opened.catalog.read() as tx:
            keys[seed] = groups._opened.loaded.get(tx, f"seed{seed}").training_keys
    found = groups.evaluate(EvaluationRequest(view="color", spaces=("seed1", "seed2", "raw"), k=(1,)))
    assert found.queries == 30 - len(keys[1] | keys[2])
    assert found.databases["trained"] == len(keys[1] & keys[2])
    assert f"{len(keys[1] ^ keys[2])} labelled items that only some of them were trained on" in found.protocol
    assert {row.space for row in found.rows} == {"seed1", "seed2", "raw"}


def test_spaces_without_a_common_query_name_the_remedy(groups):
    groups.train(Recipe(spec="pca", views=("color",), dim=2), space="all")
    groups.train(Recipe(spec="pca", views=("color",), dim=2, holdout=0.2), space="held")
    with pytest.raises(NotReadyError, match=r"none of them was trained on, .* same `holdout=0.2` and `seed`"):
        groups.evaluate(EvaluationRequest(view="color", spaces=("all", "held")))
    found = groups.evaluate(EvaluationRequest(view="color", spaces=("all", "held", "raw"), refit=True, k=(1,)))
    assert (found.queries, found.databases["trained"]) == (6, 24)
    assert "each of all (generation 1), held (generation 1) was fitted again" in found.protocol
    assert figures(found, "all") == figures(
        groups.evaluate(EvaluationRequest(view="color", spaces=("all",), refit=True, k=(1,))), "all"
    )


def test_a_space_that_cannot_cross_views_is_measured_where_it_can(groups):
    """It has no figures elsewhere; if no space can, or a name is wrong, the error is that of one space."""
    groups.train(Recipe(spec="cca", views=("color", "gist"), dim=2, holdout=0.3))
    found = groups.evaluate(EvaluationRequest(view="color", spaces=("cca", "raw"), k=(1,)))
    assert {one[0] for one in figures(found, "raw")} == {"color"}
    assert {one[0] for one in figures(found, "cca")} == {"color", "gist"}
    across = groups.evaluate(EvaluationRequest(view="color", targets=("gist",), spaces=("raw", "cca"), k=(1,)))
    assert {row.space for row in across.rows} == {"cca"}
    assert "raw answers within a view only" in across.protocol
    groups.train(Recipe(spec="pca", views=("color", "gist"), dim=2, holdout=0.3))
    with pytest.raises(InvalidInputError, match="'raw' only searches within a view"):
        groups.evaluate(EvaluationRequest(view="color", targets=("gist",), spaces=("raw", "pca")))
    with pytest.raises(NotFoundError, match="no target 'no'"):
        groups.evaluate(EvaluationRequest(view="color", targets=("no",), spaces=("raw", "cca")))


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"spaces": ("raw", "raw")}, "each space once"),
        ({"constraints": True, "refit": True}, "leave out targets, refit"),
        ({"constraints": True, "targets": ("color",)}, "leave out targets, refit"),
    ],
)
def test_what_makes_no_sense_is_refused(groups, how, words):
    if "constraints" in how:
        how = how | {"constraints": triplets()}
    with pytest.raises(InvalidInputError, match=words):
        groups.evaluate(EvaluationRequest(view="color", **how))


def test_a_space_of_an_earlier_revision_is_not_measured(three):
    """Its pipeline would get rows with another meaning; after a new fit it can be measured."""
    three.train(Recipe(spec="cca", views=("color", "sift"), dim=2, holdout=0.3))
    three.views.fit([encode(draw("red", seed)) for seed in range(8)], views=["sift"], refit=True, workers=1)
    with pytest.raises(NotReadyError, match="trained on revision 1 of view 'sift', which is now at revision 2"):
        three.evaluate(EvaluationRequest(view="color", targets=("color",), k=(1,)))


def liking() -> np.ndarray:
    """Return the hidden number of each item, from 0 to 1, which makes items alike."""
    return np.random.default_rng(0).uniform(0, 1, COUNT)


def triplets(seed=1, names=range(COUNT)) -> ItemComparisons:
    """Return which of two items is nearer to a third by the hidden number."""
    chosen = np.random.default_rng(seed).choice(list(names), (400, 3))
    chosen = chosen[[len(set(row)) == 3 for row in chosen.tolist()]]
    near, far = (np.abs(liking()[chosen[:, 0]] - liking()[chosen[:, place]]) for place in (1, 2))
    ordered = np.where((near < far)[:, None], chosen, chosen[:, [0, 2, 1]])
    return ItemComparisons(tuple(f"{number:02}" for number in range(COUNT)), Comparisons(ordered))


@pytest.fixture
def liked(home):
    """Items without labels whose first number is the hidden one, small beside the noise of the others."""
    noise = np.random.default_rng(4).normal(size=(COUNT, WIDTH - 1))
    rows = np.column_stack([liking(), noise]).astype(np.float32)
    with home.create("liked", [f"one=vectors:dim={WIDTH}", "two=vectors:dim=1"]) as made:
        made.items.put([NewItem(f"{number:02}", rows={"one": rows[number]}) for number in range(COUNT)])
        yield made


def test_comparisons_measure_spaces_without_labels(liked):
    """The views are among them: a metric learned from such comparisons agrees better, by a paired difference."""
    liked.train(Recipe(spec="fantope", views=("one",), dim=1, constraints=triplets(), settings=QUICK))
    test = triplets(seed=2)
    found = liked.evaluate(EvaluationRequest(view="one", spaces=("raw", "fantope"), constraints=test))
    raw, learned = found.rows
    assert (raw.metric, raw.k, raw.query_view, raw.database_view) == ("order", None, "one", "one")
    assert learned.value > 0.9 > 0.7 > raw.value
    (paired,) = found.differences
    assert paired.value == pytest.approx(learned.value - raw.value)
    assert 0 < paired.standard_error < paired.value / 5
    assert (found.comparisons, found.queries) == (len(test), 0)
    embedded = np.array([one.vector for one in liked.embed([_query(number) for number in range(COUNT)])])
    assert learned.value == pytest.approx(test.comparisons.agreement(embedded))


def _query(number):
    return Query("one", key=f"{number:02}")


def test_comparisons_that_a_space_knows_are_counted(liked):
    """They name items that it was trained on, or it learned from them, also with a pair the other way."""
    given = triplets(names=range(30))
    liked.train(
        Recipe(spec="fantope", views=("one",), dim=1, constraints=given, settings=QUICK, holdout=0.3), space="held"
    )
    with liked._opened.catalog.read() as tx:
        trained = liked._opened.loaded.get(tx, "held").training_keys
    found = liked.evaluate(EvaluationRequest(view="one", spaces=("held", "raw"), constraints=given))
    held, raw = found.overlaps
    assert held.trained_items == given.naming(trained)
    assert held.learned_from == len(given.of(sorted(trained)))
    assert (raw.trained_items, raw.learned_from) == (0, 0)
    assert f"held: {held.trained_items} name items that it was trained on" in found.protocol
    turned = ItemComparisons(given.keys, Comparisons(given.comparisons.items[:, [1, 0, 0, 2]]))
    as_quadruplets = liked.evaluate(EvaluationRequest(view="one", spaces=("held",), constraints=turned))
    assert as_quadruplets.overlaps[0].learned_from == 0  # of another kind
    assert as_quadruplets.rows[0].value == found.rows[0].value


def test_pairs_are_measured_by_the_area_under_the_curve(liked):
    pairs = np.array([(a, b) for a in range(20) for b in range(a)])
    similar = np.abs(liking()[pairs[:, 0]] - liking()[pairs[:, 1]]) < 0.2
    keys = tuple(f"{number:02}" for number in range(20))
    given = ItemComparisons(keys, Comparisons(pairs, similar))
    liked.train(Recipe(spec="fantope", views=("one",), dim=1, constraints=triplets(), settings=QUICK))
    found = liked.evaluate(EvaluationRequest(view="one", spaces=("fantope", "raw"), constraints=given))
    assert {row.metric for row in found.rows} == {"auc"}
    assert found.rows[0].value > 0.9 > found.rows[1].value
    with pytest.raises(InvalidInputError, match="none of the 190 measurable pairs is dissimilar"):
        liked.evaluate(
            EvaluationRequest(
                view="one", spaces=("raw",), constraints=ItemComparisons(keys, Comparisons(pairs, np.ones(190, bool)))
            )
        )


def test_comparisons_of_items_that_lack_the_view_are_left_out_and_counted(liked):
    given = triplets()
    liked.items.put([NewItem("only", rows={"two": np.ones(1, np.float32)})])
    more = np.vstack([given.comparisons.items, [[COUNT, 1, 2]]])
    found = liked.evaluate(
        EvaluationRequest(
            view="one", spaces=("raw",), constraints=ItemComparisons((*given.keys, "only"), Comparisons(more))
        )
    )
    assert found.comparisons == len(given)
    assert f"1 of {len(more)} name items without view 'one'" in found.protocol
    liked.items.put([NewItem(key, rows={"two": np.ones(1, np.float32)}) for key in ("more", "most")])
    none = ItemComparisons(("only", "more", "most"), Comparisons(np.array([[0, 1, 2]])))
    with pytest.raises(NotReadyError, match="each of the 1 triplets names an item without a row of view 'one'"):
        liked.evaluate(EvaluationRequest(view="one", spaces=("raw",), constraints=none))
    with pytest.raises(NotFoundError, match="constraint 1: there is no item 'gone'"):
        liked.evaluate(
            EvaluationRequest(
                view="one", spaces=("raw",), constraints=ItemComparisons(("gone", *given.keys[:2]), none.comparisons)
            )
        )
