"""Scores of an attribute space: their scale, exact bounds and orders, and queries moved along axes."""

import numpy as np
import pytest

from crossview.engine.spaces.scores import Axes, ScoredItems, ScoreScale
from crossview.engine.spaces.search import check_search
from crossview.engine.values.conditions.filter import field
from crossview.engine.values.conditions.tree import All, Not
from crossview.engine.values.errors import InvalidInputError
from crossview.engine.values.query import Query, SearchRequest
from crossview.index.flat import FlatIndex


def scale(seed: int = 0, width: int = 4) -> tuple[ScoreScale, np.ndarray]:
    """Return a scale, and its vectors, whose columns go together."""
    generator = np.random.default_rng(seed)
    vectors = generator.normal(size=(200, width)) @ generator.normal(size=(width, width)) + 5
    return ScoreScale.of(vectors.astype(np.float32)), vectors.astype(np.float32)


def test_a_score_is_in_standard_deviations_from_the_mean_of_the_training_items() -> None:
    found, vectors = scale()
    scores = found.scores(vectors)
    np.testing.assert_allclose(scores.mean(axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(scores.std(axis=0), 1, atol=1e-6)


def test_what_is_not_held_goes_where_the_training_items_say() -> None:
    """Each other column moves along its regression on the moved and the held ones."""
    found, vectors = scale()
    scores = found.scores(vectors)
    moved = found.moved(scores[:1], {0: 2.0})[0] - scores[0]
    slopes = [np.polyfit(scores[:, 0], column, 1)[0] for column in scores.T]
    np.testing.assert_allclose(moved, 2 * np.array(slopes), atol=1e-5)
    both = found.moved(scores[:1], {0: 2.0}, [1])[0] - scores[0]
    given = np.column_stack([scores[:, :2], np.ones(len(scores))])
    third = np.linalg.lstsq(given, scores[:, 2], rcond=None)[0]
    np.testing.assert_allclose(both[:3], [2, 0, 2 * third[0]], atol=1e-5)
    np.testing.assert_allclose(found.moved(scores[:1], {0: -1.5}, [1, 2, 3])[0] - scores[0], [-1.5, 0, 0, 0], atol=1e-9)


def test_columns_that_are_one_and_a_constant_one_still_move_as_asked() -> None:
    column = np.random.default_rng(1).normal(size=50)
    found = ScoreScale.of(np.column_stack([column, column, np.ones(50)]).astype(np.float32))
    moved = found.moved(np.zeros((1, 3)), {0: 1.0}, [1])[0]
    np.testing.assert_allclose(moved, [1, 0, 0], atol=1e-9)
    np.testing.assert_allclose(found.moved(np.zeros((1, 3)), {0: 1.0})[0], [1, 1, 0], atol=1e-5)


def test_bounds_orders_and_neighbours_are_those_of_a_loop_over_all_items() -> None:
    found, vectors = scale()
    ids = np.arange(len(vectors)) * 3
    index = FlatIndex(4).changed([], ids, vectors).changed(ids[:7], [], np.empty((0, 4), np.float32))
    only = index.selection(ids[5:150])
    items = ScoredItems.of(index, found, only)
    kept, scores = ids[7:150], found.scores(vectors[7:150])
    np.testing.assert_array_equal(items.ids, kept)
    axes, rows = Axes(("a", "b", "c", "d"), found), list(zip(kept.tolist(), scores, strict=True))
    stored, low, high = field("label") == "even", field("score.b") >= -0.5, field("score.c") <= 0.25
    for condition, passes in (
        (
            low & high,
            lambda item, row: row[1] >= -0.5 and row[2] <= 0.25,
        ),
        (Not(All((low, high))), lambda item, row: not (row[1] >= -0.5 and row[2] <= 0.25)),
        (Not(All((Not(low), stored))), lambda item, row: row[1] >= -0.5 or item % 2),
        (low | stored, lambda item, row: row[1] >= -0.5 or item % 2 == 0),
    ):
        passing = axes.passing(condition, index, only, lambda asked: ids[ids % 2 == 0] if asked == stored else ids)
        assert passing.ids.tolist() == [item for item, row in rows if passes(item, row)]
    for sign in (1, -1):
        first = items.first(2, sign, 5).ids.tolist()
        assert first == kept[np.argsort(-sign * scores[:, 2], kind="stable")[:5]].tolist()
    (near,) = items.nearest(scores[:1], [int(kept[0])], 6)
    distances = np.linalg.norm(scores - scores[0], axis=1)
    assert near.ids.tolist() == kept[np.argsort(distances, kind="stable")[1:7]].tolist()
    np.testing.assert_allclose(near.distances, np.sort(distances)[1:7], rtol=1e-9)
    assert len(items.nearest(scores[:1], [int(kept[0])], 1000)[0].ids) == len(kept) - 1


@pytest.mark.parametrize(
    "asked",
    [
        {"more": {"a": 0.0}},
        {"more": {"a": np.nan}},
        {"less": {"a": -1.0}},
        {"at_least": {"a": np.inf}},
        {"at_least": {"a": 1.0}, "at_most": {"a": 0.5}},
        {"more": {"a": 1.0}, "less": {"a": 1.0}},
        {"more": {"a": 1.0}, "hold": ("a",)},
        {"hold": ("a",)},
        {"more": {"a": 1.0}, "weights": {"n": 1.0}},
    ],
)
def test_what_no_space_could_answer_is_refused(asked: dict) -> None:
    with pytest.raises(InvalidInputError):
        check_search(SearchRequest([Query("view", key="x")], **asked))
