"""MuSL finds planted groups, places novel categories in theirs, and refuses bad input."""

import numpy as np
import pytest
from planted import planted
from sklearn.metrics import adjusted_rand_score

from crossview.engine.learners.frame.chain import Chain
from crossview.engine.learners.frame.supervision import Supervision
from crossview.engine.learners.papers.musl.musl import MuSL
from crossview.engine.learners.registry import from_state


def fitted(seed=0, **parameters):
    rows, labels, groups = planted(seed)
    return MuSL(**{"n_metrics": 3, "random_state": 0} | parameters).fit(rows, labels), rows, labels, groups


@pytest.mark.parametrize("seed", range(10))
def test_planted_groups_are_found(seed):
    """Three metrics share the classes out as they were planted; k-means on class means does not."""
    learner, rows, labels, groups = fitted(seed)
    assert learner.classes_.tolist() == sorted(set(labels))
    assert adjusted_rand_score(groups, learner.assignments_[0]) >= 0.95
    heuristic = MuSL(n_metrics=3, assignment="kmeans", random_state=0).fit(rows, labels)
    assert adjusted_rand_score(groups, heuristic.assignments_[0]) < 0.95


def test_metrics_look_at_their_groups_columns():
    """The bits of a group's metric come from the columns that separate its classes."""
    learner, _, _, groups = fitted(n_bits=12)
    for metric, columns in enumerate(learner.columns_[0].reshape(3, -1)):
        (group,) = set(groups[learner.assignments_[0] == metric])
        assert np.mean(columns // 16 == group) > 0.8


def test_retraining_raises_the_objective():
    """Metrics that are boosted again for their classes make them likelier than those that found the groups."""
    # With a soft maximum as soft as this, the first bits serve all classes.
    objectives = [fitted(r=100, retrain=again)[0].likelihoods_[0].max(axis=0).sum() for again in (False, True)]
    assert objectives[1] > objectives[0]


def test_the_best_of_several_r_is_taken():
    """If no r is given, the groups are those of the r with the highest objective."""
    parameters = {"retrain": False, "joint_alpha": 0.6}  # the likelihoods that are kept are then those compared
    each = [fitted(r=r, **parameters)[0] for r in (500.0, 1000.0, 2000.0)]
    best = max(each, key=lambda learner: learner.likelihoods_[0].max(axis=0).sum())
    np.testing.assert_array_equal(fitted(**parameters)[0].columns_[0], best.columns_[0])


def test_groups_do_not_depend_on_the_number_of_thresholds():
    """Medians find the groups; metrics boosted again choose among all thresholds, which makes classes likelier.

    Without retraining, the metrics that find the groups have all thresholds.
    """
    few, many = (fitted(n_thresholds=count)[0] for count in (1, 7))
    np.testing.assert_array_equal(few.assignments_[0], many.assignments_[0])
    assert many.likelihoods_[0].max(axis=0).sum() > few.likelihoods_[0].max(axis=0).sum()
    joint = fitted(n_thresholds=7, retrain=False)[0]
    medians = set(zip(few.columns_[0], few.thresholds_[0], strict=True))
    assert not set(zip(joint.columns_[0], joint.thresholds_[0], strict=True)) <= medians


def test_more_metrics_than_one_make_classes_likelier():
    """One for each class beats three, and three beat one."""
    objectives = [fitted(n_metrics=count)[0].likelihoods_[0].max(axis=0).sum() for count in (1, 3, "class")]
    assert objectives[0] < objectives[1] < objectives[2]


def test_sampled_pairs_find_the_groups_too():
    """With fewer rows in a round than exist, the same groups are found, and found again."""
    rows, labels, groups = planted(size=20)
    first, second = (MuSL(n_metrics=3, n_bits=16, max_rows=100, random_state=0).fit(rows, labels) for _ in range(2))
    assert adjusted_rand_score(groups, first.assignments_[0]) >= 0.95
    np.testing.assert_array_equal(first.columns_[0], second.columns_[0])
    assert len(first.references_[0]) == pytest.approx(100, abs=12)


def test_embeddings_are_the_bits_of_all_metrics():
    """n_bits columns of 0 and 1 for each metric, one metric beside the other, each a threshold on a column."""
    learner, rows, _, _ = fitted(n_bits=7)
    bits = learner.transform(rows)
    assert learner.capabilities.binary
    assert learner.n_metrics_ == 3
    assert bits.shape == (len(rows), 21)
    np.testing.assert_array_equal(bits[:, 9], rows[:, learner.columns_[0][9]] >= learner.thresholds_[0][9])


def test_rows_of_unknown_class_get_the_metric_of_the_class_they_seem_to_be_of():
    """Most rows that were not learned from get their group's metric; a chain asks its last step."""
    rows, labels, _ = planted(size=20)
    learner = MuSL(n_metrics=3, random_state=0).fit(rows[:160], labels[:160])
    bits = learner.transform(rows[160:])
    found = learner.metric_of_rows(bits)
    assert np.mean(found == learner.metric_of_class(labels[160:])) > 0.8
    np.testing.assert_array_equal(Chain([learner]).metric_of_rows(bits), found)
    np.testing.assert_array_equal(from_state(learner.to_state()).metric_of_rows(bits), found)


def test_a_state_without_the_references_classes_tells_no_metrics():
    """Earlier versions stored such states."""
    learner, rows, _, _ = fitted()
    state = learner.to_state()
    del state["fitted"]["reference_codes_"]
    assert set(from_state(state).metric_of_rows(learner.transform(rows))) == {-1}


def test_it_says_whose_metric_a_label_has():
    """Every learned class has its metric, and other labels have -1, in each view by itself."""
    rows, labels, groups = planted()
    mask = np.ones((len(rows), 2), dtype=bool)
    mask[labels == "a0", 1] = False
    learner = MuSL(n_metrics=3, random_state=0).fit([rows, rows[:, ::-1]], Supervision(classes=labels, mask=mask))
    parts = learner.metric_of_class(sorted(set(labels)))
    assert adjusted_rand_score(groups, parts) == 1.0
    assert learner.metric_of_class(["zebra", "a1"]).tolist() == [-1, parts[1]]
    assert learner.metric_of_class(["a0"], view=1).tolist() == [-1]
    assert learner.metric_of_class(["a1"], view=1)[0] in (0, 1, 2)


def test_groupings_may_be_given():
    """They are given by class of any type, or in sorted order; k-means and random groups are drawn by the seed."""
    rows, labels, groups = planted()
    names = sorted(set(labels))
    by_name = MuSL(assignment=dict(zip(names, groups.tolist(), strict=True))).fit(rows, labels)
    in_order = MuSL(assignment=groups).fit(rows, labels)
    assert by_name.n_metrics_ == 3
    np.testing.assert_array_equal(by_name.columns_[0], in_order.columns_[0])
    numbers = np.searchsorted(names, labels)
    assert MuSL(assignment={"0": 0, 1: 1} | dict.fromkeys(range(2, 12), 1)).fit(rows, numbers).n_metrics_ == 2
    drawn = [fitted(assignment="random", random_state=seed)[0].assignments_[0] for seed in (0, 0, 1)]
    assert np.bincount(drawn[0]).tolist() == [4, 4, 4]
    assert drawn[0].tolist() == drawn[1].tolist() != drawn[2].tolist()
    for again in (True, False):
        assert fitted(n_metrics=1, retrain=again)[0].assignments_[0].tolist() == [0] * 12
        assert fitted(n_metrics="class", retrain=again)[0].assignments_[0].tolist() == list(range(12))
    assert fitted(n_metrics=50, n_bits=2)[0].n_metrics_ == 12


@pytest.mark.parametrize("seed", range(3))
def test_novel_categories_find_their_group(seed):
    """Four examples give an unlearned category the metric of its group, and nothing else changes."""
    rows, labels, _ = planted(seed, classes=5)
    novel = np.isin(labels, ["a4", "b4", "c4"])
    learner = MuSL(n_metrics=3, random_state=0).fit(rows[~novel], labels[~novel])
    before = learner.transform(rows)
    for name in ("a4", "b4", "c4"):
        found = learner.assign(rows[labels == name][:4], category=name)
        assert learner.metric_of_class([name, name[0] + "0"]).tolist() == [found, found]
    np.testing.assert_array_equal(learner.transform(rows), before)
    again = from_state(learner.to_state())
    assert again.metric_of_class(["a4", "b4", "c4"]).tolist() == learner.metric_of_class(["a4", "b4", "c4"]).tolist()
    assert again.assign(rows[labels == "a4"][:4]) == learner.metric_of_class(["a4"])[0]
    learner.assign(rows[labels == "b4"], category="a4")  # examples may come again
    assert learner.metric_of_class(["a4"]).tolist() == learner.metric_of_class(["b4"]).tolist()
    assert len(learner.categories_[0]) == 15


def test_the_paper_s_objective_learns_too():
    """Equal weights of all pairs and a fixed offset give other metrics, as likely to place a novel category."""
    rows, labels, _ = planted()
    novel = labels == "a3"
    kept, other = (
        MuSL(assignment=np.repeat([0, 1, 2], [3, 4, 4]), objective=objective, alpha=0.1).fit(
            rows[~novel], labels[~novel]
        )
        for objective in ("paper", "balanced")
    )
    assert not np.array_equal(kept.columns_[0], other.columns_[0])
    assert kept.assign(rows[novel]) == 0


def test_unlabelled_rows_are_left_out():
    """Rows alone in their class change nothing."""
    rows, labels, _ = planted()
    more = np.vstack([rows, np.full((2, rows.shape[1]), 9.0)])
    named = np.append(labels, ["alone", "alone too"])
    learners = [MuSL(n_metrics=3).fit(rows, labels), MuSL(n_metrics=3).fit(more, named)]
    np.testing.assert_array_equal(learners[0].thresholds_[0], learners[1].thresholds_[0])


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"n_bits": 0}, "n_bits must be"),
        ({"n_bits": 8.5}, "n_bits must be"),
        ({"n_metrics": 0}, "n_metrics must be"),
        ({"n_metrics": "all"}, "n_metrics must be a whole number or 'class', not 'all'"),
        ({"n_thresholds": 0}, "n_thresholds must be"),
        ({"max_rows": 1}, "max_rows must be"),
        ({"alpha": 0.0}, "alpha must be a number above 0"),
        ({"joint_alpha": np.inf}, "joint_alpha must be a number, not inf"),
        ({"r": np.nan}, "r must be a number or null, not nan"),
        ({"objective": "mean"}, "objective must be one of balanced, paper, not 'mean'"),
        ({"assignment": "k-means"}, "learned, kmeans, random"),
        ({"assignment": {"a0": 0}}, "no metric for: a1"),
        ({"assignment": [0, 1]}, "12 classes"),
        ({"assignment": [-1] * 12}, "assignment must be"),
        ({"assignment": [0.5] * 12}, "assignment must be"),
    ],
)
def test_parameters_out_of_range_are_named(parameters, said):
    """A parameter out of range is a ValueError that names it."""
    with pytest.raises(ValueError, match=said):
        fitted(**parameters)


def test_bad_rows_are_refused():
    """Rows that are all equal, a single class, one example, or a learned category are ValueErrors that say so."""
    learner, rows, labels, _ = fitted()
    with pytest.raises(ValueError, match="all rows of view 0 are equal"):
        MuSL().fit(np.ones_like(rows), labels)
    with pytest.raises(ValueError, match="at least 2 classes"):
        MuSL().fit(rows, np.full(len(rows), "one"))
    with pytest.raises(ValueError, match="at least 2 examples"):
        learner.assign(rows[:1])
    with pytest.raises(ValueError, match="'a0' was learned"):
        learner.assign(rows[:4], category="a0")
    with pytest.raises(ValueError, match="48 features"):
        learner.assign(rows[:4, 1:])
