"""Training as its users know it: items that lack views, a view that comes later, a view that is held."""

import numpy as np
import pytest
from drawn import draw, encode
from rows import GROUPS, each, fill, item, row

from crossview.engine.values.errors import InvalidInputError, NotFoundError, NotReadyError
from crossview.engine.values.evaluation import EvaluationRequest
from crossview.engine.values.item import ItemUpdate
from crossview.engine.values.query import Query, SearchRequest
from crossview.engine.values.recipe import Recipe

BOTH = ("color", "gist")


def share_of_its_group(collection, view: str, target: str, k: int = 5, **options) -> float:
    """Return how many of the k hits of new queries are of the query's group; a third by chance."""
    queries = [Query(view, vector=row(view, group, number)) for group in GROUPS for number in range(100, 104)]
    answers = collection.search(SearchRequest(queries, targets=[target], k=k, **options))
    groups = [group for group in GROUPS for _ in range(4)]
    hits = [hit.key.startswith(group) for group, one in zip(groups, answers, strict=True) for hit in one.hits]
    assert len(hits) == k * len(queries)
    return sum(hits) / len(hits)


def distances(collection, view: str, target: str, space: str = "") -> dict[tuple[str, str], float]:
    """Return the distance between any two items that have the views, by keys."""
    keys = [one.key for one in collection.items(limit=1000) if view in one.views]
    answers = collection.search(
        SearchRequest([Query(view, key=key) for key in keys], targets=[target], k=1000, space=space)
    )
    return {(key, hit.key): hit.distance for key, answer in zip(keys, answers, strict=True) for hit in answer.hits}


@pytest.mark.parametrize("seed", [-1, 2**31], ids=["negative", "too large"])
def test_a_seed_that_none_can_be_is_refused(home, seed):
    """Trainings and fits of views refuse it, before anything is read."""
    with fill(home, "few", [item(group, number, BOTH) for group, number in each(4)]) as few:
        with pytest.raises(InvalidInputError, match=f"a seed must be between 0 and 2147483647, not {seed}"):
            few.train(Recipe(spec="lsh:8", views=("color",), seed=seed))
        with pytest.raises(InvalidInputError, match="a seed must be between 0"):
            few.views.fit([], ("color",), seed=seed)


def test_settings_make_no_other_pipeline(home):
    """Those in a stage count as those beside it; other learners, and other views of a learner, are refused."""
    with fill(home, "few", [item(*one) for one in each(8)]) as few:
        for number, bits in enumerate((8, 16), 1):
            assert few.train(Recipe(spec=f"pca,itq:{bits}", dim=2 * number)).generation == number
        for spec in ("sqrt,pca,itq:16", "pca@color,itq:16"):
            with pytest.raises(InvalidInputError, match=f"has the pipeline pca,itq:16, which {spec} would replace"):
                few.train(Recipe(spec=spec))


# -- missing views


def test_a_training_takes_all_views_that_two_items_have(home):
    """It names the others; a collection without items has none."""
    items = [item(group, number, BOTH if (group, number) == ("cat", 0) else ("color",)) for group, number in each(4)]
    with fill(home, "some", items) as some:
        info = some.train(Recipe(spec="pca"))
        assert (info.views, info.notes[0]) == (
            ("color",),
            "view 'gist' is left out: one item has it, and learning needs two",
        )
    with home.create("empty", ["color"]) as empty, pytest.raises(NotReadyError, match="have no views: index pictures"):
        empty.train(Recipe(spec="pca"))


def test_items_without_a_view_are_learned_from_and_found_by_the_views_they_have(home):
    """A third of the items have both views, a third only colours, a third only gist."""
    having = [BOTH, ("color",), ("gist",)]
    with fill(home, "some", [item(group, number, having[number % 3]) for group, number in each(12)]) as some:
        info = some.train(Recipe(spec="multi-npp", views=BOTH, dim=4))
        assert info.trained_items == 36
        assert share_of_its_group(some, "color", "gist") > 0.9
        assert share_of_its_group(some, "gist", "color") > 0.9
        (answer,) = some.search(SearchRequest([Query("color", key="cat/01")], targets=["gist"], k=100))
        assert {int(hit.key[-2:]) % 3 for hit in answer.hits} == {0, 2}
        with pytest.raises(InvalidInputError, match="no row of view 'gist'"):
            some.search(SearchRequest([Query("gist", key="cat/01")]))


def test_a_space_is_learned_from_items_of_which_none_has_both_views(home):
    """Labels alone join the pictures of one view to those of another."""
    having = [("color",), ("gist",)]
    with fill(home, "apart", [item(group, number, having[number % 2]) for group, number in each(16)]) as apart:
        apart.train(Recipe(spec="multi-npp", views=BOTH, dim=3))
        assert share_of_its_group(apart, "color", "gist") > 0.9


