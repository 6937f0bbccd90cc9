"""Spaces of several metrics: items are indexed by their labels, queries search all, new labels need no training."""

import numpy as np
import pytest
from rows import GROUPS, each, fill, item, row

from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.spaces.space import Space
from crossview.engine.values.errors import InvalidInputError, NotFoundError, NotReadyError
from crossview.engine.values.evaluation import EvaluationRequest
from crossview.engine.values.query import Query, SearchRequest
from crossview.engine.values.recipe import Recipe, Tune

TARGETS = ("color:1", "color:2", "color:3")
PER_CLASS = {"n_metrics": "class", "n_bits": 16}


def trained(home: Home) -> Collection:
    made = fill(home, "metrics", [item(group, number) for group, number in each()] + [item("owl", 30, labels=())])
    made.train(Recipe(spec="musl", views=("color",), settings=PER_CLASS))
    return made


@pytest.fixture
def metrics(home, once):
    """24 labelled items of three groups and an unlabelled one, and a space of one metric for each group."""
    with once.copy(home, trained) as made:
        yield made


def space_of(collection) -> Space:
    """Return the space that answers, from the catalog."""
    with collection._opened.catalog.read() as tx:
        number = tx.spaces.in_use()["musl"]
        return Space.from_state("musl", number, tx.spaces.state("musl", number))


def ask(collection, group: str = "cat", **options):
    """Return the answer for a new row of a group."""
    return collection.search(SearchRequest([Query("color", vector=row("color", group, 100))], k=100, **options))


def test_a_labelled_item_is_indexed_under_its_metric_only(metrics):
    """An unlabelled one is under that of its apparent class; each metric is a target of its own."""
    assert metrics.spaces.get("musl").targets == TARGETS
    assert metrics.spaces.get("musl").dim == dict.fromkeys(TARGETS, 16)
    assert [one.target for one in ask(metrics, merge=False)] == list(TARGETS)
    for group, found in zip(GROUPS, ask(metrics, merge=False), strict=True):
        unlabelled = {"owl/30"} if group == "owl" else set()
        assert {hit.key for hit in found.hits} == {f"{group}/{number:02}" for number in range(8)} | unlabelled
        assert {hit.target for hit in found.hits} == {found.target}


def test_lists_of_several_metrics_are_merged_by_distance(metrics):
    """They are apart on request; every item comes once, in the metric that is nearest."""
    apart = ask(metrics, merge=False)
    (merged,) = ask(metrics)
    least: dict[str, float] = {}
    for one in apart:
        for hit in one.hits:
            least[hit.key] = min(hit.distance, least.get(hit.key, np.inf))
    assert {hit.key: hit.distance for hit in merged.hits} == least
    assert [hit.distance for hit in merged.hits] == sorted(least.values())
    assert merged.target == ""
    assert merged.hits[0].key.startswith("cat")
    assert [len(found.hits) for found in metrics.search(SearchRequest([Query("color", key="cat/00")], k=3))] == [3]


def test_one_metric_may_be_asked_for(metrics):
    """The name is that of its target; a view has no target of its name."""
    (found,) = ask(metrics, targets=["color:2"], merge=False)
    assert found.target == "color:2"
    assert [
        (str(target), target.view, target.dim, target.codes, target.scale) for target in space_of(metrics).targets
    ] == [(name, "color", 16, True, "color") for name in TARGETS]
    with pytest.raises(NotFoundError, match="no target 'color'; there are: color:1, color:2, color:3"):
        ask(metrics, targets=["color"])


def test_a_changed_label_moves_an_item(metrics):
    """It moves to the metric of the new one, also for the first opening after that."""
    ask(metrics)
    metrics.items.put([item("cat", 0, labels=["dog"])])
    where = {one.target for one in ask(metrics, merge=False) for hit in one.hits if hit.key == "cat/00"}
    assert where == {"color:2"}


def test_a_new_label_gets_a_metric_without_training(metrics):
    """Bits stay as they are, and items with the label are indexed under that metric only from then on."""
    before = space_of(metrics).probe("color", row("color", "cat", 3)[None])
    metrics.items.put([item("dog", number, labels=["puppy"]) for number in range(40, 46)])
    seeming = [one.target for one in ask(metrics, merge=False) for hit in one.hits if hit.key == "dog/40"]
    assert seeming == [TARGETS[GROUPS.index("dog")]]
    assert metrics.spaces.assign("musl", "puppy").generation == 2
    after = space_of(metrics).probe("color", row("color", "cat", 3)[None])
    assert all(np.array_equal(before[target], after[target]) for target in before)
    metrics.items.put([item("dog", 50, labels=["puppy"])])
    found = {"dog/40": [], "dog/50": []}
    for one in ask(metrics, merge=False):
        for hit in one.hits:
            found.get(hit.key, []).append(one.target)
    assert len(found["dog/40"]) == 1
    assert found["dog/50"] == found["dog/40"]


def test_what_cannot_be_assigned_is_refused(metrics):
    """A label that was learned, one of no items or of one, and spaces of one metric."""
    with pytest.raises(InvalidInputError, match="'dog' was learned"):
        metrics.spaces.assign("musl", "dog")
    with pytest.raises(NotReadyError, match="no item with view color has only the label 'yak'"):
        metrics.spaces.assign("musl", "yak")
    metrics.items.put([item("dog", 40, labels=["puppy"])])
    with pytest.raises(InvalidInputError, match="at least 2 examples"):
        metrics.spaces.assign("musl", "puppy")
    with pytest.raises(InvalidInputError, match="'raw'"):
        metrics.spaces.assign("raw", "puppy")
    metrics.train(Recipe(spec="pca:2", views=("color",)), space="plain")
    with pytest.raises(InvalidInputError, match="one metric for all"):
        metrics.spaces.assign("plain", "puppy")
    assert metrics.spaces.get("musl").generation == 1


def test_metrics_of_a_view_are_measured_together(metrics):
    """Each item counts at its distance under its own metric, also in tuning; re-ranking is refused."""
    found = metrics.evaluate(EvaluationRequest(view="color", spaces=("musl",), refit=True, k=(1,)))
    assert {(one.query_view, one.database_view) for one in found.rows} == {("color", "color")}
    assert next(one.value for one in found.rows if one.metric == "accuracy") == 1.0
    tuned = metrics.train(Recipe(spec="musl:16", views=("color",), tune=Tune({"n_metrics": [1, 3]}, "accuracy", 2)))
    assert tuned.tuning is not None
    scores = {tuple(one.settings.items()): one.score for one in tuned.tuning.tried}
    assert scores[tuple(tuned.tuning.chosen.items())] == tuned.tuning.score
    assert tuned.tuning.score > 0.6  # few items of each metric's classes are in a fold
    with pytest.raises(InvalidInputError, match="codes with no float vectors behind them"):
        metrics.train(Recipe(spec="musl", views=("color",), rerank=3))


def test_one_metric_is_one_target(home):
    """Its name is the view's."""
    with fill(home, "one", [item(group, number) for group, number in each()]) as made:
        info = made.train(Recipe(spec="musl", views=("color",), settings={"n_metrics": 1, "n_bits": 12}))
        assert (info.targets, info.dim, info.binary) == (("color",), {"color": 12}, True)
        assert ask(made)[0].hits[0].key.startswith("cat")
