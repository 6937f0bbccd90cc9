"""A tree of the labels: metrics learn from it, and evaluations measure how far off wrong votes are."""

import numpy as np
import pytest
from rows import each, fill, item

from crossview.engine.learners.frame.comparisons import Comparisons, Taxonomy
from crossview.engine.learners.frame.supervision import Supervision
from crossview.engine.learners.papers.metrics.fantope import Fantope
from crossview.engine.learners.papers.metrics.lmnn import LMNN
from crossview.engine.training.measures import HIERARCHICAL_ACCURACY, LCA_LOSS, costs, knn_votes, least_costs, members
from crossview.engine.values.errors import InvalidInputError
from crossview.engine.values.evaluation import EvaluationRequest
from crossview.engine.values.recipe import Pair, Recipe, Tune

TREE = Taxonomy({"pet": "", "cat": "pet", "dog": "pet", "owl": ""})
DEEP = Taxonomy({"r": "", "p": "r", "q": "p", "a": "q", "b": "q", "c": "p", "d": "r"})


@pytest.fixture
def animals(home):
    with fill(home, "animals", [item(group, number) for group, number in each(12)]) as made:
        yield made


def by_metric(evaluation):
    return {(row.metric, row.database): row.value for row in evaluation.rows if row.k in (5, None)}


def test_a_vote_for_a_sibling_costs_half_and_one_far_off_the_height_of_the_tree():
    """Classes a and b share a parent, c is their uncle, d is below the root only."""
    tables = costs(DEEP, ["a", "b", "c", "d"])
    assert tables[HIERARCHICAL_ACCURACY][0].tolist() == [0, 0.5, 1, 1]
    assert tables[LCA_LOSS][0].tolist() == pytest.approx([0, 1 / 3, 2 / 3, 1])
    own = members([("a",), ("a", "d"), (), ("b",)], "abcd")
    assert least_costs(np.array([1, 3, 0, -1]), own, tables[LCA_LOSS])[[0, 1, 3]].tolist() == pytest.approx(
        [1 / 3, 0, 1]
    )
    assert np.isnan(least_costs(np.array([1, 3, 0, -1]), own, tables[LCA_LOSS])[2])


def test_a_query_whose_neighbours_have_no_class_votes_for_none():
    order = np.array([[0, 1], [1, 0]])
    assert knn_votes(order, members([(), ("b",)], "ab"), 1).tolist() == [-1, 1]


@pytest.mark.parametrize("learner", ["lmnn", "fantope"])
def test_a_space_keeps_the_tree_that_it_was_trained_with(animals, home, learner):
    """It is measured by the tree after it was opened again, and trained by it when it is fitted again or extended."""
    settings = {"max_iter": 20}
    animals.train(Recipe(spec=learner, views=("color",), taxonomy=TREE, settings=settings, holdout=0.4))
    with home.open("animals") as again:
        found = by_metric(again.evaluate(EvaluationRequest(view="color", k=(5,))))
        assert found["accuracy", "unseen"] <= found["hierarchical_accuracy", "unseen"] <= 1
        assert found["lca_loss", "unseen"] <= 1 - found["accuracy", "unseen"] + 1e-9
        assert any(
            row.metric == "lca_loss" for row in again.evaluate(EvaluationRequest(view="color", k=(5,), refit=True)).rows
        )
        again.spaces.extend(learner, ["gist"])


def test_the_weights_of_a_tree_are_tuned_like_other_settings(animals):
    """The folds learn from the tree, too."""
    settings = {"max_iter": 5, "n_quadruplets": 200}
    tune = Tune({"beyond": (0.0, 10.0)}, "accuracy", 2)
    recipe = Recipe(spec="lmnn", views=("color",), taxonomy=TREE, settings=settings, tune=tune)
    made = animals.train(recipe)
    assert made.tuning is not None
    assert {trial.settings["beyond"] for trial in made.tuning.tried} == {0.0, 10.0}
    assert all(not trial.error for trial in made.tuning.tried)


