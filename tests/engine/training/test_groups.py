"""Items that belong together stay on one side of a holdout or split, and in one fold."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rows import GROUPS, item

from crossview.engine.training import tuning, validation
from crossview.engine.training.splits import fold_groups, split, split_groups
from crossview.engine.values.conditions.filter import Filter
from crossview.engine.values.errors import InvalidInputError, NotFoundError, NotReadyError
from crossview.engine.values.evaluation import EvaluationRequest
from crossview.engine.values.item import ItemUpdate
from crossview.engine.values.query import Query, SearchRequest
from crossview.engine.values.recipe import Grouping, Recipe, Tune

BOTH = ("color", "gist")
SPEAKERS = 6
ANY_GROUPS = st.lists(st.integers(0, 7), min_size=2, max_size=40).map(np.array)


@given(ANY_GROUPS, st.floats(0.01, 0.99), st.integers(0, 9))
def test_a_split_parts_no_group_and_leaves_no_side_empty(groups, share, seed):
    """Some groups are held out and some are not, or it is an error; the same seed draws the same."""
    if share * (count := len(np.unique(groups))) > count - 1:
        with pytest.raises(InvalidInputError, match="one side empty"):
            split_groups(groups, share, seed)
        return
    held_out = split_groups(groups, share, seed)
    assert not set(groups[held_out]) & set(groups[~held_out])
    assert held_out.any()
    assert not held_out.all()
    np.testing.assert_array_equal(held_out, split(len(groups), share, seed, groups))


@given(ANY_GROUPS, st.integers(1, 4), st.integers(2, 4), st.integers(0, 9))
def test_folds_part_no_group(groups, classes, folds, seed):
    """Every group is in one fold, and no fold is empty; too few groups have no folds."""
    codes = np.random.default_rng(seed).integers(classes, size=len(groups))
    if len(np.unique(groups)) < folds:
        with pytest.raises(InvalidInputError, match=f"too few for {folds} folds"):
            fold_groups(groups, codes, folds, seed)
        return
    found = fold_groups(groups, codes, folds, seed)
    assert all(len(np.unique(found[groups == group])) == 1 for group in np.unique(groups))
    assert set(found) == set(range(found.max() + 1))
    assert found.max() >= 1


def test_folds_spread_classes_as_evenly_as_groups_allow():
    groups, classes = np.repeat(np.arange(12), 3), np.repeat(np.arange(3), 12)
    found = fold_groups(groups, classes, 4, 0)
    assert all((np.bincount(found[classes == one], minlength=4) == 3).all() for one in range(3))


def test_nothing_is_held_out_of_a_share_of_0():
    assert not split_groups(np.array([0, 0, 1]), 0.0, 0).any()


@pytest.fixture
def speakers(home):
    """Twelve items of each group, two by each of six speakers, and three without one."""
    with home.create("speakers", BOTH) as made:
        for group in GROUPS:
            items = [item(group, number) for number in range(12)]
            made.items.put([replace(one, attributes={"speaker": n % SPEAKERS}) for n, one in enumerate(items)])
        made.items.put([item(group, 50) for group in GROUPS])
        yield made


def sides(collection, space):
    """Return the speakers that a space was trained on, and the others."""
    with collection._opened.catalog.read() as tx:
        trained = collection._opened.loaded.get(tx, space).training_keys
    of = {one.key: one.attributes.get("speaker") for one in collection.items(limit=100)}
    return {of[key] for key in trained} - {None}, {of[key] for key in of.keys() - trained} - {None}


def test_training_holds_out_whole_groups(speakers):
    """An attribute gives them, or a file of keys or paths; the evaluation then says so."""
    recipe = Recipe(spec="cca", views=BOTH, dim=2, holdout=0.3, group_by=Grouping("speaker"))
    speakers.train(recipe)
    trained, held_out = sides(speakers, "cca")
    assert trained
    assert held_out
    assert not trained & held_out
    assert "did not part groups by speaker" in speakers.evaluate(EvaluationRequest(view="color", k=(1,))).protocol
    names = {f"{group}/{number:02}": str(number % SPEAKERS) for group in GROUPS for number in range(12)}
    by_file = Grouping("speakers.csv", names | {"no/such": "9"})
    speakers.train(replace(recipe, group_by=by_file), space="file")
    assert sides(speakers, "file") == (trained, held_out)


def test_a_refit_keeps_the_groups_of_the_training(speakers, home):
    """The space stores them; a request may name others, and spaces must agree."""
    speakers.train(Recipe(spec="cca", views=BOTH, dim=2, group_by=Grouping("speaker")))
    speakers.train(Recipe(spec="pca", views=BOTH, dim=2))
    refit = {"view": "color", "k": (1,), "refit": True, "test_size": 0.3}
    with home.open("speakers") as again:
        for spaces in (("cca",), ("cca", "pca", "raw")):
            found = again.evaluate(EvaluationRequest(**refit, spaces=spaces))
            assert "30% of the groups of labelled items by speaker" in found.protocol
        (asked,) = (again.evaluate(EvaluationRequest(**refit, spaces=("pca",), group_by=Grouping("speaker"))),)
        assert asked.queries == found.queries
    speakers.train(Recipe(spec="pca", views=BOTH, dim=2, group_by=Grouping("f.csv", {"cat/00": "a"})))
    with pytest.raises(InvalidInputError, match=r"different groups \(speaker, f.csv\): choose them by `group_by`"):
        speakers.evaluate(EvaluationRequest(**refit, spaces=("cca", "pca")))


def test_no_query_finds_an_item_of_its_group(speakers):
    """The whole group is among the unseen items: precision is that of a search of other speakers."""
    speakers.train(Recipe(spec="cca", views=BOTH, dim=2, holdout=0.4, group_by=Grouping("speaker")))
    with speakers._opened.catalog.read() as tx:
        trained = speakers._opened.loaded.get(tx, "cca").training_keys
    items = {one.key: one for one in speakers.items(limit=100)}
    unseen = sorted(items.keys() - trained)
    request = EvaluationRequest(view="color", targets=("gist",), k=(3,), databases=("unseen",))
    found = speakers.evaluate(request)
    (precision,) = (row.value for row in found.rows if row.metric == "precision")
    shares = []
    for key in unseen:
        speaker = items[key].attributes.get("speaker")
        others = tuple(one for one in unseen if items[one].attributes.get("speaker") != speaker or speaker is None)
        query = Query("color", key=key)
        (hits,) = speakers.search(SearchRequest([query], targets=("gist",), k=3, filter=Filter(keys=others)))
        shares.append(np.mean([hit.labels == items[key].labels for hit in hits.hits]))
    assert precision == pytest.approx(np.mean(shares))
    assert "no query finds an item of its own group" in found.protocol
    speakers.items.update([ItemUpdate(key, removed_attributes=("speaker",)) for key in items])
    assert speakers.evaluate(request).queries == found.queries
    with pytest.raises(NotFoundError, match="by speaker: none of them has an attribute 'speaker'"):
        speakers.evaluate(replace(request, refit=True))


def test_unseen_items_of_one_group_are_no_database(home):
    """No query could find anything among them; by default they are left out."""
    items = [item(group, number) for group in GROUPS for number in range(12)]
    with home.create("two", BOTH) as two:
        two.items.put([replace(one, attributes={"half": number % 2}) for number, one in enumerate(items)])
        two.train(Recipe(spec="cca", views=BOTH, dim=2, holdout=0.5, group_by=Grouping("half")))
        assert set(two.evaluate(EvaluationRequest(view="color", k=(1,))).databases) == {"trained"}
        with pytest.raises(NotReadyError, match="no two held-out items"):
            two.evaluate(EvaluationRequest(view="color", k=(1,), databases=("unseen",)))
        mixed = two.evaluate(EvaluationRequest(view="color", k=(1,), databases=("mixed",)))
        assert {row.metric for row in mixed.rows} == {
            "accuracy",
            "precision",
            "map",
            "recall",
            "median_rank",
            "coverage",
            "hubness",
        }  # of no unseen item there is a share


def test_tuning_parts_no_group(speakers, monkeypatch):
    """The folds that choose settings hold groups together."""
    seen = []

    def watched(training, folds, seed, spread=validation.spread):
        seen.append((training.groups, spread(training, folds, seed)))
        return seen[-1][1]

    monkeypatch.setattr(validation, "spread", watched)
    tune = Tune({"n_components": (1, 2), "kernel": ("none",)})
    speakers.train(Recipe(spec="multi-npp", views=BOTH, tune=tune, group_by=Grouping("speaker"), holdout=0.2))
    (groups, folds) = seen[0]
    assert len(np.unique(folds)) == 3
    assert all(len(np.unique(folds[groups == group])) == 1 for group in np.unique(groups))


def test_a_fold_of_one_group_does_not_stop_tuning():
    """Its queries find no similar item of another group, so that the first folds can have no score at all."""
    assert tuning._check_hope({}, {}, "1 of 3 folds") is None


@pytest.mark.parametrize(
    ("recipe", "error", "words"),
    [
        ({"group_by": Grouping("singer")}, NotFoundError, "by singer: none of them has an attribute 'singer'"),
        ({"group_by": Grouping("g.csv", {"x": "1"})}, NotFoundError, "by g.csv: the file names none of them"),
        ({"group_by": Grouping("speaker"), "holdout": 0.95}, InvalidInputError, "one side empty"),
    ],
)
def test_groups_that_cannot_be_split_name_the_way_out(speakers, recipe, error, words):
    with pytest.raises(error, match=words):
        speakers.train(Recipe(spec="cca", views=BOTH, dim=2, **{"holdout": 0.2} | recipe))
