"""Constraints made of the order of classes, and scores that are learned from them."""

import numpy as np
import pytest
from scipy.optimize import minimize

from crossview.engine.learners.papers.attributes.class_relations import (
    Relations,
    class_pairs,
    constraints,
    direction,
    usable,
)
from crossview.engine.learners.papers.attributes.relative import RelativeAttributes

LEVELS = np.array([0.0, 1.0, 1.0, 2.0, 3.0])
"""Levels of five classes, two of them equal, with four rows of each."""
CODES = np.repeat(np.arange(5), 4)
MOST = 1_000


def drawn(pair: tuple[int, int], relations: Relations, seed: int = 0):
    generator = np.random.default_rng(seed)
    found = constraints(LEVELS, CODES, [pair], relations, MOST, generator)
    return CODES[found.near], CODES[found.far], found.margins


def test_all_pairs_of_classes_have_the_lower_first():
    """Ten pairs of five classes, none twice."""
    found = class_pairs(LEVELS)
    assert len(found) == len({frozenset(pair) for pair in found}) == 10
    assert all(LEVELS[first] <= LEVELS[second] for first, second in found)


def test_pairs_ask_for_the_order_or_for_equality():
    """Every two rows have one constraint; equal classes have one for either sign, without a margin."""
    near, far, margins = drawn((0, 3), Relations())
    assert (near[:, 0] == near[:, 1]).all()
    assert (far == [3, 0]).all()
    assert margins.tolist() == [1.0] * 16
    near, far, margins = drawn((1, 2), Relations())
    assert sorted(map(tuple, far.tolist())) == [(1, 2)] * 16 + [(2, 1)] * 16
    assert not margins.any()


def test_quadruplets_compare_with_the_classes_around():
    """Equation 25: classes between differ less than those around them, so many levels away and clipped at the last."""
    relations = Relations("quadruplets", "quadruplets")
    near, far, margins = drawn((1, 3), relations)
    assert (near == [3, 1]).all()
    assert (far == [4, 0]).all()
    assert margins.all()
    near, far, _ = drawn((1, 2), relations)  # equation 26: either sign
    assert {tuple(pair) for pair in near.tolist()} == {(1, 2), (2, 1)}
    assert {tuple(pair) for pair in far.tolist()} == {(3, 0)}
    assert {tuple(pair) for pair in drawn((1, 2), Relations("pairs", "quadruplets", 2))[1].tolist()} == {(4, 0)}
    assert {tuple(pair) for pair in drawn((1, 2), Relations("pairs", "quadruplets", 9))[1].tolist()} == {(4, 0)}


def test_extreme_classes_have_nothing_around_them():
    """Quadruplets leave them out, and "both" takes their pairs."""
    assert not usable(LEVELS, (0, 3), Relations("quadruplets"))
    assert usable(LEVELS, (0, 3), Relations("both"))
    assert usable(LEVELS, (1, 3), Relations("quadruplets"))
    assert not usable(LEVELS, (1, 2), Relations(equal="none"))
    near, far, _ = drawn((0, 3), Relations("both"))
    assert (near[:, 0] == near[:, 1]).all()
    assert (far == [3, 0]).all()
    with pytest.raises(ValueError, match="quadruplets need classes with less and with more"):
        drawn((0, 3), Relations("quadruplets"))


def test_more_pairs_of_rows_than_asked_for_are_drawn():
    """Each is drawn at most once, and the same ones are drawn every time."""
    first, second = (constraints(LEVELS, CODES, [(0, 3)], Relations(), 5, np.random.default_rng(7)) for _ in range(2))
    assert len(np.unique(first.far, axis=0)) == 5
    assert (first.far == second.far).all()


@pytest.mark.parametrize("relations", [Relations("pairs", "none"), Relations("both", "quadruplets", 2)])
def test_a_direction_is_the_minimum(relations: Relations):
    """A generic solver finds no lower value from its end, and its score agrees with the order."""
    generator = np.random.default_rng(3)
    rows = generator.normal(size=(20, 6)) + np.outer(LEVELS[CODES], [3, -3, 1, 0, 0, 0])
    given = constraints(LEVELS, CODES, class_pairs(LEVELS), relations, MOST, generator)
    contrasts = rows[given.far[:, 0]] - rows[given.far[:, 1]] - rows[given.near[:, 0]] + rows[given.near[:, 1]]

    def objective(w: np.ndarray) -> float:
        missing = np.maximum(np.where(given.margins > 0, given.margins + 0.05, 0.0) - contrasts @ w, 0)
        huber = np.where(missing <= 0.1, missing**2 / 0.2, missing - 0.05)
        return float(w @ w / 2 + 30.0 * huber.mean())

    found = direction(rows, given, 30.0)
    best = minimize(objective, found, method="Nelder-Mead", options={"maxiter": 4000, "fatol": 1e-12})
    assert objective(found) <= best.fun * (1 + 1e-4)
    assert np.corrcoef(rows @ found, LEVELS[CODES])[0, 1] > 0.8


def test_the_learner_takes_relations_by_name():
    """Scores learned from quadruplets order unseen rows, too; too few classes are refused with the attribute's name."""
    generator = np.random.default_rng(5)
    names = np.array(list("abcde"))
    rows = generator.normal(size=(100, 8)) + np.outer(np.tile(LEVELS, 20), [2, 1, 0, 0, 0, 0, 0, 0])
    orderings = {name: [level] for name, level in zip(names, LEVELS, strict=True)}
    learner = RelativeAttributes(orderings=orderings, names=["size"])
    learner.set_params(ordered="both", equal="quadruplets", surrounding=2)
    scores = learner.fit(rows[:50], np.tile(names, 10)).transform(rows[50:])[:, 0]
    assert np.corrcoef(scores, np.tile(LEVELS, 10))[0, 1] > 0.8
    learner.set_params(ordered="quadruplets")
    few = np.isin(np.tile(names, 20), ["a", "d"])
    with pytest.raises(ValueError, match=r"size.*quadruplets need classes"):
        learner.fit(rows[few], np.tile(names, 20)[few])
