"""Reports of labels: labels that the views show are recognised, others are named, and ignored ones do not count."""

import numpy as np
import pytest

from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.spaces.suggestion import is_recognised
from crossview.engine.values.evaluation import EvaluationRequest
from crossview.engine.values.item import NewItem
from crossview.engine.values.query import Query, SuggestRequest
from crossview.engine.values.recipe import Recipe

CLASSES = {"cat": 0.0, "dog": 8.0}


@pytest.fixture
def things(home: Home) -> Collection:
    """Return two classes that the view shows, of 30 items each, two folders of random items, and a label of three."""
    rng = np.random.default_rng(1)
    with home.create("things", ["v=vectors:dim=3"]) as made:
        made.items.put(
            NewItem(f"{label}/{number}", labels=(label,), rows={"v": rng.normal(center, 1, 3).astype(np.float32)})
            for label in (*CLASSES, "2021-05", "export web")
            for number in range(30)
            for center in [CLASSES.get(label, 8.0 * (number % 2))]
        )
        made.items.put(
            NewItem(f"owl/{number}", labels=("owl",), rows={"v": np.full(3, 4, np.float32)}) for number in range(3)
        )
        yield made


def test_labels_that_the_views_cannot_tell_are_named(things: Collection) -> None:
    """Held-out items decide; recall is beside that by chance, and each fault has its name."""
    made = things.train(Recipe(spec="pca", holdout=0.5))
    found = {one.label: one for one in made.labels}
    assert made.label_test == (
        f"by a vote of the 10 nearest training items for {made.held_out} items that the space was not trained on"
    )
    assert sum(one.tested for one in made.labels) == made.held_out
    assert sum(one.items for one in made.labels) == made.trained_items
    recalls = [one.recall for one in made.labels if one.recall is not None]
    assert recalls == sorted(recalls)
    for label in CLASSES:
        assert found[label].faults == ()
        assert found[label].recall > 0.5 > found[label].chance
    assert found["2021-05"].faults == ("not_recognized", "date")
    assert found["export web"].faults == ("not_recognized", "generic_name")
    assert "few_items" in found["owl"].faults
    assert things.spaces.get("pca").labels == made.labels


def test_ignored_labels_do_not_count(things: Collection) -> None:
    """Training, suggestions and evaluations of the space do not see them; the items keep them."""
    ignored = ("2021-05", "export web", "owl")
    made = things.train(Recipe(spec="posteriors,dot", holdout=0.5, ignore_labels=ignored))
    assert made.ignored_labels == ignored
    assert {one.label for one in made.labels} == set(CLASSES)
    assert not any(one.faults for one in made.labels)
    suggested = things.suggest(SuggestRequest([Query("v", key="export web/0")], k=60))
    assert {one.label for one in suggested.results[0].labels} <= set(CLASSES)
    evaluation = things.evaluate(EvaluationRequest(view="v", k=(1,)))
    assert "labels do not count that training ignored: 2021-05, export web, owl" in evaluation.protocol
    assert things.items.get("export web/0").labels == ("export web",)


def test_training_items_test_a_space_that_has_no_others(things: Collection) -> None:
    """A model without the item tests each, if the learner has one; otherwise nothing is tested."""
    made = things.train(Recipe(spec="posteriors,dot"))
    assert made.label_test.endswith("items of the training, each by a model without it")
    assert next(one for one in made.labels if one.label == "export web").faults == ("not_recognized", "generic_name")
    made = things.train(Recipe(spec="pca"))
    assert made.label_test == ""
    assert {one.recall for one in made.labels} == {None}
    assert {one.faults for one in made.labels if one.label in CLASSES} == {()}


def test_an_unknown_ignored_label_is_named(things: Collection) -> None:
    """It is perhaps misspelt."""
    assert things.train(Recipe(spec="pca", ignore_labels="2021-06")).notes == (
        "no item has the ignored label '2021-06'",
    )


def test_a_label_is_condemned_only_on_evidence() -> None:
    """Votes at random condemn a large label, not one of three items; votes for its items condemn none."""
    rng = np.random.default_rng(0)
    assert not is_recognised(rng.random(100), rng.random(500))
    assert is_recognised(np.array([0.1, 0.6, 0.9]), rng.random(500))
    assert is_recognised(rng.random(100) + 0.3, rng.random(500))
