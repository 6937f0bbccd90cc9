"""A recipe without a learner takes the one that suits the known facts about the items."""

import pytest
from rows import each, fill, item

from crossview.engine.values.recipe import Pair, Recipe, Tune

BOTH = ("color", "gist")


@pytest.mark.parametrize(
    ("labelled", "recipe", "spec"),
    [
        (True, Recipe(views=BOTH), "class-instance,dot"),
        (True, Recipe(views=("color",)), "class-instance,dot"),
        (False, Recipe(views=BOTH), "class-instance:co-em,dot"),
        (False, Recipe(views=("gist",)), "pca"),
        (True, Recipe(views=("gist",), spec="pca:2"), "pca:2"),
    ],
)
def test_what_is_known_decides(home, labelled, recipe, spec):
    """Labels, several views without labels, or one view decide; a learner that is named stays."""
    items = [item(group, number, **({} if labelled else {"labels": ()})) for group, number in each()]
    with fill(home, "one", items) as made:
        assert made.train(recipe).spec == spec


def test_pairs_decide_before_labels(home):
    """Statements of people about items count more than labels."""
    items = [item(group, number) for group, number in each()]
    pairs = (Pair(items[0].key, items[1].key),)
    with fill(home, "one", items) as made:
        assert made.train(Recipe(views=BOTH, pairs=pairs)).spec == "class-instance:co-em,dot"


@pytest.mark.parametrize(("views", "spec"), [(BOTH, "class-instance:co-em,dot"), (("color",), "class-instance,dot")])
def test_items_without_labels_are_learned_from_where_views_can_tell_of_them(home, views, spec):
    """A third of the items have no labels: with two views, each says about them what the other shows."""
    items = [item(group, number, **({"labels": ()} if number % 3 == 0 else {})) for group, number in each()]
    with fill(home, "one", items) as made:
        assert made.train(Recipe(views=views)).spec == spec


def test_a_label_for_each_item_is_a_name(home):
    """Names say nothing about classes."""
    items = [item(group, number, labels=() if number % 3 == 0 else (f"{group} {number}",)) for group, number in each()]
    with fill(home, "one", items) as made:
        assert made.train(Recipe(views=BOTH)).spec == "instances"


def test_one_label_for_all_tells_nothing_apart(home):
    """Every view needs two shared labels."""
    items = [item(group, number, labels=("same",)) for group, number in each()]
    with fill(home, "one", items) as made:
        assert made.train(Recipe(views=BOTH)).spec == "instances"


def test_tuning_tries_several_learners(home):
    """Unseen items decide; the default stays unless another is better by more than a standard error."""
    with fill(home, "one", [item(group, number) for group, number in each()]) as made:
        tuned = made.train(Recipe(views=BOTH, tune=Tune()))
        assert tuned.tuning is not None
        tried = [one.settings["learner"] for one in tuned.tuning.tried]
        assert tried[0] == "class-instance,dot"
        assert len(tried) == 3
        assert tuned.spec == tuned.tuning.chosen["learner"]


def test_its_space_is_called_default(home):
    """The recipe may choose any learner, and is trained again under the same name."""
    with fill(home, "one", [item(group, number) for group, number in each()]) as made:
        assert made.train(Recipe(views=BOTH)).name == "default"
        assert made.train(Recipe(views=BOTH)).generation == 2