def test_any_space_can_be_measured_by_a_tree(animals):
    """The tree of a request goes before the space's own; labels that it lacks are an error only of that tree."""
    animals.train(Recipe(spec="pca", views=("color",), holdout=0.4))
    assert "lca_loss" not in {row.metric for row in animals.evaluate(EvaluationRequest(view="color")).rows}
    asked = EvaluationRequest(view="color", k=(5,), taxonomy=TREE)
    assert "lca_loss" in {row.metric for row in animals.evaluate(asked).rows}
    with pytest.raises(InvalidInputError, match="label 'cat' is not a leaf of the taxonomy"):
        animals.evaluate(EvaluationRequest(view="color", taxonomy=Taxonomy({"dog": "", "owl": ""})))
    recipe = Recipe(spec="lmnn", views=("color",), taxonomy=TREE, settings={"max_iter": 5}, holdout=0.4)
    animals.train(recipe, activate=True)
    animals.items.put([item("owl", 50, labels=["tree"])])
    found = animals.evaluate(EvaluationRequest(view="color", k=(5,)))
    assert "because 'tree' is not one of its leaves" in found.protocol
    assert "lca_loss" not in {row.metric for row in found.rows}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"spec": "pca"}, "pca does not learn from a taxonomy: use a learner that does"),
        ({"spec": "default"}, "name a learner that accepts a taxonomy"),
        ({"pairs": (Pair("cat/00", "cat/01"),)}, "a taxonomy needs labels"),
        ({"taxonomy": Taxonomy({"cat": "", "dog": ""})}, "label 'owl' is not a leaf of the taxonomy"),
    ],
)
def test_what_cannot_be_learned_is_refused(animals, change, message):
    asked = {"spec": "lmnn", "views": ("color",), "taxonomy": TREE} | change
    with pytest.raises(InvalidInputError, match=message):
        animals.train(Recipe(**asked))


def test_items_of_several_labels_are_refused(home):
    items = [item("cat", n, labels=["cat", "dog"]) for n in range(3)] + [item("dog", n) for n in range(3)]
    with fill(home, "mixed", items) as mixed, pytest.raises(InvalidInputError, match="'cat/00' has several labels"):
        mixed.train(Recipe(spec="lmnn", views=("color",), taxonomy=TREE))


def drawn(seed: int):
    """Return rows of four classes whose first two columns show the parent and the third the class, among loud noise."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(list("abcd"), 30)
    codes = np.repeat(np.arange(4), 30)
    rows = np.column_stack([codes // 2, codes // 2, codes % 2, *rng.normal(scale=3, size=(5, 120))])
    return rows + rng.normal(scale=0.15, size=rows.shape), labels


@pytest.mark.parametrize("learner", [LMNN(form="full"), LMNN(form="diagonal"), Fantope(mu=0.0)])
def test_siblings_come_nearer_than_cousins(learner):
    """Unseen rows do, too; the distances of the rows themselves do not show it."""
    tree = Taxonomy({"ab": "", "a": "ab", "b": "ab", "cd": "", "c": "cd", "d": "cd"})
    rows, labels = drawn(0)
    learner = learner.set_params(max_iter=100).fit([rows], Supervision(classes=labels, taxonomy=tree))
    unseen, names = drawn(1)
    rng = np.random.default_rng(2)
    first, sibling, cousin = (rng.choice(np.flatnonzero(names == name), 500) for name in "abd")
    order = Comparisons(np.column_stack([first, sibling, first, cousin]))
    assert order.agreement(learner.transform(unseen, view=0)) > 0.95
    assert order.agreement(unseen) < 0.8


def test_items_of_no_leaf_are_left_out():
    rows, labels = drawn(0)
    tree = Taxonomy({"ab": "", "a": "ab", "b": "ab", "c": ""})
    known = labels != "d"
    learners = [LMNN().set_params(max_iter=10, n_quadruplets=500) for _ in range(2)]
    learners[0].fit([rows], Supervision(classes=labels, taxonomy=tree))
    learners[1].fit([rows[known]], Supervision(classes=labels[known], taxonomy=tree))
    np.testing.assert_allclose(*(one.get_mahalanobis_matrix() for one in learners))


@pytest.mark.parametrize("change", [{"beyond": 0.0}, {"siblings": 0.0, "cousins": 0.0}])
def test_each_part_brings_siblings_nearer_than_cousins(change):
    """It does for the rows that are learned from, more often than the classes alone."""
    rows, labels = drawn(0)
    tree = Taxonomy({"ab": "", "a": "ab", "b": "ab", "cd": "", "c": "cd", "d": "cd"})
    rng = np.random.default_rng(2)
    first, sibling, cousin = (rng.choice(np.flatnonzero(labels == name), 2_000) for name in "abd")
    order = Comparisons(np.column_stack([first, sibling, first, cousin]))
    plain = LMNN().set_params(max_iter=50).fit(rows, labels)
    given = Supervision(classes=labels, taxonomy=tree)
    taught = LMNN().set_params(max_iter=50, **change).fit([rows], given)
    assert order.agreement(taught.transform(rows)) > order.agreement(plain.transform(rows))


def test_a_tree_of_weight_nothing_is_lmnn():
    rows, labels = drawn(0)
    tree = Taxonomy({"ab": "", "a": "ab", "b": "ab", "cd": "", "c": "cd", "d": "cd"})
    plain = LMNN().set_params(max_iter=20).fit(rows, labels)
    none = LMNN().set_params(max_iter=20, beyond=0.0, siblings=0.0, cousins=0.0)
    none.fit([rows], Supervision(classes=labels, taxonomy=tree))
    np.testing.assert_allclose(none.get_mahalanobis_matrix(), plain.get_mahalanobis_matrix())
