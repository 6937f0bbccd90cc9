"""The next question is about items that are still uncertain."""

import numpy as np
import pytest

from crossview.engine.findings.questions import Metric, Places, choose


def embedding(n=40, width=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, width))


def answers(rows, count, items, seed=1):
    generator = np.random.default_rng(seed)
    drawn = np.array([generator.choice(items, 3, replace=False) for _ in range(count)])
    near, far = (np.square(rows[drawn[:, 0]] - rows[drawn[:, place]]).sum(axis=1) for place in (1, 2))
    drawn[near > far] = drawn[near > far][:, [0, 2, 1]]
    return drawn


@pytest.mark.parametrize("kind", [Places, Metric])
@pytest.mark.parametrize("size", [2, 9])
def test_a_question_has_an_anchor_and_other_candidates(kind, size):
    """No candidate comes twice; the same seed asks the same, another seed another."""
    rows = embedding(n=200)
    belief = kind.of(rows, answers(rows, 600, np.arange(200)))
    asked = [choose(belief, size=size, seed=seed)[0] for seed in (0, 0, 1)]
    for question in asked:
        assert len({question.anchor, *question.candidates}) == size + 1
        assert question.gain > 0
    assert asked[0] == asked[1]
    assert asked[0] != asked[2]


@pytest.mark.parametrize("size", [2, 9])
def test_items_that_were_never_compared_are_asked_about(size):
    """The first question has some of the five items, among forty, that no answer names."""
    rows = embedding()
    belief = Places.of(rows, answers(rows, 2_000, np.arange(35)))
    (question,) = choose(belief, size=size)
    assert {question.anchor, *question.candidates} & set(range(35, 40))


def test_several_questions_have_different_anchors():
    """The best come first, as many as requested if the collection has so many items."""
    rows = embedding()
    belief = Places.of(rows, answers(rows, 300, np.arange(40)))
    asked = choose(belief, count=8)
    assert len({question.anchor for question in asked}) == 8
    assert (np.diff([question.gain for question in asked]) <= 0).all()
    assert asked[0] == choose(belief)[0]
    assert len(choose(belief, count=50)) == 40


@pytest.mark.parametrize("size", [2, 9])
def test_few_answers_choose_nothing(size):
    """Without features, questions are random until there are more than two answers an item, and state no gain."""
    rows = embedding()
    given = answers(rows, 200, np.arange(40))
    assert choose(Places.of(rows, given[:50]), size=size)[0].gain == 0
    assert choose(Places.of(rows, given), size=size)[0].gain > 0


def test_what_was_asked_is_not_asked_again():
    """Neither order of the candidates comes again; if all was asked, the message says so."""
    rows = embedding(n=4)
    belief = Places.of(rows, [])
    asked = np.empty((0, 3), dtype=np.int64)
    for _ in range(12):
        (question,) = choose(belief, asked=asked)
        asked = np.vstack([asked, [question.anchor, *question.candidates]])
    assert len({(a, min(b, c), max(b, c)) for a, b, c in asked.tolist()}) == 12
    with pytest.raises(ValueError, match="asked before"):
        choose(belief, asked=asked)


@pytest.mark.parametrize("size", [1, 40])
def test_a_question_needs_more_items_than_candidates(size):
    """It also needs at least two candidates."""
    with pytest.raises(ValueError, match=f"not {size} of"):
        choose(Places.of(embedding(), []), size=size)


def test_chosen_questions_teach_a_metric_faster_than_random_ones():
    """After as many answers, margins of random triplets are less uncertain."""
    rows = embedding(n=200, width=6)
    weights = np.array([3.0, 2.0, 1.0, 0.0, 0.0, 0.0])
    test = answers(rows * weights, 2_000, np.arange(200), seed=9)

    def learned(chosen):
        generator = np.random.default_rng(0)
        given = answers(rows * weights, 5, np.arange(200))
        for seed in range(40):
            if chosen:
                (question,) = choose(Metric.of(rows, given), seed=seed, asked=given)
                a, b, c = question.anchor, *question.candidates
            else:
                a, b, c = generator.choice(200, 3, replace=False)
            near, far = (np.square((rows[a] - rows[other]) * weights).sum() for other in (b, c))
            given = np.vstack([given, [a, b, c] if near < far else [a, c, b]])
        belief = Metric.of(rows, given)
        found = belief.distances(test[:, 0], test[:, 1:])[0]
        return np.mean(found[:, 0] > found[:, 1])

    assert learned(chosen=True) < learned(chosen=False)
