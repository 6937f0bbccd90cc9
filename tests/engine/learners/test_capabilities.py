"""Capabilities of learners, and those of their chains."""

import numpy as np
import pytest
from brief import brief

from crossview.engine.learners.frame.capabilities import Capabilities, composed, main_position
from crossview.engine.learners.registry import LEARNERS, learners_of_comparisons, parse_chain

STEP = Capabilities(adds_views=True, keeps_cross_view=True, auxiliary=True)
LEARNER = Capabilities(cross_view=True, needs_labels=True, least_views=2, takes_neighbors=True, adds_views=True)


def two_views(count=24):
    """Return rows of two views around three classes, and the classes."""
    generator, labels = np.random.default_rng(0), np.arange(count) % 3
    return [generator.normal(size=(count, width)) + labels[:, None] for width in (6, 7)], labels


def test_a_chain_crosses_views_as_its_last_learner_does_unless_a_step_treats_views_apart():
    """Steps that treat all views alike change nothing about that; others end it."""
    assert composed([STEP, LEARNER, STEP]).cross_view
    assert not composed([LEARNER, Capabilities(auxiliary=True)]).cross_view
    assert not composed([]).cross_view


def test_a_chain_needs_what_any_step_needs_and_adds_views_if_all_do():
    """The needs are labels, numbers of views, and whether items may have several labels."""
    chain = composed([STEP, LEARNER])
    assert (chain.needs_labels, chain.multilabel, chain.adds_views, chain.least_views) == (True, False, True, 2)
    assert not composed([LEARNER, Capabilities()]).adds_views
    assert composed([Capabilities(most_views=3), Capabilities(most_views=2)]).most_views == 2


@pytest.mark.parametrize(("steps", "position"), [([STEP, LEARNER, STEP], 1), ([STEP, STEP], 1), ([], -1)])
def test_a_chain_is_made_for_its_last_learner_that_is_not_auxiliary(steps, position):
    """If all are auxiliary, it is the last."""
    assert main_position(steps) == position


@pytest.mark.parametrize(
    ("limits", "names", "message"),
    [
        ({"least_views": 2}, ["a"], r"x learns from at least 2 views; you named 1 \(a\)"),
        (
            {"least_views": 2, "most_views": 2},
            ["a", "b", "c"],
            r"x learns from exactly 2 views; you named 3 \(a, b, c\)",
        ),
        ({"most_views": 2}, ["a", "b", "c"], r"x learns from 1-2 views; you named 3 \(a, b, c\)"),
    ],
)
def test_a_wrong_number_of_views_is_named(limits, names, message):
    """The message says how many the learner takes, and which were given."""
    with pytest.raises(ValueError, match=message):
        Capabilities(**limits).check_views("x", names)


@pytest.mark.parametrize("name", LEARNERS)
def test_a_chain_of_one_can_do_what_its_learner_can(name):
    """Composing adds and loses nothing; only the main parameter is a learner's own."""
    learner, chain = LEARNERS[name](), parse_chain(name)
    same = "takes_neighbors", "takes_comparisons", "adds_views", "least_views", "binary", "codes_of_vectors"
    for field in ("cross_view", *same):
        wanted = getattr(learner.capabilities, field)
        if field != "cross_view" or not learner.capabilities.keeps_cross_view:
            assert getattr(chain.capabilities, field) == wanted
    assert chain.needs_labels == learner.needs_labels


@pytest.mark.parametrize("name", LEARNERS)
def test_vectors_are_behind_codes_exactly_where_a_learner_states_it(name):
    """A search re-ranks by them, and asks the capability, never the learner's class."""
    views, labels = two_views()
    learner = brief(name).fit(views, labels)
    if learner.capabilities.codes_of_vectors:
        assert learner.capabilities.binary
        assert len(learner.unhashed(views[0], 0)) == len(views[0])
    else:
        with pytest.raises(ValueError, match=f"{name} does not make codes of vectors"):
            learner.unhashed(views[0], 0)


def test_learners_of_comparisons_are_named():
    """Messages list them."""
    assert learners_of_comparisons() == "fantope, lmnn, qwise, joint"