def test_a_learner_that_compares_views_item_by_item_learns_from_items_with_all_of_them(home):
    """Missing rows are never zeros; items without use can be queries of the space."""
    whole = [item(group, number) for group, number in each()]
    lacking = [item(group, 50, ["gist"]) for group in GROUPS]
    with fill(home, "whole", whole) as one, fill(home, "more", [*whole, *lacking]) as two:
        for made in (one, two):
            assert made.train(Recipe(spec="cca", views=BOTH, dim=2)).trained_items == len(whole)
        query = Query("color", vector=row("color", "dog", 70))
        (plain,), (more,) = (made.search(SearchRequest([query], targets=["color"], k=24)) for made in (one, two))
        assert plain == more
        assert two.evaluate(EvaluationRequest(view="gist", targets=("color",), k=(1,))).queries == len(lacking)


def test_such_a_learner_says_that_no_item_has_all_views(home):
    apart = [item("cat", 1, ["color"]), item("cat", 2, ["gist"])]
    with (
        fill(home, "none", apart) as none,
        pytest.raises(NotReadyError, match="no item has all of the views color, gist, which cca"),
    ):
        none.train(Recipe(spec="cca", views=BOTH))


def test_evaluation_measures_each_crossing_on_the_items_that_have_the_views(home):
    having = [BOTH, ("color",), ("gist",)]
    with fill(home, "some", [item(group, number, having[number % 3]) for group, number in each(12)]) as some:
        some.train(Recipe(spec="multi-npp", views=BOTH, dim=4, holdout=0.25))
        aside = some.evaluate(EvaluationRequest(view="color", k=(1,)))
        assert aside.queries < 9  # nine are held out, and not all have colours
        assert aside.databases["trained"] == 27
        assert {row.database_view for row in aside.rows} == {"color", "gist"}
        (told,) = [part for part in aside.protocol.split("; ") if part.startswith("trained items to find by view")]
        counts = [int(part.split()[0]) for part in told.removeprefix("trained items to find by view: ").split(", ")]
        assert all(count < 27 for count in counts)
        again = some.evaluate(
            EvaluationRequest(view="gist", targets=("color",), k=(1,), refit=True, databases=("trained",))
        )
        assert {row.database_view for row in again.rows} == {"color"}
        assert all(row.value > 0.8 for row in again.rows)


def test_a_view_that_no_item_has_is_named(home):
    with fill(home, "some", [item("cat", 1, ["color"])]) as some, pytest.raises(NotReadyError, match="'gist'"):
        some.train(Recipe(spec="multi-npp", views=BOTH))


# -- a view that is added later


@pytest.fixture
def shared(three):
    """Three views of 18 pictures, and a space of the first two."""
    three.train(Recipe(spec="multi-npp", views=BOTH, dim=3, seed=5), space="shared")
    return three


def test_a_view_added_later_is_searched_and_leaves_the_others_as_they_were(shared):
    before = {(view, target): distances(shared, view, target) for view in BOTH for target in BOTH}
    info = shared.spaces.extend("shared", ["sift"])
    assert (info.generation, info.views, info.added, info.active) == (2, ("color", "gist", "sift"), ("sift",), True)
    assert (info.spec, info.seed, info.settings, info.trained_items) == ("multi-npp", 5, {"n_components": 3}, 18)
    for (view, target), expected in before.items():
        assert distances(shared, view, target) == expected
    (answer,) = shared.search(SearchRequest([Query("color", image=encode(draw("red", 50)))], targets=["sift"], k=4))
    assert sum(hit.labels == ("red",) for hit in answer.hits) >= 3
    counts = np.array([9, 1, 4, 0, 2, 7, 1, 3], np.float32)
    first, more = shared.search(
        SearchRequest([Query("sift", vector=counts), Query("sift", vector=3 * counts)], targets=["color"])
    )
    assert [hit.key for hit in first.hits] == [hit.key for hit in more.hits]  # counts become shares, as always
    np.testing.assert_allclose([hit.distance for hit in first.hits], [hit.distance for hit in more.hits], rtol=1e-5)


def test_an_extended_space_is_stored_rolled_back_and_measured_anew(shared, home):
    shared.spaces.extend("shared", ["sift"])
    query = Query("sift", key="red/0")
    answers = shared.search(SearchRequest([query]))
    with home.open("three") as again:
        assert again.search(SearchRequest([query])) == answers
        assert again.spaces.get("shared").added == ("sift",)
    measured = shared.evaluate(EvaluationRequest(view="sift", targets=("color",), refit=True, k=(3,)))
    assert "fitted again" in measured.protocol
    shared.spaces.activate("shared", 1)
    with pytest.raises(NotFoundError, match="no view 'sift'"):
        shared.search(SearchRequest([query]))


