"""Comparisons of several kinds together, as one sequence and as learners take them."""

import numpy as np
import pytest

from crossview.engine.learners.frame.comparisons import Comparisons, MixedComparisons
from crossview.engine.learners.frame.supervision import Supervision
from crossview.engine.learners.papers.losses.constraints import constraints_of
from crossview.engine.learners.papers.metrics.training_constraints import Stopping
from crossview.learners import LMNN, Fantope, JointMetrics, QuadrupletWise

ROWS = 60


def mixed(notions=False, count=80):
    """Return rows, and triplets and pairs that their first column orders."""
    generator = np.random.default_rng(0)
    rows = generator.normal(size=(ROWS, 4))
    items = np.array([generator.choice(ROWS, 3, replace=False) for _ in range(2 * count)])
    gaps = np.abs(rows[items[:, 1:], 0] - rows[items[:, :1], 0])
    ordered = np.where((gaps[:, 0] > gaps[:, 1])[:, None], items[:, [0, 2, 1]], items)
    names = np.array(["color", "shape"])[np.arange(count) % 2] if notions else None
    triplets = Comparisons(ordered[:count], notions=names)
    pairs = Comparisons(items[count:, :2], gaps[count:, 0] < 0.5, weights=np.full(count, 2.0), notions=names)
    return rows, MixedComparisons((triplets, pairs))


def test_a_mixture_is_taken_from_by_position_over_all_its_sets():
    """Positions count on from set to set, and each kind keeps its columns."""
    _, given = mixed()
    assert len(given) == 160
    some = given.take(np.array([0, 3, 80, 159]))
    assert [len(one) for one in some.sets] == [2, 2]
    assert (some.sets[0].items == given.sets[0].items[[0, 3]]).all()
    assert (some.sets[1].items == given.sets[1].items[[0, 79]]).all()
    assert len(given.take(np.arange(160) < 80).sets[1]) == 0
    half = given.among(np.arange(ROWS) < 30, ROWS)
    assert 0 < len(half) < 160
    assert max(one.items.max() for one in half.sets) < 30


def test_constraints_of_a_mixture_are_those_of_its_sets():
    """Each set has its margins, bounds and weights."""
    _, given = mixed()
    made = constraints_of(given, 1.0, 0.5, 1.5)
    assert len(made) == 160
    assert set(made.weights[:80]) == {1.0}
    assert set(made.weights[80:]) == {2.0}
    assert set(made.margins[:80]) == {1.0}
    assert set(made.margins[80:]) == {-0.5, 1.5}


def test_agreement_counts_every_kind_once():
    """The right column agrees with both kinds, and the mean is over the kinds that can be measured."""
    rows, given = mixed()
    one = [kind.agreement(rows[:, :1]) for kind in given.sets]
    assert given.agreement(rows[:, :1]) == pytest.approx(np.mean(one))
    assert min(one) > 0.95
    assert given.agreement(rows[:, 1:2]) < 0.7
    alike = given.take(np.concatenate([np.arange(5), 80 + np.flatnonzero(given.sets[1].similar)]))
    assert alike.agreement(rows[:, :1]) == alike.sets[0].agreement(rows[:, :1])


@pytest.mark.parametrize(
    "learner",
    [
        QuadrupletWise(),
        QuadrupletWise(form="diagonal"),
        QuadrupletWise(loss="structural"),
        Fantope(1),
        Fantope(1, stopping=Stopping(patience=3)),
        Fantope(mu=0.0, gamma=1e-3, start="identity"),
        LMNN(pull=0.1, start="identity"),
        JointMetrics(n_components=2),
    ],
    ids=str,
)
def test_learners_of_comparisons_take_a_mixture(learner):
    """A learner of pairs and triplets agrees with both better than the rows do."""
    rows, given = mixed()
    embedded = learner.fit(rows, Supervision(comparisons=given)).transform(rows)
    assert given.agreement(np.asarray(embedded)) > given.agreement(rows) + 0.1


def test_notions_of_a_mixture_are_learned_apart_or_refused():
    """A learner of notions has a metric for each, from both kinds; a learner of one says why it takes none."""
    rows, given = mixed(notions=True)
    learned = JointMetrics(n_components=2).fit(rows, Supervision(comparisons=given))
    assert list(learned.metric_names_) == ["color", "shape"]
    with pytest.raises(ValueError, match="one notion"):
        QuadrupletWise().fit(rows, Supervision(comparisons=given))
