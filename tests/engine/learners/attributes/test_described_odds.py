"""Odds of described classes are chosen on held-out classes, kept with the learner, and overridden."""

import numpy as np
import pytest

from crossview.engine.learners.frame.base import MultiViewLearner
from crossview.engine.learners.papers.attributes.described_odds import (
    ODDS,
    Shares,
    chosen_log_odds,
    held_out_in_turn,
    shares_at_odds,
)
from crossview.engine.learners.papers.attributes.relative import RelativeAttributes
from crossview.engine.learners.registry import LEARNERS

LEVELS = np.array([[0, 1], [1, 0], [2, 3], [3, 4], [4, 2], [5, 5]], dtype=float)
NAMES = np.array(list("abcdef"))
EACH = 20


def rows(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of six classes and their codes."""
    codes = np.repeat(np.arange(6), EACH)
    noise = np.random.default_rng(seed).normal(0, 0.5, (len(codes), 8))
    return noise + np.hstack([LEVELS, np.zeros((6, 6))])[codes], codes


def learner(**settings: object) -> RelativeAttributes:
    orderings = {str(name): levels for name, levels in zip(NAMES, LEVELS, strict=True)}
    return RelativeAttributes(orderings=orderings, **settings)


def test_every_class_is_held_out_once_and_judged_by_rows_that_nothing_was_learned_from() -> None:
    _, codes = rows()
    found = list(held_out_in_turn(codes, LEVELS, 0))
    assert [one.described for one in found] == [(code,) for code in range(6)]
    for own, others, described in found:
        assert not np.intersect1d(own, others).size
        assert set(codes[own]) == set(range(6)) - set(described)
        assert set(codes[others]) == set(range(6))
    assert len(list(held_out_in_turn(codes, LEVELS, 0, size=2))) == 15
    groups = np.arange(len(codes)) // 4
    for own, others, _ in held_out_in_turn(codes, LEVELS, 0, groups):
        assert not np.intersect1d(groups[own], groups[others]).size


def test_higher_odds_find_more_of_what_is_held_out_and_less_of_the_others() -> None:
    x, codes = rows()
    seen = codes != 2
    found = learner(log_odds=0.0).fit(x[seen], NAMES[codes[seen]])
    fresh, of_fresh = rows(1)
    densities = {str(np.flatnonzero(name == NAMES)[0]): one for name, one in found.class_densities(fresh).items()}
    shares = shares_at_odds(densities, of_fresh, (2,))
    assert np.diff([one.held_out for one in shares]).min() >= 0
    assert np.diff([one.seen for one in shares]).max() <= 0
    assert shares[-1] == Shares(1.0, 0.0)
    assert Shares(0.2, 0.6).harmonic == pytest.approx(0.3)


def test_the_odds_are_chosen_once_kept_and_overridden() -> None:
    """If all classes have rows, no odds are chosen."""
    x, codes = rows()
    seen = codes != 2
    own, names = x[seen], NAMES[codes[seen]]
    found = learner().fit(own, names)
    assert found.log_odds_[0] in ODDS
    told = found.classify(x)
    np.testing.assert_array_equal(told, learner(log_odds=found.log_odds_[0]).fit(own, names).classify(x))
    np.testing.assert_array_equal(told, found.classify(x, log_odds=found.log_odds_[0]))
    again: MultiViewLearner = LEARNERS["attributes"].from_state(found.to_state())
    np.testing.assert_array_equal(told, again.classify(x))
    assert (told[codes == 2] == "c").mean() > 0.4
    assert (told == NAMES[codes]).mean() > 0.5
    assert learner().fit(x, NAMES[codes]).log_odds_ == [0.0]
    assert learner(log_odds=1000.0).fit(own, names).classify(x).tolist() == ["c"] * len(x)


def test_shares_of_classes_add_up_and_the_largest_is_told() -> None:
    x, codes = rows()
    seen = codes != 2
    found = learner().fit(x[seen], NAMES[codes[seen]])
    shares = found.class_probabilities(x)
    np.testing.assert_allclose(sum(shares.values()), 1.0)
    np.testing.assert_array_equal(np.array(list(shares))[np.argmax(list(shares.values()), axis=0)], found.classify(x))
    assert found.described_classes() == ("c",)


def test_classes_that_are_too_few_have_even_odds() -> None:
    """Two classes leave one, which has no order; so do classes of a single group."""

    def learned(*_: object) -> RelativeAttributes:
        raise AssertionError("nothing can be learned")

    x, codes = rows()
    assert chosen_log_odds(learned, x[: 2 * EACH], codes[: 2 * EACH], LEVELS, 0) == 0.0
    assert chosen_log_odds(learned, x, codes, LEVELS, 0, np.zeros(len(x))) == 0.0