def test_an_extended_space_may_have_a_name_of_its_own(shared):
    info = shared.spaces.extend("shared", ["sift"], name="wider", activate=False)
    assert (info.name, info.generation, info.active) == ("wider", 1, False)
    assert shared.spaces.get("shared").views == BOTH


def test_what_was_held_out_stays_out_when_a_view_is_added(shared):
    first = shared.train(Recipe(spec="multi-npp", views=BOTH, dim=3, holdout=0.25), space="shared")
    info = shared.spaces.extend("shared", ["sift"])
    assert (info.trained_items, info.held_out) == (first.trained_items, first.held_out) == (14, 4)
    assert shared.evaluate(EvaluationRequest(view="sift", targets=("gist",), k=(1,))).queries == 4


def test_a_view_that_cannot_be_added_is_refused_and_changes_nothing(shared):
    shared.train(Recipe(spec="cca", views=BOTH, dim=2), space="flat")
    before = shared.info()
    for space, views, error, words in (
        ("shared", ["color"], InvalidInputError, "already has view 'color'"),
        ("shared", ["smell"], NotFoundError, "smell"),
        ("shared", [], InvalidInputError, "name the views to add"),
        ("shared", ["sift", "sift"], InvalidInputError, "each once"),
        ("other", ["sift"], NotFoundError, "no space 'other'.*shared"),
        ("raw", ["sift"], InvalidInputError, "name a trained space"),
        ("flat", ["sift"], InvalidInputError, "cca fits its views together"),
    ):
        with pytest.raises(error, match=words):
            shared.spaces.extend(space, views)
    assert shared.info() == before


def test_a_view_that_no_training_item_has_cannot_be_added(home):
    with fill(home, "late", [item(group, number, ["color"]) for group, number in each(4)]) as late:
        late.train(Recipe(spec="semantic", views=("color",), holdout=0.1))
        with pytest.raises(NotReadyError, match=r"`collection.index\(\[.PATH.\]\)`"):
            late.spaces.extend("semantic", ["gist"])
        late.items.put([item("cat", 90, ["gist"])])
        with pytest.raises(NotReadyError, match="was trained on has view 'gist'"):
            late.spaces.extend("semantic", ["gist"])


# -- a view that is held


def test_a_held_view_keeps_the_distances_of_its_pca(home):
    """The other view learns to meet it."""
    with fill(home, "held", [item(group, number) for group, number in each()]) as held:
        held.train(Recipe(spec="pca", views=("gist",), dim=4), space="plain")
        held.train(Recipe(spec="hybrid", views=BOTH, dim=4, settings={"frozen": "gist", "spread": None}), space="held")
        expected = distances(held, "gist", "gist", "plain")
        found = distances(held, "gist", "gist", "held")
        assert found.keys() == expected.keys()
        np.testing.assert_allclose([found[pair] for pair in expected], list(expected.values()), rtol=1e-3, atol=1e-3)
        assert share_of_its_group(held, "color", "gist", space="held") > 0.9


def test_several_views_are_held_by_name(three):
    """The names are in a list, or separated by commas as on the command line."""
    views = ("color", "gist", "sift")
    settings = {"frozen": ["color", "gist"], "spread": None}
    three.train(Recipe(spec="hybrid", views=views, dim=3, settings=settings), space="list")
    three.train(Recipe(spec="hybrid", views=views, dim=3, settings=settings | {"frozen": "color,gist"}), space="text")
    assert distances(three, "sift", "color", "list") == distances(three, "sift", "color", "text")
    with pytest.raises(InvalidInputError, match="frozen='smell' is not one of the views color, gist"):
        three.train(Recipe(spec="hybrid", views=BOTH, dim=3, settings={"frozen": "smell"}))


def test_a_training_without_similar_items_says_so(three):
    """If no two items have the same labels, a learner of similar items can only learn the items apart."""
    assert three.train(Recipe(spec="multi-npp", views=BOTH, dim=2)).notes == ()
    three.items.update([ItemUpdate(item.key, labels=(item.key,)) for item in three.items()])
    (note,) = three.train(Recipe(spec="multi-npp", views=BOTH, dim=2)).notes
    assert "no two training items have the same labels" in note
    assert three.spaces.get("multi-npp").notes == (note,)
    assert three.train(Recipe(spec="cca:2", views=BOTH)).notes == ()
