"""Classes without items have places among the scores of classes that have some."""

import numpy as np
import pytest

from crossview.engine.learners.papers.attributes.class_scores import place_between, spread_between
from crossview.engine.learners.papers.attributes.relative import RelativeAttributes

SEEN, MEANS = np.array([[0.0], [2.0], [2.0], [4.0]]), np.array([[-3.0], [0.0], [1.0], [2.5]])


@pytest.mark.parametrize(
    ("amount", "place"),
    [(0, -3.0), (2, 0.5), (1, -1.25), (3, 1.5), (5, 2.5 + 2.75), (-1, -3 - 2.75)],
    ids=["as the least", "as two", "between", "between two and one", "beyond", "below"],
)
def test_the_place_is_that_of_equal_ones_or_between_or_one_step_beyond(amount: float, place: float) -> None:
    np.testing.assert_allclose(place_between([amount], SEEN, MEANS), [place])


def test_a_described_class_lies_near_its_rows() -> None:
    """Each of five classes along two lines has no rows in turn; it is nearer to its place than to another class's."""
    levels = {"a": (0, 1), "b": (1, 0), "c": (2, 3), "d": (3, 4), "e": (4, 2)}
    rng = np.random.default_rng(0)
    labels = np.repeat(list(levels), 20)
    rows = np.hstack([np.repeat(list(levels.values()), 20, axis=0) + rng.normal(0, 0.2, (100, 2)), np.ones((100, 1))])
    for left_out in "bcd":
        seen = labels != left_out
        learner = RelativeAttributes(orderings=levels).fit(rows[seen], labels[seen])
        scores = learner.transform(rows[~seen], view=0).mean(axis=0)
        gaps = {name: np.linalg.norm(learner.place_of_class(name) - scores) for name in levels}
        assert min(gaps, key=gaps.__getitem__) == left_out
    with pytest.raises(ValueError, match="there are: a, b, c, e, d"):
        learner.place_of_class("f")


def test_a_class_that_a_view_lacks_is_placed_by_its_order() -> None:
    rng = np.random.default_rng(1)
    labels = np.repeat(["a", "b", "c"], 10)
    rows = np.repeat([0.0, 1.0, 2.0], 10)[:, None] + rng.normal(0, 0.1, (30, 2))
    whole = RelativeAttributes(orderings={"a": (0,), "b": (1,), "c": (2,)}, view_slices=[2]).fit(rows, labels)
    whole.places_[0][1] = np.nan
    low, high = (whole.place_of_class(name)[0] for name in "ac")
    np.testing.assert_allclose(whole.place_of_class("b"), [(low + high) / 2])


def test_the_spread_is_wider_the_less_is_known() -> None:
    """It is narrowest beside a seen class that has as much, wider between two, and widest beyond all."""
    equal, between, beyond = (spread_between([amount], SEEN, MEANS)[0] for amount in (2, 1, 5))
    assert 0 < equal < between < beyond


def test_rows_are_told_among_seen_and_described_classes() -> None:
    """A class without rows is found at even odds, more often at higher odds, and never at odds of zero."""
    levels = {"a": (0, 1), "b": (1, 0), "c": (2, 3), "d": (3, 4), "e": (4, 2)}
    rng = np.random.default_rng(2)
    labels = np.repeat(list(levels), 40)
    rows = np.repeat(list(levels.values()), 40, axis=0) + rng.normal(0, 0.1, (200, 2))
    seen = labels != "c"
    learner = RelativeAttributes(orderings=levels).fit(rows[seen], labels[seen])
    shares = [np.mean(learner.classify(rows[~seen], log_odds=odds) == "c") for odds in (-1e6, 0.0, 4.0, 1e6)]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0, 1)
    assert shares[2] > 0.5
    assert np.mean(learner.classify(rows[seen], log_odds=4.0) == labels[seen]) > 0.8
    restored = RelativeAttributes.from_state(learner.to_state())
    np.testing.assert_array_equal(restored.classify(rows), learner.classify(rows))
