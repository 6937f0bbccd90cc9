"""Evaluation never queries with training items of a space, and states what it did."""

import pytest
from drawn import numbered, write_pictures
from notions import NOTIONS, key, rows

from crossview.engine.values.errors import InvalidInputError, NotReadyError
from crossview.engine.values.evaluation import EvaluationRequest
from crossview.engine.values.item import IndexOptions, ItemUpdate, NewItem
from crossview.engine.values.recipe import Recipe


def value(evaluation, query: str, target: str, metric: str, k: int | None, database: str = "trained") -> float:
    (row,) = [
        row
        for row in evaluation.rows
        if (row.query_view, row.database_view, row.metric, row.k, row.database) == (query, target, metric, k, database)
    ]
    return row.value


def test_queries_are_what_training_held_out(collection):
    collection.train(Recipe(spec="hybrid", views=("color", "sift"), dim=4, holdout=0.25))
    found = collection.evaluate(EvaluationRequest(view="color", k=(1, 5)))
    assert (found.queries, found.databases["trained"]) == (4, 14)  # a quarter of 18, rounded to even
    assert {(row.query_view, row.database_view) for row in found.rows} == {("color", "color"), ("color", "sift")}
    assert value(found, "color", "color", "accuracy", 1) == 1.0
    assert "was not trained on" in found.protocol
    assert "18 pictures" in found.codebook
    assert "4 queries among them" in found.codebook


def test_items_that_came_later_are_queries_too(collection, tmp_path):
    collection.train(Recipe(spec="cca", views=("color", "sift"), dim=2))
    write_pictures(tmp_path / "pictures", 7)
    collection.index([tmp_path / "pictures"], IndexOptions(labels="folder", workers=1))
    found = collection.evaluate(EvaluationRequest(view="color", targets=("sift",), k=(1,)))
    assert (found.queries, found.databases) == (3, {"trained": 18})


def test_a_space_trained_on_everything_is_measured_only_after_a_refit(collection):
    collection.train(Recipe(spec="cca", views=("color", "sift"), dim=2))
    with pytest.raises(NotReadyError, match=r"`holdout=0.2`.*`refit=True`"):
        collection.evaluate(EvaluationRequest(view="color"))
    found = collection.evaluate(EvaluationRequest(view="sift", targets=("color",), refit=True, k=(3,)))
    assert (found.queries, found.databases["trained"]) == (4, 14)
    assert "fitted again" in found.protocol
    assert collection.spaces.get("cca").generation == 1


def test_the_views_themselves_are_measured_on_a_split(collection):
    found = collection.evaluate(EvaluationRequest(view="color", spaces=("raw",), k=(1,), test_size=0.5))
    assert (found.queries, found.databases) == (9, {"trained": 9, "unseen": 9})
    assert value(found, "color", "color", "accuracy", 1) == 1.0
    assert value(found, "color", "color", "map", None) > 0.8
    assert found.codebook == "no view that takes part has a codebook"
    assert (
        found.rows == collection.evaluate(EvaluationRequest(view="color", spaces=("raw",), k=(1,), test_size=0.5)).rows
    )


def test_without_labels_there_is_nothing_to_measure(home):
    with home.create("bare", ["color"]) as collection:
        collection.items.put([NewItem("a", rows=numbered(1).rows), NewItem("b", rows=numbered(2).rows)])
        with pytest.raises(NotReadyError, match="label"):
            collection.evaluate(EvaluationRequest(view="color", spaces=("raw",)))


@pytest.mark.parametrize("options", [{"k": (0,)}, {"test_size": 1.5}, {"targets": ("sift",)}])
def test_measurements_that_make_no_sense_are_refused(collection, options):
    with pytest.raises(InvalidInputError):
        collection.evaluate(EvaluationRequest(view="color", spaces=("raw",), **options))


@pytest.fixture
def things(home):
    """Items alike in two notions, each with a label of its own; half of them were not trained on."""
    signs = {notion: (rows()[:, columns] > 0).astype(int).astype(str) for notion, columns in NOTIONS.items()}
    with home.create("things", ("view=vectors:dim=6",)) as made:
        made.items.put(
            [
                NewItem(
                    key(number),
                    rows={"view": row},
                    notion_labels={notion: ("".join(quadrants[number]),) for notion, quadrants in signs.items()},
                )
                for number, row in enumerate(rows())
            ]
        )
        made.train(Recipe(spec="joint:4", views=("view",), holdout=0.5))
        yield made


def test_a_notion_is_measured_by_its_own_distances_and_labels(things):
    """The notion's name or the target's names it; a space without the notion is measured by its only distances."""
    color = things.evaluate(EvaluationRequest(view="view", targets=("color",), k=(3,)))
    assert "distances are those in the notion 'color'; labels are those in it, too" in color.protocol
    assert color.rows == things.evaluate(EvaluationRequest(view="view", targets=("view:color",), k=(3,))).rows
    shape = things.evaluate(EvaluationRequest(view="view", targets=("shape",), k=(3,)))
    assert color.rows != shape.rows
    both = things.evaluate(EvaluationRequest(view="view", spaces=("joint", "raw"), targets=("color",), k=(3,)))
    assert "the only ones of raw" in both.protocol
    learned, raw = (row.value for row in both.rows if (row.metric, row.database) == ("map", "trained"))
    assert learned > raw + 0.1


def test_notions_are_measured_one_at_a_time(things):
    with pytest.raises(InvalidInputError, match="measures one notion at a time"):
        things.evaluate(EvaluationRequest(view="view", targets=("color", "shape")))


def test_without_labels_in_a_notion_the_items_own_are_found(things):
    """Neighbours in color mostly have another shape."""
    signs = (rows()[:, NOTIONS["shape"]] > 0).astype(int).astype(str)
    things.items.update(
        [ItemUpdate(key(n), labels=("".join(one),), notion_labels={"color": ()}) for n, one in enumerate(signs)]
    )
    found = {notion: things.evaluate(EvaluationRequest(view="view", targets=(notion,), k=(3,))) for notion in NOTIONS}
    assert "labels are the items' own" in found["color"].protocol
    assert value(found["shape"], "view", "view", "map", None) > value(found["color"], "view", "view", "map", None) + 0.1
